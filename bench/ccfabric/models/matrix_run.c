/* SPDX-License-Identifier: BSD-2-Clause */
/* The simulations of `ccfabric matrix`, side by side. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/error.h"
#include "bench/common/clock.h"
#include "bench/common/jobs.h"
#include "bench/sim/core/memory.h"
#include "bench/sim/fabric/baselines.h"
#include "matrix.h"

enum { WORDS_MAX = 256 };

static bool needs(const char *cc, unsigned what)
{
	struct ccs_cc_spec spec;
	char err[320];

	return fab_cc_parse(&spec, cc, err, sizeof(err)) && spec.ops->needs & what;
}

/* hpcc:variant=echo can do without, but then it has what switches write into packets. */
static bool needs_agents(const char *cc)
{
	return ccs_cc_is_auto(cc) || needs(cc, CCS_NEEDS_ADVICE) || strstr(cc, "variant=echo");
}

struct arguments {
	char *word[WORDS_MAX];
	unsigned n;
};

static void add_word(struct arguments *w, const char *word)
{
	if (w->n == WORDS_MAX)
		die("a model has more than %d words", WORDS_MAX);
	w->word[w->n++] = (char *)(uintptr_t)word;
}

/* The command line of `ccfabric run` for one model. The options point into the words. */
static void set_options(const struct matrix *x, const struct fab_model *m, const char *cc,
			struct options *o)
{
	char *at = mem_checked(strdup(m->options)), *word;
	static char about[64], program[80];
	struct arguments w = { .n = 0 };

	snprintf(about, sizeof(about), "model %.40s", m->name);
	snprintf(program, sizeof(program), "ccfabric: %s", about);
	die_about(*m->name ? about : NULL);
	add_word(&w, *m->name ? program : "ccfabric");
	while ((word = strsep(&at, " ")))
		if (*word)
			add_word(&w, word);
	add_word(&w, "--cc");
	add_word(&w, cc);
	if (needs_agents(cc))
		add_word(&w, "--agents");
	for (unsigned i = 0; i < x->givens; i++)
		add_word(&w, x->given[i]);
	if (needs(cc, CCS_NEEDS_CNP)) {
		add_word(&w, "--ecn");
		add_word(&w, x->ecn);
	}
	options_parse(o, (int)w.n, w.word);
	if (o->json)
		die("it has an option of results");
	o->conf.delays = true;
}

struct one {
	const struct fab_model *model;
	struct fab_verdict *verdict;
};

static void judge(void *owner, const struct fab_conf *conf, const struct fab_result *r)
{
	const struct one *one = owner;
	char err[128];

	if (!fab_judge_run(one->verdict, one->model, conf, r, err, sizeof(err)))
		die("%s", err);
}

struct simulations {
	const struct matrix *m;
	fab_run_model *run;
};

static void run_one(void *owner, unsigned i)
{
	const struct simulations *x = owner;
	const unsigned n = x->m->models.n;
	struct one one = { &x->m->models.model[i % n], &x->m->verdict[i] };
	const int64_t start = now_ns();
	struct options o;

	if (one.model->goal == FAB_GOAL_NOT_RUN)
		return;
	set_options(x->m, one.model, x->m->cc[i / n], &o);
	x->run(&o, judge, &one);
	one.verdict->wall_s = (double)(now_ns() - start) / 1e9;
}

bool matrix_simulate(struct matrix *m, fab_run_model *run)
{
	struct simulations x = { m, run };
	const struct jobs jobs = {
		.run = run_one, .owner = &x, .n = m->models.n * m->ccs, .processes = m->jobs,
		.quiet = m->quiet,
	};
	struct fab_model none = { .options = (char *)"" };
	struct options unused;

	m->verdict = jobs_shared(jobs.n, sizeof(*m->verdict));
	/* A mistake in an option, of this command or of a model, ends the program here, once. */
	set_options(m, &none, m->cc[0], &unused);
	for (unsigned i = 0; i < m->models.n; i++)
		if (m->models.model[i].goal != FAB_GOAL_NOT_RUN)
			set_options(m, &m->models.model[i], m->cc[0], &unused);
	die_about(NULL);
	return jobs_run(&jobs);
}
