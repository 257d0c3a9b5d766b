/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs: posted segments go to the NIC, and lost ones go there again (as RC does it);
 * receivers acknowledge segments and send CNPs for marks.
 */
#include <math.h>

#include "priv.h"

#define RTO_US 4000.0       /* default */

static struct segment *seg_at(const struct sim_flow *f, uint64_t i)
{
	return &f->seg[i & f->mask];
}

/*
 * Send a packet back to the host that has the data, through NIC and port, or, if such packets
 * have no length, as an event after the delay of the return path.
 */
static void send_back(struct sim *s, struct sim_flow *f, enum kind kind, uint64_t segment,
		      uint64_t at)
{
	const struct packet p = { .flow = f, .kind = kind, .segment = segment,
				  .index = f->rx_packet, .len = s->conf->ack_bytes };

	if (p.len)
		sim_at(s, at, sim_leave, f->back_nic, &p);
	else
		sim_at(s, at + f->back, sim_return, f, &p);
}

void sim_post(struct sim *s, struct sim_flow *f, uint32_t len)
{
	f->seg = sim_grown(f->seg, f->tail, f->head, &f->mask, sizeof(*f->seg));
	*seg_at(f, f->head++) = (struct segment){
		.posted = s->now, .len = len, .first = f->posted_packets,
		.packets = s->conf->mtu ? (len + s->conf->mtu - 1) / s->conf->mtu : 1,
	};
	f->posted_packets += seg_at(f, f->head - 1)->packets;
	if (f->op == SIM_READ) {
		send_back(s, f, REQUEST, f->head, s->now);
		return;
	}
	f->ready = f->head;
	sim_feed(s, f);
}

/* All packets before this one have arrived; move the window of unacknowledged packets. */
static void take_ack(struct sim *s, struct sim_flow *f, uint64_t segment, uint32_t index)
{
	const uint64_t first = segment == f->head ? f->posted_packets : seg_at(f, segment)->first;

	if (!s->conf->nic.unacked || segment < f->tail || first + index <= f->acked_packets)
		return;
	f->acked_packets = first + index;
	sim_feed(s, f);
}

/*
 * Send again from the packet that the receiver expects. A READ's requester has requested all of
 * it.
 */
static void go_back(struct sim *s, struct sim_flow *f)
{
	f->ready = f->head;
	f->tx_segment = f->rx_segment;
	f->tx_packet = f->rx_packet;
	take_ack(s, f, f->rx_segment, f->rx_packet);
	sim_feed(s, f);
	if (f->driver->loss)
		f->driver->loss(s, f);
}

static void ack_arrives(struct sim *s, struct sim_flow *f);

void sim_return(struct sim *s, const struct event *e)
{
	struct sim_flow *f = e->who;

	switch (e->packet.kind) {
	case NAK:
		go_back(s, f);
		break;
	case REQUEST:
		if (f->ready < e->packet.segment)
			f->ready = e->packet.segment;
		sim_feed(s, f);
		break;
	default: /* it acknowledges all earlier ones, too */
		take_ack(s, f, e->packet.segment, e->packet.index);
		while (f->tail < e->packet.segment)
			ack_arrives(s, f);
	}
}

/* Count what has arrived, and the part of it that the sender has learned about. */
static uint64_t progress(const struct sim_flow *f)
{
	return f->delivered + f->tail;
}

double sim_rto_us(const struct sim *s)
{
	return s->conf->rto_us > 0 ? s->conf->rto_us : RTO_US;
}

/* A lost acknowledgement is sent again, as a receiver does for a duplicate packet. */
static void check_for_loss(struct sim *s, const struct event *e)
{
	struct sim_flow *f = e->who;
	const bool idle = f->tail == f->head, stuck = !idle && progress(f) == f->rto_seen;

	if (stuck && f->tail < f->rx_segment)
		send_back(s, f, ACK, f->rx_segment, s->now);
	else if (stuck)
		go_back(s, f);
	f->rto_seen = idle ? NEVER : progress(f);
	sim_at(s, s->now + sim_ps(sim_rto_us(s)), check_for_loss, f, NULL);
}

