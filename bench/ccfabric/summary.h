/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCFABRIC_SUMMARY_H
#define CCFABRIC_SUMMARY_H
/* A run's result for people and for programs. */
#include <stdbool.h>
#include <stdio.h>

#include "bench/sim/fabric/fabric.h"

/* A run in a few figures. Sums and means are of the flows that are done. */
struct fab_brief {
	double done, unfinished;  /* flows */
	double fct_mean_us, fct_p99_us, slowdown_mean, slowdown_p99;
	double queue_max;         /* bytes */
	double pauses, drops, marks;
};

enum { FAB_BRIEF_FIGURES = sizeof(struct fab_brief) / sizeof(double) };
extern const char *const fab_brief_names[FAB_BRIEF_FIGURES];

struct fab_brief fab_brief(const struct fab_conf *conf, const struct fab_result *r);

/* The duration of the run. */
struct fab_cost {
	double wall_s, cpu_s;
};

struct fab_outcome {
	const struct fab_conf *conf;
	const struct fab_result *result;
	struct fab_cost cost;
};

void fab_print(const struct fab_outcome *o, FILE *f);

/* These write a struct fab_outcome; false if a file cannot be written. fab_write_fct writes lines as
 * the HPCC simulator does: addresses, ports, bytes, start, FCT and its ideal, ns. */
bool fab_write_json(const void *outcome, FILE *f);
bool fab_write_fct(const void *outcome, FILE *f);

/* Up to n ports whose packets waited, in the order of their longest queues, or of the means of their
 * queues. Returns their number. */
unsigned fab_longest_queues(const struct fab_outcome *o, bool by_mean, uint32_t *port, unsigned n);

/* A flow's completion time as a multiple of the time in an empty network; NAN: it is not done. */
double fab_slowdown(const struct fab_result *r, unsigned id);

/* Sort values, and find the value that a share q of sorted values does not exceed; NAN: no value. */
void fab_sort(double *values, unsigned n);
double fab_quantile(const double *sorted, unsigned n, double q);

#endif
