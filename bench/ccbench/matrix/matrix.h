/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_MATRIX_H
#define BENCH_MATRIX_H
/* The results of `ccbench matrix`: traffic models on real devices, each with a verdict. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "bench/ccbench/scenario/settings.h"

/* The traffic models of `ccfabric matrix` with one bottleneck, by its names, as scenarios of ccbench. */
struct model {
	const char *name;
	const char *scenario;
	unsigned senders;
	const char *options;      /* more options of the scenario, separated by spaces */
	bool no_victim;           /* an incast without a victim */
};

/* All models; an entry without a name ends the list. */
extern const struct model models[];

/* Hosts that take part. */
unsigned model_hosts(const struct model *m);

/*
 * Judges a scenario's runs by the goals of `ccfabric matrix`, scaled to the base RTT of
 * this network: the port's utilisation is 95 %; it drops no packet after the warm-up, where a
 * lossless port would send PAUSE frames; and the p99 of delays. The delay is the base RTT plus the
 * delay of the port's queue, or the victim's delay if no queue is sampled.
 */

#define UTILISATION_MIN 0.95
#define DELAY_MAX_RTTS 29        /* 80 us, where the base RTT of a ToR of 25 Gb/s is 2.76 us */
#define DELAY_MOST_RTTS 14.5     /* 40 us */
#define DELAY_MOST_SHARE 0.9     /* share of the models */

struct verdict {
	bool run;
	char cc[SETTING_LEN];
	double utilisation, drops, victim_p99_us; /* NAN: unknown */
	uint64_t errors;         /* flows that failed */
	double p99_us;           /* of delays; NAN: unknown */
	bool g1, g2, g3, pass;   /* G2 without a count of drops: reached if no flow failed */
};

/* Set the members from p99_us on. queue_us: p99 of the delay of the port's queue; NAN: not sampled. */
void verdict_judge(struct verdict *v, double queue_us, double base_us);

#define MATRIX_MODELS 27

/* A model that was chosen, and its verdict under each setting. */
struct matrix_row {
	const struct model *model;
	char reason[80];         /* why it was not run; "": it was */
	unsigned n;
	struct verdict v[MAX_SETTINGS];
};

struct matrix {
	struct matrix_row row[MATRIX_MODELS];
	unsigned rows;
	double base_us;          /* of this network */
};

void matrix_print_head(const struct matrix *m);
void matrix_print_row(const struct matrix_row *r);
void matrix_print_totals(const struct matrix *m);
/* For output_write(). */
bool matrix_write(const void *matrix, FILE *f);

#endif
