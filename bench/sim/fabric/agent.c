/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Host agents. A receiver's agent reads the byte counter of the port by which packets reach it, and
 * advises a rate to all flows through it, as ccshimd does: with each record if the rate has changed
 * by more than a twentieth, and every few records in any case. A message is for a host, whose agent
 * shares it among its flows. A sender announces a flow before its first packet.
 */
#include <math.h>
#include <stdlib.h>

#include "cc/advice.h"
#include "cc/shares.h"
#include "bench/sim/core/agent.h"
#include "bench/sim/core/memory.h"
#include "priv.h"

struct agent {
	struct ccs_advice advice;
	struct ccs_cc_hop record;
	double sent;             /* bit/s, in the last message to all */
	uint64_t sent_at;
	uint32_t first;          /* flow + 1, or 0 */
	unsigned flows, hosts;   /* that send them, as of the last record */
	double grain;            /* bytes; the largest segment of the flows so far */
	unsigned *reached;       /* by host: the round of messages in which it was last reached */
	unsigned round;
	uint64_t due;            /* the next regular reading */
	unsigned tenant_flows[FAB_TENANTS]; /* of each tenant */
	struct ccs_tenant_share share[FAB_TENANTS];
	unsigned shares;
	double unit, claimed;    /* see cc/shares.h */
};

/* The flows without a tenant are a tenant of weight 1. */
static void update_shares(const struct sim *s, struct agent *a, double capacity)
{
	static const struct ccs_terms none = { .weight = 1 };
	const struct fab_agents *c = &s->conf->agents;

	a->shares = 0;
	for (unsigned i = 0; i < FAB_TENANTS && c->tenants; i++)
		if (a->tenant_flows[i]) {
			const struct ccs_terms *t = i && i <= c->tenants ? &c->terms[i - 1] : &none;

			a->share[a->shares++] = (struct ccs_tenant_share){
				.tenant = i, .weight = t->weight, .flows = a->tenant_flows[i],
				.guarantee = t->guarantee, .floor = t->floor,
			};
		}
	a->claimed = ccs_shares_assign(a->share, a->shares, capacity);
	a->unit = ccs_shares_unit(a->share, a->shares);
}

static double period_us(const struct sim *s, uint32_t port)
{
	const double given_us = s->conf->agents.record_us;
	const double message_us = s->port[port].ps_per_byte * AGENT_MESSAGE / FAB_PS_PER_US;

	return given_us > 0 ? given_us : agent_period_us(message_us, s->agent[port]->hosts);
}

static struct ccs_advice_port reading(const struct sim *s, uint32_t port)
{
	const struct fab_agents *c = &s->conf->agents;
	const double factor = c->count_factor > 0 ? c->count_factor : 1;
	const struct port *p = &s->port[port];

	update_shares(s, s->agent[port], 8e12 / p->ps_per_byte);
	return (struct ccs_advice_port){
		.now_ns = s->now / 1000 + 1, .bytes = p->tx_bytes, .capacity = 8e12 / p->ps_per_byte,
		.queue = c->of_switch ? p->bytes : 0, .sees_queue = c->of_switch,
		.flows = (unsigned)(s->agent[port]->flows * factor + 0.5),
		.rtt_us = s->agents.rtt_us + c->delay_us,
		.grain = s->agent[port]->grain,
		.claimed = s->agent[port]->claimed > 0,
		.unit = c->tenants ? s->agent[port]->unit : 0,
		.units = c->tenants ? ccs_shares_units(s->agent[port]->share, s->agent[port]->shares) : 0,
	};
}

static void send_message(struct sim *s, uint32_t port, uint32_t flow, double rate)
{
	const struct fab_agents *c = &s->conf->agents;
	const struct agent *a = s->agent[port];
	uint32_t i, record;
	struct packet *k;

	if (c->loss > 0 && rng_unit(&s->random) < c->loss)
		return;
	i = new_control(s, &s->flow[flow], ADVICE);
	record = new_record(s);
	k = &s->packet[i];
	s->record[record].hop[0] = a->record;
	s->record[record].n = a->record.capacity > 0;
	k->record = record;
	k->seq = (uint64_t)rate;
	k->payload = a->flows;
	k->len = AGENT_MESSAGE;
	k->port = port ^ 1;
	if (c->delay_us > 0)
		set_event(s, s->now + ps_of(c->delay_us), HELD, i);
	else
		port_put(s, port ^ 1, i);
}

