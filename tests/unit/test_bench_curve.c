/* SPDX-License-Identifier: BSD-2-Clause */
#include "test.h"

#include <stdlib.h>

#include "bench/ccbench/traffic/curve.h"
#include "seed.h"

static struct curve c; /* too big for a stack */

TEST(a_message_is_spread_from_its_predecessor_to_itself)
{
	curve_start(&c, 1000, 1);
	curve_add(&c, 2000, 100);
	curve_add(&c, 4000, 500);
	assert_float_equal(curve_at(&c, 0), 0, 0);
	assert_float_equal(curve_at(&c, 1000), 0, 0);
	assert_float_equal(curve_at(&c, 1500), 50, 1e-9);
	assert_float_equal(curve_at(&c, 2000), 100, 1e-9);
	assert_float_equal(curve_at(&c, 3000), 300, 1e-9);
	assert_float_equal(curve_at(&c, 4000), 500, 0);
	assert_float_equal(curve_at(&c, 9000), 500, 0);
	/* 200 bytes in 1 us are 1.6 Gb/s. */
	assert_float_equal(curve_rate(&c, 2000, 3000), 1.6e9, 1);
	assert_float_equal(curve_rate(&c, 3000, 3000), 0, 0);
}

TEST(an_empty_flow_has_no_rate)
{
	curve_start(&c, 5, 1);
	assert_float_equal(curve_at(&c, 4), 0, 0);
	assert_float_equal(curve_at(&c, 100), 0, 0);
	assert_float_equal(curve_rate(&c, 0, 100), 0, 0);
}

/* However many points: memory holds, the end is exact, and no byte moves by more than twice
 * the resolution that the curve then has. */
TEST(thinning_moves_bytes_by_the_resolution_only)
{
	const unsigned n = 100000;
	int64_t *t = calloc(n + 1, sizeof(*t)), now = 0;
	unsigned k;

	seed_start(__func__);
	curve_start(&c, 0, 1);
	for (k = 1; k <= n; k++) {
		now += (int64_t)seed_below(2000);
		t[k] = now;
		curve_add(&c, now, k);
	}
	assert_true(c.n <= CURVE_POINTS);
	assert_float_equal(curve_at(&c, now), n, 0);
	for (k = 1; k <= n; k++) {
		double at = curve_at(&c, t[k]);
		unsigned lo = k, hi = k;

		while (lo > 0 && t[k] - t[lo] <= 2 * c.resolution)
			lo--;
		while (hi < n && t[hi] - t[k] <= 2 * c.resolution)
			hi++;
		assert_true(at >= lo && at <= hi);
	}
	free(t);
}

TEST(completions_at_one_instant_do_no_harm)
{
	unsigned k;

	curve_start(&c, 0, 1);
	for (k = 1; k <= 3 * CURVE_POINTS; k++)
		curve_add(&c, 7, k);
	curve_add(&c, 8, k);
	assert_float_equal(curve_at(&c, 8), k, 0);
	assert_float_equal(curve_at(&c, 6), (k - 1) * 6.0 / 7, 1e-6);
}
