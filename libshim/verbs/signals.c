/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a QP makes of the host agent's signals: CNPs go to its algorithm. Where they cannot
 * be relied on, the fallback runs until they can. Signals are of one direction, to
 * the peer or, for READs, from there; those of the direction in which most bytes go count.
 */
#include <stdio.h>
#include <string.h>

#include "cc/minmax.h"
#include "runtime/log.h"
#include "signal/client.h"
#include "verbs/shim.h"

/* One after the other they take any rate to its floor; a sender that slept had its reason. */
enum { CNPS_AT_ONCE = 64 };

enum { WAY_SEGMENTS = 16 };              /* the direction is looked at again after so many */

static const struct { const char *state, *why; } verdicts[] = {
	[CCS_SIGNAL_WAITING] = { "waiting", NULL },
	[CCS_SIGNAL_OK] = { "ok", NULL },
	[CCS_SIGNAL_NO_AGENT] = { "no-agent", "no host agent answers" },
	[CCS_SIGNAL_REFUSED] = { "refused", "the host agent does not take it" },
	[CCS_SIGNAL_NO_PEER] = { "no-peer", "the peer's host agent is silent" },
	[CCS_SIGNAL_UNABLE] = { "unable", "the peer's host agent has none to give" },
	[CCS_SIGNAL_NO_CLIENT] = { "no-client", "this process cannot listen to a host agent" },
	[CCS_SIGNAL_STALE] = { "stale", "telemetry of its path has ceased" },
};

/* What comes with records of the path. */
#define NEEDS_LINKS (CCS_NEEDS_TELEMETRY | CCS_NEEDS_ADVICE)

enum { VERDICTS = sizeof(verdicts) / sizeof(*verdicts) };

/* What the user leaves open is swift for what lives on telemetry, whose like it is. */
static enum ccs_signal_loss on_loss(const struct ccs_policy *p)
{
	if (p->options.on_signal_loss != CCS_LOSS_AUTO)
		return (enum ccs_signal_loss)p->options.on_signal_loss;
	return p->cc.ops->needs & NEEDS_LINKS ? CCS_LOSS_SWIFT : CCS_LOSS_TIMELY;
}

void ccs_signals_setup(const struct ccs_options *o)
{
	struct ccs_client_config config = {
		.serve = o->agent_thread ? ccs_serve_start : NULL,
		.end_serving = ccs_serve_stop,
	};

	snprintf(config.path, sizeof(config.path), "%s", o->agent);
	ccs_client_setup(&config);
}

void ccs_signals_prepare(struct ccs_policy *p)
{
	static const struct ccs_cc_ops *const stand_in[] = {
		[CCS_LOSS_TIMELY] = &ccs_cc_timely,
		[CCS_LOSS_SWIFT] = &ccs_cc_swift,
		[CCS_LOSS_HOLD] = &ccs_cc_hold,
		[CCS_LOSS_OPEN] = &ccs_cc_none,
	};

	if (strcmp(p->options.agent, "off") != 0)
		p->listens = p->cc.ops->needs & (CCS_NEEDS_CNP | NEEDS_LINKS);
	p->no_ports = p->cc;
	if (p->cc.ops == &ccs_cc_hpcc)
		ccs_cc_give(&p->no_ports, "variant", "echo");
	p->stand_in = ccs_cc_plain(stand_in[on_loss(p)]);
	p->automatic = ccs_cc_is_auto(p->options.cc);
	if (p->automatic && p->options.on_signal_loss == CCS_LOSS_AUTO)
		p->stand_in = ccs_cc_plain(&CCS_CC_WITHOUT_ADVICE);
	if (p->automatic && !p->listens)
		p->cc = p->no_ports = p->stand_in;
}

