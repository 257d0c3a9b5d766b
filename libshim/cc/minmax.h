/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CC_MINMAX_H
#define CCS_CC_MINMAX_H
/*
 * fmin() and fmax() without a call: on_ack is counted in nanoseconds. Of a NaN and a number they
 * return the number.
 */
static inline double ccs_min(double a, double b)
{
	return b < a || a != a ? b : a;
}

static inline double ccs_max(double a, double b)
{
	return b > a || a != a ? b : a;
}

#endif
