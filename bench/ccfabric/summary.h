/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCFABRIC_SUMMARY_H
#define CCFABRIC_SUMMARY_H
/* A run's result for people and for programs. */
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

#endif
