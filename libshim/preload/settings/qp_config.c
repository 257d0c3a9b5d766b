/* SPDX-License-Identifier: BSD-2-Clause */
/* Configuration of a QP's flow by its policy. */
#include "preload/settings/qp_config.h"

#include <stddef.h>

#include "observe/trace.h"
#include "preload/control/policy.h"
#include "preload/control/qp_feedback.h"
#include "preload/datapath/emit.h"
#include "preload/datapath/impair.h"
#include "preload/datapath/qp.h"
#include "preload/object/clock.h"
#include "preload/object/shim.h"
#include "preload/report/publish.h"

static void write_trace(const struct ccs_flow *f, const struct ccs_cc_event *event)
{
	const struct qp *qp = (const struct qp *)(const void *)((const char *)f -
								offsetof(struct qp, flow));

	ccs_trace_put(qp->qp_num, f->cc.ops, event);
}

double ccs_qp_line_rate(const struct qp *qp)
{
	return ccs_context_line_rate(qp->ctx, qp->attr.port, qp->policy->options.line_rate);
}

void ccs_qp_flow_config(const struct qp *qp, double line_rate, struct ccs_flow_config *conf)
{
	const struct ccs_options *o = &qp->policy->options;

	*conf = (struct ccs_flow_config){
		.line_rate = line_rate,
		.max_rate = ccs_qp_feedback_max_rate(qp),
		.base_rtt_us = o->base_rtt,
		.rtt_jitter_us = o->rtt_jitter,
		.clock_cost_us = ccs_shim()->clock_cost_us,
		.epoch_ns = ccs_epoch_ns(),
		.segment = o->segment,
		.max_inflight = o->max_inflight,
		.split = o->split && qp->attr.may_split,
		.enforce = o->mode == CCS_MODE_ENFORCE,
		.sink = ccs_trace_on ? write_trace : NULL,
		.seed = 0x9e3779b97f4a7c15ull * (qp->qp_num + 1ull),
	};
}

/* The port's rate is queried unless the flow has it. */
void ccs_qp_apply_policy(struct qp *qp, const struct ccs_policy *policy, uint64_t now_ns)
{
	const double given = policy->options.line_rate;
	const bool known = !given && !qp->policy->options.line_rate;
	struct ccs_flow_config conf;

	ccs_policy_warn_missing_feedback(policy);
	ccs_qp_feedback_account(qp);
	qp->policy = policy;
	qp->split_imm = policy->options.split_imm;
	ccs_qp_flow_config(qp, known ? qp->flow.cc.path.line_rate
				 : ccs_context_line_rate(qp->ctx, qp->attr.port, given), &conf);
	ccs_flow_configure(&qp->flow, &conf, ccs_qp_feedback_algorithm(qp), now_ns);
	ccs_impair_configure(qp);
	while (qp->flow.growable && !conf.enforce && ccs_qp_add_entries(qp))
		;
}

void ccs_qp_change_policy(struct qp *qp, const struct ccs_policy *policy)
{
	uint64_t now_ns = ccs_now_ns();

	ccs_lock(&qp->lock);
	if (!qp->dead && policy != qp->policy) {
		ccs_qp_apply_policy(qp, policy, now_ns);
		ccs_emit_pump(qp, &now_ns);
		ccs_publish(qp, now_ns);
	}
	ccs_qp_leave(qp);
}
