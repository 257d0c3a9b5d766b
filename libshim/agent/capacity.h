/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_CAPACITY_H
#define CCS_AGENT_CAPACITY_H
/*
 * The capacity of a link whose speed says nothing, because a shaper holds it down or it
 * is virtual: the highest rate at which it was seen to carry traffic while packets were
 * known to wait for it. What it carries otherwise only tells what its senders send; taken
 * for the capacity, they would be held below that, and so for ever on.
 *
 * Limits: nothing is known before the first queue; a fall of the capacity is believed after
 * 10 to 20 s of queues only; and where the queue is at another link, the rate of that one
 * is taken for this one's. Pure.
 */
#include <stdbool.h>
#include <stdint.h>

/* Bytes are counted over that long: a shaper's burst must be little in it. */
#define CCS_CAPACITY_SPAN_NS 50000000ull
#define CCS_CAPACITY_WINDOW_NS 10000000000ull

/* All zero at first. */
struct ccs_capacity {
	uint64_t begin_ns, begin_bytes;  /* of the span; 0: none yet */
	bool seen, queued;               /* a queue, in this span; in the one before */
	uint64_t window_ns;              /* when the first of both windows began */
	double most[2];                  /* in each window; 0: no queue was seen */
	double learnt;                   /* bit/s; 0: not yet */
};

/*
 * The counter at that time, and whether packets waited at any time since the last call.
 * True when the capacity is another one now; it stays the same within 1 %.
 */
bool ccs_capacity_feed(struct ccs_capacity *c, uint64_t now_ns, uint64_t bytes, bool queued);

#endif