static void say_lost(const struct qp *qp, enum ccs_verdict verdict)
{
	static const char *const instead[] = {
		[CCS_LOSS_TIMELY] = "timely stands in",
		[CCS_LOSS_SWIFT] = "swift stands in",
		[CCS_LOSS_HOLD] = "its rate stays as it is",
		[CCS_LOSS_OPEN] = "it goes uncontrolled",
	};
	static atomic_uint said[2];
	const struct ccs_policy *p = qp->policy;
	const bool inbound = qp->hearing.inbound;
	const char *why = inbound && verdict == CCS_SIGNAL_UNABLE
		? "this host's agent has none to give of what it READs" : verdicts[verdict].why;

	if (p->automatic)
		ccs_log_once(CCS_LOG_INFO, "QP %u runs %s: no rate is advised, as %s (agent=%s)",
			     qp->qp_num, p->stand_in.ops->name, why, p->options.agent);
	if (p->automatic || !p->listens ||
	    atomic_fetch_or(&said[inbound], 1u << verdict) & 1u << verdict)
		return;
	ccs_log(CCS_LOG_WARN, "QP %u gets no signals for %s: %s (agent=%s); %s until they come",
		qp->qp_num, p->cc.ops->name, why, p->options.agent, instead[on_loss(p)]);
}

static void say_found(const struct qp *qp)
{
	const struct links *l = qp->hearing.links;
	const char *name = qp->flow.cc.ops->name;

	if (!l)
		ccs_log_once(CCS_LOG_INFO, "QP %u gets its signals", qp->qp_num);
	else if (qp->flow.cc.ops->needs & CCS_NEEDS_ADVICE)
		ccs_log_once(CCS_LOG_INFO, "QP %u runs %s, on the advice of %s", qp->qp_num, name,
			     l->ports ? "switches and its receiver" : "its receiver");
	else if (l->ports)
		ccs_log_once(CCS_LOG_INFO, "QP %u runs %s, variant %s, on records of switches",
			     qp->qp_num, name, ccs_cc_variant(&qp->flow.cc));
	else
		ccs_log_once(CCS_LOG_INFO, "QP %u runs %s, variant %s, on the receiver's record",
			     qp->qp_num, name, ccs_cc_variant(&qp->flow.cc));
}

/*
 * Until telemetry comes another algorithm stands in: without, its like would begin at line rate
 * and stay there. A record that is fresh is evidence enough: the flow need not wait until the
 * signal thread has judged.
 */
const struct ccs_cc_spec *ccs_signals_choice(const struct qp *qp)
{
	const struct ccs_policy *p = qp->policy;
	const struct hearing *h = &qp->hearing;

	if (!p->listens)
		return &p->cc;
	if (h->verdict != CCS_SIGNAL_OK && h->verdict != CCS_SIGNAL_WAITING)
		return &p->stand_in;
	if (!(p->listens & NEEDS_LINKS))
		return &p->cc;
	if (!h->links || !h->links->fresh)
		return &p->stand_in;
	if (p->listens & CCS_NEEDS_ADVICE)
		return h->links->now.advised_rate > 0 ? &p->cc : &p->stand_in;
	return h->links->ports ? &p->cc : &p->no_ports;
}

uint64_t ccs_signals_fallback(const struct qp *qp)
{
	const struct hearing *h = &qp->hearing;
	const bool now = qp->flow.cc.spec == &qp->policy->stand_in;

	return h->fallback + (now ? qp->flow.sent - h->counted : 0);
}

void ccs_signals_count(struct qp *qp)
{
	qp->hearing.fallback = ccs_signals_fallback(qp);
	qp->hearing.counted = qp->flow.sent;
}

/* Nothing is given up while it waits: signals may come yet, or come again. */
static void choose(struct qp *qp, uint64_t *now_ns)
{
	const struct ccs_cc_spec *spec = ccs_signals_choice(qp), *fallback = &qp->policy->stand_in;
	struct hearing *h = &qp->hearing;

	if (spec == qp->flow.cc.spec || (spec == fallback && h->verdict == CCS_SIGNAL_WAITING))
		return;
	h->switches++;
	ccs_signals_count(qp);
	ccs_flow_switch(&qp->flow, spec, ccs_now(now_ns));
	if (spec == fallback)
		return;
	say_found(qp);
	if (h->switches == 1 && h->links)
		ccs_links_share(qp, now_ns);
	ccs_flow_advise(&qp->flow, ccs_now(now_ns));
}

