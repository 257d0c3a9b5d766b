/* SPDX-License-Identifier: BSD-2-Clause */
#include "matrix.h"

#include <math.h>

void verdict_judge(struct verdict *v, double queue_us, double base_us)
{
	v->run = true;
	v->p99_us = isnan(queue_us) ? v->victim_p99_us : queue_us + base_us;
	v->g1 = v->utilisation >= UTILISATION_MIN;
	v->g2 = !(v->drops > 0);
	v->g3 = v->p99_us <= DELAY_MAX_RTTS * base_us;
	v->pass = v->g1 && v->g2 && v->g3 && !v->errors;
}
