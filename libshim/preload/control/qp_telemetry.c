/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Telemetry of a QP's path: copies new records that the agent has written to the shared region
 * into the flow, for its algorithm. No lock; the only system call is the clock's for a new record.
 */
#include "preload/control/qp_feedback.h"

#include <arpa/inet.h>
#include <string.h>

#include "cc/minmax.h"
#include "feedback/agent_client.h"
#include "feedback/record.h"
#include "observe/log.h"
#include "preload/control/policy.h"
#include "preload/object/clock.h"

enum { MIN_PERIOD_US = 200, MAX_PERIOD_US = 10000 };

#define OUTDONE 0.5                      /* part of an equal share; the agent's minimum is lower */
#define OUTDONE_NS 1000000000ull

uint32_t ccs_qp_telemetry_period_us(const struct ccs_flow *f)
{
	const double wanted_us = f->cc.out.telemetry_period_us;
	const double us = wanted_us > 0 ? wanted_us
					: f->cc.path.base_rtt_us + f->cc.path.rtt_jitter_us;

	return (uint32_t)ccs_min(ccs_max(us, MIN_PERIOD_US), MAX_PERIOD_US);
}

/*
 * Set the link's rate, bit/s, since the previous record. It is limited to a rate that a link can
 * have, and unchanged without a newer record.
 */
static double rate_of(const struct qp_telemetry *tm, const struct ccs_path_telemetry *t,
		      unsigned hop)
{
	const struct ccs_cc_hop *old = &tm->now.hops[hop], *new = &t->hops[hop];
	double bytes, ns;

	if (hop >= tm->now.nhops || tm->name[hop] != t->link[hop] || new->ts_ns < old->ts_ns ||
	    new->tx_bytes < old->tx_bytes)
		return 0;
	if (new->ts_ns == old->ts_ns)
		return tm->rate[hop];
	bytes = (double)(new->tx_bytes - old->tx_bytes);
	ns = (double)(new->ts_ns - old->ts_ns);
	return ccs_min(8e9 * bytes / ns, CCS_RECORD_CAPACITY_MOST);
}

/*
 * Whether the advised rate is less than half of an equal share of the counted flows. The receiver's
 * agent would not advise that if these flows were alone. With several links the rate may be advised
 * for another link.
 */
static bool is_outdone(const struct ccs_telemetry *t)
{
	return t->nhops == 1 && t->flows && t->advised_rate > 0 &&
	       t->advised_rate < OUTDONE * t->hops[0].capacity / t->flows;
}

static void update_outdone(struct qp_telemetry *tm, uint64_t now_ns)
{
	if (!is_outdone(&tm->now))
		tm->floor_ns = 0;
	else if (!tm->floor_ns)
		tm->floor_ns = now_ns;
	tm->outdone = tm->floor_ns && now_ns > tm->floor_ns + OUTDONE_NS;
}

static void warn_outdone(const struct qp *qp)
{
	const struct ccs_telemetry *t = &qp->feedback.telemetry->now;
	char peer[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, qp->peer.gid, peer, sizeof(peer));
	ccs_log_once(CCS_LOG_WARN, "QP %u to %s has had less than half of its fair share for a "
		     "second: traffic on its receiver's link of %g Mb/s ignores the advised rate; "
		     "run those senders under ccshim, or check 'ccshimd --capacity' there",
		     qp->qp_num, peer, t->hops[0].capacity / 1e6);
}

static void store_record(struct qp_telemetry *tm, const struct ccs_path_telemetry *t,
			 uint64_t now_ns)
{
	for (unsigned i = 0; i < t->nhops; i++)
		tm->rate[i] = rate_of(tm, t, i);
	memcpy(tm->name, t->link, sizeof(tm->name));
	memcpy(tm->now.hops, t->hops, sizeof(tm->now.hops));
	tm->now.nhops = t->nhops;
	tm->now.path = t->path;
	tm->now.flows = t->flows;
	tm->now.covers_ns = t->covers_ns <= now_ns ? t->covers_ns : 0;
	tm->updated_ns = t->updated_ns;
	tm->now.advised_rate = t->advised_rate;
	/* Without active flows, a record is about flows that existed before. */
	tm->fresh |= t->flows && (t->nhops || t->advised_rate > 0) &&
		    now_ns < t->updated_ns + CCS_TELEMETRY_LATE_NS;
}

/* Continue at the rate at which the algorithm begins beside flows that are counted already. */
static void set_start_rate(struct qp *qp, unsigned flows, uint64_t *now_ns)
{
	const struct ccs_telemetry *t = &qp->feedback.telemetry->now;
	const struct ccs_cc_ops *ops = qp->policy->cc.ops;
	struct ccs_cc_path path = qp->flow.cc.path;

	path.bottleneck_rate = path.line_rate;
	for (unsigned i = 0; i < t->nhops; i++)
		path.bottleneck_rate = ccs_min(path.bottleneck_rate, t->hops[i].capacity);
	if (ops->start_rate)
		ccs_flow_set_rate(&qp->flow, ops->start_rate(&path, flows), ccs_now(now_ns));
}

void ccs_qp_telemetry_start(struct qp *qp, uint64_t *now_ns)
{
	const unsigned flows = qp->feedback.telemetry->now.flows;

	if (!qp->flow.sent && flows)
		set_start_rate(qp, flows + 1, now_ns);
}

void ccs_qp_telemetry_share(struct qp *qp, uint64_t *now_ns)
{
	const unsigned flows = qp->feedback.telemetry->now.flows;

	if (qp->flow.sent && flows)
		set_start_rate(qp, flows, now_ns);
}

void ccs_qp_telemetry_read(struct qp *qp, uint64_t *now_ns)
{
	struct ccs_slot *slot = qp->feedback.slot;
	const struct ccs_shm_path *path =
		ccs_agent_client_path(qp->feedback.inbound ? &slot->inbound : &slot->path);
	struct qp_telemetry *tm = qp->feedback.telemetry;
	struct ccs_path_telemetry t;
	uint32_t version;

	if (!path)
		return;
	version = atomic_load_explicit(&path->version, memory_order_acquire);
	if ((path == tm->path && version == tm->version) || !ccs_shm_path_read(path, &t))
		return;
	tm->path = path;
	tm->version = version;
	tm->ports = atomic_load_explicit(&path->flags, memory_order_relaxed) & CCS_PEER_PORTS;
	store_record(tm, &t, ccs_now(now_ns));
	update_outdone(tm, ccs_now(now_ns));
	if (tm->outdone)
		warn_outdone(qp);
	if (tm->now.advised_rate > 0)
		ccs_flow_advise(&qp->flow, ccs_now(now_ns));
	/* A message that cannot be split leaves at once. */
	atomic_store_explicit(&slot->segment, (uint32_t)qp->flow.cc.path.segment, memory_order_relaxed);
	atomic_store_explicit(&slot->period_us, ccs_qp_telemetry_period_us(&qp->flow),
			      memory_order_relaxed);
}
