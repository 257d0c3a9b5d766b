/* SPDX-License-Identifier: BSD-2-Clause */
#include "delays.h"

#include <math.h>

double fab_delays_quantile(const struct ccs_hist *ns, double q)
{
	const uint64_t middle = ccs_hist_percentile(ns, q), exact = 1u << CCS_HIST_SUB_BITS;
	const unsigned doublings = 63u - (unsigned)__builtin_clzll(middle | exact) - CCS_HIST_SUB_BITS;
	const double end = (double)(middle | ((1ull << doublings) - 1));

	return ns->count ? fmin(end, (double)ns->max) / 1e3 : NAN;
}
