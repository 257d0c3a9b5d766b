/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_MATRIX_MODELS_H
#define BENCH_MATRIX_MODELS_H
/*
 * The traffic models of `ccfabric matrix` with one bottleneck, by its names, as scenarios of ccbench.
 */
#include <stdbool.h>

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

#endif
