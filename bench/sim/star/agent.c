/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The agent of a port advises a rate to all flows through it. It sends a message to all of them
 * when the rate has changed by more than a twentieth, and every few records in any case.
 */
#include "bench/sim/core/agent.h"
#include "priv.h"

/* Count flows as the hosts' agents do: those that have sent in the last 100 ms. */
static unsigned count(const struct star *s, const struct star_port *port)
{
	const double factor = s->conf->agents.count_factor > 0 ? s->conf->agents.count_factor : 1;
	unsigned n = 0;

	for (unsigned i = 0; i < s->total; i++)
		n += s->flow[i].to == port && s->flow[i].seen_at &&
		     s->net.now <= s->flow[i].seen_at + star_ps(100e3);
	return n ? (unsigned)(n * factor + 0.5) : 0;
}

static struct ccs_advice_port reading(const struct star *s, const struct star_port *port)
{
	const bool echo = s->conf->telemetry == SIM_ECHO;

	return (struct ccs_advice_port){
		.now_ns = s->net.now / 1000 + 1,
		.bytes = port->port->tx_bytes,
		.queue = echo ? 0 : port->port->bytes,
		.sees_queue = !echo,
		.capacity = port_rate(port->port),
		.flows = count(s, port),
		.rtt_us = s->conf->base_us + s->conf->agents.delay_us,
		.grain = s->conf->segment ? s->conf->segment : s->flow[0].shim.flow.cc.path.segment,
	};
}

void star_receive_advice(struct star *s, struct star_flow *f, double rate)
{
	f->advised = rate;
	if (f->live && f->driver->advise)
		f->driver->advise(s, f);
}

static void send_rate(struct star *s, struct star_flow *f, double rate)
{
	uint32_t i;

	if (s->conf->agents.loss > 0 && rng_unit(&s->net.random) < s->conf->agents.loss)
		return;
	i = new_packet(&s->net);
	s->net.packet[i].kind = ADVICE;
	s->net.packet[i].flow = f->index;
	s->net.packet[i].seq = (uint64_t)(rate / 1e3) * 1000;
	set_event(&s->net, s->net.now + f->back + star_ps(s->conf->agents.delay_us), RETURN, i);
}

static void send_to_all(struct star *s, struct star_port *port, double rate)
{
	for (unsigned i = 0; i < s->total; i++)
		if (s->flow[i].to == port && s->flow[i].live)
			send_rate(s, &s->flow[i], rate);
	port->advised = rate;
	port->advised_at = s->net.now;
}

static void advise(struct star *s, struct star_port *port)
{
	const struct ccs_advice_port now = reading(s, port);
	const double rate = ccs_advice_feed(&port->advice, &now);

	if (rate > port->advised * (1 + AGENT_CHANGE) ||
	    rate < port->advised * (1 - AGENT_CHANGE) ||
	    s->net.now >= port->advised_at + AGENT_REPEAT * star_ps(s->conf->agents.record_us))
		send_to_all(s, port, rate);
}

static void announced(struct star *s, void *who)
{
	struct star_flow *f = who;
	const struct ccs_advice_port now = reading(s, f->to);
	const double rate = ccs_advice_join(&f->to->advice, &now, 1);

	f->seen_at = s->net.now;
	send_rate(s, f, rate);
	if (rate < f->to->advised * (1 - AGENT_CHANGE))
		send_to_all(s, f->to, rate);
}

void star_advise_newcomer(struct star *s, struct star_flow *f)
{
	star_at(s, s->net.now + f->wire + s->wire2, announced, f);
}

static void send_record(struct star *s, void *who)
{
	struct star_port *port = who;

	(void)s;
	port->sent = port->read;
}

void star_read_port(struct star *s, void *who)
{
	struct star_port *port = who;
	const bool echo = s->conf->telemetry == SIM_ECHO;

	port->read = (struct ccs_cc_hop){
		.ts_ns = s->net.now / 1000 + 1,
		.tx_bytes = port->port->tx_bytes,
		.qlen_bytes = echo ? 0 : port->port->bytes,
		.capacity = port_rate(port->port),
	};
	if (s->conf->agents.advise)
		advise(s, port);
	star_at(s, s->net.now + s->back, send_record, port);
	star_at(s, s->net.now + star_ps(s->conf->agents.record_us), star_read_port, port);
}

unsigned star_telemetry(const struct star *s, const struct star_flow *f, const struct segment *seg,
			struct ccs_cc_hop *hop)
{
	*hop = s->conf->agents.record_us > 0 ? f->to->sent : seg->hop;
	return s->conf->telemetry != SIM_BLIND && hop->capacity > 0;
}
