/* SPDX-License-Identifier: BSD-2-Clause */
/* The bottleneck: a FIFO that marks by RED, may drop, and takes INT records. */
#include "priv.h"

/* Marking uses the queue that a packet leaves behind, as in HPCC's ns-3: later arrivals count. */
static bool marks(struct sim *s, uint64_t queue)
{
	const struct ccs_red *red = &s->conf->red;

	return red->pmax > 0 && ccs_red_mark(red, (double)queue, rng_unit(&s->random));
}

static void port_done(struct sim *s, const struct event *e);

/* As in a switch, the record excludes its own packet. */
static void port_send(struct sim *s, struct port *port)
{
	port->sending = sim_take(&port->queue);
	port->bytes -= port->sending.len;
	port->sending.ce = port->sending.kind == DATA && marks(s, port->bytes);
	s->result->marks += port->sending.ce;
	port->stamp_ns = s->now / 1000;
	port->stamp_tx = port->tx_bytes;
	port->stamp_queue = port->bytes;
	port->tx_bytes += port->sending.len;
	port->busy = true;
	sim_at(s, s->now + sim_ser(port->sending.len, port->rate), port_done, port, NULL);
}

static void send_record(struct sim *s, const struct event *e)
{
	struct port *port = e->who;

	(void)s;
	port->sent = port->read;
}

void sim_read_port(struct sim *s, const struct event *e)
{
	struct port *port = e->who;
	const bool echo = s->conf->telemetry == SIM_ECHO;

	port->read = (struct ccs_cc_hop){
		.ts_ns = s->now / 1000 + 1,
		.tx_bytes = port->tx_bytes,
		.qlen_bytes = echo ? 0 : port->bytes,
		.capacity = port->rate,
	};
	if (s->conf->agents.advise)
		sim_advise(s, port);
	sim_at(s, s->now + s->back, send_record, port, NULL);
	sim_at(s, s->now + sim_ps(s->conf->agents.record_us), sim_read_port, port, NULL);
}

unsigned sim_telemetry(const struct sim *s, const struct sim_flow *f, const struct segment *seg,
		       struct ccs_cc_hop *hop)
{
	*hop = s->conf->agents.record_us > 0 ? f->port->sent : seg->hop;
	return s->conf->telemetry != SIM_BLIND && hop->capacity > 0;
}

static void stamp(struct sim *s, const struct port *port, const struct packet *p)
{
	const bool echo = s->conf->telemetry == SIM_ECHO;

	if (p->segment < p->flow->tail)
		/* a retransmission of an acknowledged segment: the entry is another segment's */
		return;
	p->flow->seg[p->segment & p->flow->mask].hop = (struct ccs_cc_hop){
		.ts_ns = echo ? (s->now + s->wire2) / 1000 : port->stamp_ns,
		.tx_bytes = echo ? port->tx_bytes : port->stamp_tx,
		.qlen_bytes = echo ? 0 : port->stamp_queue,
		.capacity = port->rate,
	};
}

static void port_done(struct sim *s, const struct event *e)
{
	struct port *port = e->who;
	const struct packet p = port->sending;

	port->busy = false;
	if (p.kind == DATA)
		stamp(s, port, &p);
	if (port->queue.head != port->queue.tail)
		port_send(s, port);
	if (p.kind == DATA)
		sim_receive(s, &p, s->now + s->wire2);
	else
		sim_at(s, s->now + p.flow->wire, sim_return, p.flow, &p);
}

/* The victim's packets are not dropped: its latency would be the retransmission timeout. */
static bool lost(struct sim *s, const struct packet *p)
{
	return p->kind == DATA && p->flow->index < s->total && s->conf->loss > 0 &&
	       rng_unit(&s->random) < s->conf->loss;
}

void sim_arrive(struct sim *s, const struct event *e)
{
	const struct packet p = e->packet;
	struct port *port = p.kind == DATA ? p.flow->port : p.flow->back_port;

	p.flow->seen_at = s->now;
	s->result->packets++;
	if (lost(s, &p)) {
		s->result->lost++;
		return;
	}
	if (s->conf->limit && port->bytes + p.len > s->conf->limit) {
		s->result->drops++;
		s->result->late_drops += s->now >= sim_ps(s->conf->warm_us);
		return;
	}
	sim_push(&port->queue, &p);
	port->bytes += p.len;
	if (!port->busy)
		port_send(s, port);
}
