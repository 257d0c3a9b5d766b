/* SPDX-License-Identifier: BSD-2-Clause */
#include "judge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/sim/fabric/delays.h"
#include "bench/sim/core/memory.h"

static uint32_t find_port(const struct topology *t, const char *name)
{
	unsigned from, to;
	char tail;

	if (sscanf(name, "%5u->%5u%c", &from, &to, &tail) != 2)
		return FAB_NO_PORT;
	return fab_find_port(t, from, to);
}

/* The least utilisation of the receivers' links, or of the senders'. */
static double least_of_hosts(const struct fab_conf *c, const struct fab_result *r, bool receivers)
{
	bool *chosen = mem_zeroed(c->topology->nodes, sizeof(*chosen));
	double least = INFINITY;

	for (unsigned i = 0; i < c->flows->n; i++)
		chosen[receivers ? c->flows->flow[i].dst : c->flows->flow[i].src] = true;
	for (uint32_t i = 0; i < 2 * c->topology->links; i++)
		if (chosen[receivers ? fab_port_peer(c->topology, i) : fab_port_node(c->topology, i)])
			least = fmin(least, r->port[i].utilisation);
	free(chosen);
	return least;
}

static double least_of_ports(const char *names, const struct fab_conf *c,
			     const struct fab_result *r, char *err, size_t len)
{
	char *copy = mem_checked(strdup(names)), *at = copy, *name;
	double least = INFINITY;

	while ((name = strsep(&at, ","))) {
		const uint32_t port = find_port(c->topology, name);

		if (port == FAB_NO_PORT) {
			snprintf(err, len, "the topology has no port %s", name);
			least = NAN;
			break;
		}
		least = fmin(least, r->port[port].utilisation);
	}
	free(copy);
	return least;
}

/* The least utilisation of the ports that the model saturates; NAN: one of them does not exist. */
static double least_full(const struct fab_model *m, const struct fab_conf *c,
			 const struct fab_result *r, char *err, size_t len)
{
	if (strcmp(m->ports, "receivers") == 0 || strcmp(m->ports, "senders") == 0)
		return least_of_hosts(c, r, *m->ports == 'r');
	return least_of_ports(m->ports, c, r, err, len);
}

static double delivered(const struct fab_conf *c, const struct fab_result *r)
{
	double offered = 0;

	for (unsigned i = 0; i < c->flows->n; i++)
		offered += (double)c->flows->flow[i].size;
	return (double)r->acked / offered;
}

static double pauses_per_s(const struct fab_conf *c, const struct fab_result *r)
{
	const double s = ((double)(r->end - r->begin) - (double)c->warm) / 1e12;
	uint64_t most = 0;

	for (uint32_t i = 0; i < 2 * c->topology->links; i++)
		most = r->port[i].pauses > most ? r->port[i].pauses : most;
	return s > 0 ? (double)most / s : 0;
}

bool fab_judge_run(struct fab_verdict *v, const struct fab_model *m, const struct fab_conf *c,
		   const struct fab_result *r, char *err, size_t len)
{
	const bool full = m->goal == FAB_GOAL_FULL;

	*v = (struct fab_verdict){
		.run = true, .g1_value = full ? least_full(m, c, r, err, len) : delivered(c, r),
		.pauses_per_s = pauses_per_s(c, r),
		.p50_us = fab_delays_quantile(r->delays, 0.5),
		.p99_us = fab_delays_quantile(r->delays, 0.99),
		.mean_us = r->delays->count ? ccs_hist_mean(r->delays) / 1e3 : NAN,
		.max_us = r->delays->count ? (double)r->delays->max / 1e3 : NAN,
		.lost = r->drops.lossless, .packets = r->sent,
		.deadlock = r->deadlock_at != UINT64_MAX,
		.simulated_us = (double)(r->end - r->begin) / FAB_PS_PER_US,
	};
	if (isnan(v->g1_value))
		return false;
	v->g1 = v->g1_value >= (full ? FAB_FULL_MIN : FAB_DELIVERED_MIN);
	v->g2 = v->pauses_per_s <= FAB_PAUSES_MAX;
	v->g3 = v->p99_us <= FAB_DELAY_MAX_US;
	v->pass = v->g1 && v->g2 && v->g3 && !v->lost && !v->deadlock;
	return true;
}
