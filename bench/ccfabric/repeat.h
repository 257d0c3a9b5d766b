/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCFABRIC_REPEAT_H
#define CCFABRIC_REPEAT_H
/* Runs of several seeds, side by side in processes. */
#include "bench/ccfabric/shared/options.h"
#include "summary.h"

/* Runs o->repeat seeds from o->conf.seed on in o->jobs processes, and prints a line for each; returns
 * the exit status. */
typedef void fab_run_seed(const struct options *o, uint64_t seed, struct fab_brief *brief);
int repeat(const struct options *o, fab_run_seed *run);

#endif
