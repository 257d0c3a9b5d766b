/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A host's NIC: the queue of its port. Each queue pair has up to nic_depth of its packets there
 * and adds more when a quarter is left, as Soft-RoCE does; with one packet each the queue pairs
 * take turns. Returned packets wait behind all packets in the queue.
 */
#include "priv.h"

double star_nic_rate(const struct star *s)
{
	return s->conf->nic.rate > 0 ? s->conf->nic.rate : s->conf->rate;
}

/* Returns the flow's next packet and advances its cursor. */
static uint32_t next_packet(struct star *s, struct star_flow *f)
{
	const struct segment *seg = &f->seg[f->tx_segment & f->mask];
	const uint32_t mtu = s->conf->mtu ? s->conf->mtu : seg->len;
	const uint32_t left = seg->len - f->tx_packet * mtu;
	const uint32_t i = new_packet(&s->net);
	struct packet *k = &s->net.packet[i];

	k->flow = f->index;
	k->seq = f->tx_segment;
	k->sack = f->tx_packet;
	k->len = left < mtu ? left : mtu;
	k->ttl = FAB_TTL;
	k->ect = true;
	if (s->conf->telemetry == SIM_INT && !(s->conf->agents.record_us > 0))
		k->record = new_record(&s->net);
	if (++f->tx_packet == seg->packets) {
		f->tx_packet = 0;
		f->tx_segment++;
	}
	return i;
}

static bool may_send(const struct star *s, const struct star_flow *f)
{
	if (f->tx_segment >= f->ready)
		return false;
	return !s->conf->nic.unacked || f->op == SIM_READ ||
	       f->seg[f->tx_segment & f->mask].first + f->tx_packet <
		       f->acked_packets + s->conf->nic.unacked;
}

/* A packet that is put into an empty queue leaves at once, which calls this again. */
void star_feed(struct star *s, struct star_flow *f)
{
	const uint32_t depth = s->conf->nic.depth ? s->conf->nic.depth : 1;

	if (f->feeding)
		return;
	f->feeding = true;
	while (f->in_nic <= depth / 4 && may_send(s, f))
		for (uint32_t n = depth - f->in_nic; n && may_send(s, f); n--) {
			f->in_nic++;
			port_put(&s->net, f->nic, next_packet(s, f));
		}
	f->feeding = false;
}

void star_sent(struct sim *net, uint32_t packet)
{
	struct star *s = (struct star *)net;
	const struct packet *k = &net->packet[packet];

	if (k->kind != DATA)
		return;
	s->flow[k->flow].in_nic--;
	star_feed(s, &s->flow[k->flow]);
}
