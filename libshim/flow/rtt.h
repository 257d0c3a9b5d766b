/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_RTT_H
#define CCS_RTT_H
/* RTT samples of a flow, private to flow/. */
#include "flow/flow.h"

enum { CCS_RTT_BASE_SAMPLES = 8 };  /* the first base RTT is learned from as many */

/* Forget all that samples have shown of the path. */
void ccs_rtt_restart(struct ccs_flow *f, uint64_t now_ns);

/* A segment is handed to the device now: compute when it departs. */
void ccs_rtt_depart(struct ccs_flow *f, struct ccs_seg *seg, uint64_t now_ns);

/* A timed segment has completed. */
void ccs_rtt_sample(struct ccs_flow *f, const struct ccs_seg *seg, const struct ccs_done *done);

/* After each change of f->slow_start: update the copies that each segment uses. */
static inline void ccs_rtt_copy_slow_start(struct ccs_flow *f)
{
	f->window = f->slow_start.window;
	f->ramping = f->slow_start.ramping;
	f->draining = f->slow_start.drain_samples > 0;
}

/*
 * True if timing one segment now and then is enough, because no RTT slows the flow and nothing is
 * to be learned. In slow start that holds while little is outstanding: the window is never less
 * than a segment. It also holds if the application polls too rarely for its completions to show
 * an RTT: more samples would not show one either.
 */
static inline bool ccs_rtt_sample_some(const struct ccs_flow *f)
{
	return (!f->ramping || f->inflight < f->segment / 4) && !f->followed && !f->draining &&
	       f->base_samples + f->imprecise_samples >= CCS_RTT_BASE_SAMPLES &&
	       f->cc.out.timer_us == INFINITY &&
	       (ccs_flow_at_line_rate(f) || !(f->cc.ops->needs & CCS_NEEDS_RTT));
}

/* True if nor the gate needs the time: only the line slows the flow. */
static inline bool ccs_rtt_sample_sparsely(const struct ccs_flow *f)
{
	return ccs_flow_at_line_rate(f) && ccs_rtt_sample_some(f);
}

#endif
