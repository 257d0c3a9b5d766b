/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_SIM_DELAYS_H
#define BENCH_SIM_DELAYS_H
/* Delays of packets from their NIC to the receiver, in ns. Pure. */
#include <math.h>

#include "base/hist.h"

/* The delay that a share q of the packets did not exceed, us: the end of its bucket, at most 1/32
 * more. NAN: no packet. */
static inline double fab_delays_quantile(const struct ccs_hist *ns, double q)
{
	const uint64_t middle = ccs_hist_percentile(ns, q), exact = 1u << CCS_HIST_SUB_BITS;
	const unsigned top = 63u - (unsigned)__builtin_clzll(middle | exact);
	const double end = (double)(middle | ((1ull << (top - CCS_HIST_SUB_BITS)) - 1));

	return ns->count ? fmin(end, (double)ns->max) / 1e3 : NAN;
}

#endif
