/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_CAPACITY_H
#define CCS_AGENT_CAPACITY_H
/*
 * Estimation of a link's capacity where its nominal speed is meaningless because a shaper limits
 * it or it is virtual: the highest rate at which it carried traffic while packets were queued for
 * it. Without a queue the rate is only what senders send; using that as the capacity would hold
 * them below it, and the estimate would never rise again.
 *
 * Limits: the capacity is unknown before the first queue; a decrease is accepted only after 10 to
 * 20 s with queues; and if the queue is at another link, that link's rate is taken. Pure.
 */
#include <stdbool.h>
#include <stdint.h>

/* Bytes are counted over this span, in which a shaper's burst must be a small part. */
#define CCS_CAPACITY_SPAN_NS 50000000ull
#define CCS_CAPACITY_WINDOW_NS 10000000000ull

/* All zero at first. */
struct ccs_capacity {
	uint64_t begin_ns, begin_bytes;  /* start of the span; 0: not started */
	bool queue_seen, queued;         /* a queue was seen in this span; in the previous one */
	uint64_t window_ns;              /* start of the newer window */
	double most[2];                  /* highest rate per window; 0: no queue was seen */
	double learnt;                   /* bit/s; 0: not yet */
};

/*
 * Pass the byte counter, and whether packets were queued at any time since the last call. True if
 * the estimate has changed, by more than 1 %.
 */
bool ccs_capacity_feed(struct ccs_capacity *c, uint64_t now_ns, uint64_t bytes, bool queued);

#endif
