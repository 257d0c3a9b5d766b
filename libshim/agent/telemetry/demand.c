/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A periodic scan of the slots finds which flows request telemetry and how many of them send or
 * READ, without action by the flows. Changes are sent to peers in HELLOs. The scan takes about 1 %
 * of a CPU, independent of the number of flows.
 */
#include "agent/telemetry/demand.h"

#include "agent/host/core.h"
#include "agent/host/punched.h"
#include "agent/net/send.h"
#include "agent/telemetry/inbound.h"

#define SCAN_NS 2000000ull               /* shortest scan interval, */
#define SCAN_FLOW_NS 10000ull            /* and per flow */
#define NEW_NS 100000000ull              /* how long a flow is new, and about to send */
#define NEW_SCAN_NS 500000ull            /* shortest scan interval with new flows */
#define NEW_SCAN_FLOW_NS 2000ull         /* addition per flow */
#define UNREQUESTED 10u                  /* factor on the interval if no flow requests telemetry */

/* Of the flow's slot. */
#define LOAD(flow, member) \
	atomic_load_explicit(&(flow)->client->shm->slot[(flow)->slot].member, memory_order_relaxed)

/* Clients older than advice leave the field 0. */
static uint32_t requested_of(const struct ccs_agent_flow *f)
{
	const uint32_t requested = LOAD(f, requested);

	return requested ? requested & CCS_PEER_RECORDS : CCS_PEER_TELEMETRY;
}

static uint32_t shorter(uint32_t a_us, uint32_t b_us)
{
	return !a_us || b_us < a_us ? b_us : a_us;
}

static void add_demand(struct ccs_demand *d, const struct ccs_agent_flow *f, uint32_t period_us)
{
	d->period_us = shorter(d->period_us, period_us);
	d->flags |= requested_of(f);
}

/* Returns whether the scan found another demand. */
static bool replace_demand(struct ccs_demand *d, struct ccs_demand *scan)
{
	const bool changed = memcmp(d, scan, sizeof(*d));

	*d = *scan;
	*scan = (struct ccs_demand){ 0 };
	return changed;
}

void ccs_demand_join(struct ccs_agent *a, struct ccs_agent_flow *f)
{
	const uint32_t period_us = LOAD(f, period_us);

	f->sent = LOAD(f, sent);
	f->read = LOAD(f, read);
	if (!period_us)
		return;
	add_demand(&f->peer->request, f, period_us);
	a->demand.wanted = true;
	a->due.demand_ns = 0;
	a->demand.newest_ns = ccs_agent_now(a);
}

/* Whether the counter, whose value is now `now`, has changed recently. */
static bool is_active(uint64_t *bytes, uint64_t *changed_ns, uint64_t now, uint64_t now_ns)
{
	if (now != *bytes) {
		*bytes = now;
		*changed_ns = now_ns;
	}
	return *changed_ns && now_ns - *changed_ns < CCS_AGENT_IDLE_NS;
}

static void scan_flow(struct ccs_agent *a, struct ccs_agent_flow *f, uint64_t now_ns)
{
	struct ccs_peer *p = f->peer;
	uint32_t period_us;

	if (!ccs_client_slot(f->client, f->slot) || !(period_us = LOAD(f, period_us)))
		return;
	a->demand.wanted = true;
	add_demand(&p->scan, f, period_us);
	if (LOAD(f, segment) > p->segment)
		p->segment = LOAD(f, segment);
	if (is_active(&f->sent, &f->sent_ns, LOAD(f, sent), now_ns))
		p->scan.active++;
	if (is_active(&f->read, &f->read_ns, LOAD(f, read), now_ns)) {
		ccs_inbound_read(a, f);
		add_demand(&p->inbound.scan, f, period_us);
		p->inbound.scan.active++;
	}
}

/* While a HELLO is unanswered, a change is sent at a later scan. */
static void update_request(struct ccs_agent *a, struct ccs_peer *p)
{
	p->hello.pending |= replace_demand(&p->request, &p->scan);
	if (p->hello.pending && !p->hello.awaited)
		ccs_send_hello(a, p);
}

static void update_inbound(struct ccs_agent *a, struct ccs_peer *p, uint64_t now_ns)
{
	struct ccs_inbound *in = &p->inbound;
	const uint32_t before = in->request.active;

	if (replace_demand(&in->request, &in->scan) || now_ns >= in->renew_ns)
		ccs_inbound_update(a, p, before, now_ns);
}

static uint64_t longer(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns > b_ns ? a_ns : b_ns;
}

/* A flow that starts to send has no telemetry yet: scan more often, to find it soon. */
static uint64_t scan_interval_ns(const struct ccs_agent *a, uint64_t now_ns)
{
	const uint64_t interval_ns = longer(SCAN_NS, SCAN_FLOW_NS * a->flows.n);

	if (!a->demand.wanted)
		return UNREQUESTED * interval_ns;
	if (a->demand.newest_ns && now_ns - a->demand.newest_ns < NEW_NS)
		return longer(NEW_SCAN_NS, NEW_SCAN_FLOW_NS * a->flows.n);
	return interval_ns;
}

/* Client entries are allocated from the end of the table. */
static void scan_clients(struct ccs_agent *a, uint64_t now_ns)
{
	const struct ccs_client *c = a->client + CCS_AGENT_CLIENTS;

	for (unsigned n = a->nclients; n && c-- > a->client;) {
		n -= c->source.fd >= 0;
		for (struct ccs_agent_flow *f = c->first; f; f = f->next)
			scan_flow(a, f, now_ns);
	}
}

void ccs_demand_update(struct ccs_agent *a, uint64_t now_ns)
{
	if (now_ns < a->due.demand_ns)
		return;
	a->demand.wanted = false;
	scan_clients(a, now_ns);
	for (uint32_t i = 0; i < a->peers.high; i++) {
		struct ccs_peer *p = &a->peers.peer[i];

		if (p->flows || p->request.active)
			update_request(a, p);
		if (p->inbound.scan.active || p->inbound.request.active)
			update_inbound(a, p, now_ns);
	}
	a->due.demand_ns = now_ns + scan_interval_ns(a, now_ns);
}
