/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CC_JITTER_H
#define CCS_CC_JITTER_H
/*
 * Variation of round-trip times. A delay that all RTTs contain, such as a standing queue's, adds
 * to both average and minimum, and does not count.
 */
#include <math.h>

#include "cc/minmax.h"

#define CCS_JITTER_WEIGHT (1 / 16.0) /* weight of an RTT in the average */
#define CCS_JITTER_PERIOD 16         /* RTTs in a period of the minimum */
#define CCS_JITTER_GAIN 1.5          /* factor from the average to the largest excess */

struct ccs_jitter {
	float mean_us;
	float min_us[2];             /* minimum of this period and of the period before */
	unsigned samples;
};

static inline void ccs_jitter_add(struct ccs_jitter *j, double rtt_us)
{
	const float us = (float)rtt_us;

	if (j->samples == 0) {
		j->mean_us = us;
		j->min_us[0] = INFINITY;
	}
	if (j->samples++ % CCS_JITTER_PERIOD == 0) {
		j->min_us[1] = j->min_us[0];
		j->min_us[0] = INFINITY;
	}
	j->mean_us += (us - j->mean_us) * (float)CCS_JITTER_WEIGHT;
	j->min_us[0] = fminf(j->min_us[0], us);
}

/* The largest excess over the minimum to expect, us; 0 before the first RTT. */
static inline double ccs_jitter_us(const struct ccs_jitter *j)
{
	const double least = ccs_min(j->min_us[0], j->min_us[1]);

	return j->samples ? ccs_max(CCS_JITTER_GAIN * (j->mean_us - least), 0) : 0;
}

#endif
