/* SPDX-License-Identifier: BSD-2-Clause */
#include "repeat.h"

#include <math.h>
#include <string.h>

#include "base/document.h"
#include "base/json.h"
#include "bench/ccfabric/shared/output.h"
#include "bench/common/jobs.h"
#include "tools/common/human.h"

struct seeds {
	const struct options *o;
	fab_run_seed *run;
	struct fab_brief *brief; /* shared by all processes */
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

static void print_table(const struct options *o, const struct seeds *s)
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

static bool write_json(const void *owner, FILE *f)
{
	const struct seeds *s = owner;
	const struct options *o = s->o;
	struct ccs_json j;

	ccs_json_start(&j, f);
	ccs_json_object(&j, NULL);
	ccs_document_head(&j, ccs_document_now());
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

static void run_one(void *owner, unsigned i)
{
	const struct seeds *s = owner;

	s->run(s->o, s->o->conf.seed + i, &s->brief[i]);
}

int repeat(const struct options *o, fab_run_seed *run)
{
	struct seeds s = { o, run, jobs_shared(o->repeat, sizeof(*s.brief)) };
	const struct jobs jobs = {
		.run = run_one, .owner = &s, .n = o->repeat, .processes = o->jobs, .quiet = o->quiet,
	};

	if (!jobs_run(&jobs))
		return 2;
	if (!o->json || strcmp(o->json, "-") != 0)
		print_table(o, &s);
	output_flush();
	output_write(o->json, write_json, &s);
	return 0;
}
