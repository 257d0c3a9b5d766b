/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_INT_H
#define CCS_INT_H
/*
 * In-band telemetry that switches insert into packets, as in HPCC (4.1, Fig. 7): 64 bits per hop,
 * with a few bits each for time, bytes and rate. It is converted to records, whose counters do not
 * wrap. Pure functions.
 *
 * The time wraps every 16.8 ms, the bytes every 134 MB times the format's multiple. The arrival
 * time shows how often the time wrapped, if no packet is late by 8 ms. If the link may have sent
 * more than its byte counter holds, the record gets a new link identifier.
 */
#include <stdbool.h>
#include <stdint.h>

#include "feedback/record.h"

enum ccs_int_layout {
	CCS_INT_PAPER,                   /* from the top: rate 4, time 24, bytes 20, queue 16 */
	CCS_INT_NS3,                     /* from the bottom: rate 3, time 24, bytes 20, queue 17 */
};

struct ccs_int_format {
	enum ccs_int_layout layout;
	unsigned multiple;               /* of 128 bytes sent and 80 bytes queued; at least 1 */
	const uint64_t *rates;           /* bit/s, by code; 0: invalid code */
	unsigned nrates;
};

/* 25, 50, 100, 200, 400 Gb/s: the codes of HPCC's simulation; the paper does not define them. */
extern const uint64_t ccs_int_rates[5];

/* The raw fields. */
struct ccs_int_hop {
	uint32_t rate, ts, bytes, qlen;
};

struct ccs_int_hop ccs_int_unpack(enum ccs_int_layout layout, uint64_t word);

/* The last state of a link; initially zero except its name. */
struct ccs_int_link {
	uint32_t name;                   /* chosen by the caller; constant */
	uint32_t life;                   /* incremented at each reset; 0: no packet yet */
	struct ccs_int_hop hop;
	uint64_t arrived_ns, ts_ns, tx_bytes;
};

/*
 * Convert a hop's word from a packet that arrived at that time to a record: link, time, bytes,
 * queue and capacity; other fields are 0. False, and *r unchanged: the word is not newer, or its
 * rate code is unknown.
 */
bool ccs_int_follow(struct ccs_int_link *l, const struct ccs_int_format *f, uint64_t word,
		    uint64_t arrived_ns, struct ccs_record *r);

#endif
