/* SPDX-License-Identifier: BSD-2-Clause */
/* Selects models, runs each as `ccbench SCENARIO` does and judges the reports. */
#include <fnmatch.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/interrupt.h"
#include "bench/common/output.h"
#include "bench/ccbench/bench.h"
#include "bench/ccbench/matrix/matrix.h"

enum { USAGE = 2, WORDS_MAX = 256 };

struct options {
	const char *only, *out_json;
	bool list;
	char *more[WORDS_MAX];   /* for each scenario */
	unsigned mores;
};

static const char usage[] =
"usage: ccbench matrix [OPTION]...\n"
"\n"
"Runs the traffic models of `ccfabric matrix` that one bottleneck can carry, and\n"
"states for each whether the goals hold: G1 the port is used to 95 %; G2 it drops\n"
"no packet after the warm-up; G3 99 % of the delays are at most 29 base RTTs, and\n"
"14.5 in 90 % of the models.\n"
"\n"
"      --only PATTERN    models with such a name, such as 'A-*'\n"
"      --list            print models, their hosts and options; run nothing\n"
"      --out_json FILE   write the verdicts as JSON; in the lab, a FILE without a\n"
"                        slash is among its results (LAB_OUT)\n"
"  -h, --help            print this text\n"
"\n"
"All models take the other options of `ccbench incast`, such as --cc, -D, --rate\n"
"and -d, with their values in the same word or the next.\n";

static int refuse(const char *what, const char *why)
{
	fprintf(stderr, "ccbench: %s: %s\n", what, why);
	return USAGE;
}

/* The value of option argv[*i], in the same word or the next; NULL if it is another option. */
static const char *value_of(int argc, char **argv, int *i, const char *option)
{
	const size_t len = strlen(option);

	if (strncmp(argv[*i], option, len))
		return NULL;
	if (argv[*i][len] == '=')
		return argv[*i] + len + 1;
	return !argv[*i][len] && *i + 1 < argc ? argv[++*i] : NULL;
}

/* 0, an exit status, or -1: help was printed. */
static int parse(struct options *o, int argc, char **argv)
{
	const char *value;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help")) {
			fputs(usage, stdout);
			return -1;
		}
		if (!strcmp(argv[i], "--list"))
			o->list = true;
		else if ((value = value_of(argc, argv, &i, "--only")))
			o->only = value;
		else if ((value = value_of(argc, argv, &i, "--out_json")))
			o->out_json = value;
		else if (!strncmp(argv[i], "--repeat", 8))
			return refuse(argv[i], "a model runs once; vary --seed instead");
		else if (!strcmp(argv[i], "--out") || !strncmp(argv[i], "--out=", 6))
			return refuse(argv[i], "the only output of results is --out_json FILE");
		else if (o->mores == WORDS_MAX / 2)
			return refuse(argv[i], "too many options");
		else
			o->more[o->mores++] = argv[i];
	}
	return 0;
}

static int choose(struct matrix *m, const struct options *o)
{
	const char *have = getenv("LAB_HOSTS");
	const struct model *model;
	struct matrix_row *row;

	for (model = models; model->name; model++) {
		if (o->only && fnmatch(o->only, model->name, 0))
			continue;
		row = &m->row[m->rows++];
		row->model = model;
		if (have && (unsigned)atoi(have) < model_hosts(model))
			snprintf(row->reason, sizeof(row->reason),
				 "%u hosts are needed, the lab has %s", model_hosts(model), have);
	}
	return m->rows ? 0 : refuse(o->only, "no model has such a name");
}

static void print_list(const struct matrix *m)
{
	for (unsigned i = 0; i < m->rows; i++) {
		const struct model *model = m->row[i].model;

		printf("%-20s %2u hosts: %s --senders %u %s%s\n", model->name,
		       model_hosts(model), model->scenario, model->senders, model->options,
		       model->no_victim ? " --no-victim" : "");
	}
}

/* A model's verdicts, and the time of the smallest message through the empty network. */
struct results {
	struct matrix_row *row;  /* NULL: only the base RTT */
	double base_us;
};

