/* SPDX-License-Identifier: BSD-2-Clause */
/* One controller per port computes the rate that is advised to all flows through it. */
#include "agent/telemetry/telemetry.h"

#include "agent/host/core.h"
#include "agent/telemetry/shares.h"
#include "cc/minmax.h"

#define RTT_MOST_US 100e3                /* limit on RTTs that peers state */

enum { SUBSCRIBERS = 64 };

/* Time from an advice until data sent at that rate arrive; for READs, until the responses do. */
static double rtt_us_of(const struct ccs_subscriber *s)
{
	const struct ccs_peer *p = s->peer;

	if (!s->inbound)
		return p->subscription.rtt_us;
	return p->rtt_ns ? (double)p->rtt_ns / 1e3 : p->inbound.request.period_us;
}

static double segment_of(const struct ccs_subscriber *s)
{
	return s->inbound ? s->peer->segment : s->peer->subscription.segment;
}

/*
 * The lower median of subscribers' statements, over SUBSCRIBERS of them at most; 0: nothing is known.
 * A minority that states absurd values has no effect on others.
 */
static double median(const struct ccs_port *port, double (*value_of)(const struct ccs_subscriber *))
{
	const unsigned step = port->nsubs / SUBSCRIBERS + 1;
	double value[SUBSCRIBERS];
	unsigned n = 0;

	for (unsigned i = 0; i < port->nsubs; i += step) {
		const double v = value_of(&port->sub[i]);
		unsigned at = n;

		if (!(v > 0))
			continue;
		for (; at && value[at - 1] > v; at--)
			value[at] = value[at - 1];
		value[at] = v;
		n++;
	}
	return n ? value[(n - 1) / 2] : 0;
}

/* A switch does not know the number of flows on its port: some may not be subscribed. */
static struct ccs_advice_port controller_input(const struct ccs_agent *a, struct ccs_port *port)
{
	ccs_port_share(a, port);
	return (struct ccs_advice_port){
		.now_ns = port->record.ts_ns,
		.bytes = port->record.tx_bytes,
		.queue = port->record.qlen_bytes,
		.sees_queue = port->publication,
		.capacity = (double)port->record.capacity,
		.flows = port->publication ? 0 : ccs_port_flows(port),
		.unit = port->shares.unit, .units = port->shares.units,
		.claimed = port->shares.claimed > 0,
		.rtt_us = ccs_min(median(port, rtt_us_of), RTT_MOST_US),
		.grain = median(port, segment_of),
	};
}

static bool requests_advice(const struct ccs_subscriber *s)
{
	return (s->inbound ? s->peer->inbound.request.flags : s->peer->subscription.requested) &
	       CCS_PEER_ADVICE;
}

static bool is_requested(const struct ccs_port *port)
{
	for (unsigned i = 0; i < port->nsubs; i++)
		if (port->publication || requests_advice(&port->sub[i]))
			return true;
	return false;
}

void ccs_port_advise(const struct ccs_agent *a, struct ccs_port *port)
{
	const struct ccs_advice_port now = controller_input(a, port);

	port->record.advised = 0;
	if (is_requested(port))
		port->record.advised = (uint64_t)ccs_advice_feed(&port->advice, &now);
	else
		port->advice = (struct ccs_advice){ 0 };
}

/*
 * The counter is read now, because the controller counts what arrives from now on. The next sample
 * is brought forward, so that the other senders receive the new rate soon.
 */
void ccs_port_joined(struct ccs_agent *a, struct ccs_port *port, uint32_t more)
{
	const double claimed = port->shares.claimed;
	struct ccs_advice_port now;

	if (!(port->capacity >= 1))
		return;
	port->record.capacity = (uint64_t)port->capacity;
	now = controller_input(a, port);
	now.now_ns = ccs_agent_now(a);
	if (!port->publication)
		ccs_ingress_read(&port->ingress, &now.bytes);
	port->record.advised = (uint64_t)(port->shares.claimed > claimed
					  ? ccs_advice_claim(&port->advice, &now)
					  : ccs_advice_join(&port->advice, &now, more));
	if (port->sampled_ns + CCS_PERIOD_LEAST_NS < port->next_ns)
		port->next_ns = port->sampled_ns + CCS_PERIOD_LEAST_NS;
}

uint64_t ccs_port_advised(const struct ccs_agent *a, const struct ccs_port *port,
			  const struct ccs_subscriber *s, struct ccs_tenant_list *rates)
{
	struct ccs_record r[CCS_RECORDS];
	unsigned n;

	rates->n = 0;
	if (!requests_advice(s))
		return 0;
	n = ccs_relay_records_for(a, s->peer, ccs_agent_now(a), r, CCS_RECORDS - 1);
	return ccs_port_rates(a, port, s, ccs_record_advised(r, n), rates);
}

uint64_t ccs_ports_advised(const struct ccs_agent *a, struct ccs_peer *p, struct ccs_tenant_list *rates)
{
	const struct ccs_subscriber sender = { .peer = p };

	rates->n = 0;
	return p->ingress ? ccs_port_advised(a, p->ingress, &sender, rates) : 0;
}
