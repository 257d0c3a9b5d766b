/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_CONVERGE_H
#define BENCH_CONVERGE_H
/* How long flows take to share again when one has come or gone. Pure. */
#include <stddef.h>
#include <stdint.h>

#include "curve.h"

/* A flow, and when it wants to send; ns, as in its curve. */
struct sharer {
	const struct curve *curve;
	int64_t from, to;
};

struct convergence {
	unsigned events, reached;  /* comings and goings; after which they came to share */
	double worst;              /* s, of those; NAN without any */
};

#define CONVERGED_JAIN 0.9
#define CONVERGED_USE 0.9
#define CONVERGED_BINS 3

/*
 * After each moment in [from, to) at which some come or go: the time until, for three bins
 * in a row, those that want to send have a Jain index of 0.9 and together nine tenths of
 * capacity (bit/s; NAN: whatever). A bin is a fortieth of the time to the next such moment.
 */
struct convergence converge(const struct sharer *v, size_t n, int64_t from, int64_t to,
			    double capacity);

#endif
