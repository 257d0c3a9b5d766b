/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Placement of flows on hosts: the NIC and the port of each flow's data, and those of the
 * packets returned. Senders are the first hosts; in an incast receivers follow, and have the first
 * ports. The victim's host is the last.
 */
#include "priv.h"

void sim_place_all(struct sim *s)
{
	const struct sim_conf *c = s->conf;

	s->sources = c->hosts ? c->hosts : s->total;
	s->ports = c->pattern != SIM_INCAST ? s->sources : c->ports ? c->ports : 1;
	s->ends = 1 + s->sources + (c->pattern == SIM_INCAST ? s->ports : 0);
}

/* The number of the port to a host, whose NIC has the host's number. */
static unsigned port_of(const struct sim *s, unsigned host)
{
	if (s->conf->pattern != SIM_INCAST || host == s->ends - 1)
		return host;
	return host < s->sources ? s->ports + host : host - s->sources;
}

static unsigned step(const struct sim *s, const struct sim_flow *f)
{
	const unsigned n = s->sources;

	switch (s->conf->pattern) {
	case SIM_PERMUTATION: return n / 2;
	case SIM_ALL_TO_ALL: return 1 + f->index / n % (n - 1);
	default: return 1;
	}
}

/* The hosts at the ends of a flow's data. */
static unsigned sender(const struct sim *s, const struct sim_flow *f)
{
	return f->index == s->total ? s->ends - 1 : f->index % s->sources;
}

static unsigned receiver(const struct sim *s, const struct sim_flow *f)
{
	const bool incast = s->conf->pattern == SIM_INCAST, victim = f->index == s->total;

	if (incast)
		return s->sources + (victim ? 0 : f->index % s->ports);
	return victim ? 0 : (sender(s, f) + step(s, f)) % s->sources;
}

void sim_place(struct sim *s, struct sim_flow *f)
{
	const struct sim_conf *c = s->conf;
	const bool far = c->far_us > 0 && f->index % 2 && f->index < s->total;
	const double base_us = far ? c->far_us : c->base_us;
	const unsigned from = sender(s, f), to = receiver(s, f);

	f->nic = &s->nic[from];
	f->port = &s->port[port_of(s, to)];
	f->back_nic = &s->nic[to];
	f->back_port = &s->port[port_of(s, from)];
	/* A longer distance is on the flow's own link. */
	f->wire = sim_ps(base_us / 2 - c->base_us / 4);
	f->back = sim_ps(base_us / 2);
}
