/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_SEND_QUEUE_H
#define CCS_SEND_QUEUE_H
/* The send queue of a flow, private to flow/: its rings, the window and the fast-path budget. */
#include "flow/flow.h"

/* Allocate the rings: 0, or -1 without memory. */
int ccs_send_queue_init(struct ccs_flow *f, uint32_t wr_limit, uint32_t seg_limit);
void ccs_send_queue_destroy(struct ccs_flow *f);

/* Whether a WR with those CCS_WR_* leaves in segments, if it is longer than one. */
static inline bool ccs_flow_splits(const struct ccs_flow *f, uint32_t flags)
{
	return (flags & CCS_WR_SPLIT) && f->user.split && f->user.enforce && f->state == CCS_FLOW_RUN;
}

/*
 * Bytes that may be outstanding. After slow start the derived limit holds only for algorithms
 * without a window: an algorithm with one knows better how much the path needs where
 * acknowledgements are delayed.
 */
static inline double ccs_flow_window(const struct ccs_flow *f)
{
	const double own = f->cc.out.window;

	if (own > 0 && !f->slow_start.ramping && !f->user.max_inflight)
		return own;
	return own > 0 && own < f->slow_start.window ? own : f->slow_start.window;
}

/*
 * One segment may always be outstanding: only pacing slows a flow below that. If all bytes in
 * flight are unsignalled, they do not count, because no completion would open the gate.
 */
static inline bool ccs_flow_window_open(const struct ccs_flow *f, uint64_t len)
{
	return f->inflight <= f->unsignalled_bytes ||
	       (double)(int64_t)(f->inflight + len) <= ccs_flow_window(f);
}

#endif