void sim_watch_losses(struct sim *s, struct sim_flow *f)
{
	f->rto_seen = NEVER;
	if (s->conf->limit || s->conf->loss > 0)
		sim_at(s, s->now + sim_ps(sim_rto_us(s)), check_for_loss, f, NULL);
}

static double noise(struct sim *s)
{
	const struct sim_noise *n = &s->conf->noise;
	double us = n->uniform_us * rng_unit(&s->random);

	if (n->exp_us > 0)
		us -= n->exp_us * log(1 - rng_unit(&s->random));
	if (n->burst_share > 0 && rng_unit(&s->random) < n->burst_share)
		us += n->burst_us * rng_unit(&s->random);
	return us;
}

static void ack_arrives(struct sim *s, struct sim_flow *f)
{
	const struct segment seg = *seg_at(f, f->tail++);
	const double rtt_us = sim_us(s->now - s->now % 1000 - seg.posted) -
			      sim_us(sim_ser(seg.len, sim_nic_rate(s)));

	sim_measure_rtt(s, f, rtt_us);
	f->driver->ack(s, f, &seg, s->conf->noise.on_sample ? noise(s) : 0);
}

/* Returns when the host handles what arrives at that time. */
static uint64_t unstalled(const struct sim *s, uint64_t at)
{
	const uint64_t every = sim_ps(s->conf->stalls.every_us);
	const uint64_t stall = sim_ps(s->conf->stalls.stall_us);
	const uint64_t since = every ? at % every : stall;

	return since < stall ? at + stall - since : at;
}

/* A reader is done at that time; a writer still needs the acknowledgement. */
static void acknowledge(struct sim *s, struct sim_flow *f, uint64_t at)
{
	const struct packet all = { .kind = ACK, .segment = f->rx_segment };

	at = unstalled(s, at) + (s->conf->noise.on_sample ? 0 : sim_ps(noise(s)));
	if (at < f->acked_at)
		at = f->acked_at;
	f->acked_at = at;
	if (f->op == SIM_READ)
		sim_at(s, at, sim_return, f, &all);
	else
		send_back(s, f, ACK, f->rx_segment, at);
}

static void cnp_arrives(struct sim *s, const struct event *e)
{
	struct sim_flow *f = e->who;

	if (f->driver->cnp)
		f->driver->cnp(s, f);
}

static void notify(struct sim *s, struct sim_flow *f, uint64_t at)
{
	if (s->conf->cnp_us <= 0 || !ccs_dcqcn_np_ce(&f->np, sim_us(at)))
		return;
	s->result->cnps++;
	/* Agents' messages overtake data, and a reader is itself the notification point. */
	sim_at(s, at + (f->op == SIM_READ ? 0 : f->back), cnp_arrives, f, NULL);
}

/* Out of order: drop it, and send a NAK for the first packet of a gap. */
static void refuse(struct sim *s, struct sim_flow *f, const struct packet *p, uint64_t at)
{
	const bool later = p->segment > f->rx_segment ||
			   (p->segment == f->rx_segment && p->index > f->rx_packet);

	if (!later || f->nak_sent)
		return;
	f->nak_sent = true;
	send_back(s, f, NAK, f->rx_segment, at);
}

void sim_receive(struct sim *s, const struct packet *p, uint64_t at)
{
	struct sim_flow *f = p->flow;

	if (p->ce)
		notify(s, f, at);
	if (p->segment != f->rx_segment || p->index != f->rx_packet) {
		refuse(s, f, p, at);
		return;
	}
	f->nak_sent = false;
	f->delivered += p->len;
	if (++f->rx_packet < seg_at(f, p->segment)->packets) {
		if (s->conf->nic.unacked && f->rx_packet % (s->conf->nic.unacked / 2) == 0)
			send_back(s, f, ACK, f->rx_segment, at);
		return;
	}
	f->rx_packet = 0;
	f->rx_segment++;
	acknowledge(s, f, at);
}
