/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_INT_H
#define CCS_INT_H
/*
 * Telemetry that a switch puts into packets, as HPCC (4.1, Fig. 7) has it: 64 bits a hop,
 * of which time, bytes and rate are a few bits each. Here they become records, whose
 * counters do not wrap. Pure functions.
 *
 * The time wraps every 16.8 ms, the bytes every 134 MB times the format's multiple. How
 * often the time did the arrival tells, if no packet is late by 8 ms; where the link may
 * have sent more than its counter holds, the record begins another life of the link.
 */
#include <stdbool.h>
#include <stdint.h>

#include "signal/record.h"

enum ccs_int_layout {
	CCS_INT_PAPER,                   /* from the top: rate 4, time 24, bytes 20, queue 16 */
	CCS_INT_NS3,                     /* from the bottom: rate 3, time 24, bytes 20, queue 17 */
};

struct ccs_int_format {
	enum ccs_int_layout layout;
	unsigned multiple;               /* of 128 bytes sent and 80 bytes waiting; from 1 */
	const uint64_t *rates;           /* bit/s, by their codes; 0: no such code */
	unsigned nrates;
};

/* 25, 50, 100, 200, 400 Gb/s: the codes of HPCC's simulation; the paper leaves them open. */
extern const uint64_t ccs_int_rates[5];

/* Its fields, as they are. */
struct ccs_int_hop {
	uint32_t rate, ts, bytes, qlen;
};

uint64_t ccs_int_pack(enum ccs_int_layout layout, const struct ccs_int_hop *hop);
struct ccs_int_hop ccs_int_unpack(enum ccs_int_layout layout, uint64_t word);

/* A link as it was last told of; begins as zeros but for its name. */
struct ccs_int_link {
	uint32_t name;                   /* of all its lives; any number */
	uint32_t life;                   /* 0: not told of yet */
	struct ccs_int_hop hop;
	uint64_t arrived_ns, ts_ns, tx_bytes;
};

/*
 * A hop's word, in a packet that came at that time, as a record: link, time, bytes, queue
 * and capacity; the rest is 0. False, and nothing written: it tells nothing newer, or its
 * rate has an unknown code.
 */
bool ccs_int_follow(struct ccs_int_link *l, const struct ccs_int_format *f, uint64_t word,
		    uint64_t arrived_ns, struct ccs_record *r);

#endif
