/* SPDX-License-Identifier: BSD-2-Clause */
#include "suite.h"

#include <fnmatch.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/ccfabric/shared/error.h"
#include "bench/ccfabric/shared/output.h"
#include "bench/common/clock.h"
#include "base/units.h"
#include "cc/cc.h"
#include "bench/common/jobs.h"
#include "bench/sim/core/memory.h"
#include "bench/sim/fabric/baselines.h"
#include "tools/common/installed.h"

/* -- options --------------------------------------------------------------------------------- */

static void give(struct fab_suite_options *o, const char *name, const char *value)
{
	char *option = mem_zeroed(strlen(name) + 3, 1);

	sprintf(option, "--%s", name);
	o->given = mem_resized(o->given, o->givens + 2u, sizeof(*o->given));
	o->given[o->givens++] = option;
	if (value)
		o->given[o->givens++] = mem_checked(strdup(value));
}

unsigned fab_suite_number(const char *option, unsigned most)
{
	char *end;
	const unsigned long n = strtoul(optarg, &end, 10);

	if (*optarg < '0' || *optarg > '9' || *end || !n || n > most)
		die("--%s: '%s' is no number from 1 to %u", option, optarg, most);
	return (unsigned)n;
}

static bool parse_option(struct fab_suite_options *o, int option, const char *name)
{
	switch (option) {
	case FAB_SUITE_FIRST: o->file = optarg; break;
	case FAB_SUITE_ONLY: o->only = optarg; break;
	case FAB_SUITE_JOBS: o->jobs = fab_suite_number(name, 1024); break;
	case FAB_SUITE_JSON: o->json = "-"; break;
	case FAB_SUITE_OUT_JSON: o->json = optarg; break;
	case FAB_SUITE_GIVEN: give(o, name, optarg); break;
	case 'q': o->quiet = true; break;
	default: return false;
	}
	return true;
}

void fab_suite_parse(struct fab_suite_options *o, const struct fab_command *c, int argc,
		     char **argv, void *owner)
{
	static char moved[PATH_MAX];
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int index = 0;

	*o = (struct fab_suite_options){ .file = installed_path(FAB_MODELS, moved, sizeof(moved)),
					 .jobs = cpus > 0 ? (unsigned)cpus : 1 };
	die_in_command(c->name);
	optind = 0;
	for (int option; (option = getopt_long(argc, argv, "qh", c->known, &index)) != -1;) {
		if (option == 'h')
			output_help(c->usage);
		if (!c->parse(owner, option, c->known[index].name) &&
		    !parse_option(o, option, c->known[index].name)) {
			fprintf(stderr, "Try 'ccfabric %s --help'.\n", c->name);
			exit(2);
		}
	}
	if (optind < argc)
		die("'%s' is no option", argv[optind]);
	output_check(o->json);
}

const char *fab_suite_cc(void)
{
	struct ccs_cc_spec spec;
	char err[320];

	if (!fab_cc_parse(&spec, optarg, err, sizeof(err)))
		die("%s", err);
	return optarg;
}

double fab_suite_bytes(const char *option, const char *text)
{
	double value;

	if (ccs_parse_unit(text, CCS_UNIT_BYTES, &value) || !(value >= 0))
		die("--%s: '%s' is no number of bytes, such as 100k", option, text);
	return value;
}

void fab_suite_marks(char ecn[FAB_SUITE_ECN], const char *kmin, const char *kmax, const char *pmax)
{
	if (fab_suite_bytes("kmax", kmax) < fab_suite_bytes("kmin", kmin))
		die("--kmax: '%s' is below --kmin, which is '%s'", kmax, kmin);
	if (options_fraction("pmax", pmax) > 1)
		die("--pmax: a probability of '%s' is above 1", pmax);
	snprintf(ecn, FAB_SUITE_ECN, "%.30s:%.30s:%.30s@25g", kmin, kmax, pmax);
}

/* -- models ---------------------------------------------------------------------------------- */

void fab_suite_models(const struct fab_suite_options *o, struct fab_models *m)
{
	char err[512];
	unsigned n = 0;

	if (!fab_models_read(m, o->file, err, sizeof(err)))
		die("%s%s", err, access(o->file, F_OK) ? "; name a file with --models" : "");
	for (unsigned i = 0; i < m->n; i++)
		if (!o->only || fnmatch(o->only, m->model[i].name, 0) == 0) {
			const struct fab_model chosen = m->model[i];

			m->model[i] = m->model[n];
			m->model[n++] = chosen;
		}
	if (!n)
		die("--only: no model has a name like '%s'", o->only);
	m->n = n;
}

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

