/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs: posted segments go to the NIC, and lost ones go there again (as RC does it);
 * receivers acknowledge segments and send CNPs for marks.
 */
#include <math.h>

#include "bench/sim/core/memory.h"
#include "priv.h"

#define RTO_US 4000.0       /* default */

static struct segment *seg_at(const struct star_flow *f, uint64_t i)
{
	return &f->seg[i & f->mask];
}

void star_send_back(struct sim *net, uint32_t packet)
{
	const struct star *s = (struct star *)net;

	port_put(net, s->flow[net->packet[packet].flow].back_nic, packet);
}

static uint32_t new_returned(struct star *s, const struct star_flow *f, enum kind kind,
			     uint64_t segment)
{
	const uint32_t i = new_packet(&s->net);
	struct packet *k = &s->net.packet[i];

	k->flow = f->index;
	k->kind = (uint8_t)kind;
	k->seq = segment;
	k->sack = f->rx_packet;
	k->len = s->conf->ack_bytes;
	k->ttl = FAB_TTL;
	return i;
}

/*
 * Send a packet back to the host that has the data, through NIC and port, or, if such packets
 * have no length, as an event after the delay of the return path.
 */
static void send_back(struct star *s, struct star_flow *f, enum kind kind, uint64_t segment,
		      uint64_t at)
{
	const uint32_t i = new_returned(s, f, kind, segment);

	if (s->conf->ack_bytes)
		set_event(&s->net, at, LEAVE, i);
	else
		set_event(&s->net, at + f->back, RETURN, i);
}

/* Make space in the ring for one more. */
static void grow_segments(struct star_flow *f)
{
	const uint64_t new = f->seg ? 2 * f->mask + 1 : 63;
	struct segment *larger;

	if (f->seg && f->head - f->tail <= f->mask)
		return;
	larger = mem_zeroed((size_t)new + 1, sizeof(*larger));
	for (uint64_t i = f->tail; i != f->head; i++)
		larger[i & new] = *seg_at(f, i);
	free(f->seg);
	f->seg = larger;
	f->mask = new;
}

void star_post(struct star *s, struct star_flow *f, uint32_t len)
{
	grow_segments(f);
	*seg_at(f, f->head++) = (struct segment){
		.posted = s->net.now, .len = len, .first = f->posted_packets,
		.packets = s->conf->mtu ? (len + s->conf->mtu - 1) / s->conf->mtu : 1,
	};
	f->posted_packets += seg_at(f, f->head - 1)->packets;
	if (f->op == SIM_READ) {
		send_back(s, f, REQUEST, f->head, s->net.now);
		return;
	}
	f->ready = f->head;
	star_feed(s, f);
}

/* All packets before this packet have arrived: move the window of unacknowledged packets. */
static void take_ack(struct star *s, struct star_flow *f, uint64_t segment, uint32_t index)
{
	const uint64_t first = segment == f->head ? f->posted_packets : seg_at(f, segment)->first;

	if (!s->conf->nic.unacked || segment < f->tail || first + index <= f->acked_packets)
		return;
	f->acked_packets = first + index;
	star_feed(s, f);
}

/*
 * Send again from the packet that the receiver expects. A READ's requester has requested all of
 * it.
 */
static void go_back(struct star *s, struct star_flow *f)
{
	f->ready = f->head;
	f->tx_segment = f->rx_segment;
	f->tx_packet = f->rx_packet;
	take_ack(s, f, f->rx_segment, f->rx_packet);
	star_feed(s, f);
	if (f->driver->loss)
		f->driver->loss(s, f);
}

static void ack_arrives(struct star *s, struct star_flow *f);

void star_return(struct sim *net, uint32_t packet)
{
	struct star *s = (struct star *)net;
	const struct packet k = net->packet[packet];
	struct star_flow *f = &s->flow[k.flow];

	free_packet(net, packet);
	switch (k.kind) {
	case NAK:
		go_back(s, f);
		break;
	case REQUEST:
		if (f->ready < k.seq)
			f->ready = k.seq;
		star_feed(s, f);
		break;
	case ADVICE:
		star_receive_advice(s, f, (double)k.seq);
		break;
	default: /* it acknowledges all earlier ones, too */
		take_ack(s, f, k.seq, (uint32_t)k.sack);
		while (f->tail < k.seq)
			ack_arrives(s, f);
	}
}

/* Count what has arrived, and the part of it that the sender has learned about. */
static uint64_t progress(const struct star_flow *f)
{
	return f->delivered + f->tail;
}

double star_rto_us(const struct star *s)
{
	return s->conf->rto_us > 0 ? s->conf->rto_us : RTO_US;
}

/* A lost acknowledgement is sent again, as a receiver does for a duplicate packet. */
static void check_for_loss(struct star *s, void *who)
{
	struct star_flow *f = who;
	const bool idle = f->tail == f->head, stuck = !idle && progress(f) == f->rto_seen;

	if (stuck && f->tail < f->rx_segment)
		send_back(s, f, ACK, f->rx_segment, s->net.now);
	else if (stuck)
		go_back(s, f);
	f->rto_seen = idle ? NEVER : progress(f);
	star_at(s, s->net.now + star_ps(star_rto_us(s)), check_for_loss, f);
}

void star_watch_losses(struct star *s, struct star_flow *f)
{
	f->rto_seen = NEVER;
	if (s->conf->limit || s->conf->loss > 0)
		star_at(s, s->net.now + star_ps(star_rto_us(s)), check_for_loss, f);
}

