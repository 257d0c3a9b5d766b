/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_RECORD_H
#define CCS_RECORD_H
/*
 * A telemetry record: the counters of one link at one moment. docs/guide/telemetry.md is the
 * specification, with the layout on the wire. Pure functions.
 */
#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "ccshim/cc.h"

/* Consecutive little-endian fields of a message: one function writes and reads a layout. */

struct ccs_le {
	uint8_t *at;                     /* the next field */
	bool reads;                      /* from there to the variable; false: writes it */
};

static inline void ccs_le_bytes(struct ccs_le *p, void *v, size_t size)
{
	if (p->reads)
		memcpy(v, p->at, size);
	else
		memcpy(p->at, v, size);
	p->at += size;
}

static inline void ccs_le16(struct ccs_le *p, uint16_t *v)
{
	uint16_t le = htole16(*v);

	ccs_le_bytes(p, &le, sizeof(le));
	*v = le16toh(le);
}

static inline void ccs_le32(struct ccs_le *p, uint32_t *v)
{
	uint32_t le = htole32(*v);

	ccs_le_bytes(p, &le, sizeof(le));
	*v = le32toh(le);
}

static inline void ccs_le64(struct ccs_le *p, uint64_t *v)
{
	uint64_t le = htole64(*v);

	ccs_le_bytes(p, &le, sizeof(le));
	*v = le64toh(le);
}

enum { CCS_RECORD_BYTES = 56, CCS_RECORDS = CCS_CC_MAX_HOPS };

#define CCS_RECORD_CAPACITY_MOST 1000000000000000ull

/* The producer of a record. Unknown kinds are treated as CCS_RECORD_PORT. */
enum ccs_record_kind {
	CCS_RECORD_PORT = 1,             /* port of a switch or router: bytes sent, and its queue */
	CCS_RECORD_RECEIVER,             /* a receiver's port: bytes received; no queue visible */
};

struct ccs_record {
	uint32_t link;                   /* identifies it; changes when its counter resets; not 0 */
	uint16_t hop;                    /* number of links to the receiver; 0 for the receiver */
	uint16_t kind;                   /* enum ccs_record_kind */
	uint64_t ts_ns;                  /* when it was taken, by the producer's clock */
	uint64_t tx_bytes;               /* sent, from an arbitrary start; never wraps */
	uint64_t qlen_bytes;             /* queued */
	uint64_t capacity;               /* bit/s; not 0 */
	uint64_t covers_ns;              /* by the addressee's clock: it was not taken earlier;
	                                  * 0: unknown */
	uint64_t advised;                /* bit/s, for each flow through the link; 0: no advice */
};

/* Read or write CCS_RECORD_BYTES at p. False: it is not a valid record. */
bool ccs_record_code(struct ccs_le *p, struct ccs_record *r);

/* Sort into the canonical order of a path's links: nearest to the sender first. n is small. */
void ccs_record_sort(struct ccs_record *r, unsigned n);

/* The lowest advised rate, bit/s; 0: no record has one. */
uint64_t ccs_record_advised(const struct ccs_record *r, unsigned n);

/* An identifier of the path of these links, in their order. Never 0. */
uint32_t ccs_record_path(const struct ccs_record *r, unsigned n);

/* An identifier of a link: a hash of a key that is unique to it. Never 0. */
uint32_t ccs_record_link(const void *key, unsigned len);

#endif
