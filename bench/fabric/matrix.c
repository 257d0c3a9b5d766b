/* SPDX-License-Identifier: BSD-2-Clause */
#include "matrix.h"

#include <errno.h>
#include <fnmatch.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/clock.h"
#include "cc/cc.h"
#include "jobs.h"
#include "memory.h"
#include "tcp.h"

enum { CCS_MAX = 16, GIVEN_MAX = 64, WORDS_MAX = 256 };

struct matrix_options {
	const char *file, *only, *json;
	const char *cc[CCS_MAX];
	unsigned ccs, jobs;
	const char *kmin, *kmax, *pmax;
	char ecn[128];           /* of algorithms that need marks */
	char *given[GIVEN_MAX];  /* options of ccfabric run */
	unsigned givens;
	bool quiet;
};

struct matrix {
	const struct matrix_options *o;
	struct fab_models models;
	fab_run_model *run;
	struct fab_verdict *verdict; /* shared by all processes */
};

/* -- options --------------------------------------------------------------------------------- */

static const char usage[] =
	"usage: ccfabric matrix [OPTION]...\n"
	"\n"
	"Simulates traffic models and states for each whether the goals of the UCloud\n"
	"article hold: G1 saturated ports are used to 95 %, else 99 % of the offered\n"
	"bytes are delivered; G2 at most 5 PAUSE frames per port and second; G3 99 % of\n"
	"the packets take at most 80 us, and 40 us in 90 % of the models.\n"
	"\n"
	"  --models FILE   a model per line, see ccfabric(1) (those that are installed)\n"
	"  --only PATTERN  models with such a name, such as 'A-*'\n"
	"  --cc CC         NAME[:PARAM=VALUE,...]; may be given several times (auto)\n"
	"  --kmin BYTES, --kmax BYTES, --pmax P  marks at ports of 25 Gb/s, in proportion\n"
	"                  at others (100k, 400k, 20%)\n"
	"  --alpha A, --buffer BYTES, --poll TIME[:W], --cnp TIME, --hosts KIND,\n"
	"  --pfc on|off, --agents, --seed N  as of ccfabric run, for all models\n"
	"  --jobs N        models side by side (one per CPU)\n"
	"  --json          JSON instead of the table\n"
	"  --out_json FILE  besides the table; - is standard output, without the table\n"
	"  -q, --quiet     no progress\n";

enum { MODELS = 256, ONLY, CC, KMIN, KMAX, PMAX, JOBS, JSON, OUT_JSON, GIVEN };

static const struct option known[] = {
	{ "models", 1, 0, MODELS }, { "only", 1, 0, ONLY }, { "cc", 1, 0, CC },
	{ "kmin", 1, 0, KMIN }, { "kmax", 1, 0, KMAX }, { "pmax", 1, 0, PMAX },
	{ "jobs", 1, 0, JOBS }, { "json", 0, 0, JSON }, { "out_json", 1, 0, OUT_JSON },
	{ "alpha", 1, 0, GIVEN }, { "buffer", 1, 0, GIVEN }, { "poll", 1, 0, GIVEN },
	{ "cnp", 1, 0, GIVEN }, { "hosts", 1, 0, GIVEN }, { "pfc", 1, 0, GIVEN },
	{ "agents", 0, 0, GIVEN }, { "seed", 1, 0, GIVEN },
	{ "quiet", 0, 0, 'q' }, { "help", 0, 0, 'h' }, { 0 }
};

static void give(struct matrix_options *o, const char *name, const char *value)
{
	if (o->givens + 2 > GIVEN_MAX)
		die("too many options");
	o->given[o->givens] = fab_zeroed(strlen(name) + 3, 1);
	sprintf(o->given[o->givens++], "--%s", name);
	if (value)
		o->given[o->givens++] = fab_memory(strdup(value));
}

static void parse_jobs(struct matrix_options *o)
{
	char *end;
	const unsigned long n = strtoul(optarg, &end, 10);

	if (*optarg < '0' || *optarg > '9' || *end || !n || n > 1024)
		die("--jobs: '%s' is no number from 1 to 1024", optarg);
	o->jobs = (unsigned)n;
}

static void add_cc(struct matrix_options *o)
{
	struct ccs_cc_spec spec;
	char err[320];

	if (!fab_cc_parse(&spec, optarg, err, sizeof(err)))
		die("%s", err);
	if (o->ccs == CCS_MAX)
		die("--cc: more than %d algorithms", CCS_MAX);
	o->cc[o->ccs++] = optarg;
}

static void parse_option(struct matrix_options *o, int option, int index)
{
	switch (option) {
	case MODELS: o->file = optarg; break;
	case ONLY: o->only = optarg; break;
	case CC: add_cc(o); break;
	case KMIN: o->kmin = optarg; break;
	case KMAX: o->kmax = optarg; break;
	case PMAX: o->pmax = optarg; break;
	case JOBS: parse_jobs(o); break;
	case JSON: o->json = "-"; break;
	case OUT_JSON: o->json = optarg; break;
	case GIVEN: give(o, known[index].name, optarg); break;
	case 'q': o->quiet = true; break;
	case 'h': fputs(usage, stdout); exit(0);
	default: fputs("Try 'ccfabric matrix --help'.\n", stderr); exit(2);
	}
}

