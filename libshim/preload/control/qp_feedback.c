/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Congestion feedback of the host agent for a QP: CNPs and telemetry are passed to its algorithm.
 * While the feedback is missing, the fallback is used. Feedback is for the direction that has most
 * of the bytes: outbound or, for READs, inbound.
 */
#include "preload/control/qp_feedback.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cc/minmax.h"
#include "feedback/agent_client.h"
#include "observe/log.h"
#include "preload/control/policy.h"
#include "preload/object/clock.h"
#include "preload/object/real.h"

/* Enough to cut any rate to its floor; a sender that did not poll for longer needs no more. */
enum { MAX_CNPS = 64 };

enum { DIRECTION_SEGMENTS = 16 };              /* between checks of the direction */

static const struct { const char *state, *why; } statuses[] = {
	[CCS_FEEDBACK_WAITING] = { "waiting", NULL },
	[CCS_FEEDBACK_OK] = { "ok", NULL },
	[CCS_FEEDBACK_NO_AGENT] = { "no-agent", "no host agent responds" },
	[CCS_FEEDBACK_REFUSED] = { "refused", "the host agent refused to register it" },
	[CCS_FEEDBACK_NO_PEER] = { "no-peer", "the peer's host agent does not respond" },
	[CCS_FEEDBACK_UNABLE] = { "unable", "the peer's host agent cannot provide it" },
	[CCS_FEEDBACK_NO_CLIENT] = { "no-client", "this process cannot connect to a host agent" },
	[CCS_FEEDBACK_STALE] = { "stale", "no more telemetry of its path arrives" },
};

/* Feedback in telemetry records of the path. */
#define NEEDS_RECORDS (CCS_NEEDS_TELEMETRY | CCS_NEEDS_ADVICE)

enum { STATUSES = sizeof(statuses) / sizeof(*statuses) };

/* The algorithm of option fallback; for auto, the fallback that cc names. */
static const struct ccs_cc_ops *fallback_of(const struct ccs_policy *p)
{
	static const struct ccs_cc_ops *const fallback[] = {
		[CCS_FALLBACK_TIMELY] = &ccs_cc_timely,
		[CCS_FALLBACK_SWIFT] = &ccs_cc_swift,
		[CCS_FALLBACK_HOLD] = &ccs_cc_hold,
		[CCS_FALLBACK_OPEN] = &ccs_cc_none,
	};

	return p->options.fallback == CCS_FALLBACK_AUTO ? ccs_cc_fallback(p->cc.ops)
							: fallback[p->options.fallback];
}

void ccs_qp_feedback_setup(const struct ccs_options *o)
{
	ccs_agent_client_setup(o->agent);
}

void ccs_qp_feedback_prepare(struct ccs_policy *p)
{
	if (strcmp(p->options.agent, "off") != 0)
		p->feedback_needs = p->cc.ops->needs & (CCS_NEEDS_CNP | NEEDS_RECORDS);
	p->no_ports = p->cc;
	if (p->cc.ops->without_ports)
		ccs_cc_set_default_choice(&p->no_ports, "variant", p->cc.ops->without_ports);
	p->fallback = ccs_cc_default_spec(fallback_of(p));
	if (p->fallback.ops->params == p->cc.ops->params) /* copa for rcp */
		memcpy(p->fallback.given, p->cc.given, sizeof(p->cc.given));
	p->automatic = ccs_cc_is_auto(p->options.cc);
	if (p->automatic && !p->feedback_needs)
		p->cc = p->no_ports = p->fallback;
}

/* The kind of feedback that the policy's algorithm needs. */
static const char *feedback_name(const struct ccs_policy *p)
{
	for (const struct ccs_cc_need_name *n = ccs_cc_need_names; n->name; n++)
		if (p->feedback_needs & n->bit)
			return n->name;
	return "feedback";
}

