/* SPDX-License-Identifier: BSD-2-Clause */
#include "delays.h"

#include <math.h>

enum { PER_DOUBLING = 32, EXACT = 32 }; /* below EXACT ns, a step per ns */

static unsigned step_of(uint64_t ns)
{
	const unsigned top = 63u - (unsigned)__builtin_clzll(ns | EXACT);

	return PER_DOUBLING * (top - 5) + (unsigned)(ns >> (top - 5));
}

static double step_end(unsigned step)
{
	const unsigned doublings = step < 2 * PER_DOUBLING ? 0 : step / PER_DOUBLING - 1;

	return ldexp(step - (double)PER_DOUBLING * doublings + 1, (int)doublings) - 1;
}

void fab_delays_add(struct fab_delays *d, uint64_t ns)
{
	d->count[step_of(ns)]++;
	d->n++;
	d->sum_ns += ns;
	if (ns > d->max_ns)
		d->max_ns = ns;
}

double fab_delays_quantile(const struct fab_delays *d, double q)
{
	const double wanted = ceil(q * (double)d->n);
	double seen = 0;

	for (unsigned i = 0; i < FAB_DELAY_STEPS && d->n; i++) {
		seen += (double)d->count[i];
		if (d->count[i] && seen >= wanted)
			return fmin(step_end(i), (double)d->max_ns) / 1e3;
	}
	return NAN;
}

double fab_delays_mean(const struct fab_delays *d)
{
	return d->n ? (double)d->sum_ns / (double)d->n / 1e3 : NAN;
}
