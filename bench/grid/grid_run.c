/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs jobs by several processes. */
#include <math.h>

#include "bench/common/jobs.h"
#include "grid.h"

static void copy_result(struct outcome *o, const struct sim_result *r)
{
	o->util = r->util;
	o->own_util = r->own_util;
	o->jain = r->jain;
	o->queue_p99 = r->q_p99;
	o->victim_p50 = r->victim_p50;
	o->victim_p99 = r->victim_p99;
	o->victims = r->victims;
	o->rtt_p99 = r->rtt_p99;
	o->join_us = r->join_us;
	o->leave_us = r->leave_us;
	o->drops = r->drops;
	o->late_drops = r->late_drops;
	o->lost = r->lost;
	o->operation_us = NAN;
	o->done = true;
}

struct runs {
	const struct grid *g;
	struct outcome *out;
};

static void run_one(void *owner, unsigned i)
{
	static struct sim_result r;
	const struct runs *runs = owner;
	const struct grid *g = runs->g;
	const struct scenario *s = g->scenario[i / g->contenders];
	const struct contender *c = &g->contender[i % g->contenders];
	struct sim_conf conf;

	runs->out[i].begun = true;
	if (s->preset) {
		grid_fabric(s, c, g->seed, &runs->out[i]);
		return;
	}
	conf = grid_conf(s, c, g->length);
	sim_run(&conf, g->seed, &r);
	copy_result(&runs->out[i], &r);
}

bool grid_run(const struct grid *g, struct outcome *out, unsigned processes)
{
	struct runs runs = { g, out };
	const struct jobs jobs = {
		.run = run_one, .owner = &runs, .n = g->scenarios * g->contenders,
		.processes = processes, .program = "grid",
	};
	bool done = jobs_run(&jobs);

	for (unsigned i = 0; i < jobs.n; i++) {
		done &= out[i].done;
		if (out[i].begun && !out[i].done)
			fprintf(stderr, "grid: '%s' under %s did not end\n",
				g->scenario[i / g->contenders]->name,
				g->contender[i % g->contenders].cc);
	}
	return done;
}