static void parse(struct matrix_options *o, int argc, char **argv)
{
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int index = 0;

	*o = (struct matrix_options){
		.file = FAB_MODELS, .jobs = cpus > 0 ? (unsigned)cpus : 1,
		.kmin = "100k", .kmax = "400k", .pmax = "20%",
	};
	optind = 0;
	for (int c; (c = getopt_long(argc, argv, "qh", known, &index)) != -1;)
		parse_option(o, c, index);
	if (optind < argc)
		die("'%s' is no option", argv[optind]);
	if (!o->ccs)
		o->cc[o->ccs++] = "auto";
	snprintf(o->ecn, sizeof(o->ecn), "%.30s:%.30s:%.30s@25g", o->kmin, o->kmax, o->pmax);
}

static bool needs(const char *cc, unsigned what)
{
	struct ccs_cc_spec spec;
	char err[320];

	return fab_cc_parse(&spec, cc, err, sizeof(err)) && spec.ops->needs & what;
}

/* -- models ---------------------------------------------------------------------------------- */

static void select_models(struct fab_models *m, const char *pattern)
{
	unsigned n = 0;

	for (unsigned i = 0; i < m->n; i++)
		if (!pattern || fnmatch(pattern, m->model[i].name, 0) == 0) {
			const struct fab_model chosen = m->model[i];

			m->model[i] = m->model[n];
			m->model[n++] = chosen;
		}
	if (!n)
		die("--only: no model has a name like '%s'", pattern);
	m->n = n;
}

/* The command line of `ccfabric run` for one model. */
static void set_options(const struct matrix *x, unsigned model, unsigned cc, struct options *o)
{
	const struct matrix_options *mo = x->o;
	const struct fab_model *m = &x->models.model[model];
	char *argv[WORDS_MAX] = { "run" };
	int argc = 1;

	if (m->words + mo->givens + 8 > WORDS_MAX)
		die("model %s has more than %d options", m->name, WORDS_MAX - GIVEN_MAX - 8);
	for (unsigned i = 0; i < m->words; i++)
		argv[argc++] = m->word[i];
	argv[argc++] = "--cc";
	argv[argc++] = (char *)(uintptr_t)mo->cc[cc];
	if (ccs_cc_is_auto(mo->cc[cc]) || needs(mo->cc[cc], CCS_NEEDS_ADVICE))
		argv[argc++] = "--agents";
	for (unsigned i = 0; i < mo->givens; i++)
		argv[argc++] = mo->given[i];
	if (needs(mo->cc[cc], CCS_NEEDS_CNP)) {
		argv[argc++] = "--ecn";
		argv[argc++] = (char *)(uintptr_t)mo->ecn;
	}
	options_parse(o, argc, argv);
	if (o->repeat > 1 || o->json || o->fct || o->plot || o->save_topology || o->save_flows)
		die("model %s has an option of results", m->name);
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
		die("model %s: %s", one->model->name, err);
}

static void run_one(void *owner, unsigned i)
{
	const struct matrix *x = owner;
	struct one one = { &x->models.model[i % x->models.n], &x->verdict[i] };
	const int64_t start = now_ns();
	struct options o;

	if (one.model->goal == FAB_GOAL_NOT_RUN)
		return;
	set_options(x, i % x->models.n, i / x->models.n, &o);
	x->run(&o, judge, &one);
	one.verdict->wall_s = (double)(now_ns() - start) / 1e9;
}

static void write_results(const struct matrix_options *o, const struct matrix_result *r)
{
	const bool only_json = o->json && strcmp(o->json, "-") == 0;
	FILE *f;

	if (!only_json)
		matrix_print(r, stdout);
	if (!o->json)
		return;
	f = only_json ? stdout : fopen(o->json, "w");
	if (!f || !matrix_write_json(r, f) || (f != stdout && fclose(f)))
		die("%s: %s", o->json, strerror(errno));
}

int matrix(int argc, char **argv, fab_run_model *run)
{
	const int64_t start = now_ns();
	struct matrix_options o;
	struct matrix x = { .o = &o, .run = run };
	char err[512];
	unsigned n;

	parse(&o, argc, argv);
	if (!fab_models_read(&x.models, o.file, err, sizeof(err)))
		die("%s", err);
	select_models(&x.models, o.only);
	n = x.models.n * o.ccs;
	x.verdict = fab_shared(n, sizeof(*x.verdict));
	if (!fab_jobs(n, o.jobs, !o.quiet, run_one, &x))
		return 2;
	write_results(&o, &(struct matrix_result){
		&x.models, o.cc, o.ccs, x.verdict, (double)(now_ns() - start) / 1e9 });
	return 0;
}
