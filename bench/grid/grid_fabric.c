/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows that are scenarios of ccfabric: its topologies, and flows that wait for others. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/ccfabric/ccfabric.h"
#include "grid.h"

enum { ARGS = 8 };

static const struct fab_preset *find_preset(const char *name)
{
	const struct fab_preset *p = fab_presets;

	while (strcmp(p->name, name) != 0)
		p++;
	return p;
}

/* Agents advise rates, and send the records of hpcc's variant echo; other records are in packets. */
static bool wants_agents(const struct contender *c)
{
	return c->spec.ops->needs & CCS_NEEDS_ADVICE || strstr(c->cc, "echo");
}

void grid_fabric(const struct scenario *s, const struct contender *c, uint64_t seed, struct outcome *o)
{
	const struct fab_preset *preset = find_preset(s->preset);
	struct fab_figures f;
	char topology[64], flows[160], seed_option[40];
	char *arg[ARGS] = { topology, flows, seed_option, (char *)(uintptr_t)"--quiet" };
	unsigned n = 4;

	snprintf(topology, sizeof(topology), "--topology=%s", s->topology);
	snprintf(flows, sizeof(flows), "--flows=%s", s->flows);
	snprintf(seed_option, sizeof(seed_option), "--seed=%llu", (unsigned long long)seed);
	if (wants_agents(c))
		arg[n++] = (char *)(uintptr_t)"--agents";
	fab_preset_run(preset, arg, n, c->cc, &f);
	*o = (struct outcome){
		.begun = true, .done = true, .util = f.utilisation, .own_util = f.utilisation,
		.jain = f.jain, .queue_p99 = f.queue_p99, .drops = (uint64_t)f.drops,
		.late_drops = (uint64_t)f.drops, .victims = f.operations.n, .victim_p50 = f.operations.p50,
		.victim_p99 = f.operations.p99, .operation_us = f.operations.mean,
		.rtt_p99 = NAN, .join_us = NAN, .leave_us = NAN,
	};
}
