/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_RTT_H
#define CCS_RTT_H
/* RTT samples of a flow, private to flow/. */
#include "flow/flow.h"

enum { CCS_RTT_BASE_SAMPLES = 8 };  /* samples for the first base RTT */

/* Forget the path. */
void ccs_rtt_restart(struct ccs_flow *f, uint64_t now_ns);

/* A segment is handed to the device now: compute when it departs. */
void ccs_rtt_depart(struct ccs_flow *f, struct ccs_seg *seg, uint64_t now_ns);

/* A timed segment has completed. */
void ccs_rtt_sample(struct ccs_flow *f, const struct ccs_seg *seg, const struct ccs_done *done);

/*
 * True if timing one segment now and then is enough, because RTTs do not slow the flow and its base
 * RTT is known. In slow start this holds while little is outstanding, as the window is never less
 * than a segment. It also holds if the application polls so rarely that its completions do not show
 * RTTs: more samples would not show them either.
 */
static inline bool ccs_rtt_may_skip_samples(const struct ccs_flow *f)
{
	return (!f->slow_start.ramping || f->inflight < f->segments.len / 4) &&
	       !f->slow_start.drain_samples && !f->followed &&
	       f->learned.base_samples + f->learned.imprecise_samples >= CCS_RTT_BASE_SAMPLES &&
	       f->cc.out.timer_us == INFINITY &&
	       (ccs_flow_at_line_rate(f) || !(f->cc.ops->needs & CCS_NEEDS_RTT));
}

/* True if the gate does not need the time either: the flow runs at line rate. */
static inline bool ccs_rtt_may_skip_clock(const struct ccs_flow *f)
{
	return ccs_flow_at_line_rate(f) && ccs_rtt_may_skip_samples(f);
}

#endif