/* Flows that are done leave the list. */
static void send_to_all(struct sim *s, uint32_t port, double rate, bool really)
{
	struct agent *a = s->agent[port];

	a->round++;
	a->hosts = 0;
	for (uint32_t *at = &a->first; *at;) {
		struct flow *f = &s->flow[*at - 1];

		if (flow_is_done(f)) {
			*at = f->agent.next;
			a->flows--;
			a->tenant_flows[f->spec->tenant]--;
			continue;
		}
		if (a->reached[f->src] != a->round) {
			a->reached[f->src] = a->round;
			a->hosts++;
			if (really)
				send_message(s, port, *at - 1, rate);
		}
		at = &f->agent.next;
	}
	if (really) {
		a->sent = rate;
		a->sent_at = s->now;
	}
}

static void set_reading(struct sim *s, uint32_t port)
{
	s->agent[port]->due = s->now + ps_of(period_us(s, port));
	set_event(s, s->agent[port]->due, RECORD, port);
}

void agent_read(struct sim *s, uint32_t port)
{
	struct agent *a = s->agent[port];
	const struct ccs_advice_port now = reading(s, port);
	const uint64_t repeat = ps_of(AGENT_REPEAT * period_us(s, port));
	double rate;

	if (s->now < a->due && (!a->advice.trying || ccs_advice_wait_ns(&a->advice, &now) > 0))
		return;
	rate = ccs_advice_feed(&a->advice, &now);
	a->record = (struct ccs_cc_hop){
		.ts_ns = now.now_ns, .tx_bytes = now.bytes, .capacity = now.capacity,
		.qlen_bytes = now.queue,
	};
	send_to_all(s, port, rate, fabs(rate - a->sent) > AGENT_CHANGE * a->sent ||
				   s->now >= a->sent_at + repeat || !s->conf->agents.advise ||
				   s->conf->agents.record_us > 0);
	if (a->flows && s->now >= a->due)
		set_reading(s, port);
}

/* The rate of a port that is not full is for all flows. */
static struct packet share_of(const struct sim *s, const struct agent *a, const struct flow *f,
			      const struct packet *k)
{
	const double capacity = 8e12 / s->port[f->agent.port].ps_per_byte;
	struct packet own = *k;

	if (a->shares && (double)k->seq < CCS_ADVICE_FREE * capacity)
		own.seq = (uint64_t)fmin((double)k->seq * ccs_shares_factor(a->share, a->shares, a->unit,
									    f->spec->tenant), capacity);
	return own;
}

void agent_message(struct sim *s, const struct packet *k)
{
	const struct flow *reached = &s->flow[k->flow];
	const struct agent *a = s->agent[reached->agent.port];
	const struct packet sent = *k; /* drivers may add packets */

	for (uint32_t at = a->first; at; at = s->flow[at - 1].agent.next) {
		struct flow *f = &s->flow[at - 1];

		if (f->src == reached->src && !flow_is_done(f) && f->driver->advice) {
			const struct packet own = share_of(s, a, f, &sent);

			f->driver->advice(s, f, &own);
		}
	}
}

/* The announcement of a flow has arrived by this port. */
void agent_join(struct sim *s, uint32_t port, uint32_t flow)
{
	struct agent *a = s->agent[port];
	const double claimed = a ? a->claimed : 0;
	struct ccs_advice_port now;
	double rate;

	if (!a) {
		a = s->agent[port] = mem_zeroed(1, sizeof(*a));
		a->reached = mem_zeroed(s->conf->topology->nodes, sizeof(*a->reached));
	}
	s->flow[flow].agent.port = port;
	s->flow[flow].agent.next = a->first;
	a->first = flow + 1;
	a->grain = fmax(a->grain, flow_segment(&s->flow[flow]));
	a->tenant_flows[s->flow[flow].spec->tenant]++;
	if (!a->flows++)
		set_reading(s, port);
	now = reading(s, port);
	rate = a->claimed > claimed ? ccs_advice_claim(&a->advice, &now)
				    : ccs_advice_join(&a->advice, &now, 1);
	send_message(s, port, flow, rate);
	if (rate < a->sent * (1 - AGENT_CHANGE))
		send_to_all(s, port, rate, true);
	a->sent = fmax(a->sent, rate);
	if (a->advice.trying)
		set_event(s, s->now + ps_of(ccs_advice_wait_ns(&a->advice, &now) / 1e3 + 1),
			  RECORD, port);
}

void agents_init(struct sim *s)
{
	s->agent = mem_zeroed(s->ports, sizeof(*s->agent));
	for (unsigned i = 0; i < s->conf->flows->n; i++)
		s->agents.rtt_us = fmax(s->agents.rtt_us, s->flow[i].base_us);
}

void agents_free(struct sim *s)
{
	for (uint32_t i = 0; i < s->ports; i++) {
		if (s->agent[i])
			free(s->agent[i]->reached);
		free(s->agent[i]);
	}
	free(s->agent);
}
