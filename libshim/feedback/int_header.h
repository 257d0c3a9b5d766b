/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_INT_H
#define CCS_INT_H
/*
 * In-band telemetry that switches insert into packets, as in HPCC (4.1, Fig. 7): 64 bits per hop,
 * from the top rate 4, time 24, bytes 20, queue 16, in units of 1 ns, 128 bytes and 80 bytes. It
 * is converted to records, whose counters do not wrap. Pure functions.
 *
 * The time wraps every 16.8 ms, the bytes every 134 MB. The arrival time shows how often the time
 * wrapped, if no packet is late by 8 ms. If the link may have sent more than its byte counter
 * holds, the record gets a new link identifier.
 */
#include <stdbool.h>
#include <stdint.h>

#include "feedback/record.h"

/* The last state of a link; initially zero except its name. */
struct ccs_int_link {
	uint32_t name;                   /* chosen by the caller; constant */
	uint32_t life;                   /* incremented at each reset; 0: no packet yet */
	uint64_t word;
	uint64_t arrived_ns, ts_ns, tx_bytes;
};

/*
 * Convert a hop's word from a packet that arrived at that time to a record: link, time, bytes,
 * queue and capacity; other fields are 0. rates: in bit/s, by code; 0: invalid code. False, and
 * *r unchanged: the word is not newer, or its rate code is invalid.
 */
bool ccs_int_follow(struct ccs_int_link *l, const uint64_t rates[16], uint64_t word,
		    uint64_t arrived_ns, struct ccs_record *r);

#endif