static void log_missing(const struct qp *qp, enum ccs_feedback_status status)
{
	static atomic_uint logged[2];
	const struct ccs_policy *p = qp->policy;
	const struct ccs_cc_ops *fallback = p->fallback.ops;
	const bool inbound = qp->feedback.inbound;
	const char *why = inbound && status == CCS_FEEDBACK_UNABLE
		? "this host's agent cannot provide it for inbound data" : statuses[status].why;

	if (p->automatic)
		ccs_log_once(CCS_LOG_INFO, "QP %u: no advised rate for cc=auto (%s, agent=%s); "
			     "using %s", qp->qp_num, why, p->options.agent, fallback->name);
	if (p->automatic || !p->feedback_needs ||
	    atomic_fetch_or(&logged[inbound], 1u << status) & 1u << status)
		return;
	ccs_log(CCS_LOG_WARN, "QP %u: no %s for %s (%s, agent=%s); %s%s until it arrives",
		qp->qp_num, feedback_name(p), p->cc.ops->name, why, p->options.agent,
		fallback == &ccs_cc_hold ? "its rate stays as it is" :
		fallback == &ccs_cc_none ? "it is uncontrolled" : "using the fallback ",
		fallback == &ccs_cc_hold || fallback == &ccs_cc_none ? "" : fallback->name);
}

static void log_arrived(const struct qp *qp)
{
	const struct qp_telemetry *tm = qp->feedback.telemetry;
	const char *name = qp->flow.cc.ops->name;

	if (!tm)
		ccs_log_once(CCS_LOG_INFO, "QP %u: feedback arrives", qp->qp_num);
	else if (qp->flow.cc.ops->needs & CCS_NEEDS_ADVICE)
		ccs_log_once(CCS_LOG_INFO, "QP %u: using %s, on the rate advised by %s",
			     qp->qp_num, name,
			     tm->ports ? "switches and its receiver" : "its receiver");
	else if (tm->ports)
		ccs_log_once(CCS_LOG_INFO, "QP %u: using %s, variant %s, on telemetry of switches",
			     qp->qp_num, name, ccs_cc_variant(&qp->flow.cc));
	else
		ccs_log_once(CCS_LOG_INFO, "QP %u: using %s, variant %s, on telemetry of the "
			     "receiver", qp->qp_num, name, ccs_cc_variant(&qp->flow.cc));
}

/*
 * The fallback is used until telemetry arrives: algorithms that need it would begin at line rate
 * and stay there. A fresh record is sufficient: the flow need not wait until the feedback thread
 * has updated the status. The algorithm of cc=auto needs no fallback, but without an agent it bears
 * the fallback's name.
 */
const struct ccs_cc_spec *ccs_qp_feedback_algorithm(const struct qp *qp)
{
	const struct ccs_policy *p = qp->policy;
	const struct feedback *fb = &qp->feedback;

	if (!p->feedback_needs)
		return &p->cc;
	if (fb->status != CCS_FEEDBACK_OK && fb->status != CCS_FEEDBACK_WAITING)
		return &p->fallback;
	if (!(p->feedback_needs & NEEDS_RECORDS))
		return &p->cc;
	if (p->automatic && fb->telemetry)
		return &p->cc;
	if (!fb->telemetry || !fb->telemetry->fresh)
		return &p->fallback;
	if (p->feedback_needs & CCS_NEEDS_ADVICE)
		return fb->telemetry->now.advised_rate > 0 ? &p->cc : &p->fallback;
	return fb->telemetry->ports ? &p->cc : &p->no_ports;
}

uint64_t ccs_qp_feedback_fallback_bytes(const struct qp *qp)
{
	const struct feedback *fb = &qp->feedback;
	const bool now = qp->flow.cc.spec == &qp->policy->fallback;

	return fb->fallback + (now ? qp->flow.sent - fb->accounted : 0);
}

void ccs_qp_feedback_account(struct qp *qp)
{
	qp->feedback.fallback = ccs_qp_feedback_fallback_bytes(qp);
	qp->feedback.accounted = qp->flow.sent;
}

