/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCFABRIC_H
#define CCFABRIC_H
/* Runs of ccfabric, and their results for people and for programs. */
#include <stdbool.h>
#include <stdio.h>

#include "base/json.h"
#include "bench/ccbench/scenario/figures.h"
#include "bench/ccfabric/shared/options.h"
#include "bench/sim/fabric/fabric.h"

/* The duration of the run. */
struct fab_cost {
	double wall_s, cpu_s;
};

struct fab_outcome {
	const struct options *options;
	const struct fab_conf *conf;
	const struct fab_result *result;
	struct fab_cost cost;
};

void fab_print(const struct fab_outcome *o, FILE *f);

/* The times of operations, us. */
struct spread fab_operations(const struct fab_result *r);
void fab_write_operations(struct ccs_json *j, const struct spread *operations);

/* Writes a struct fab_outcome; false if the file cannot be written. */
bool fab_write_json(const void *outcome, FILE *f);

/* Up to n ports whose packets waited, in the order of their longest queues, or of the means of their
 * queues. Returns their number. */
unsigned fab_longest_queues(const struct fab_outcome *o, bool by_mean, uint32_t *port, unsigned n);

/* The figures by which runs of one scenario are compared. NAN: unknown. */
struct fab_figures {
	double utilisation;      /* busiest port, while operations or other flows run */
	double jain;             /* of other flows' bytes; without such, of hosts' received bytes */
	struct spread operations; /* their times, us */
	double queue_p99, queue_mean;  /* bytes, of the port with the longest mean queue */
	double pauses, drops;
};

struct fab_figures fab_figures(const struct fab_conf *conf, const struct fab_result *r);

/* Differences between a run and the publications of its algorithms. */
struct fab_differences {
	unsigned n;
	char sentence[2 * (FAB_PRIORITIES + 1) + 1][160];
};

/* The differences of dcqcn, hpcc and timely, if a flow may run them. The algorithms of o->conf are set. */
void fab_find_differences(const struct options *o, struct fab_differences *d);

/* One simulation, from the options of `ccfabric run` to its result; a mistake ends the program.
 * The memory to which the options' configuration points. */
struct fab_set_up {
	struct topology topology;
	struct fab_routes routes;
	struct fab_flows flows;
	struct ccs_cc_spec spec[1 + FAB_PRIORITIES];
	struct fab_change change[MAX_CHANGES];
};

void fab_set_up(struct fab_set_up *s, struct options *o);
struct fab_cost fab_simulate(const struct options *o, struct fab_result *r);
void fab_clean_up(struct fab_set_up *s, struct fab_result *r);

/* All three; judge is called with the result. */
void fab_run_options(struct options *o, fab_judge *judge, void *owner);

/* Scenarios by name: options of `ccfabric run`, which the user's options replace. */
enum { FAB_PRESET_ARGS = 12 };

struct fab_preset {
	const char *name, *text;
	const char *arg[FAB_PRESET_ARGS]; /* up to the first NULL */
};

/* An entry without a name ends the list. */
extern const struct fab_preset fab_presets[];

/*
 * Run a scenario under an algorithm, or "none": without the flow layer, except for READs and SENDs,
 * which need it. arg: further options of `ccfabric run`, n of them. Returns the options of the run. A
 * mistake ends the program.
 */
struct options fab_preset_run(const struct fab_preset *p, char *const *arg, unsigned n, const char *cc,
			      struct fab_figures *figures);

/* `ccfabric scenario`: one scenario under several algorithms, beside no control. Returns the exit status. */
int scenario(int argc, char **argv);

#endif
