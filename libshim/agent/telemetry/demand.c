/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Periodic scans of the slots find which flows request telemetry and how many of them send or
 * READ, without action by the flows. Changes are sent to peers in HELLOs. The scans take about 1 %
 * of a CPU for any number of flows, and each user gets an equal part of that time. A scan of many
 * flows extends over several turns of the loop.
 */
#include "agent/telemetry/telemetry.h"

#include "agent/host/core.h"
#include "agent/net/net.h"

#define SCAN_NS 2000000ull               /* shortest scan interval */
#define SCAN_FLOW_NS 10000ull            /* addition per flow */
#define NEW_NS 100000000ull              /* how long a flow is new, and about to send */
#define NEW_SCAN_NS 500000ull            /* shortest scan interval with new flows */
#define NEW_SCAN_FLOW_NS 2000ull         /* addition per flow */
#define UNREQUESTED 10u                  /* factor on the interval if no flow requests telemetry */

/* A member of the flow's slot. */
#define LOAD(flow, member) \
	atomic_load_explicit(&(flow)->client->shm->slot[(flow)->slot].member, memory_order_relaxed)

static uint32_t shorter(uint32_t a_us, uint32_t b_us)
{
	return !a_us || b_us < a_us ? b_us : a_us;
}

static void add_demand(struct ccs_demand *d, const struct ccs_agent_flow *f, uint32_t period_us)
{
	d->period_us = shorter(d->period_us, period_us);
	d->flags |= LOAD(f, requested) & CCS_PEER_RECORDS;
}

/* The period and the flags of all flows are known when all were scanned; active flows are counted at
 * once. Returns whether the demand changed. */
static bool renew_demand(struct ccs_demand *d, struct ccs_demand *scan)
{
	const struct ccs_demand new = { d->active, scan->period_us, scan->flags };
	const bool changed = memcmp(d, &new, sizeof(*d));

	*d = new;
	*scan = (struct ccs_demand){ 0 };
	return changed;
}

static uint64_t longer(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns > b_ns ? a_ns : b_ns;
}

/*
 * A flow that starts to send has no telemetry yet: scan more often, to find it soon. Each user has
 * an equal share of the time, so a user with many flows does not delay another user's flows.
 */
static uint64_t scan_interval_ns(const struct ccs_agent *a, const struct ccs_client *c,
				 uint64_t now_ns)
{
	const uint64_t flows = (uint64_t)c->user->flows * a->flows.users;
	const uint64_t interval_ns = longer(SCAN_NS, SCAN_FLOW_NS * flows);

	if (!c->scan.wanted)
		return UNREQUESTED * interval_ns;
	if (c->scan.newest_ns && now_ns - c->scan.newest_ns < NEW_NS)
		return longer(NEW_SCAN_NS, NEW_SCAN_FLOW_NS * flows);
	return interval_ns;
}

/* A new flow does not cause a scan at once: a user could add flows without end. */
static void hasten_scan(struct ccs_agent *a, struct ccs_client *c)
{
	const uint64_t now_ns = ccs_agent_now(a);
	uint64_t due_ns;

	c->scan.newest_ns = now_ns;
	c->scan.wanted = true;
	due_ns = c->scan.began_ns + scan_interval_ns(a, c, now_ns);
	if (due_ns < c->scan.due_ns)
		c->scan.due_ns = due_ns;
	if (c->scan.due_ns < a->due.demand_ns)
		a->due.demand_ns = c->scan.due_ns;
}

void ccs_demand_join(struct ccs_agent *a, struct ccs_agent_flow *f)
{
	const uint32_t period_us = LOAD(f, period_us);

	f->sent = LOAD(f, sent);
	f->read = LOAD(f, read);
	if (!period_us)
		return;
	add_demand(&f->peer->request, f, period_us);
	add_demand(&f->peer->scan, f, period_us); /* its client may have been scanned */
	a->demand.wanted = true;
	hasten_scan(a, f->client);
}

/* tenants: the part of each tenant */
static void count_active(struct ccs_demand *d, uint32_t *tenants, const struct ccs_client *c,
			 bool *counted, bool active)
{
	const uint32_t more = (uint32_t)active - (uint32_t)*counted;

	d->active += more;
	if (c->tenant)
		tenants[c->tenant - 1] += more;
	*counted = active;
}

static void count_inactive(struct ccs_agent_flow *f)
{
	f->peer->hello.pending |= f->sends_now;
	count_active(&f->peer->request, f->peer->active, f->client, &f->sends_now, false);
	count_active(&f->peer->inbound.request, f->peer->inbound.active, f->client, &f->reads_now,
		     false);
}

/* Its flows count as inactive until the next scan, and their peers' requests are sent then. */
void ccs_demand_forget(struct ccs_client *c)
{
	for (struct ccs_agent_flow *f = c->first; f; f = f->next)
		count_inactive(f);
	c->scan.due_ns = 0;
}