/* While the status is waiting, feedback may still arrive: do not change to the fallback. */
static void switch_algorithm(struct qp *qp, uint64_t *now_ns)
{
	const struct ccs_cc_spec *fallback = &qp->policy->fallback;
	const struct ccs_cc_spec *spec = ccs_qp_feedback_algorithm(qp);
	struct feedback *fb = &qp->feedback;

	if (spec == qp->flow.cc.spec || (spec == fallback && fb->status == CCS_FEEDBACK_WAITING))
		return;
	fb->switches++;
	ccs_qp_feedback_account(qp);
	ccs_flow_switch(&qp->flow, spec, ccs_now(now_ns));
	if (spec == fallback)
		return;
	log_arrived(qp);
	if (fb->switches == 1 && fb->telemetry)
		ccs_qp_telemetry_share(qp, now_ns);
	ccs_flow_advise(&qp->flow, ccs_now(now_ns));
}

static void process_status(struct qp *qp, uint32_t status, uint64_t *now_ns)
{
	struct feedback *fb = &qp->feedback;

	if (status >= STATUSES)
		return;
	fb->status = status;
	if (statuses[status].why) {
		log_missing(qp, status);
		if (fb->telemetry)
			fb->telemetry->fresh = false;
	}
	switch_algorithm(qp, now_ns);
}

static uint32_t status_of(const struct feedback *fb)
{
	const struct ccs_slot *slot = fb->slot;

	return atomic_load_explicit(fb->inbound ? &slot->inbound_status : &slot->status,
				    memory_order_relaxed);
}

static uint64_t limit_of(const struct feedback *fb)
{
	return fb->slot && fb->status != CCS_FEEDBACK_NO_AGENT && fb->status != CCS_FEEDBACK_REFUSED
		? atomic_load_explicit(&fb->slot->limit, memory_order_relaxed) : 0;
}

uint64_t ccs_qp_feedback_cap(const struct qp *qp)
{
	return limit_of(&qp->feedback) & ~CCS_BACKGROUND;
}

double ccs_qp_feedback_max_rate(const struct qp *qp)
{
	const uint64_t cap = ccs_qp_feedback_cap(qp);

	return cap ? ccs_min((double)cap, qp->policy->options.max_rate) : qp->policy->options.max_rate;
}

static void process_cap(struct qp *qp, uint64_t *now_ns)
{
	const double rate = ccs_qp_feedback_max_rate(qp);
	const uint64_t limit = limit_of(&qp->feedback), cap = limit & ~CCS_BACKGROUND;

	qp->feedback.capped = limit;
	ccs_flow_set_cap(&qp->flow, cap ? ccs_agent_client_cap(qp->feedback.slot) : NULL, (double)cap,
			 limit & CCS_BACKGROUND);
	if (rate != qp->flow.user.max_rate)
		ccs_flow_set_max_rate(&qp->flow, rate, ccs_now(now_ns));
}

/*
 * Whether the direction has changed. A flow has one rate, and therefore feedback for one direction.
 * With data in both, it keeps its direction until three quarters of the bytes go in the other.
 */
static bool has_direction_changed(struct feedback *fb, const struct ccs_flow *f)
{
	const uint64_t read = f->reads.bytes - fb->direction_read;
	const int64_t bytes = (int64_t)(f->sent - fb->direction_sent);
	const uint64_t other = fb->inbound ? (uint64_t)bytes - read : read;
	bool turned;

	if (bytes <= 0 || (fb->direction_known && bytes < DIRECTION_SEGMENTS * (int64_t)f->segments.len))
		return false;
	turned = fb->direction_known ? 4 * other > 3 * (uint64_t)bytes
				     : 2 * other > (uint64_t)bytes;
	fb->inbound ^= turned;
	fb->direction_known = true;
	fb->direction_sent = f->sent;
	fb->direction_read = f->reads.bytes;
	return turned;
}

/* The counter does not go backwards, but the agent is not trusted. */
static uint64_t new_cnps(const struct feedback *fb)
{
	const uint64_t cnps = atomic_load_explicit(&fb->slot->cnps, memory_order_relaxed);

	return cnps - fb->cnps < UINT32_MAX ? cnps - fb->cnps : 0;
}

