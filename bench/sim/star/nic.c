/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A host's NIC: one FIFO of packets. Each queue pair has up to nic_depth of its packets there
 * and adds more when a quarter is left, as Soft-RoCE does; with one packet each the queue pairs
 * take turns. Returned packets wait behind all packets in the FIFO.
 */
#include "priv.h"

double sim_nic_rate(const struct sim *s)
{
	return s->conf->nic.rate > 0 ? s->conf->nic.rate : s->conf->rate;
}

/* Returns the flow's next packet and advances its cursor. */
static struct packet take_packet(const struct sim *s, struct sim_flow *f)
{
	const struct segment *seg = &f->seg[f->tx_segment & f->mask];
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

static bool may_send(const struct sim *s, const struct sim_flow *f)
{
	if (f->tx_segment >= f->ready)
		return false;
	return !s->conf->nic.unacked || f->op == SIM_READ ||
	       f->seg[f->tx_segment & f->mask].first + f->tx_packet <
		       f->acked_packets + s->conf->nic.unacked;
}

static void bring(struct sim *s, struct sim_flow *f)
{
	const uint32_t depth = s->conf->nic.depth ? s->conf->nic.depth : 1;

	if (f->in_nic > depth / 4)
		return;
	for (; f->in_nic < depth && may_send(s, f); f->in_nic++) {
		const struct packet p = take_packet(s, f);

		sim_push(&f->nic->queue, &p);
	}
}

static void done(struct sim *s, const struct event *e);

static void kick(struct sim *s, struct nic *nic)
{
	struct packet p;
	uint64_t at;

	if (nic->busy || nic->queue.tail == nic->queue.head)
		return;
	p = sim_take(&nic->queue);
	if (p.kind == DATA) {
		p.flow->in_nic--;
		bring(s, p.flow);
	}
	nic->busy = true;
	at = s->now + sim_ser(p.len, sim_nic_rate(s));
	sim_at(s, at + (p.kind == DATA ? p.flow->wire : s->wire2), sim_arrive, NULL, &p);
	sim_at(s, at, done, nic, NULL);
}

static void done(struct sim *s, const struct event *e)
{
	struct nic *nic = e->who;

	nic->busy = false;
	kick(s, nic);
}

void sim_feed(struct sim *s, struct sim_flow *f)
{
	bring(s, f);
	kick(s, f->nic);
}

void sim_leave(struct sim *s, const struct event *e)
{
	struct nic *nic = e->who;

	sim_push(&nic->queue, &e->packet);
	kick(s, nic);
}
