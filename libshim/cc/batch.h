/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CC_BATCH_H
#define CCS_CC_BATCH_H
/*
 * Acknowledgements that arrive in batches. The path spaces them; hosts that run in batches return
 * several at once. And however long the queue is, segments leave it no closer than they came from
 * the NIC, so acknowledgements that are closer were held back after that, by jitter or behind data
 * of the other direction. They are a batch, too, but count for less: with the full weight copa's
 * hosts with data in both directions would use less of their links.
 */
#include "cc/cc.h"
#include "cc/minmax.h"

#define CCS_BATCH_SEGMENTS 32.0      /* that the averages are of */
#define CCS_BATCH_CLOSE 0.5          /* share of the data's time at line rate that ends a batch */
#define CCS_BATCH_WEIGHT (2 / 3.0)   /* of an acknowledgement that is close to the one before */

struct ccs_batch {
	double us;                   /* when the latest acknowledgements arrived, */
	double segments, rest;       /* how many segments' worth, and left in flight by them */
	double share;                /* the average of (segments - 1) / (segments + rest), */
	double more;                 /* and of segments - 1 */
};

static inline void ccs_batch_end(struct ccs_batch *b)
{
	const double more = ccs_max(b->segments - 1, 0), share = more / (b->segments + b->rest);
	const double weight = ccs_min(b->segments / CCS_BATCH_SEGMENTS, 1);

	b->share += (share - b->share) * weight;
	b->more += (more - b->more) * weight;
	b->segments = 0;
}

/* A batch is over with the first acknowledgement that is later than the line explains. */
static inline void ccs_batch_add(struct ccs_batch *b, const struct ccs_cc_path *path,
				 const struct ccs_cc_ack *ack)
{
	const double apart_us = ack->now_us - b->us;
	const bool later = apart_us > CCS_BATCH_CLOSE * 8e6 * ack->bytes / path->line_rate;
	const double segments = ccs_min(ack->bytes / path->segment, 1);

	if (later && b->segments > 0)
		ccs_batch_end(b);
	b->segments += apart_us > 0 && !later ? CCS_BATCH_WEIGHT * segments : segments;
	b->us = ack->now_us;
	b->rest = ack->inflight / path->segment;
}

#endif
