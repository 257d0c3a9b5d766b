/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_SHARES_H
#define BENCH_SHARES_H
/* How evenly backlogged flows share the bottleneck, and how long they take to, again. Pure. */
#include <stddef.h>
#include <stdint.h>

#include "bench/ccbench/traffic/curve.h"

/* A flow, and when it wants to send; ns, as in its curve. */
struct sharer {
	const struct curve *curve;
	int64_t from, to;
};

struct convergence {
	unsigned events, reached;  /* starts and stops; those after which flows shared fairly */
	double worst;              /* s, the longest; NAN if no flow converged */
};

/*
 * After each moment in [from, to) at which a flow starts or stops: the time until, for three
 * bins in a row, the flows that want to send have a Jain index of 0.9 and together nine tenths
 * of capacity (bit/s; NAN: not checked). A bin is a fortieth of the time to the next such moment.
 */
struct convergence converge(const struct sharer *v, size_t n, int64_t from, int64_t to,
			    double capacity);

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
