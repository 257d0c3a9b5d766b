/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCFABRIC_SUITE_H
#define CCFABRIC_SUITE_H
/* Traffic models under several settings, which are simulated side by side and judged. */
#include <getopt.h>
#include <stdio.h>

#include "judge.h"
#include "bench/ccfabric/shared/options.h"

/* Simulates what the options say and calls judge with the result. */
typedef void fab_run_model(struct options *o, fab_judge *judge, void *owner);

struct fab_setting {
	const char *cc;
	const char *ecn;         /* of `ccfabric run`; without effect if cc needs no marks */
	const char *alpha;       /* NULL: as given, or the default */
};

/* Options that `ccfabric matrix` and `ccfabric tune` share. */
struct fab_suite_options {
	const char *file, *only, *json;
	unsigned jobs;
	bool quiet;
	char **given;            /* options of ccfabric run, for all models */
	unsigned givens;
};

#define FAB_SUITE_OPTIONS \
	{ "models", 1, 0, FAB_SUITE_FIRST }, { "only", 1, 0, FAB_SUITE_ONLY }, \
	{ "jobs", 1, 0, FAB_SUITE_JOBS }, { "json", 0, 0, FAB_SUITE_JSON }, \
	{ "out_json", 1, 0, FAB_SUITE_OUT_JSON }, { "quiet", 0, 0, 'q' }, \
	{ "buffer", 1, 0, FAB_SUITE_GIVEN }, { "poll", 1, 0, FAB_SUITE_GIVEN }, \
	{ "cnp", 1, 0, FAB_SUITE_GIVEN }, { "hosts", 1, 0, FAB_SUITE_GIVEN }, \
	{ "pfc", 1, 0, FAB_SUITE_GIVEN }, { "seed", 1, 0, FAB_SUITE_GIVEN }

enum { FAB_SUITE_FIRST = 1000, FAB_SUITE_ONLY, FAB_SUITE_JOBS, FAB_SUITE_JSON, FAB_SUITE_OUT_JSON,
       FAB_SUITE_GIVEN };

/* A command with these options and others. parse() gets each option with its name, and its value in
 * optarg; it returns false if the command has no such option. */
struct fab_command {
	const char *name, *usage;
	const struct option *known; /* with FAB_SUITE_OPTIONS */
	bool (*parse)(void *owner, int option, const char *name);
};

/* A mistake ends the program, as does --help. */
void fab_suite_parse(struct fab_suite_options *o, const struct fab_command *c, int argc,
		     char **argv, void *owner);

/* optarg as a number from 1 to most; a mistake ends the program. */
unsigned fab_suite_number(const char *option, unsigned most);

/* The file's models whose names match --only. */
void fab_suite_models(const struct fab_suite_options *o, struct fab_models *m);

/* optarg as an algorithm; a mistake ends the program. */
const char *fab_suite_cc(void);

/* Text as a number of bytes; a mistake ends the program. */
double fab_suite_bytes(const char *option, const char *text);

/* ecn: the marks at ports of 25 Gb/s, for --ecn; a mistake ends the program. */
enum { FAB_SUITE_ECN = 128 };
void fab_suite_marks(char ecn[FAB_SUITE_ECN], const char *kmin, const char *kmax, const char *pmax);

/* Shared memory with a verdict for each model and setting, verdict[s * models->n + m]; NULL if a
 * simulation failed, which has said why. */
struct fab_verdict *fab_suite_run(const struct fab_suite_options *o, const struct fab_models *models,
				  const struct fab_setting *setting, unsigned settings,
				  fab_run_model *run);

/* The verdicts of one setting together. */
struct fab_totals {
	unsigned models, run, passed, g1, g2, g3;
	unsigned quick;          /* p99 <= FAB_DELAY_MOST_US */
	uint64_t lost;
	double p99_us;           /* geometric mean */
};

struct fab_totals fab_add_up(const struct fab_verdict *verdict, unsigned models);
bool fab_most_are_quick(const struct fab_totals *t);

/* Print a result, unless the JSON goes to standard output, and write JSON if the options want it. */
void fab_suite_output(const struct fab_suite_options *o, void (*print)(const void *result, FILE *f),
		      bool (*write_json)(const void *result, FILE *f), const void *result);

#endif
