/* SPDX-License-Identifier: BSD-2-Clause */
/* Flows that can never end: after the last change of the network their packets, or acknowledgements, do
 * not arrive. A run is over when it waits for such flows alone. */
#include "priv.h"

static bool arrives(const struct sim *s, uint32_t flow, bool back)
{
	const struct flow *f = &s->flow[flow];
	uint32_t port = back ? f->port_back : f->port;

	for (unsigned hops = 0; port != FAB_NO_PORT && !s->port[port].down; hops++) {
		if (s->port[port].to_host)
			return true;
		if (hops == s->conf->ttl)
			return false;
		port = switch_look_up(s, s->port[port].peer, f, back);
	}
	return false;
}

static bool is_cut(const struct sim *s, uint32_t flow)
{
	return !flow_is_done(&s->flow[flow]) && !(arrives(s, flow, false) && arrives(s, flow, true));
}

static unsigned count_cut(const struct sim *s)
{
	unsigned n = 0;

	for (unsigned i = 0; i < s->conf->flows->n; i++)
		n += is_cut(s, i);
	return n;
}

/* Longer than a packet is under way, or a lost one is not sent again. */
static double longest_wait(const struct sim *s)
{
	const double buffer = s->has_mmu ? s->conf->buffer.bytes : 1e9;

	return 10 * (s->slowest * (buffer + UINT16_MAX) + s->conf->rto_us * FAB_PS_PER_US);
}

static void check_again(struct sim *s)
{
	const double at = (double)s->now + longest_wait(s);

	if (at < (double)s->conf->end)
		set_event(s, (uint64_t)at, CUT, 0);
}

void cut_begin(struct sim *s)
{
	s->watched.acked = NEVER;
	if (count_cut(s))
		check_again(s);
}

/* Over: nothing was acknowledged since the last time, and flows that are not cut have nothing to
 * send. They may wait for data of some that are. */
void cut_check(struct sim *s, uint32_t number)
{
	bool others = s->started < s->conf->flows->n;
	uint64_t acked = 0;

	(void)number;
	for (unsigned i = 0; i < s->conf->flows->n && !others; i++) {
		const struct flow *f = &s->flow[i];

		if (flow_is_done(f))
			continue;
		acked += f->snd_una;
		others = !is_cut(s, i) && flow_ready(s, f) > f->snd_una;
	}
	if (!others && acked == s->watched.acked) {
		s->over = true;
		s->result->cut = count_cut(s);
		return;
	}
	s->watched.acked = acked;
	check_again(s);
}
