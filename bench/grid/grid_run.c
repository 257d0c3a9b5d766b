/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs jobs by several processes, each of which takes the next job. */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "grid.h"
#include "bench/common/progress.h"

enum { PROCESSES_MAX = 64, STEPS = 10 };

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

static void work(const struct job *job, unsigned n, atomic_uint *next, int out, uint64_t seed)
{
	static struct sim_result r;

	for (unsigned i; (i = atomic_fetch_add(next, 1)) < n;) {
		const struct sim_conf conf =
			grid_conf(job[i].scenario, job[i].contender, job[i].length);

		job[i].out->begun = true;
		sim_run(&conf, seed, &r);
		copy_result(job[i].out, &r);
		if (write(out, &i, sizeof(i)) != sizeof(i))
			_exit(1);
	}
	_exit(0);
}

/* A bar on a terminal, elsewhere a line now and then. */
static void print_progress(const struct job *job, unsigned done, unsigned n)
{
	char what[80];

	if (!progress_watched()) {
		if (done * STEPS / n != (done - 1) * STEPS / n)
			fprintf(stderr, "grid: %u of %u runs\n", done, n);
		return;
	}
	snprintf(what, sizeof(what), "%.28s %.10s", job->scenario->name, job->contender->cc);
	progress_bar(done - 1, n, what, 1);
}

static void follow(const struct job *job, unsigned n, int in)
{
	unsigned i, done = 0;

	for (ssize_t got; (got = read(in, &i, sizeof(i))) != 0;) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got != sizeof(i))
			break;
		print_progress(&job[i], ++done, n);
	}
	progress_clear();
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
	atomic_uint *next = mmap(NULL, sizeof(*next), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int ends[2];

	if (next == MAP_FAILED || pipe(ends)) {
		fprintf(stderr, "grid: %s\n", strerror(errno));
		return n;
	}
	fflush(NULL);
	for (unsigned i = 0; i < processes && i < PROCESSES_MAX; i++) {
		if (fork() == 0) {
			close(ends[0]);
			work(job, n, next, ends[1], seed);
		}
	}
	close(ends[1]);
	follow(job, n, ends[0]);
	while (wait(NULL) > 0)
		;
	close(ends[0]);
	munmap(next, sizeof(*next));
	return name_missing(job, n);
}
