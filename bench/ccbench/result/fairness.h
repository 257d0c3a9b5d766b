/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_FAIRNESS_H
#define BENCH_FAIRNESS_H
/* How evenly backlogged flows share the bottleneck. Pure. */
#include "converge.h"

struct fairness {
	double jain, worst; /* index of the whole time; minimum over its windows */
	double window;      /* s */
};

/*
 * Jain's index of the goodputs in [from, to), ns, and its minimum over consecutive windows. There is
 * one window if the time is not longer than a window. The last window ends at `to`, so that the whole
 * time is covered. Windows without traffic are skipped. A flow without traffic counts as 0; the index
 * of a single flow is 1. NAN without flows, without traffic, and if a flow has no data to send in a
 * part of [from, to): its lower goodput is then not unfair.
 */
struct fairness fairness_of(const struct sharer *v, size_t n, int64_t from, int64_t to,
			    int64_t window);

#endif
