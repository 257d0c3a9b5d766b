/* SPDX-License-Identifier: BSD-2-Clause */
#include "shares.h"

#include <math.h>
#include <stdbool.h>

#include "bench/ccbench/scenario/figures.h"

#define CONVERGED_JAIN 0.9
#define CONVERGED_USE 0.9

enum { CONVERGED_BINS = 3, BINS_OF_EVENT = 40 };

/* Jain's index of the rates in a bin of those flows that want to send during all of it, and their sum. */
static double jain_between(const struct sharer *v, size_t n, int64_t from, int64_t to, double *sum)
{
	double squares = 0;
	size_t active = 0;

	*sum = 0;
	for (size_t i = 0; i < n; i++) {
		double x;

		if (v[i].from > from || v[i].to < to)
			continue;
		x = curve_rate(v[i].curve, from, to);
		*sum += x;
		squares += x * x;
		active++;
	}
	return jain_index(*sum, squares, active);
}

static bool is_fair(const struct sharer *v, size_t n, int64_t a, int64_t b, double capacity)
{
	double sum;

	return jain_between(v, n, a, b, &sum) >= CONVERGED_JAIN && !(sum < CONVERGED_USE * capacity);
}

/* The start of the first three good bins in a row in [at, next), ns after at; -1: not found. */
static int64_t settled(const struct sharer *v, size_t n, int64_t at, int64_t next, double capacity)
{
	int64_t bin = (next - at) / BINS_OF_EVENT;
	int i, good = 0;

	for (i = 0; bin > 0 && i < BINS_OF_EVENT; i++) {
		good = is_fair(v, n, at + i * bin, at + (i + 1) * bin, capacity) ? good + 1 : 0;
		if (good == CONVERGED_BINS)
			return (i + 1 - CONVERGED_BINS) * bin;
	}
	return -1;
}

/* The next moment after t at which a flow starts or stops, or `to`. */
static int64_t next_event(const struct sharer *v, size_t n, int64_t t, int64_t to)
{
	for (size_t i = 0; i < n; i++) {
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

static bool all_along(const struct sharer *v, size_t n, int64_t from, int64_t to)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].from > from || v[i].to < to)
			return false;
	return n > 0;
}

struct fairness fairness_of(const struct sharer *v, size_t n, int64_t from, int64_t to,
			    int64_t window)
{
	struct fairness f = { NAN, NAN, NAN };
	double sum;

	if (window <= 0 || window > to - from)
		window = to - from;
	f.window = (double)window / 1e9;
	if (window <= 0 || !all_along(v, n, from, to))
		return f;
	f.jain = jain_between(v, n, from, to, &sum);
	f.worst = jain_between(v, n, to - window, to, &sum);
	for (int64_t start = from; start + window <= to; start += window)
		f.worst = fmin(f.worst, jain_between(v, n, start, start + window, &sum));
	return f;
}