struct suite {
	const struct fab_suite_options *o;
	const struct fab_models *models;
	const struct fab_setting *setting;
	fab_run_model *run;
	struct fab_verdict *verdict;
};

struct words {
	char **word;
	int n;
};

static void add_word(struct words *w, const char *word)
{
	w->word[w->n++] = (char *)(uintptr_t)word;
}

/* The command line of `ccfabric run` for one model. */
static void set_options(const struct suite *x, const struct fab_model *m,
			const struct fab_setting *s, struct options *o)
{
	struct words w = { mem_zeroed(m->words + x->o->givens + 16u, sizeof(char *)), 0 };

	add_word(&w, "run");
	for (unsigned i = 0; i < m->words; i++)
		add_word(&w, m->word[i]);
	add_word(&w, "--cc");
	add_word(&w, s->cc);
	if (needs_agents(s->cc))
		add_word(&w, "--agents");
	for (unsigned i = 0; i < x->o->givens; i++)
		add_word(&w, x->o->given[i]);
	if (s->alpha) {
		add_word(&w, "--alpha");
		add_word(&w, s->alpha);
	}
	if (needs(s->cc, CCS_NEEDS_CNP)) {
		add_word(&w, "--ecn");
		add_word(&w, s->ecn);
	}
	options_parse(o, w.n, w.word);
	if (o->repeat > 1 || o->json || o->fct || o->plot || o->save_topology || o->save_flows)
		die("model %s has an option of results", m->name);
	o->conf.delays = true;
}

/* -- simulations ----------------------------------------------------------------------------- */

struct one {
	const struct fab_model *model;
	struct fab_verdict *verdict;
};

static void judge(void *owner, const struct fab_conf *conf, const struct fab_result *r)
{
	const struct one *one = owner;
	char err[128];

	if (!fab_judge_run(one->verdict, one->model, conf, r, err, sizeof(err)))
		die("model %s: %s", one->model->name, err);
}

static void run_one(void *owner, unsigned i)
{
	const struct suite *x = owner;
	const unsigned n = x->models->n;
	struct one one = { &x->models->model[i % n], &x->verdict[i] };
	const int64_t start = now_ns();
	struct options o;

	if (one.model->goal == FAB_GOAL_NOT_RUN)
		return;
	set_options(x, one.model, &x->setting[i / n], &o);
	x->run(&o, judge, &one);
	one.verdict->wall_s = (double)(now_ns() - start) / 1e9;
}

struct fab_verdict *fab_suite_run(const struct fab_suite_options *o, const struct fab_models *models,
				  const struct fab_setting *setting, unsigned settings,
				  fab_run_model *run)
{
	const unsigned n = models->n * settings;
	struct suite x = { o, models, setting, run, jobs_shared(n, sizeof(*x.verdict)) };
	const struct jobs jobs = {
		.run = run_one, .owner = &x, .n = n, .processes = o->jobs, .quiet = o->quiet,
	};
	struct options unused;

	/* A mistake in an option ends the program here, once. */
	set_options(&x, &models->model[0], &setting[0], &unused);
	return jobs_run(&jobs) ? x.verdict : NULL;
}

/* -- results --------------------------------------------------------------------------------- */

struct fab_totals fab_add_up(const struct fab_verdict *verdict, unsigned models)
{
	struct fab_totals t = { .models = models };
	double logs = 0;

	for (unsigned m = 0; m < models; m++) {
		const struct fab_verdict *v = &verdict[m];

		if (!v->run)
			continue;
		t.run++;
		t.passed += v->pass;
		t.g1 += v->g1;
		t.g2 += v->g2;
		t.g3 += v->g3;
		t.quick += v->p99_us <= FAB_DELAY_MOST_US;
		t.lost += v->lost;
		logs += log(fmax(v->p99_us, 1e-3));
	}
	t.p99_us = t.run ? exp(logs / t.run) : NAN;
	return t;
}

bool fab_most_are_quick(const struct fab_totals *t)
{
	return t->run && t->quick >= FAB_DELAY_MOST_SHARE * t->run;
}

void fab_suite_output(const struct fab_suite_options *o, void (*print)(const void *result, FILE *f),
		      bool (*write_json)(const void *result, FILE *f), const void *result)
{
	if (!o->json || strcmp(o->json, "-") != 0)
		print(result, stdout);
	output_flush();
	output_write(o->json, write_json, result);
}