static void end_scan(const struct ccs_agent *a, struct ccs_client *c, uint64_t now_ns)
{
	c->scan.wanted = c->scan.found;
	c->scan.done = true;
	c->scan.due_ns = now_ns + scan_interval_ns(a, c, now_ns);
}

/* If the flow is the last that a scan has to visit, the scan ends: otherwise a user could make the
 * agent scan without end. */
void ccs_demand_leave(const struct ccs_agent *a, struct ccs_agent_flow *f)
{
	struct ccs_client *c = f->client;

	count_inactive(f);
	if (c->scan.next != f)
		return;
	c->scan.next = f->next;
	if (!f->next)
		end_scan(a, c, ccs_agent_now(a));
}

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
	bool active;

	if (!ccs_client_slot(f->client, f->slot) || !(period_us = LOAD(f, period_us))) {
		count_inactive(f);
		return;
	}
	f->client->scan.found = true;
	add_demand(&p->scan, f, period_us);
	if (LOAD(f, segment) > p->segment)
		p->segment = LOAD(f, segment);
	active = is_active(&f->sent, &f->sent_ns, LOAD(f, sent), now_ns);
	p->hello.pending |= active != f->sends_now;
	count_active(&p->request, p->active, f->client, &f->sends_now, active);
	active = is_active(&f->read, &f->read_ns, LOAD(f, read), now_ns);
	count_active(&p->inbound.request, p->inbound.active, f->client, &f->reads_now, active);
	if (!active)
		return;
	ccs_inbound_read(a, f);
	add_demand(&p->inbound.scan, f, period_us);
	add_demand(&p->inbound.request, f, period_us);
}

/* While a HELLO is unanswered, a change is sent at a later scan. */
static void update_request(struct ccs_agent *a, struct ccs_peer *p, bool renew)
{
	p->hello.pending |= renew && renew_demand(&p->request, &p->scan);
	if (p->hello.pending && !p->hello.awaited)
		ccs_send_hello(a, p);
	if (!p->flows) /* the last one has ended: no repetitions */
		p->hello.pending = false;
}

static void update_inbound(struct ccs_agent *a, struct ccs_peer *p, bool renew, uint64_t now_ns)
{
	struct ccs_inbound *in = &p->inbound;
	const uint32_t before = in->reported;
	const bool renewed = renew && renew_demand(&in->request, &in->scan);

	in->reported = in->request.active;
	if (renewed || in->request.active != before || now_ns >= in->renew_ns)
		ccs_inbound_update(a, p, before, now_ns);
}

/* Scan the flows, or as many as the user's share of this turn permits. */
static void scan_client(struct ccs_agent *a, struct ccs_client *c, uint64_t now_ns)
{
	struct ccs_share *share = ccs_user_share(a, c->user);

	if (!c->scan.next) {
		c->scan.next = c->first;
		c->scan.began_ns = now_ns;
		c->scan.found = false;
	}
	for (struct ccs_agent_flow *f; share->flows && (f = c->scan.next); share->flows--) {
		c->scan.next = f->next;
		scan_flow(a, f, now_ns);
	}
	if (!c->scan.next)
		end_scan(a, c, now_ns);
}

/* Scan the clients that are due. Client entries are allocated from the end of the table. Returns
 * whether all clients were scanned since the last renewal. */
static bool scan_clients(struct ccs_agent *a, uint64_t now_ns)
{
	struct ccs_client *c = a->client + CCS_AGENT_CLIENTS;
	bool all = true;

	a->due.demand_ns = now_ns + UNREQUESTED * SCAN_NS;
	for (unsigned n = a->nclients; n && c-- > a->client;) {
		n -= c->source.fd >= 0;
		if (!c->first)
			continue;
		if (now_ns >= c->scan.due_ns)
			scan_client(a, c, now_ns);
		all &= c->scan.done;
		a->demand.wanted |= c->scan.wanted || c->scan.next;
		if (c->scan.due_ns < a->due.demand_ns)
			a->due.demand_ns = c->scan.due_ns;
	}
	return all;
}

static void begin_round(struct ccs_agent *a)
{
	for (struct ccs_client *c = a->client; c < a->client + CCS_AGENT_CLIENTS; c++)
		c->scan.done = false;
}

void ccs_demand_update(struct ccs_agent *a, uint64_t now_ns)
{
	bool renew;

	if (now_ns < a->due.demand_ns)
		return;
	a->demand.wanted = false;
	renew = scan_clients(a, now_ns);
	if (renew)
		begin_round(a);
	for (uint32_t i = 0; i < a->peers.high; i++) {
		struct ccs_peer *p = &a->peers.peer[i];

		if (p->flows || p->request.active || p->hello.pending)
			update_request(a, p, renew);
		if (p->inbound.request.active || p->inbound.reported)
			update_inbound(a, p, renew, now_ns);
	}
}
