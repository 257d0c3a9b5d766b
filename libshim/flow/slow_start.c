/* SPDX-License-Identifier: BSD-2-Clause */
/* Slow start of one flow; see slow_start.h. */
#include <math.h>

#include "cc/minmax.h"
#include "flow/slow_start.h"

void ccs_slow_start_begin(struct ccs_slow_start *s, bool ramping)
{
	*s = (struct ccs_slow_start){ .lowest_rate = INFINITY, .ramping = ramping };
}

void ccs_slow_start_end(struct ccs_slow_start *s, double limit)
{
	s->ramping = false;
	s->drain_samples = 0;
	s->window = limit;
}

void ccs_slow_start_set_limit(struct ccs_slow_start *s, double segment, double limit)
{
	s->window = s->ramping ? ccs_max(s->window, segment) : limit;
}

void ccs_slow_start_grow(struct ccs_slow_start *s, uint64_t len)
{
	if (s->ramping)
		s->window += (double)len / 2;
}

void ccs_slow_start_sample(struct ccs_slow_start *s, uint64_t len, double delivery_us, bool queued,
			   double limit)
{
	s->lowest_rate = ccs_min(s->lowest_rate, 8e6 * s->window / delivery_us);
	ccs_slow_start_grow(s, len);
	s->ramping = !queued && s->window < limit;
	if (!s->ramping)
		s->window = limit;
}

double ccs_slow_start_drain(struct ccs_slow_start *s)
{
	s->drain_samples = CCS_SLOW_START_DRAIN_SAMPLES;
	return 0.5 * s->lowest_rate;
}

bool ccs_slow_start_is_draining(struct ccs_slow_start *s, bool queued)
{
	s->drain_samples = queued && s->drain_samples ? s->drain_samples - 1 : 0;
	return s->drain_samples > 0;
}
