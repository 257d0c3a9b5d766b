/* SPDX-License-Identifier: BSD-2-Clause */
/* Verdicts of `ccbench matrix` from the JSON of a scenario. */
#include "bench/ccbench/matrix/verdict.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

#include "test.h"

#define BASE_US 100.0

/* A run at 1 Gb/s, with such a queue and victim. */
static struct verdict judged(double used, const char *drops, const char *queue, const char *victim,
			     unsigned errors)
{
	struct verdict v[2] = { 0 };
	char json[512];

	snprintf(json, sizeof(json),
		 "{\"bench\": \"incast\", \"runs\": [{\"cc\": \"auto\", \"bottleneck_bps\": 1e9, "
		 "\"utilisation\": %g, \"drops\": 99, \"drops_after_warmup\": %s, "
		 "\"queue_bytes\": {\"mean\": 1e9, \"p99\": %s}, "
		 "\"victim_latency_us\": {\"p99\": %s}, \"flows\": [{\"errors\": 7}], "
		 "\"errors\": %u}], \"spread\": []}", used, drops, queue, victim, errors);
	assert_int_equal(verdicts_read(v, 2, json, BASE_US), 1);
	assert_string_equal(v[0].cc, "auto");
	return v[0];
}

static void a_run_that_meets_all_goals_passes(void **state)
{
	const struct verdict v = judged(0.95, "0", "350000", "1e6", 0);

	assert_true(v.run && v.g1 && v.g2 && v.g3 && v.pass);
	assert_float_equal(v.p99_us, 2800 + BASE_US, 1e-6);
}

static void each_goal_can_be_missed(void **state)
{
	struct verdict v;

	v = judged(0.949, "0", "0", "0", 0);
	assert_true(!v.g1 && v.g2 && v.g3 && !v.pass);
	v = judged(1, "1", "0", "0", 0);
	assert_true(v.g1 && !v.g2 && v.g3 && !v.pass);
	v = judged(1, "0", "350001", "0", 0);
	assert_true(v.g1 && v.g2 && !v.g3 && !v.pass);
	v = judged(1, "0", "0", "0", 1);
	assert_true(v.g1 && v.g2 && v.g3 && !v.pass);
}

/* Without a queue and without a victim the delay is unknown, and is not assumed to be short. */
static void without_a_queue_the_victim_is_judged(void **state)
{
	assert_true(judged(1, "null", "null", "2900", 0).pass);
	assert_false(judged(1, "null", "null", "2901", 0).pass);
	assert_false(judged(1, "null", "null", "null", 0).g3);
}

static void the_base_is_the_least_time_of_the_empty_network(void **state)
{
	struct verdict v;

	assert_float_equal(verdict_base_us("{\"unloaded\": [{\"host\": 1, \"size\": [64, 128], "
					   "\"us\": [44.5, 46]}, {\"us\": [null]}]}"), 44.5, 1e-9);
	assert_true(isnan(verdict_base_us("{\"unloaded\": null}")));
	assert_true(isnan(verdict_base_us("")));
	assert_int_equal(verdicts_read(&v, 1, "{\"runs\": [{", BASE_US), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_that_meets_all_goals_passes),
		cmocka_unit_test(each_goal_can_be_missed),
		cmocka_unit_test(without_a_queue_the_victim_is_judged),
		cmocka_unit_test(the_base_is_the_least_time_of_the_empty_network),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
