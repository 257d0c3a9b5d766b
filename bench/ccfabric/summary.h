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

/* What the run took. */
struct fab_cost {
	double wall_s, cpu_s;
};

void fab_print(const struct fab_conf *conf, const struct fab_result *r, const struct fab_cost *cost,
	       FILE *f);
bool fab_write_json(const struct fab_conf *conf, const struct fab_result *r,
		    const struct fab_cost *cost, FILE *f);

/* Lines as the HPCC simulator writes them: addresses, ports, bytes, start, FCT and its ideal, ns. */
bool fab_write_fct(const struct fab_conf *conf, const struct fab_result *r, FILE *f);

#endif