static void process_cnps(struct qp *qp, uint64_t now_ns)
{
	const uint64_t n = new_cnps(&qp->feedback);
	uint64_t i;

	for (i = 0; i < n && i < MAX_CNPS; i++)
		ccs_flow_cnp(&qp->flow, now_ns);
	qp->flow.stats.cnps += (uint32_t)(n - i);
	qp->feedback.cnps += n;
}

static void process_telemetry(struct qp *qp, uint64_t *now_ns)
{
	ccs_qp_telemetry_read(qp, now_ns);
	switch_algorithm(qp, now_ns);
	ccs_qp_telemetry_start(qp, now_ns);
}

static void report_bytes(struct feedback *fb, const struct ccs_flow *f)
{
	atomic_store_explicit(&fb->slot->sent, f->sent - f->reads.bytes, memory_order_relaxed);
	atomic_store_explicit(&fb->slot->read, f->reads.bytes, memory_order_relaxed);
	fb->sent = f->sent;
}

void ccs_qp_feedback_update(struct qp *qp, uint64_t *now_ns)
{
	struct feedback *fb = &qp->feedback;
	uint32_t status;
	double rate;

	if (atomic_load_explicit(&fb->slot->cnps, memory_order_relaxed) != fb->cnps)
		process_cnps(qp, ccs_now(now_ns));
	if (has_direction_changed(fb, &qp->flow) && fb->telemetry)
		*fb->telemetry = (struct qp_telemetry){ 0 };
	status = status_of(fb);
	if (status != fb->status)
		process_status(qp, status, now_ns);
	if (fb->telemetry)
		process_telemetry(qp, now_ns);
	if (__builtin_expect(atomic_load_explicit(&fb->slot->limit, memory_order_relaxed) || fb->capped, 0))
		process_cap(qp, now_ns);
	if (fb->sent != qp->flow.sent) /* telemetry arrives, and caps are divided, if the flow sends or READs */
		report_bytes(fb, &qp->flow);
	rate = ccs_min(ccs_flow_rate(&qp->flow), qp->flow.cc.path.line_rate);
	if (rate != fb->rate)
		atomic_store_explicit(&fb->slot->rate, (uint64_t)rate, memory_order_relaxed);
	fb->rate = rate;
}

static struct ccs_slot *register_flow(const struct qp *qp, const struct ibv_ah_attr *ah)
{
	const unsigned feedback_needs = qp->feedback.feedback_needs;
	struct ccs_feedback_flow flow = {
		.port = qp->attr.port, .local_qpn = qp->qp_num, .peer_qpn = qp->feedback.peer_qpn,
		.requested = (feedback_needs & CCS_NEEDS_CNP ? CCS_PEER_NP : 0) |
			 (feedback_needs & CCS_NEEDS_TELEMETRY ? CCS_PEER_TELEMETRY : 0) |
			 (feedback_needs & CCS_NEEDS_ADVICE ? CCS_PEER_ADVICE : 0),
		.period_us = qp->feedback.telemetry ? ccs_qp_telemetry_period_us(&qp->flow) : 0,
	};
	union ibv_gid gid;

	if (!ah->is_global ||
	    ccs_real()->ibv_query_gid(qp->ctx->context, qp->attr.port, ah->grh.sgid_index, &gid))
		return NULL;
	snprintf(flow.device, sizeof(flow.device), "%s", qp->ctx->device);
	memcpy(flow.local_gid, gid.raw, sizeof(flow.local_gid));
	memcpy(flow.peer_gid, ah->grh.dgid.raw, sizeof(flow.peer_gid));
	return ccs_agent_client_attach(&flow);
}

