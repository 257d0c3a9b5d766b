/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/hist.h"

#include <math.h>

#define SUB (1u << CCS_HIST_SUB_BITS)

/* Values below 2*SUB have a bucket each; above, the bits after the leading one select it. */
static unsigned bucket_of(uint64_t value)
{
	unsigned shift;

	if (value < 2 * SUB)
		return (unsigned)value;
	shift = 63u - CCS_HIST_SUB_BITS - (unsigned)__builtin_clzll(value);
	return shift * SUB + (unsigned)(value >> shift);
}

static uint64_t value_of(unsigned bucket)
{
	unsigned shift;

	if (bucket < 2 * SUB)
		return bucket;
	shift = bucket / SUB - 1;
	return ((uint64_t)(SUB + bucket % SUB) << shift) + (((uint64_t)1 << shift) >> 1);
}

void ccs_hist_record(struct ccs_hist *h, uint64_t value)
{
	h->bucket[bucket_of(value)]++;
	if (!h->count || value < h->min)
		h->min = value;
	if (value > h->max)
		h->max = value;
	h->count++;
	h->sum += (double)value;
}

uint64_t ccs_hist_percentile(const struct ccs_hist *h, double q)
{
	double rank = ceil(fmin(fmax(q, 0), 1) * (double)h->count);
	uint64_t seen = 0, value;
	unsigned i = 0;

	if (!h->count || rank < 1)
		return h->min;
	while (i < CCS_HIST_BUCKETS && (double)(seen += h->bucket[i]) < rank)
		i++;
	if (q >= 1 || i == CCS_HIST_BUCKETS)
		return h->max;
	value = value_of(i);
	if (value < h->min)
		return h->min;
	return value > h->max ? h->max : value;
}

double ccs_hist_mean(const struct ccs_hist *h)
{
	return h->count ? h->sum / (double)h->count : 0;
}
