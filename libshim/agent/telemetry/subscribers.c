/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/telemetry/telemetry.h"

#include "agent/host/core.h"
#include "agent/net/net.h"
#include "base/array.h"

/* Limits on the values of a HELLO. */
#define FLOWS_MOST 4096
#define FLOWS_UNCHECKED 256
#define QPS_COUNT_NS 100000000ull        /* between counts of this host's QPs */
#define SEGMENT_MOST (1u << 20)          /* bytes */

static struct ccs_subscriber *find_subscriber(const struct ccs_port *port, const struct ccs_peer *p,
					      bool inbound)
{
	for (unsigned i = 0; i < port->nsubs; i++)
		if (port->sub[i].peer == p && port->sub[i].inbound == inbound)
			return &port->sub[i];
	return NULL;
}

void ccs_subscriber_remove(struct ccs_port *port, const struct ccs_peer *p, bool inbound)
{
	struct ccs_subscriber *s = find_subscriber(port, p, inbound);

	if (!s)
		return;
	*s = port->sub[--port->nsubs];
	port->shares.current = false;
	port->nreaders -= inbound;
}

static void add_subscriber(struct ccs_port *port, struct ccs_peer *p, bool inbound)
{
	if (find_subscriber(port, p, inbound) || !CCS_GROW(port->sub, port->nsubs))
		return;
	port->sub[port->nsubs++] = (struct ccs_subscriber){ .peer = p, .inbound = inbound };
	port->nreaders += inbound;
	port->next_ns = 0;
}

static void set_subscribed(struct ccs_port *port, struct ccs_peer *p, bool inbound, bool subscribed)
{
	if (subscribed)
		add_subscriber(port, p, inbound);
	else
		ccs_subscriber_remove(port, p, inbound);
}

/* The data arrive on that port; NULL: unknown, or it is not to be measured. */
static void set_ingress(struct ccs_agent *a, struct ccs_peer *p, bool inbound,
			struct ccs_port *port, uint32_t flows)
{
	struct ccs_port **ingress = inbound ? &p->inbound.port : &p->ingress;

	if (*ingress && *ingress != port)
		ccs_subscriber_remove(*ingress, p, inbound);
	*ingress = port;
	if (!port)
		return;
	ccs_port_check_capacity(a, port, flows);
	set_subscribed(port, p, inbound, flows);
	port->shares.current = false;
}

bool ccs_subscribers_update_inbound(struct ccs_agent *a, struct ccs_peer *p)
{
	const struct ccs_inbound *in = &p->inbound;
	const uint32_t flows = in->request.active;

	set_ingress(a, p, true, flows ? ccs_ports_find_ingress(a, in->ifindex) : NULL, flows);
	if (!in->port)
		return false;
	ccs_relay_ask(a, &p->ends.local, ccs_port_flows(in->port), in->request.period_us);
	return in->port->capacity > 0;
}

static uint64_t clamp_period_ns(uint32_t requested_us)
{
	const uint64_t requested_ns = requested_us * 1000ull;

	return requested_ns < CCS_PERIOD_LEAST_NS ? CCS_PERIOD_LEAST_NS :
	       requested_ns > CCS_PERIOD_MOST_NS ? CCS_PERIOD_MOST_NS : requested_ns;
}

/*
 * A flow ends in a QP of this host, so a peer has not more of them. The kernel may not count all,
 * such as QPs of direct verbs: FLOWS_UNCHECKED are accepted unchecked.
 */
static uint32_t limit_flows(struct ccs_agent *a, uint32_t flows)
{
	const uint64_t now_ns = ccs_agent_now(a);
	uint32_t most;

	if (flows > FLOWS_MOST)
		flows = FLOWS_MOST;
	if (flows <= FLOWS_UNCHECKED || !a->config.count_qps)
		return flows;
	if (!a->host_qps.counted_ns || now_ns - a->host_qps.counted_ns >= QPS_COUNT_NS) {
		a->host_qps.counted_ns = now_ns;
		if (a->config.count_qps(a->config.check_arg, &a->host_qps.n))
			a->host_qps.n = FLOWS_MOST;
	}
	most = a->host_qps.n > FLOWS_UNCHECKED ? a->host_qps.n : FLOWS_UNCHECKED;
	return flows < most ? flows : most;
}

/*
 * How many flows begin to send. A flow counts as active for CCS_AGENT_IDLE_NS at least, so flows
 * that were announced in that time are still counted: a host that counts down and up again does not
 * announce new flows, or it could keep the rate of all others low.
 */
static uint32_t claim_announcement(struct ccs_agent *a, struct ccs_peer *p, uint32_t flows)
{
	struct ccs_subscription *s = &p->subscription;
	const uint64_t now_ns = ccs_agent_now(a);
	uint32_t more = flows > s->flows ? flows - s->flows : 0;

	if (now_ns - s->announced_ns >= CCS_AGENT_IDLE_NS) {
		s->announced_ns = now_ns;
		s->announced = 0;
	}
	if (s->announced + more > flows)
		more = flows > s->announced ? flows - s->announced : 0;
	s->announced += more;
	return more;
}

void ccs_subscribers_update(struct ccs_agent *a, struct ccs_peer *p, const struct ccs_ends *ends,
			    const struct ccs_wire_message *message)
{
	const struct ccs_wire_hello *m = &message->hello;
	struct ccs_subscription *s = &p->subscription;
	const uint32_t flows = limit_flows(a, m->flows);
	const uint32_t more = claim_announcement(a, p, flows);

	s->requested = m->requested;
	s->flows = flows;
	s->tenants.n = message->header.tenants;
	memcpy(s->tenants.tenant, message->tenant, sizeof(s->tenants.tenant));
	s->period_ns = clamp_period_ns(m->period_us);
	s->segment = m->segment < SEGMENT_MOST ? m->segment : SEGMENT_MOST;
	s->rtt_us = m->rtt_us ? m->rtt_us : m->period_us;
	ccs_peer_update_clock(p, m->clock_ns, ccs_agent_now(a));
	set_ingress(a, p, false, s->requested & CCS_PEER_RECORDS
				 ? ccs_ports_find_ingress(a, ends->arrived) : NULL, s->flows);
	for (unsigned i = 0; i < a->nports; i++) {
		struct ccs_port *port = &a->port[i];
		const bool wanted = s->requested & CCS_PEER_PORTS && s->flows &&
				    ccs_port_publishes_to(port, &ends->remote);

		if (!wanted || port->ifindex || ccs_port_open_egress(a, port) == 0)
			set_subscribed(port, p, false, wanted);
	}
	if (p->ingress && more && s->requested & CCS_PEER_ADVICE)
		ccs_port_joined(a, p->ingress, more);
	if (p->ingress)
		ccs_relay_ask(a, &ends->local, ccs_port_flows(p->ingress), m->period_us);
}

void ccs_subscribers_remove_peer(struct ccs_agent *a, struct ccs_peer *p)
{
	for (unsigned i = 0; i < CCS_AGENT_PORTS; i++)
		for (unsigned inbound = 0; inbound < 2; inbound++)
			ccs_subscriber_remove(&a->port[i], p, inbound);
	p->ingress = p->inbound.port = NULL;
}