static void judge_runs(void *arg, const struct report *p, const struct unloaded *unloaded)
{
	struct results *to = arg;
	const struct opts *o = p->run->o;

	if (!to->row) {
		to->base_us = unloaded ? unloaded->us[0] : NAN;
		return;
	}
	for (to->row->n = 0; to->row->n < o->cc.n; to->row->n++, p++) {
		struct verdict *v = &to->row->v[to->row->n];

		*v = (struct verdict){ .utilisation = p->utilisation, .drops = p->drops_after,
				       .victim_p99_us = p->victim.p99, .errors = p->errors };
		snprintf(v->cc, sizeof(v->cc), "%s", p->run->setting->name);
		verdict_judge(v, o->link.rate_bps > 0 ? 8e6 * p->queue.p99 / o->link.rate_bps : NAN,
			      to->base_us);
	}
}

/* Run a model as `ccbench SCENARIO` does, with the user's options. The exit status. */
static int run_model(const struct options *more, const struct model *m, struct results *to)
{
	char senders[16], own[128], preload[PATH_MAX] = "", err[512], *word[WORDS_MAX], *at = own;
	static struct opts o;
	int status, n = 0;

	snprintf(senders, sizeof(senders), "%u", m->senders);
	snprintf(own, sizeof(own), "%s", m->options);
	word[n++] = (char *)m->scenario;
	memcpy(&word[n], more->more, more->mores * sizeof(*word));
	n += (int)more->mores;
	while ((word[n] = strsep(&at, " ")))
		n++;
	if (m->no_victim)
		word[n++] = (char *)"--no-victim";
	word[n++] = (char *)"--senders";
	word[n++] = senders;
	word[n] = NULL;
	if (opts_parse(&o, 0, n, word, err, sizeof(err)) != OPTS_OK) {
		fprintf(stderr, "ccbench: %s (see ccbench matrix --help)\n", err);
		return USAGE;
	}
	status = bench_prepare(&o, preload, sizeof(preload));
	return status ? status : bench_run(&o, place_local, preload, judge_runs, to);
}

/*
 * Measure the empty network, which the scenario victim does first. Repeat it if the machine was too
 * busy to transfer one message in that time.
 */
static int measure_base(struct results *to, const struct options *o)
{
	static const struct model lone = { .scenario = "victim", .senders = 1,
					   .options = "-s 64k -D 200ms --warmup 10ms" };
	int status;

	to->base_us = NAN;
	for (int attempt = 0; attempt < 5 && isnan(to->base_us); attempt++) {
		status = run_model(o, &lone, to);
		if (status)
			return status;
	}
	return isnan(to->base_us) ? refuse("the empty network", "its base RTT was not measured") : 0;
}

/* A run whose flows fail also yields a verdict; a run without results ends the matrix. */
static int run_all(struct matrix *m, const struct options *o)
{
	struct results to = { .row = NULL };
	int status = measure_base(&to, o);

	m->base_us = to.base_us;
	if (!status)
		matrix_print_head(m);
	for (unsigned i = 0; !status && i < m->rows; i++) {
		to.row = &m->row[i];
		if (!*to.row->reason)
			status = run_model(o, to.row->model, &to);
		if (!*to.row->reason && !to.row->n)
			return status ? status : refuse(to.row->model->name, "no results");
		matrix_print_row(to.row);
		fflush(stdout);
		status = interrupted() ? 128 + interrupted() : 0;
	}
	return status;
}

/* A name without a slash is in the lab's directory of results, as for scenarios. */
static void write_verdicts(const struct matrix *m, const char *name)
{
	const char *lab = getenv("LAB_OUT");
	char file[PATH_MAX];

	if (!name)
		return;
	if (lab && !strchr(name, '/'))
		snprintf(file, sizeof(file), "%s/%s", lab, name);
	else
		snprintf(file, sizeof(file), "%s", name);
	output_write(file, matrix_write, m);
}

int matrix_main(int argc, char **argv)
{
	static struct options o;
	static struct matrix m;
	int status = parse(&o, argc, argv);

	if (!status)
		status = choose(&m, &o);
	if (status)
		return status < 0 ? 0 : status;
	if (o.list) {
		print_list(&m);
		return 0;
	}
	interrupt_setup();
	status = run_all(&m, &o);
	if (status)
		return status;
	matrix_print_totals(&m);
	write_verdicts(&m, o.out_json);
	return 0;
}
