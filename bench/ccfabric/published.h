/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCFABRIC_PUBLISHED_H
#define CCFABRIC_PUBLISHED_H
/* Differences between a run and the publications of its algorithms. */
#include "bench/ccfabric/shared/options.h"

struct fab_differences {
	unsigned n;
	char sentence[2 * (FAB_PRIORITIES + 1) + 1][160];
};

/* The differences of dcqcn, hpcc and timely, if a flow may run them. The algorithms of o->conf are set. */
void fab_find_differences(const struct options *o, struct fab_differences *d);

#endif
