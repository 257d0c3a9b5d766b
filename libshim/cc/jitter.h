/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CC_JITTER_H
#define CCS_CC_JITTER_H
/*
 * The variation of round-trip times, by the hosts or by a queue. A delay that all of them have,
 * such as a standing queue's, raises the average and the least alike, and does not count.
 */
#include <math.h>

#include "cc/minmax.h"

#define CCS_JITTER_WEIGHT (1 / 16.0) /* of an RTT in the average */
#define CCS_JITTER_LEAST 16          /* RTTs, or twice as many, of which the least is taken */
#define CCS_JITTER_GAIN 1.5          /* of the average above the least, to allow for the most */

struct ccs_jitter {
	float mean_us;
	float least_us[2];           /* of the RTTs since the last so many, and of those before */
	unsigned samples;
};

static inline void ccs_jitter_add(struct ccs_jitter *j, double rtt_us)
{
	const float us = (float)rtt_us;

	if (j->samples == 0) {
		j->mean_us = us;
		j->least_us[0] = INFINITY;
	}
	if (j->samples++ % CCS_JITTER_LEAST == 0) {
		j->least_us[1] = j->least_us[0];
		j->least_us[0] = INFINITY;
	}
	j->mean_us += (us - j->mean_us) * (float)CCS_JITTER_WEIGHT;
	j->least_us[0] = fminf(j->least_us[0], us);
}

/* The most that is to be expected, us; 0 before the first RTT. */
static inline double ccs_jitter_us(const struct ccs_jitter *j)
{
	const double least = ccs_min(j->least_us[0], j->least_us[1]);

	return j->samples ? ccs_max(CCS_JITTER_GAIN * (j->mean_us - least), 0) : 0;
}

#endif
