/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_BASE_HIST_H
#define CCS_BASE_HIST_H
/*
 * A log-linear histogram of any uint64: exact up to 63, then 32 buckets per
 * doubling, so a percentile is within 1/64 (1.6 %) of a recorded value. Fixed
 * size, no allocation. All zeroes is the empty histogram. The caller serialises.
 */
#include <stdint.h>

#define CCS_HIST_SUB_BITS 5
#define CCS_HIST_BUCKETS ((65u - CCS_HIST_SUB_BITS) << CCS_HIST_SUB_BITS)

struct ccs_hist {
	uint64_t count;
	uint64_t min, max;     /* exact; 0 while empty */
	double sum;
	uint64_t bucket[CCS_HIST_BUCKETS];
};

void ccs_hist_record(struct ccs_hist *h, uint64_t value);

/* The value that a fraction q (0..1) of the records does not exceed; 0 while empty. */
uint64_t ccs_hist_percentile(const struct ccs_hist *h, double q);

double ccs_hist_mean(const struct ccs_hist *h);

#endif
