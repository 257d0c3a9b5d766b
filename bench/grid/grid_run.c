/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs jobs by several processes. */
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
	o->done = true;
}

struct all {
	const struct job *job;
	uint64_t seed;
};

static void run_one(void *owner, unsigned i)
{
	static struct sim_result r;
	const struct all *all = owner;
	const struct job *job = &all->job[i];
	const struct sim_conf conf = grid_conf(job->scenario, job->contender, job->length);

	job->out->begun = true;
	sim_run(&conf, all->seed, &r);
	copy_result(job->out, &r);
}

static unsigned name_missing(const struct job *job, unsigned n)
{
	unsigned missing = 0;

	for (unsigned i = 0; i < n; i++) {
		if (job[i].out->done)
			continue;
		missing++;
		if (job[i].out->begun)
			fprintf(stderr, "grid: '%s' under %s did not end\n", job[i].scenario->name,
				job[i].contender->cc);
	}
	return missing;
}

unsigned grid_run(const struct job *job, unsigned n, unsigned processes, uint64_t seed)
{
	struct all all = { job, seed };
	const struct jobs jobs = {
		.run = run_one, .owner = &all, .n = n, .processes = processes, .program = "grid",
	};

	jobs_run(&jobs);
	return name_missing(job, n);
}
