/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hosts: a NIC that serves its queue pairs in turn, a packet each, and goes
 * back to what was lost (as RC does); receivers that acknowledge segments and
 * notify of marks.
 */
#include <math.h>

#include "priv.h"

#define RTO_US 4000.0

double sim_nic_rate(const struct sim *s)
{
	return s->conf->nic_rate > 0 ? s->conf->nic_rate : s->conf->rate;
}

static struct segment *seg_at(const struct sim_flow *f, uint64_t i)
{
	return &f->seg[i & f->mask];
}

static void nic_append(struct nic *nic, struct sim_flow *f)
{
	f->nic_next = NULL;
	f->on_nic = true;
	if (nic->first)
		nic->last->nic_next = f;
	else
		nic->first = f;
	nic->last = f;
}

/* The flow's next packet; its cursor moves on. */
static struct packet take(const struct sim *s, struct sim_flow *f)
{
	const struct segment *seg = seg_at(f, f->tx_segment);
	const uint32_t mtu = s->conf->mtu ? s->conf->mtu : seg->len;
	const uint32_t left = seg->len - f->tx_packet * mtu;
	const struct packet p = { .flow = f, .segment = f->tx_segment, .index = f->tx_packet,
				  .len = left < mtu ? left : mtu };

	if (++f->tx_packet == seg->packets) {
		f->tx_packet = 0;
		f->tx_segment++;
	}
	return p;
}

static void nic_done(struct sim *s, const struct event *e);

static void nic_kick(struct sim *s, struct nic *nic)
{
	struct sim_flow *f = nic->first;
	struct packet p;
	uint64_t done;

	if (nic->busy || !f)
		return;
	nic->first = f->nic_next;
	f->on_nic = false;
	p = take(s, f);
	if (f->tx_segment != f->head)
		nic_append(nic, f);
	nic->busy = true;
	done = s->now + sim_ser(p.len, sim_nic_rate(s));
	sim_at(s, done + s->wire1, sim_arrive, NULL, &p);
	sim_at(s, done, nic_done, nic, NULL);
}

static void nic_done(struct sim *s, const struct event *e)
{
	struct nic *nic = e->who;

	nic->busy = false;
	nic_kick(s, nic);
}

static void enlist(struct sim *s, struct sim_flow *f)
{
	if (!f->on_nic && f->tx_segment != f->head)
		nic_append(f->nic, f);
	nic_kick(s, f->nic);
}

void sim_post(struct sim *s, struct sim_flow *f, uint32_t len, uint64_t number)
{
	f->seg = sim_grown(f->seg, f->tail, f->head, &f->mask, sizeof(*f->seg));
	*seg_at(f, f->head++) = (struct segment){
		.number = number, .posted = s->now, .len = len,
		.packets = s->conf->mtu ? (len + s->conf->mtu - 1) / s->conf->mtu : 1,
	};
	enlist(s, f);
}

/* Send again from what the receiver waits for. */
static void go_back(struct sim *s, struct sim_flow *f)
{
	f->tx_segment = f->rx_segment;
	f->tx_packet = f->rx_packet;
	f->nak_sent = false;
	enlist(s, f);
	s->driver->loss(s, f);
}

static void nak_arrives(struct sim *s, const struct event *e)
{
	go_back(s, e->who);
}

static void look_for_loss(struct sim *s, const struct event *e)
{
	struct sim_flow *f = e->who;

	if (f->tail != f->head && f->tail == f->rto_tail)
		go_back(s, f);
	f->rto_tail = f->tail == f->head ? NEVER : f->tail;
	sim_at(s, s->now + sim_ps(RTO_US), look_for_loss, f, NULL);
}

void sim_watch_losses(struct sim *s, struct sim_flow *f)
{
	f->rto_tail = NEVER;
	if (s->conf->limit)
		sim_at(s, s->now + sim_ps(RTO_US), look_for_loss, f, NULL);
}

static double noise(struct sim *s)
{
	const struct sim_noise *n = &s->conf->noise;
	double us = n->uniform_us * sim_draw(s);

	if (n->exp_us > 0)
		us -= n->exp_us * log(1 - sim_draw(s));
	if (n->burst_share > 0 && sim_draw(s) < n->burst_share)
		us += n->burst_us * sim_draw(s);
	return us;
}

static void ack_arrives(struct sim *s, const struct event *e)
{
	struct sim_flow *f = e->who;
	const struct segment seg = *seg_at(f, f->tail++);
	const double rtt_us = sim_us(s->now - s->now % 1000 - seg.posted) -
			      sim_us(sim_ser(seg.len, sim_nic_rate(s)));

	sim_measure_rtt(s, rtt_us);
	s->driver->ack(s, f, &seg, s->conf->noise.on_sample ? noise(s) : 0);
}

/* When the host has time for what comes to it then. */
static uint64_t unstalled(const struct sim *s, uint64_t at)
{
	const uint64_t every = sim_ps(s->conf->stalls.every_us);
	const uint64_t stall = sim_ps(s->conf->stalls.stall_us);
	const uint64_t since = every ? at % every : stall;

	return since < stall ? at + stall - since : at;
}

static void acknowledge(struct sim *s, struct sim_flow *f, uint64_t at)
{
	at = unstalled(s, at) + s->back + (s->conf->noise.on_sample ? 0 : sim_ps(noise(s)));
	if (at < f->acked_at)
		at = f->acked_at;
	f->acked_at = at;
	sim_at(s, at, ack_arrives, f, NULL);
}

static void cnp_arrives(struct sim *s, const struct event *e)
{
	s->driver->cnp(s, e->who);
}

static void notify(struct sim *s, struct sim_flow *f, uint64_t at)
{
	if (s->conf->cnp_us <= 0 || !ccs_dcqcn_np_ce(&f->np, sim_us(at)))
		return;
	s->result->cnps++;
	sim_at(s, at + s->back, cnp_arrives, f, NULL);
}

/* Out of order: dropped, and the first of a gap told of. */
static void refuse(struct sim *s, struct sim_flow *f, const struct packet *p, uint64_t at)
{
	const bool later = p->segment > f->rx_segment ||
			   (p->segment == f->rx_segment && p->index > f->rx_packet);

	if (!later || f->nak_sent)
		return;
	f->nak_sent = true;
	sim_at(s, at + s->back, nak_arrives, f, NULL);
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
	f->delivered += p->len;
	if (++f->rx_packet < seg_at(f, p->segment)->packets)
		return;
	f->rx_packet = 0;
	f->rx_segment++;
	acknowledge(s, f, at);
}
