/* SPDX-License-Identifier: BSD-2-Clause */
/* The histogram: its percentiles against sorted values. */
#include "test.h"

#include <math.h>
#include <string.h>

#include "base/hist.h"
#include "seed.h"

static const double quantiles[] = { 0, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 1 };

TEST(empty_is_all_zero)
{
	struct ccs_hist h = { 0 };

	assert_int_equal(ccs_hist_percentile(&h, 0.5), 0);
	assert_true(ccs_hist_mean(&h) == 0);
}

TEST(small_values_are_exact)
{
	struct ccs_hist h = { 0 };

	for (unsigned v = 1; v <= 50; v++)
		ccs_hist_record(&h, v);
	assert_int_equal(h.min, 1);
	assert_int_equal(h.max, 50);
	assert_int_equal(ccs_hist_percentile(&h, 0), 1);
	assert_int_equal(ccs_hist_percentile(&h, 0.5), 25);
	assert_int_equal(ccs_hist_percentile(&h, 0.9), 45);
	assert_int_equal(ccs_hist_percentile(&h, 1), 50);
	assert_true(ccs_hist_mean(&h) == 25.5);
}

static int by_value(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Compared with the sorted values, over the whole range of uint64. */
TEST(percentiles_are_within_1_6_percent)
{
	enum { N = 5000 };
	static uint64_t values[N];

	seed_start("percentiles");
	for (unsigned round = 0; round < 50; round++) {
		struct ccs_hist h = { 0 };
		const unsigned bits = 1 + (unsigned)seed_below(63);

		for (unsigned i = 0; i < N; i++) {
			values[i] = seed_next() >> (seed_below(64 - bits));
			ccs_hist_record(&h, values[i]);
		}
		qsort(values, N, sizeof(*values), by_value);
		assert_true(h.count == N && h.min == values[0] && h.max == values[N - 1]);
		for (unsigned k = 0; k < sizeof(quantiles) / sizeof(*quantiles); k++) {
			const unsigned rank = (unsigned)ceil(quantiles[k] * N);
			const double want = (double)values[rank ? rank - 1 : 0];
			const double got = (double)ccs_hist_percentile(&h, quantiles[k]);

			if (fabs(got - want) > want / 64)
				fail_msg("p%g is %.0f, not %.0f", 100 * quantiles[k], got, want);
		}
	}
}

TEST(edges_of_the_range)
{
	for (unsigned bit = 0; bit < 64; bit++)
		for (int off = -1; off <= 1; off++) {
			const uint64_t v = (UINT64_C(1) << bit) + (uint64_t)off;
			struct ccs_hist h = { 0 };

			ccs_hist_record(&h, v);
			ccs_hist_record(&h, v);
			assert_true(ccs_hist_percentile(&h, 0.5) == v);
			assert_true(h.min == v && h.max == v);
		}
}

TEST(counts_exceed_32_bits)
{
	struct ccs_hist h = { .bucket[5] = UINT32_MAX, .count = UINT32_MAX, .min = 5, .max = 5 };

	ccs_hist_record(&h, 5);
	assert_int_equal(h.bucket[5], UINT64_C(1) << 32);
	for (unsigned i = 0; i < 3; i++)
		ccs_hist_record(&h, 9);
	assert_int_equal(h.count, (UINT64_C(1) << 32) + 3);
	assert_int_equal(ccs_hist_percentile(&h, 0.999999999), 5);
	assert_int_equal(ccs_hist_percentile(&h, 0.9999999999), 9);
}

TEST(quantiles_out_of_range_are_clamped)
{
	struct ccs_hist h = { 0 };

	ccs_hist_record(&h, 1000);
	ccs_hist_record(&h, 3000);
	assert_int_equal(ccs_hist_percentile(&h, -1), 1000);
	assert_int_equal(ccs_hist_percentile(&h, 7), 3000);
	assert_int_equal(ccs_hist_percentile(&h, NAN), 1000);
}
