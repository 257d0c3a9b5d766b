/* SPDX-License-Identifier: BSD-2-Clause */
#include "converge.h"

#include <math.h>
#include <stdbool.h>

#define BINS_OF_EVENT 40

/* Do the flows that want to send during all of the bin share well? */
static bool shared(const struct sharer *v, size_t n, int64_t a, int64_t b, double capacity)
{
	double sum = 0, squares = 0, x;
	size_t i, active = 0;

	for (i = 0; i < n; i++) {
		if (v[i].from > a || v[i].to < b)
			continue;
		x = curve_rate(v[i].curve, a, b);
		sum += x;
		squares += x * x;
		active++;
	}
	return squares > 0 && sum * sum >= CONVERGED_JAIN * (double)active * squares &&
	       !(sum < CONVERGED_USE * capacity);
}

/* The start of the first three good bins in a row in [at, next), ns after at; -1: not found. */
static int64_t settled(const struct sharer *v, size_t n, int64_t at, int64_t next, double capacity)
{
	int64_t bin = (next - at) / BINS_OF_EVENT;
	int i, good = 0;

	for (i = 0; bin > 0 && i < BINS_OF_EVENT; i++) {
		good = shared(v, n, at + i * bin, at + (i + 1) * bin, capacity) ? good + 1 : 0;
		if (good == CONVERGED_BINS)
			return (i + 1 - CONVERGED_BINS) * bin;
	}
	return -1;
}

/* The next moment after t at which a flow starts or stops, or `to`. */
static int64_t next_event(const struct sharer *v, size_t n, int64_t t, int64_t to)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (v[i].from > t && v[i].from < to)
			to = v[i].from;
		if (v[i].to > t && v[i].to < to)
			to = v[i].to;
	}
	return to;
}

struct convergence converge(const struct sharer *v, size_t n, int64_t from, int64_t to,
			    double capacity)
{
	struct convergence c = { .worst = 0 };
	int64_t t, next, took;

	for (t = next_event(v, n, from - 1, to); t < to; t = next) {
		next = next_event(v, n, t, to);
		took = settled(v, n, t, next, capacity);
		c.events++;
		if (took < 0)
			continue;
		c.reached++;
		c.worst = fmax(c.worst, (double)took / 1e9);
	}
	if (!c.reached)
		c.worst = NAN;
	return c;
}