static void follow(struct qp *qp, uint32_t verdict, uint64_t *now_ns)
{
	struct hearing *h = &qp->hearing;

	if (verdict >= VERDICTS)
		return;
	h->verdict = verdict;
	ccs_serve_speak();
	if (verdicts[verdict].why) {
		say_lost(qp, verdict);
		if (h->links)
			h->links->fresh = false;
	}
	choose(qp, now_ns);
}

static uint32_t verdict_of(const struct hearing *h)
{
	const struct ccs_slot *slot = h->slot;

	return atomic_load_explicit(h->inbound ? &slot->inbound_verdict : &slot->verdict,
				    memory_order_relaxed);
}

/*
 * Whether the direction is another one now. A flow has one rate, and for that signals of one
 * direction: of a flow with data in both the one stays that it has, unless the other one
 * gets three quarters of the bytes.
 */
static bool turns(struct hearing *h, const struct ccs_flow *f)
{
	const uint64_t read = f->read - h->way_read;
	const int64_t bytes = (int64_t)(f->sent - h->way_sent);
	const uint64_t other = h->inbound ? (uint64_t)bytes - read : read;
	bool turned;

	if (bytes <= 0 || (h->way_known && bytes < WAY_SEGMENTS * (int64_t)f->segment))
		return false;
	turned = h->way_known ? 4 * other > 3 * (uint64_t)bytes : 2 * other > (uint64_t)bytes;
	h->inbound ^= turned;
	h->way_known = true;
	h->way_sent = f->sent;
	h->way_read = f->read;
	return turned;
}

/* They do not go backwards, but an agent may be anybody. */
static uint64_t unheard(const struct hearing *h)
{
	const uint64_t cnps = atomic_load_explicit(&h->slot->cnps, memory_order_relaxed);

	return cnps - h->cnps < UINT32_MAX ? cnps - h->cnps : 0;
}

static void hear_cnps(struct qp *qp, uint64_t now_ns)
{
	const uint64_t n = unheard(&qp->hearing);
	uint64_t i;

	for (i = 0; i < n && i < CNPS_AT_ONCE; i++)
		ccs_flow_cnp(&qp->flow, now_ns);
	qp->flow.stats.cnps += (uint32_t)(n - i);
	qp->hearing.cnps += n;
}

/* And tell whether it sends or READs: only then does telemetry come. */
static void look_at_links(struct qp *qp, uint64_t *now_ns)
{
	const struct ccs_flow *f = &qp->flow;
	struct hearing *h = &qp->hearing;

	ccs_links_read(qp, now_ns);
	choose(qp, now_ns);
	ccs_links_start(qp, now_ns);
	if (h->sent == f->sent)
		return;
	atomic_store_explicit(&h->slot->sent, f->sent - f->read, memory_order_relaxed);
	atomic_store_explicit(&h->slot->read, f->read, memory_order_relaxed);
	h->sent = f->sent;
}

void ccs_signals_look(struct qp *qp, uint64_t *now_ns)
{
	struct hearing *h = &qp->hearing;
	uint32_t verdict;
	double rate;

	if (atomic_load_explicit(&h->slot->cnps, memory_order_relaxed) != h->cnps)
		hear_cnps(qp, ccs_now(now_ns));
	if (turns(h, &qp->flow) && h->links)
		*h->links = (struct links){ 0 };
	verdict = verdict_of(h);
	if (verdict != h->verdict)
		follow(qp, verdict, now_ns);
	if (h->links)
		look_at_links(qp, now_ns);
	rate = ccs_min(ccs_flow_rate(&qp->flow), qp->flow.cc.path.line_rate);
	if (rate != h->rate)
		atomic_store_explicit(&h->slot->rate, (uint64_t)rate, memory_order_relaxed);
	h->rate = rate;
}

