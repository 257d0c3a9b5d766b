/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_RECORD_H
#define CCS_RECORD_H
/*
 * A telemetry record: the counters of one link at one moment. docs/telemetry.md is the
 * specification, with the layout on the wire. Pure functions.
 */
#include <stdbool.h>
#include <stdint.h>

#include "ccshim/cc.h"

/* Agents that advise no rate have records of 48. */
enum { CCS_RECORD_BYTES = 56, CCS_RECORD_LEAST = 48, CCS_RECORDS = CCS_CC_MAX_HOPS };

#define CCS_RECORD_CAPACITY_MOST 1000000000000000ull

/* Where a record comes from. One of a kind that is not known here is a port's. */
enum ccs_record_kind {
	CCS_RECORD_PORT = 1,             /* of a switch or router: what it sent, and what waits */
	CCS_RECORD_RECEIVER,             /* a receiver's port: what came in; no queue to be seen */
};

struct ccs_record {
	uint32_t link;                   /* names it, and this life of its counter; not 0 */
	uint16_t hop;                    /* links to the receiver; its own is 0 */
	uint16_t kind;                   /* enum ccs_record_kind */
	uint64_t ts_ns;                  /* when it was taken, by the producer's clock */
	uint64_t tx_bytes;               /* sent since whenever; never wraps */
	uint64_t qlen_bytes;             /* waiting */
	uint64_t capacity;               /* bit/s; not 0 */
	uint64_t covers_ns;              /* by the clock of whom it is sent to: not taken before
	                                  * that; 0: unknown */
	uint64_t advised;                /* bit/s, to each flow through the link; 0: no advice */
};

void ccs_record_encode(const struct ccs_record *r, uint8_t out[CCS_RECORD_BYTES]);

/* False if it cannot be one. */
bool ccs_record_decode(const uint8_t in[CCS_RECORD_BYTES], struct ccs_record *r);

/* The order in which all see the links of a path: nearest to the sender first. n is small. */
void ccs_record_sort(struct ccs_record *r, unsigned n);

/* The least rate that they advise, bit/s; 0: none does. */
uint64_t ccs_record_advised(const struct ccs_record *r, unsigned n);

/* Names the path of these links, in their order. Never 0. */
uint32_t ccs_record_path(const struct ccs_record *r, unsigned n);

/* A name for a link: of whatever tells it from all others. Never 0. */
uint32_t ccs_record_link(const void *what, unsigned len);

#endif
