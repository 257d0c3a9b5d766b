/* SPDX-License-Identifier: BSD-2-Clause */
/* The rate that is advised to all flows through a port: its controller, and who is to know. */
#include "agent/port.h"
#include "cc/minmax.h"

#define RTT_MOST_US 100e3                /* of those that peers tell */

/* From what is advised to a subscriber until its bytes come: flows that READ ask for them then. */
static double rtt_us_of(const struct ccs_subscriber *s)
{
	const struct ccs_peer *p = s->peer;

	if (!s->inbound)
		return p->rtt_us;
	return p->rtt_ns ? (double)p->rtt_ns / 1e3 : p->inbound.period_us;
}

/* As far as the subscribers know it: an adviser that waits too long for an effect is slower. */
static double rtt_us(const struct ccs_port *port)
{
	double most = 0;

	for (unsigned i = 0; i < port->nsubs; i++)
		most = ccs_max(most, rtt_us_of(&port->sub[i]));
	return ccs_min(most, RTT_MOST_US);
}

static double grain(const struct ccs_port *port)
{
	double most = 0;

	for (unsigned i = 0; i < port->nsubs; i++) {
		const struct ccs_subscriber *s = &port->sub[i];

		most = ccs_max(most, s->inbound ? s->peer->segment : s->peer->grain);
	}
	return most;
}

/* A switch does not know how many flows its port has: others than those here may use it. */
static struct ccs_advice_port reading(const struct ccs_port *port)
{
	return (struct ccs_advice_port){
		.now_ns = port->record.ts_ns,
		.bytes = port->record.tx_bytes,
		.queue = port->record.qlen_bytes,
		.sees_queue = port->publication,
		.capacity = (double)port->record.capacity,
		.flows = port->publication ? 0 : ccs_port_flows(port),
		.rtt_us = rtt_us(port),
		.grain = grain(port),
	};
}

static bool wants_advice(const struct ccs_subscriber *s)
{
	return (s->inbound ? s->peer->inbound.asks : s->peer->wants) & CCS_PEER_ADVICE;
}

static bool is_wanted(const struct ccs_port *port)
{
	for (unsigned i = 0; i < port->nsubs; i++)
		if (port->publication || wants_advice(&port->sub[i]))
			return true;
	return false;
}

void ccs_port_advise(struct ccs_port *port)
{
	const struct ccs_advice_port now = reading(port);

	port->record.advised = 0;
	if (is_wanted(port))
		port->record.advised = (uint64_t)ccs_advice_feed(&port->advice, &now);
	else
		port->advice = (struct ccs_advice){ 0 };
}

/* The other senders receive the rate as soon as may be. */
void ccs_port_joined(struct ccs_agent *a, struct ccs_port *port, uint32_t more)
{
	struct ccs_advice_port now;

	if (!(ccs_port_capacity(port) >= 1))
		return;
	port->record.capacity = (uint64_t)ccs_port_capacity(port);
	now = reading(port);
	now.now_ns = ccs_agent_now(a);
	port->record.advised = (uint64_t)ccs_advice_join(&port->advice, &now, more);
	if (port->taken_ns + CCS_PERIOD_LEAST_NS < port->next_ns)
		port->next_ns = port->taken_ns + CCS_PERIOD_LEAST_NS;
}

uint64_t ccs_port_advised(const struct ccs_agent *a, const struct ccs_port *port,
			  const struct ccs_subscriber *s)
{
	struct ccs_record r[CCS_RECORDS] = { port->record };
	unsigned n = 1;

	if (!wants_advice(s))
		return 0;
	n += ccs_heard_for(a, s->peer, ccs_agent_now(a), r + n, CCS_RECORDS - n);
	return ccs_record_advised(r, n);
}

uint64_t ccs_ports_advised(const struct ccs_agent *a, struct ccs_peer *p)
{
	const struct ccs_subscriber sender = { .peer = p };

	return p->ingress ? ccs_port_advised(a, p->ingress, &sender) : 0;
}
