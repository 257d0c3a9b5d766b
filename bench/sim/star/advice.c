/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The agent of a port advises a rate to all flows through it. It sends a message to all of them
 * when the rate has changed by more than a twentieth, and every few records in any case.
 */
#include "bench/sim/core/agent.h"
#include "priv.h"

/* Count flows as the hosts' agents do: those that have sent in the last 100 ms. */
static unsigned count(const struct sim *s, const struct port *port)
{
	const double factor = s->conf->agents.count_factor > 0 ? s->conf->agents.count_factor : 1;
	unsigned n = 0;

	for (unsigned i = 0; i < s->total; i++)
		n += s->flow[i].port == port && s->flow[i].seen_at &&
		     s->now <= s->flow[i].seen_at + sim_ps(100e3);
	return n ? (unsigned)(n * factor + 0.5) : 0;
}

static struct ccs_advice_port reading(const struct sim *s, const struct port *port)
{
	const bool echo = s->conf->telemetry == SIM_ECHO;

	return (struct ccs_advice_port){
		.now_ns = s->now / 1000 + 1,
		.bytes = port->tx_bytes,
		.queue = echo ? 0 : port->bytes,
		.sees_queue = !echo,
		.capacity = port->rate,
		.flows = count(s, port),
		.rtt_us = s->conf->base_us + s->conf->agents.delay_us,
		.grain = s->conf->segment ? s->conf->segment : s->flow[0].shim.flow.cc.path.segment,
	};
}

/* The `len` of the message is its content: the rate in kbit/s. */
static void arrive(struct sim *s, const struct event *e)
{
	struct sim_flow *f = e->who;

	f->advised = 1e3 * e->packet.len;
	if (f->live && f->driver->advise)
		f->driver->advise(s, f);
}

static void send_rate(struct sim *s, struct sim_flow *f, double rate)
{
	const struct packet message = { .flow = f, .len = (uint32_t)(rate / 1e3) };

	if (s->conf->agents.loss > 0 && rng_unit(&s->random) < s->conf->agents.loss)
		return;
	sim_at(s, s->now + f->back + sim_ps(s->conf->agents.delay_us), arrive, f, &message);
}

static void send_to_all(struct sim *s, struct port *port, double rate)
{
	for (unsigned i = 0; i < s->total; i++)
		if (s->flow[i].port == port && s->flow[i].live)
			send_rate(s, &s->flow[i], rate);
	port->advised = rate;
	port->advised_at = s->now;
}

void sim_advise(struct sim *s, struct port *port)
{
	const struct ccs_advice_port now = reading(s, port);
	const double rate = ccs_advice_feed(&port->advice, &now);

	if (rate > port->advised * (1 + AGENT_CHANGE) ||
	    rate < port->advised * (1 - AGENT_CHANGE) ||
	    s->now >= port->advised_at + AGENT_REPEAT * sim_ps(s->conf->agents.record_us))
		send_to_all(s, port, rate);
}

static void announced(struct sim *s, const struct event *e)
{
	struct sim_flow *f = e->who;
	const struct ccs_advice_port now = reading(s, f->port);
	const double rate = ccs_advice_join(&f->port->advice, &now, 1);

	f->seen_at = s->now;
	send_rate(s, f, rate);
	if (rate < f->port->advised * (1 - AGENT_CHANGE))
		send_to_all(s, f->port, rate);
}

void sim_advise_newcomer(struct sim *s, struct sim_flow *f)
{
	sim_at(s, s->now + f->wire + s->wire2, announced, f, NULL);
}
