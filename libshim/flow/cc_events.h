/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CC_EVENTS_H
#define CCS_CC_EVENTS_H
/* The events of a flow for its algorithm, private to flow/ and its tests. */
#include "flow/flow.h"

/* Start an instance of the algorithm, with no data in flight. */
void ccs_flow_cc_start(struct ccs_flow *f, const struct ccs_cc_spec *spec,
		       const struct ccs_cc_path *path, uint64_t now_ns);
void ccs_flow_cc_repath(struct ccs_flow *f, const struct ccs_cc_path *path);
void ccs_flow_cc_set_rate(struct ccs_flow *f, double rate, uint64_t now_ns);

/* Pace at the rate that is in force now. */
void ccs_flow_cc_pace(struct ccs_flow *f, uint64_t now_ns);

/* Fire the timers that are due. */
void ccs_flow_cc_fire_due(struct ccs_flow *f, uint64_t now_ns);
static inline void ccs_flow_cc_fire_timers(struct ccs_flow *f, uint64_t now_ns)
{
	if (f->cc.out.timer_us != INFINITY)
		ccs_flow_cc_fire_due(f, now_ns);
}

/* The next timer's time, ns, or UINT64_MAX. */
uint64_t ccs_flow_cc_next_timer(const struct ccs_flow *f, uint64_t now_ns);

void ccs_flow_cc_on_send(struct ccs_flow *f, uint64_t bytes, uint64_t now_ns);
void ccs_flow_cc_on_ack(struct ccs_flow *f, double rtt_us, double nic_wait_us, double bytes,
			uint64_t now_ns);
void ccs_flow_cc_on_loss(struct ccs_flow *f, uint64_t now_ns);

#endif
