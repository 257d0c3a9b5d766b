/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests DCQCN's other two points: RED marks at the switch, and which marks become CNPs. */
#include "test.h"

#include <math.h>

#include "cc/dcqcn_np.h"
#include "fabric/marking.h"
#include "seed.h"

/* DCQCN Fig. 14 */
static const struct ccs_red paper = { .kmin = 5e3, .kmax = 200e3, .pmax = 0.01 };

TEST(red_corners)
{
	assert_true(ccs_red_probability(&paper, 0) == 0);
	assert_true(ccs_red_probability(&paper, 5e3) == 0);
	assert_true(ccs_red_probability(&paper, nextafter(5e3, INFINITY)) > 0);
	assert_true(fabs(ccs_red_probability(&paper, 102.5e3) - 0.005) < 1e-15);
	assert_true(ccs_red_probability(&paper, 200e3) == 0.01);
	assert_true(ccs_red_probability(&paper, nextafter(200e3, INFINITY)) == 1);
}

TEST(red_with_one_threshold_is_dctcp)
{
	const struct ccs_red step = { .kmin = 40e3, .kmax = 40e3, .pmax = 1 };

	assert_true(ccs_red_probability(&step, 40e3) == 0);
	assert_true(ccs_red_probability(&step, 40001) == 1);
	assert_false(ccs_red_mark(&step, 40e3, 0));
	assert_true(ccs_red_mark(&step, 40001, nextafter(1, 0)));
}

TEST(red_marks_more_of_a_longer_queue)
{
	seed_start("red");
	for (int i = 0; i < 20000; i++) {
		const double kmin = (double)seed_below(100000);
		const struct ccs_red red = { .kmin = kmin, .kmax = kmin + (double)seed_below(3000),
					     .pmax = (double)seed_below(1001) / 1000 };
		const double q = kmin + (double)seed_below(4000) - 500;
		const double p = ccs_red_probability(&red, q);
		const double dice = (double)(seed_next() >> 11) * 0x1p-53;

		assert_true(p >= 0 && p <= 1);
		assert_true(p <= ccs_red_probability(&red, q + 1));
		assert_true(ccs_red_mark(&red, q, dice) == (dice < p));
		assert_true(p > 0 || !ccs_red_mark(&red, q, 0));
	}
}

TEST(the_first_mark_causes_a_cnp_at_once)
{
	struct ccs_dcqcn_np np = ccs_dcqcn_np_init(CCS_DCQCN_NP_INTERVAL_US);

	assert_true(ccs_dcqcn_np_ce(&np, 0));
	assert_false(ccs_dcqcn_np_ce(&np, 0));
	assert_false(ccs_dcqcn_np_ce(&np, 49.999));
	assert_true(ccs_dcqcn_np_ce(&np, 50));
	assert_false(ccs_dcqcn_np_ce(&np, 99));
	assert_true(ccs_dcqcn_np_ce(&np, 1e6)); /* intervals without a mark are not made up for */
	assert_false(ccs_dcqcn_np_ce(&np, 1e6 + 49));
}

/* Compare marked times with all CNP times so far, in whole us. */
TEST(coalescing_equals_brute_force)
{
	enum { MARKS = 300 };
	int cnps[MARKS];

	seed_start("np");
	for (int round = 0; round < 300; round++) {
		const int interval = (int)seed_below(60), gap = 1 + (int)seed_below(120);
		struct ccs_dcqcn_np np = ccs_dcqcn_np_init(interval);
		int n = 0, now = -1000;

		for (int i = 0; i < MARKS; i++) {
			bool close = false;

			now += (int)seed_below((uint64_t)gap);
			for (int k = 0; k < n; k++)
				close |= cnps[k] > now - interval;
			assert_true(ccs_dcqcn_np_ce(&np, now) == !close);
			if (!close)
				cnps[n++] = now;
		}
		assert_true(n >= 1 && n <= MARKS);
	}
}
