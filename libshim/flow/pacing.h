/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_PACING_H
#define CCS_PACING_H
/*
 * Pacing: computes when the next data may be released, so that releases follow a rate.
 *
 * A segment is the longest of the `segment` argument, the largest charge, and the data of one tick
 * of the timer wheel at that rate. Over any interval in which the rate is at most R,
 *
 *	bytes released <= R * interval + 3 segments (4 if CCS_PACING_WHOLE_WAIT raises the rate)
 *
 * and over an interval in which the rate is at least r, data is always waiting, and each release
 * is made when due or, while the rate stays the same, at most a segment's time later,
 *
 *	bytes released >= r * interval - 3 segments
 *
 * The three segments are the release at which the interval begins, the data that an idle flow may
 * make up for, and jitter. The fourth is the wait that a rising rate shortens. With `burst`, an
 * idle flow may make up for CCS_PACING_BURST_SEGMENTS segments.
 *
 * No clock and no locks; times are in ns, rates in bit/s.
 */
#include <stdbool.h>
#include <stdint.h>

#include "cc/minmax.h"

/*
 * A flow at line rate leaves 2 % of the line unused, for acknowledgements. Otherwise they would
 * wait for the flow's data and arrive in bunches, and flows in opposite directions would take each
 * other's bursts for queues.
 */
#define CCS_PACING_LINE_SHARE 0.98

enum { CCS_PACING_BURST_SEGMENTS = 16 }; /* that `burst` may make up for */

/* The effect of a rate change on a wait that has begun. */
enum ccs_pacing_change {
	CCS_PACING_WHOLE_WAIT,   /* as if the new rate had applied since the last release */
	CCS_PACING_REST_OF_WAIT, /* only the part of the wait that is left follows the new rate */
};

struct ccs_pacing {
	double at_ns, bytes;     /* logical time of the last release, and its charge */
	double rate;             /* the next release is due when `bytes` have left at this rate */
	uint64_t random;         /* state of the jitter's generator, never 0 */
	float phase;             /* bytes: sum of all jitter so far; bounded */
};

/* Seed the jitter, once; the other functions keep its state. */
static inline void ccs_pacing_seed(struct ccs_pacing *p, uint64_t seed)
{
	p->random = seed | 1;
}

/* The rate at which data is released if the flow's rate is that. */
static inline double ccs_pacing_rate(double rate, double line_rate)
{
	return ccs_max(ccs_min(rate, CCS_PACING_LINE_SHARE * line_rate), 1);
}

/* Start with no release to wait for. */
void ccs_pacing_start(struct ccs_pacing *p, double rate, double line_rate, uint64_t now_ns);

/* Forget the last charge: its data were discarded. */
static inline void ccs_pacing_forget(struct ccs_pacing *p)
{
	p->bytes = 0;
	p->phase = 0;
}

/* Release at this rate, a result of ccs_pacing_rate(), after now_ns. */
void ccs_pacing_change_rate(struct ccs_pacing *p, double rate, enum ccs_pacing_change change,
			    uint64_t now_ns);

/* The earliest time of the next release; now_ns if it is allowed now. */
uint64_t ccs_pacing_due_ns(const struct ccs_pacing *p, uint64_t now_ns);

/* The bytes that may be released at that time one by one, in segments of that size. */
double ccs_pacing_credit(const struct ccs_pacing *p, uint32_t segment, uint64_t now_ns);

/*
 * Account for a release of `len` bytes now. A release that is late by up to one segment's time
 * (16 with `burst`) is charged from its due time, so that the delay costs no throughput.
 */
void ccs_pacing_charge(struct ccs_pacing *p, uint64_t len, uint32_t segment, bool burst,
		       uint64_t now_ns);

/*
 * The same for a small segment that measures the path and that a whole segment follows after its
 * completion. It is charged as a random part of a segment: flows that begin or drain at the same
 * time would otherwise stay in phase.
 */
void ccs_pacing_charge_random(struct ccs_pacing *p, uint32_t segment, bool burst, uint64_t now_ns);

#endif
