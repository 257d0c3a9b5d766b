/* SPDX-License-Identifier: BSD-2-Clause */
/* Filters for RTTs that hosts have lengthened; see rtt_outlier.h. */
#include <math.h>
#include <string.h>

#include "cc/minmax.h"
#include "flow/rtt_outlier.h"

bool ccs_rtt_is_outlier(struct ccs_rtt_outlier *o, const struct ccs_rtt_outlier_sample *sample)
{
	const bool late = sample->rtt_us > sample->limit_us;

	if (late && !o->late)
		o->after_seq = sample->next_seq;
	o->late = late;
	if (late && sample->rtt_us > o->accepted_us + sample->tolerance_us &&
	    (int32_t)(sample->seq - o->after_seq) < 0)
		return true;
	o->accepted_us = (float)sample->rtt_us;
	return false;
}

void ccs_rnr_filter_init(struct ccs_rnr_filter *r)
{
	memset(r->last_ns, 0xff, sizeof(r->last_ns));
}

double ccs_rnr_filter_us(struct ccs_rnr_filter *r, double rtt_us, double limit_us)
{
	uint32_t least = (uint32_t)ccs_min(ceil(rtt_us * 1e3), UINT32_MAX);

	r->last_ns[r->next] = least;
	r->next = (r->next + 1) % 4;
	if (rtt_us <= limit_us)
		return rtt_us;
	for (unsigned i = 0; i < 4; i++)
		least = r->last_ns[i] < least ? r->last_ns[i] : least;
	return ccs_min(rtt_us, (double)least / 1e3);
}
