/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Placement of flows on hosts: the NIC and the port of each flow's data, and those of the
 * packets returned. A host has a NIC and a port of the same number; in an incast the first NICs
 * belong to the senders and the first ports to the receivers. The victim's host is the last.
 */
#include "priv.h"

void sim_place_all(struct sim *s)
{
	const struct sim_conf *c = s->conf;

	s->sources = c->hosts ? c->hosts : s->total;
	s->ports = c->pattern != SIM_INCAST ? s->sources : c->ports ? c->ports : 1;
	s->ends = 1 + s->sources + (c->pattern == SIM_INCAST ? s->ports : 0);
}

static void incast(struct sim *s, struct sim_flow *f)
{
	const unsigned from = f->index % s->sources, to = f->index % s->ports;

	f->nic = &s->nic[from];
	f->port = &s->port[to];
	f->back_nic = &s->nic[s->sources + to];
	f->back_port = &s->port[s->ports + from];
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

static void between_hosts(struct sim *s, struct sim_flow *f)
{
	const unsigned from = f->index % s->sources, to = (from + step(s, f)) % s->sources;

	f->nic = &s->nic[from];
	f->port = &s->port[to];
	f->back_nic = &s->nic[to];
	f->back_port = &s->port[from];
}

static void victim(struct sim *s, struct sim_flow *f)
{
	f->nic = &s->nic[s->ends - 1];
	f->port = &s->port[0];
	f->back_nic = &s->nic[s->conf->pattern == SIM_INCAST ? s->sources : 0];
	f->back_port = &s->port[s->ends - 1];
}

void sim_place(struct sim *s, struct sim_flow *f)
{
	const struct sim_conf *c = s->conf;
	const bool far = c->far_us > 0 && f->index % 2 && f->index < s->total;
	const double base_us = far ? c->far_us : c->base_us;

	if (f->index == s->total)
		victim(s, f);
	else if (c->pattern == SIM_INCAST)
		incast(s, f);
	else
		between_hosts(s, f);
	/* A longer distance is on the flow's own link. */
	f->wire = sim_ps(base_us / 2 - c->base_us / 4);
	f->back = sim_ps(base_us / 2);
}
