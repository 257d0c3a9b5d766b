/* SPDX-License-Identifier: BSD-2-Clause */
/* The simulator itself, where pencil and paper know the answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "sim.h"

static struct sim_result r, again;

/* Without a queue the RTT is the wire and the port's serialisation of the last packet. */
static void an_idle_path(void **state)
{
	const struct sim_conf c = { .cc = "fixed:rate=1g", .flows = 1, .rate = 10e9, .base_us = 20,
				    .mtu = 1000, .segment = 16000, .warm_us = 1e3, .end_us = 50e3 };

	(void)state;
	sim_run(&c, 1, &r);
	assert_float_equal(r.util, 0.1, 0.001);
	assert_float_equal(r.rtt_avg, 20.8, 0.001);
	assert_true(r.q_p99 <= 1);
}

/* N flows, a window each: the queue holds what the wire does not. */
static void a_full_pipe(void **state)
{
	const struct sim_conf c = { .cc = "none", .flows = 4, .rate = 10e9, .base_us = 20,
				    .segment = 10000, .cap = 100000, .warm_us = 1e3, .end_us = 50e3 };

	(void)state;
	sim_run(&c, 1, &r);
	assert_float_equal(r.util, 1, 0.001);
	assert_float_equal(r.jain, 1, 0.001);
	/* by Little: RTT and own segment is what is outstanding by what passes */
	assert_float_equal(r.rtt_avg, 4 * 80 - 8, 0.5);
}

static void one_seed_one_result(void **state)
{
	const struct sim_conf c = { .cc = "timely", .flows = 8, .guests = 8, .join_us = 2e3,
				    .leave_us = 6e3, .rate = 10e9, .base_us = 20, .mtu = 1000,
				    .segment = 8000, .noise = { .exp_us = 5 }, .kmin = 1e4,
				    .kmax = 1e5, .pmax = 0.1, .pace_jitter = 0.5, .end_us = 10e3 };

	(void)state;
	sim_run(&c, 7, &r);
	sim_run(&c, 7, &again);
	assert_memory_equal(&r, &again, sizeof(r));
	sim_run(&c, 8, &again);
	assert_true(r.rtt_avg != again.rtt_avg);
	assert_true(r.marks > 0);
}

/* Twice the packets that fit: what is dropped is sent again, in order, and all of it counts once. */
static void losses_are_made_up_for(void **state)
{
	const struct sim_conf c = { .cc = "fixed:rate=6g", .flows = 2, .rate = 10e9, .base_us = 20,
				    .mtu = 1000, .segment = 8000, .limit = 20000, .cap = 80000,
				    .warm_us = 10e3, .end_us = 110e3 };

	(void)state;
	sim_run(&c, 1, &r);
	assert_true(r.drops > 100);
	assert_true(r.util > 0.5 && r.util <= 1);
	assert_true(r.q_p99 <= 20000 * 1.02);
}

/* RED between its thresholds marks its share; the notification point thins CNPs out. */
static void marks_and_notifications(void **state)
{
	struct sim_conf c = { .cc = "none", .flows = 2, .rate = 10e9, .base_us = 20, .segment = 1000,
			      .cap = 100000, .kmin = 0, .kmax = 2e6, .pmax = 1, .cnp_us = 50,
			      .warm_us = 1e3, .end_us = 101e3 };

	(void)state;
	sim_run(&c, 1, &r);
	/* the queue is two windows less what is on the wire */
	assert_float_equal((double)r.marks / (double)r.packets, r.q_avg / 2e6, 0.005);
	assert_true(r.cnps <= 2 * 101e3 / 50 + 2);
	assert_true(r.cnps >= 2 * 101e3 / 75);
	c.pmax = 0;
	sim_run(&c, 1, &r);
	assert_int_equal(r.marks, 0);
	assert_int_equal(r.cnps, 0);
}

/* The flow layer and the bare pacer give one rate where nothing is to be learnt. */
static void both_drivers_pace(void **state)
{
	struct sim_conf c = { .cc = "fixed:rate=2g", .flows = 4, .rate = 10e9, .base_us = 20,
			      .mtu = 1024, .segment = 8192, .cap = 1 << 20, .warm_us = 5e3, .end_us = 105e3 };

	(void)state;
	sim_run(&c, 1, &r);
	c.driver = SIM_SHIM;
	sim_run(&c, 1, &again);
	assert_float_equal(r.util, 0.8, 0.002);
	assert_float_equal(again.util, 0.8, 0.01);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_idle_path),
		cmocka_unit_test(a_full_pipe),
		cmocka_unit_test(one_seed_one_result),
		cmocka_unit_test(losses_are_made_up_for),
		cmocka_unit_test(marks_and_notifications),
		cmocka_unit_test(both_drivers_pace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
