/* SPDX-License-Identifier: BSD-2-Clause */
#include "repeat.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "bench/ccbench/progress.h"
#include "tools/common/human.h"

/* Shared by all processes: each takes the next seed that is left. */
struct shared {
	atomic_uint next, done;
	struct fab_brief brief[];
};

static void print_line(const char *name, const struct fab_brief *b)
{
	char mean[24], p99[24], queue[24];

	printf("%-8s %7.0f %10s %10s %9.2f %9.2f %10s %8.0f %7.0f\n", name, b->done,
	       human_us(b->fct_mean_us, mean, sizeof(mean)), human_us(b->fct_p99_us, p99, sizeof(p99)),
	       b->slowdown_mean, b->slowdown_p99, human_bytes(b->queue_max, queue, sizeof(queue)),
	       b->pauses, b->drops);
}

static double of(const struct fab_brief *b, unsigned i)
{
	return ((const double *)(const void *)b)[i];
}

static void print_table(const struct options *o, const struct shared *s)
{
	struct fab_brief row[3];
	double *const figure[] = { (double *)(void *)&row[0], (double *)(void *)&row[1],
				   (double *)(void *)&row[2] };

	printf("%-8s %7s %10s %10s %9s %9s %10s %8s %7s\n", "seed", "done", "FCT mean", "p99",
	       "slowdown", "p99", "max queue", "XOFFs", "drops");
	for (unsigned i = 0; i < o->repeat; i++) {
		char name[24];

		snprintf(name, sizeof(name), "%llu", (unsigned long long)(o->conf.seed + i));
		print_line(name, &s->brief[i]);
	}
	for (unsigned f = 0; f < FAB_BRIEF_FIGURES; f++) {
		figure[0][f] = 0;
		figure[1][f] = INFINITY;
		figure[2][f] = -INFINITY;
		for (unsigned i = 0; i < o->repeat; i++) {
			const double v = of(&s->brief[i], f);

			figure[0][f] += v / o->repeat;
			figure[1][f] = fmin(figure[1][f], v);
			figure[2][f] = fmax(figure[2][f], v);
		}
	}
	print_line("mean", &row[0]);
	print_line("least", &row[1]);
	print_line("most", &row[2]);
}

static bool write_json(const struct options *o, const struct shared *s, FILE *f)
{
	struct ccs_json j;

	ccs_json_start(&j, f);
	ccs_json_object(&j, NULL);
	ccs_json_array(&j, "runs");
	for (unsigned i = 0; i < o->repeat; i++) {
		ccs_json_object(&j, NULL);
		ccs_json_uint(&j, "seed", o->conf.seed + i);
		for (unsigned k = 0; k < FAB_BRIEF_FIGURES; k++)
			ccs_json_num(&j, fab_brief_names[k], of(&s->brief[i], k));
		ccs_json_end(&j);
	}
	ccs_json_end(&j);
	ccs_json_end(&j);
	return ccs_json_finish(&j);
}

/* False if a process failed, which has said why. */
static bool wait_for_all(const struct options *o, const struct shared *s)
{
	bool ok = true;
	int status;

	while (wait(&status) > 0) {
		ok &= WIFEXITED(status) && WEXITSTATUS(status) == 0;
		if (!o->quiet && progress_watched())
			progress_bar(1, 1, "simulating", (double)atomic_load(&s->done) / o->repeat);
	}
	if (!o->quiet && progress_watched())
		progress_clear();
	return ok;
}

static void start(const struct options *o, struct shared *s,
		  void (*run)(const struct options *o, uint64_t seed, struct fab_brief *brief))
{
	for (unsigned k = 0; k < o->jobs && k < o->repeat; k++) {
		const pid_t pid = fork();

		if (pid < 0)
			die("cannot start a process: %s", strerror(errno));
		if (pid)
			continue;
		for (unsigned i; (i = atomic_fetch_add(&s->next, 1)) < o->repeat;) {
			run(o, o->conf.seed + i, &s->brief[i]);
			atomic_fetch_add(&s->done, 1);
		}
		_exit(0);
	}
}

int repeat(const struct options *o,
	   void (*run)(const struct options *o, uint64_t seed, struct fab_brief *brief))
{
	const size_t size = sizeof(struct shared) + o->repeat * sizeof(struct fab_brief);
	struct shared *s = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	FILE *f;

	if (s == MAP_FAILED)
		die("out of memory");
	start(o, s, run);
	if (!wait_for_all(o, s))
		return 2;
	if (!o->json || strcmp(o->json, "-") != 0)
		print_table(o, s);
	if (!o->json)
		return 0;
	f = strcmp(o->json, "-") == 0 ? stdout : fopen(o->json, "w");
	if (!f || !write_json(o, s, f) || (f != stdout && fclose(f)))
		die("%s: %s", o->json, strerror(errno));
	return 0;
}
