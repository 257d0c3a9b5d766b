/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Telemetry of a QP's path: from the record that the agent writes into the shared page, into
 * what the flow shows to its algorithm. No lock, and no system call but for the time of what
 * is new.
 */
#include <arpa/inet.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cc/minmax.h"
#include "runtime/log.h"
#include "signal/client.h"
#include "signal/record.h"
#include "verbs/shim.h"

enum { PERIOD_LEAST_US = 200, PERIOD_MOST_US = 10000 };

#define OUTDONE 0.5                      /* of a share; the agent's floor is a little less */
#define OUTDONE_NS 1000000000ull

struct links *ccs_links_new(void)
{
	return calloc(1, sizeof(struct links));
}

uint32_t ccs_links_period_us(const struct ccs_flow *f)
{
	const double wanted_us = f->cc.out.telemetry_period_us;
	const double us = wanted_us > 0 ? wanted_us : f->cc.path.base_rtt_us + f->cc.path.noise_us;

	return (uint32_t)ccs_min(ccs_max(us, PERIOD_LEAST_US), PERIOD_MOST_US);
}

/*
 * Bits per second since the record before, no more than a link can have; what it was if there is
 * no newer one.
 */
static double rate_of(const struct links *l, const struct ccs_path_telemetry *t, unsigned hop)
{
	const struct ccs_cc_hop *old = &l->now.hops[hop], *new = &t->hops[hop];
	double bytes, ns;

	if (hop >= l->now.nhops || l->name[hop] != t->link[hop] || new->ts_ns < old->ts_ns ||
	    new->tx_bytes < old->tx_bytes)
		return 0;
	if (new->ts_ns == old->ts_ns)
		return l->rate[hop];
	bytes = (double)(new->tx_bytes - old->tx_bytes);
	ns = (double)(new->ts_ns - old->ts_ns);
	return ccs_min(8e9 * bytes / ns, CCS_RECORD_CAPACITY_MOST);
}

/*
 * A rate that is less than half of what each of the counted flows could have is one that their
 * receiver's agent would not advise, were they alone. With more links it may be another's.
 */
static bool is_outdone(const struct ccs_telemetry *t)
{
	return t->nhops == 1 && t->flows && t->advised_rate > 0 &&
	       t->advised_rate < OUTDONE * t->hops[0].capacity / t->flows;
}

static void watch_share(struct links *l, uint64_t now_ns)
{
	if (!is_outdone(&l->now))
		l->floor_ns = 0;
	else if (!l->floor_ns)
		l->floor_ns = now_ns;
	l->outdone = l->floor_ns && now_ns > l->floor_ns + OUTDONE_NS;
}

static void say_outdone(const struct qp *qp)
{
	const struct ccs_telemetry *t = &qp->hearing.links->now;
	char peer[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, qp->peer_gid, peer, sizeof(peer));
	ccs_log_once(CCS_LOG_WARN, "QP %u towards %s has had less than half of a fair share for a "
		     "second: its receiver's link of %g Mb/s carries traffic that does not follow; "
		     "run its senders under ccshim, or see to 'ccshimd --capacity' there",
		     qp->qp_num, peer, t->hops[0].capacity / 1e6);
}

static void take(struct links *l, const struct ccs_path_telemetry *t, uint64_t now_ns)
{
	for (unsigned i = 0; i < t->nhops; i++)
		l->rate[i] = rate_of(l, t, i);
	memcpy(l->name, t->link, sizeof(l->name));
	memcpy(l->now.hops, t->hops, sizeof(l->now.hops));
	l->now.nhops = t->nhops;
	l->now.path = t->path;
	l->now.flows = t->flows;
	l->now.covers_ns = t->covers_ns <= now_ns ? t->covers_ns : 0;
	l->updated_ns = t->updated_ns;
	l->now.advised_rate = t->advised_rate;
	/* Where no flow is active the record is of flows that were there before. */
	l->fresh |= t->flows && (t->nhops || t->advised_rate > 0) &&
		    now_ns < t->updated_ns + CCS_TELEMETRY_LATE_NS;
}

/* What the bottleneck carries, as far as is known. */
static double capacity(const struct qp *qp)
{
	const struct ccs_telemetry *t = &qp->hearing.links->now;
	double least = qp->flow.cc.path.line_rate;

	for (unsigned i = 0; i < t->nhops; i++)
		least = ccs_min(least, t->hops[i].capacity);
	return least;
}

void ccs_links_start(struct qp *qp, uint64_t *now_ns)
{
	const unsigned flows = qp->hearing.links->now.flows;

	if (!qp->flow.sent && flows)
		ccs_flow_set_rate(&qp->flow, capacity(qp) / (flows + 1), ccs_now(now_ns));
}

void ccs_links_share(struct qp *qp, uint64_t *now_ns)
{
	const unsigned flows = qp->hearing.links->now.flows;

	if (qp->flow.sent && flows)
		ccs_flow_set_rate(&qp->flow, capacity(qp) / flows, ccs_now(now_ns));
}

void ccs_links_read(struct qp *qp, uint64_t *now_ns)
{
	struct ccs_slot *slot = qp->hearing.slot;
	const struct ccs_path *path = qp->hearing.inbound ? ccs_client_inbound(slot)
							  : ccs_client_path(slot);
	struct links *l = qp->hearing.links;
	struct ccs_path_telemetry t;
	uint32_t version;

	if (!path)
		return;
	version = atomic_load_explicit(&path->version, memory_order_acquire);
	if ((path == l->path && version == l->version) || !ccs_path_read(path, &t))
		return;
	l->path = path;
	l->version = version;
	l->ports = atomic_load_explicit(&path->flags, memory_order_relaxed) & CCS_PEER_PORTS;
	take(l, &t, ccs_now(now_ns));
	watch_share(l, ccs_now(now_ns));
	if (l->outdone)
		say_outdone(qp);
	if (l->now.advised_rate > 0)
		ccs_flow_advise(&qp->flow, ccs_now(now_ns));
	atomic_store_explicit(&slot->segment, qp->flow.segment, memory_order_relaxed);
	atomic_store_explicit(&slot->period_us, ccs_links_period_us(&qp->flow),
			      memory_order_relaxed);
}