static struct ccs_slot *attach(const struct qp *qp, const struct ibv_ah_attr *ah)
{
	const unsigned listens = qp->hearing.listens;
	struct ccs_signal_flow flow = {
		.port = qp->port, .local_qpn = qp->qp_num, .peer_qpn = qp->hearing.peer_qpn,
		.wants = (listens & CCS_NEEDS_CNP ? CCS_PEER_NP : 0) |
			 (listens & CCS_NEEDS_TELEMETRY ? CCS_PEER_TELEMETRY : 0) |
			 (listens & CCS_NEEDS_ADVICE ? CCS_PEER_ADVICE : 0),
		.period_us = qp->hearing.links ? ccs_links_period_us(&qp->flow) : 0,
	};
	union ibv_gid gid;

	flow.optional = qp->policy->automatic;
	if (!ah->is_global ||
	    ibv_query_gid(qp->ctx->context, qp->port, ah->grh.sgid_index, &gid))
		return NULL;
	snprintf(flow.device, sizeof(flow.device), "%s", qp->ctx->device);
	memcpy(flow.local_gid, gid.raw, sizeof(flow.local_gid));
	memcpy(flow.peer_gid, ah->grh.dgid.raw, sizeof(flow.peer_gid));
	return ccs_client_attach(&flow);
}

/* The QP's lock is not held while the client gives or takes a slot. */
static void replace(struct qp *qp, struct ccs_slot *slot, enum ccs_verdict verdict)
{
	struct hearing *h = &qp->hearing;
	uint64_t now_ns = ccs_now_ns();
	struct ccs_slot *old;

	ccs_lock(&qp->lock);
	ccs_signals_hear(qp, &now_ns); /* the last of it */
	old = h->slot;
	h->slot = slot;
	qp->hears = slot;
	h->cnps = slot ? atomic_load_explicit(&slot->cnps, memory_order_relaxed) : 0;
	h->rate = 0;
	h->sent = UINT64_MAX;
	h->way_sent = qp->flow.sent;
	h->way_read = qp->flow.read;
	h->way_known = h->inbound = false;
	if (h->links)
		*h->links = (struct links){ 0 };
	qp->flow.telemetry = h->links ? &h->links->now : NULL;
	follow(qp, verdict, &now_ns);
	ccs_unlock(&qp->lock);
	ccs_client_detach(old);
}

/* A request's thread may look at them just now. */
static void add_links(struct qp *qp)
{
	struct links *links = qp->hearing.links ? NULL : ccs_links_new();

	if (!links)
		return;
	ccs_lock(&qp->lock);
	qp->hearing.links = links;
	ccs_unlock(&qp->lock);
}

void ccs_signals_attach(struct qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	const unsigned listens = qp->hearing.listens;
	struct ccs_slot *slot;

	if (mask & IBV_QP_DEST_QPN)
		qp->hearing.peer_qpn = attr->dest_qp_num;
	if (!(mask & IBV_QP_AV))
		return;
	if (!listens) {
		ccs_signals_detach(qp);
		return;
	}
	if (listens & NEEDS_LINKS)
		add_links(qp);
	if (qp->policy->automatic && !ccs_client_is_of_use()) {
		replace(qp, NULL, CCS_SIGNAL_NO_AGENT);
		return;
	}
	slot = attach(qp, &attr->ah_attr);
	replace(qp, slot, slot ? atomic_load_explicit(&slot->verdict, memory_order_relaxed)
			       : CCS_SIGNAL_NO_CLIENT);
}

void ccs_signals_detach(struct qp *qp)
{
	if (qp->hearing.slot || qp->hearing.listens)
		replace(qp, NULL, CCS_SIGNAL_WAITING);
}

uint32_t ccs_signals_cnps(const struct qp *qp)
{
	return qp->flow.stats.cnps + (qp->hearing.slot ? (uint32_t)unheard(&qp->hearing) : 0);
}

const char *ccs_signals_state(const struct qp *qp)
{
	const struct hearing *h = &qp->hearing;
	uint32_t verdict = h->verdict;

	if (!h->slot && !verdicts[verdict].why)
		return "none";
	if (h->links && h->links->outdone && verdict == CCS_SIGNAL_OK)
		return "outdone";
	if (h->slot)
		verdict = verdict_of(h);
	return verdicts[verdict < VERDICTS ? verdict : CCS_SIGNAL_WAITING].state;
}
