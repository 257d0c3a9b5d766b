/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_FAIRNESS_H
#define BENCH_FAIRNESS_H
/* How evenly backlogged flows share the bottleneck. Pure. */
#include "converge.h"

struct fairness {
	double jain, worst; /* of the whole time; the least of its windows */
	double window;      /* s */
};

/*
 * Jain's index of the goodputs in [from, to), ns, and the least of consecutive windows; one
 * window where the time is no longer than that. The last window ends at `to`, so that every
 * moment counts; one in which nothing was sent does not. A flow that sent nothing counts as 0;
 * the index of a single flow is 1. NAN where there is no flow, where nothing was sent, and where
 * some flow does not want to send in all of [from, to): less goodput is no unfairness then.
 */
struct fairness fairness_of(const struct sharer *v, size_t n, int64_t from, int64_t to,
			    int64_t window);

#endif