static double noise(struct star *s)
{
	const struct sim_noise *n = &s->conf->noise;
	double us = n->uniform_us * rng_unit(&s->net.random);

	if (n->exp_us > 0)
		us -= n->exp_us * log(1 - rng_unit(&s->net.random));
	if (n->burst_share > 0 && rng_unit(&s->net.random) < n->burst_share)
		us += n->burst_us * rng_unit(&s->net.random);
	return us;
}

static void ack_arrives(struct star *s, struct star_flow *f)
{
	const struct segment seg = *seg_at(f, f->tail++);
	const double rtt_us = us_of(s->net.now - s->net.now % 1000 - seg.posted) -
			      us_of(star_ser(seg.len, star_nic_rate(s)));

	star_measure_rtt(s, f, rtt_us);
	f->driver->ack(s, f, &seg, s->conf->noise.on_sample ? noise(s) : 0);
}

/* Returns when the host handles what arrives at that time. */
static uint64_t unstalled(const struct star *s, uint64_t at)
{
	const uint64_t every = star_ps(s->conf->stalls.every_us);
	const uint64_t stall = star_ps(s->conf->stalls.stall_us);
	const uint64_t since = every ? at % every : stall;

	return since < stall ? at + stall - since : at;
}

/* A reader is done at that time; a writer still needs the acknowledgement. */
static void acknowledge(struct star *s, struct star_flow *f, uint64_t at)
{
	at = unstalled(s, at) + (s->conf->noise.on_sample ? 0 : star_ps(noise(s)));
	if (at < f->acked_at)
		at = f->acked_at;
	f->acked_at = at;
	if (f->op == SIM_READ)
		set_event(&s->net, at, RETURN, new_returned(s, f, ACK, f->rx_segment));
	else
		send_back(s, f, ACK, f->rx_segment, at);
}

static void cnp_arrives(struct star *s, void *who)
{
	struct star_flow *f = who;

	if (f->driver->cnp)
		f->driver->cnp(s, f);
}

static void notify(struct star *s, struct star_flow *f, uint64_t at)
{
	if (s->conf->cnp_us <= 0 || !ccs_dcqcn_np_ce(&f->np, us_of(at)))
		return;
	s->result->cnps++;
	/* Agents' messages overtake data, and a reader is itself the notification point. */
	star_at(s, at + (f->op == SIM_READ ? 0 : f->back), cnp_arrives, f);
}

/* Out of order: drop it, and send a NAK for the first packet of a gap. */
static void refuse(struct star *s, struct star_flow *f, const struct packet *k, uint64_t at)
{
	const bool later = k->seq > f->rx_segment ||
			   (k->seq == f->rx_segment && k->sack > f->rx_packet);

	if (!later || f->nak_sent)
		return;
	f->nak_sent = true;
	send_back(s, f, NAK, f->rx_segment, at);
}

/* Keep the telemetry of a segment's newest packet. An acknowledged segment has no entry. */
static void note_telemetry(const struct star *s, struct star_flow *f, const struct packet *k,
			   uint64_t at)
{
	struct ccs_cc_hop *hop = &f->seg[k->seq & f->mask].hop;

	if (k->seq < f->tail)
		return;
	if (k->record)
		*hop = s->net.record[k->record].hop[0];
	else if (s->conf->telemetry == SIM_ECHO)
		*hop = (struct ccs_cc_hop){
			.ts_ns = at / 1000, .tx_bytes = s->received[f->to->port - s->net.port],
			.capacity = port_rate(f->to->port),
		};
}

static void receive_data(struct star *s, struct star_flow *f, const struct packet *k, uint64_t at)
{
	note_telemetry(s, f, k, at);
	if (k->ce)
		notify(s, f, at);
	if (k->seq != f->rx_segment || k->sack != f->rx_packet) {
		refuse(s, f, k, at);
		return;
	}
	f->nak_sent = false;
	f->delivered += k->len;
	if (++f->rx_packet < seg_at(f, k->seq)->packets) {
		if (s->conf->nic.unacked && f->rx_packet % (s->conf->nic.unacked / 2) == 0)
			send_back(s, f, ACK, f->rx_segment, at);
		return;
	}
	f->rx_packet = 0;
	f->rx_segment++;
	acknowledge(s, f, at);
}

void star_receive(struct sim *net, uint32_t port, uint32_t packet)
{
	struct star *s = (struct star *)net;
	const struct packet k = net->packet[packet];
	struct star_flow *f = &s->flow[k.flow];

	s->received[port] += k.len;
	if (k.kind != DATA) {
		set_event(net, net->now + f->wire, RETURN, packet);
		return;
	}
	receive_data(s, f, &k, net->now + s->wire2);
	free_packet(net, packet);
}

/* The victim's packets are not dropped: its latency would be the retransmission timeout. */
static bool is_lost(struct star *s, const struct packet *k)
{
	return k->kind == DATA && k->flow < s->total && s->conf->loss > 0 &&
	       rng_unit(&s->net.random) < s->conf->loss;
}

static bool is_full(const struct star *s, const struct packet *k)
{
	const struct star_flow *f = &s->flow[k->flow];
	const struct port *port = k->kind == DATA ? f->to->port : &s->net.port[f->nic ^ 1];

	return s->conf->limit && port->bytes + k->len > s->conf->limit;
}

bool star_admit(struct sim *net, uint32_t packet)
{
	struct star *s = (struct star *)net;
	const struct packet *k = &net->packet[packet];

	s->flow[k->flow].seen_at = net->now;
	s->result->packets++;
	if (is_lost(s, k)) {
		s->result->lost++;
	} else if (is_full(s, k)) {
		s->result->drops++;
		s->result->late_drops += net->now >= star_ps(s->conf->warm_us);
	} else {
		return true;
	}
	free_packet(net, packet);
	return false;
}
