/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_CONVERGE_H
#define BENCH_CONVERGE_H
/* How long flows take to share fairly again after one has started or stopped. Pure. */
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

#define CONVERGED_JAIN 0.9
#define CONVERGED_USE 0.9
#define CONVERGED_BINS 3

/*
 * After each moment in [from, to) at which a flow starts or stops: the time until, for three
 * bins in a row, the flows that want to send have a Jain index of 0.9 and together nine tenths
 * of capacity (bit/s; NAN: not checked). A bin is a fortieth of the time to the next such moment.
 */
struct convergence converge(const struct sharer *v, size_t n, int64_t from, int64_t to,
			    double capacity);

#endif
