/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_MATRIX_MODELS_H
#define BENCH_MATRIX_MODELS_H
/*
 * The traffic models of `ccfabric matrix`, by its names: those that one bottleneck can carry, as
 * scenarios of ccbench, and the others, which are simulated only.
 */
#include <stdbool.h>

struct model {
	const char *name;
	const char *scenario;     /* NULL: simulated only, */
	const char *reason;       /* for this reason */
	unsigned senders;
	const char *options;      /* further ones of the scenario, separated by spaces */
	bool no_victim;           /* of an incast */
};

/* All of them; one without a name ends the list. */
extern const struct model models[];

/* Hosts that take part. */
unsigned model_hosts(const struct model *m);

#endif