/* The QP's lock is not held while the client allocates or frees a slot. */
static void replace_slot(struct qp *qp, struct ccs_slot *slot, enum ccs_feedback_status status)
{
	struct feedback *fb = &qp->feedback;
	uint64_t now_ns = ccs_now_ns();
	struct ccs_slot *old;

	ccs_lock(&qp->lock);
	ccs_qp_feedback_poll(qp, &now_ns); /* process what the old slot has */
	old = fb->slot;
	fb->slot = slot;
	qp->has_feedback = slot;
	fb->cnps = slot ? atomic_load_explicit(&slot->cnps, memory_order_relaxed) : 0;
	fb->rate = 0;
	fb->sent = UINT64_MAX;
	fb->direction_sent = qp->flow.sent;
	fb->direction_read = qp->flow.reads.bytes;
	fb->direction_known = fb->inbound = false;
	if (fb->telemetry)
		*fb->telemetry = (struct qp_telemetry){ 0 };
	qp->flow.events.telemetry = fb->telemetry ? &fb->telemetry->now : NULL;
	process_status(qp, status, &now_ns);
	process_cap(qp, &now_ns);
	ccs_unlock(&qp->lock);
	ccs_agent_client_detach(old);
}

/* The lock, because a thread that handles a request may read it at this time. */
static void alloc_telemetry(struct qp *qp)
{
	struct qp_telemetry *telemetry = qp->feedback.telemetry ? NULL : calloc(1, sizeof(*telemetry));

	if (!telemetry)
		return;
	ccs_lock(&qp->lock);
	qp->feedback.telemetry = telemetry;
	ccs_unlock(&qp->lock);
}

/* Flows that need no feedback are registered where their tenant may have a cap. */
static bool wants_cap(const struct ccs_policy *policy)
{
	return policy->tenants && strcmp(policy->options.agent, "off") != 0 && ccs_agent_client_is_useful();
}

/* A thread that processes a request of ccshim set may change it; policies stay valid. */
static const struct ccs_policy *policy_of(struct qp *qp)
{
	const struct ccs_policy *policy;

	ccs_lock(&qp->lock);
	policy = qp->policy;
	ccs_unlock(&qp->lock);
	return policy;
}

void ccs_qp_feedback_attach(struct qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	const unsigned feedback_needs = qp->feedback.feedback_needs;
	const struct ccs_policy *policy;
	struct ccs_slot *slot;

	if (mask & IBV_QP_DEST_QPN)
		qp->feedback.peer_qpn = attr->dest_qp_num;
	if (!(mask & IBV_QP_AV))
		return;
	policy = policy_of(qp);
	if (!feedback_needs && !wants_cap(policy)) {
		ccs_qp_feedback_detach(qp);
		return;
	}
	if (feedback_needs & NEEDS_RECORDS)
		alloc_telemetry(qp);
	if (policy->automatic && !ccs_agent_client_is_useful()) {
		replace_slot(qp, NULL, CCS_FEEDBACK_NO_AGENT);
		return;
	}
	slot = register_flow(qp, &attr->ah_attr);
	replace_slot(qp, slot, slot ? atomic_load_explicit(&slot->status, memory_order_relaxed)
			       : CCS_FEEDBACK_NO_CLIENT);
}

void ccs_qp_feedback_detach(struct qp *qp)
{
	if (qp->feedback.slot || qp->feedback.feedback_needs)
		replace_slot(qp, NULL, CCS_FEEDBACK_WAITING);
}

uint32_t ccs_qp_feedback_cnps(const struct qp *qp)
{
	return qp->flow.stats.cnps + (qp->feedback.slot ? (uint32_t)new_cnps(&qp->feedback) : 0);
}

const char *ccs_qp_feedback_state(const struct qp *qp)
{
	const struct feedback *fb = &qp->feedback;
	uint32_t status = fb->status;

	if (!fb->slot && !statuses[status].why)
		return "none";
	if (fb->telemetry && fb->telemetry->outdone && status == CCS_FEEDBACK_OK)
		return "outdone";
	if (fb->slot)
		status = status_of(fb);
	return statuses[status < STATUSES ? status : CCS_FEEDBACK_WAITING].state;
}
