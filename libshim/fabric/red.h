/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_FABRIC_RED_H
#define CCS_FABRIC_RED_H
/*
 * RED marking of DCQCN's congestion point (DCQCN 3.1): on the instantaneous queue,
 * not on an average of it. Pure; the caller brings the queue's length and the dice. Lengths may be
 * in any unit that kmin and kmax have.
 */
#include <stdbool.h>

/* kmin == kmax with any pmax is DCTCP's step: everything above the threshold is marked. */
struct ccs_red {
	double kmin, kmax;           /* bytes */
	double pmax;                 /* 0..1, the probability at kmax */
};

/* Probability of a mark: 0 up to kmin, pmax at kmax, 1 above it. */
double ccs_red_probability(const struct ccs_red *red, double qlen_bytes);

/* Whether a packet that finds this queue is to be marked; dice is uniform in [0, 1). */
bool ccs_red_mark(const struct ccs_red *red, double qlen_bytes, double dice);

#endif
