/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CC_MINMAX_H
#define CCS_CC_MINMAX_H
/* fmin() and fmax() without a call, because on_ack is in the fast path. NaNs are ignored. */
static inline double ccs_min(double a, double b)
{
	return __builtin_expect(a != a, 0) ? b : b < a ? b : a;
}

static inline double ccs_max(double a, double b)
{
	return __builtin_expect(a != a, 0) ? b : b > a ? b : a;
}

#endif
