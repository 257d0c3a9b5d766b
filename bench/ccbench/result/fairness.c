/* SPDX-License-Identifier: BSD-2-Clause */
#include "fairness.h"

#include <math.h>
#include <stdbool.h>

#include "bench/ccbench/scenario/figures.h"

static bool all_along(const struct sharer *v, size_t n, int64_t from, int64_t to)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (v[i].from > from || v[i].to < to)
			return false;
	return n > 0;
}

static double between(const struct sharer *v, size_t n, int64_t from, int64_t to)
{
	double sum = 0, squares = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		double x = curve_rate(v[i].curve, from, to);

		sum += x;
		squares += x * x;
	}
	return jain_index(sum, squares, n);
}

struct fairness fairness_of(const struct sharer *v, size_t n, int64_t from, int64_t to,
			    int64_t window)
{
	struct fairness f = { NAN, NAN, NAN };
	int64_t start;

	if (window <= 0 || window > to - from)
		window = to - from;
	f.window = (double)window / 1e9;
	if (window <= 0 || !all_along(v, n, from, to))
		return f;
	f.jain = between(v, n, from, to);
	f.worst = between(v, n, to - window, to);
	for (start = from; start + window <= to; start += window)
		f.worst = fmin(f.worst, between(v, n, start, start + window));
	return f;
}
