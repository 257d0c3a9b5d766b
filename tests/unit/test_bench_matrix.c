/* SPDX-License-Identifier: BSD-2-Clause */
/* Verdicts of `ccbench matrix`. */
#include "bench/ccbench/matrix/matrix.h"

#include <math.h>
#include <stddef.h>

#include "test.h"

#define BASE_US 100.0

/* The verdict on a run at 1 Gb/s; queue: bytes, p99. */
static struct verdict judged(double used, double drops, double queue, double victim_us, unsigned errors)
{
	struct verdict v = { .utilisation = used, .drops = drops, .victim_p99_us = victim_us,
			     .errors = errors };

	verdict_judge(&v, 8e6 * queue / 1e9, BASE_US);
	return v;
}

TEST(a_run_that_meets_all_goals_passes)
{
	const struct verdict v = judged(0.95, 0, 350000, 1e6, 0);

	assert_true(v.run && v.g1 && v.g2 && v.g3 && v.pass);
	assert_float_equal(v.p99_us, 2800 + BASE_US, 1e-6);
}

TEST(each_goal_can_be_missed)
{
	struct verdict v;

	v = judged(0.949, 0, 0, 0, 0);
	assert_true(!v.g1 && v.g2 && v.g3 && !v.pass);
	v = judged(1, 1, 0, 0, 0);
	assert_true(v.g1 && !v.g2 && v.g3 && !v.pass);
	v = judged(1, 0, 350001, 0, 0);
	assert_true(v.g1 && v.g2 && !v.g3 && !v.pass);
	v = judged(1, 0, 0, 0, 1);
	assert_true(v.g1 && v.g2 && v.g3 && !v.pass);
}

/* Without a queue and without a victim the delay is unknown, and is not assumed to be short. */
TEST(without_a_queue_the_victim_is_judged)
{
	assert_true(judged(1, NAN, NAN, 2900, 0).pass);
	assert_false(judged(1, NAN, NAN, 2901, 0).pass);
	assert_false(judged(1, NAN, NAN, NAN, 0).g3);
}
