/* SPDX-License-Identifier: BSD-2-Clause */
/* When a flow's control counts as lost: by samples alone, and in a flow. Virtual time. */
#include "test.h"

#include "flow/control_state.h"
#include "flow_fixture.h"

#define MS 1000000ull

static struct ccs_control_state c;
static uint64_t now, last;

static int begin(void **state)
{
	c = (struct ccs_control_state){ 0 };
	now = last = 1000 * MS;
	return 0;
}

static void sample(enum ccs_control shown, double rtt_us)
{
	ccs_control_sample(&c, shown, rtt_us, last, now);
	last = now;
}

/* A sample every 10 ms. */
static void samples(enum ccs_control shown, double rtt_us, unsigned ms)
{
	for (unsigned i = 0; i < ms / 10; i++) {
		now += 10 * MS;
		sample(shown, rtt_us);
	}
}

TEST_WITH(control_is_lost_after_a_second, begin, NULL)
{
	samples(CCS_CONTROL_AT_FLOOR, 5000, 1000);
	assert_int_equal(c.now, CCS_CONTROL_OK);
	samples(CCS_CONTROL_AT_FLOOR, 5000, 10);
	assert_int_equal(c.now, CCS_CONTROL_AT_FLOOR);
}

TEST_WITH(a_burst_of_half_a_second_is_not_reported, begin, NULL)
{
	for (unsigned i = 0; i < 10; i++) {
		samples(CCS_CONTROL_AT_FLOOR, 5000, 500);
		samples(CCS_CONTROL_OK, 100, 10);
	}
	assert_int_equal(c.now, CCS_CONTROL_OK);
}

TEST_WITH(a_queue_that_becomes_short_at_times_is_controlled, begin, NULL)
{
	for (unsigned i = 0; i < 10; i++) {
		samples(CCS_CONTROL_AT_FLOOR, 5000, 900);
		samples(CCS_CONTROL_AT_FLOOR, 3000, 10);
	}
	assert_int_equal(c.now, CCS_CONTROL_OK);
}

TEST_WITH(the_state_ends_after_a_second_not_with_one_low_rtt, begin, NULL)
{
	samples(CCS_CONTROL_AT_FLOOR, 5000, 1010);
	samples(CCS_CONTROL_OK, 100, 10);
	assert_int_equal(c.now, CCS_CONTROL_AT_FLOOR);
	samples(CCS_CONTROL_AT_FLOOR, 5000, 10);
	samples(CCS_CONTROL_OK, 100, 1000);
	assert_int_equal(c.now, CCS_CONTROL_AT_FLOOR);
	samples(CCS_CONTROL_OK, 100, 10);
	assert_int_equal(c.now, CCS_CONTROL_OK);
}

TEST_WITH(one_state_may_follow_the_other, begin, NULL)
{
	samples(CCS_CONTROL_AT_FLOOR, 5000, 1010);
	samples(CCS_CONTROL_AT_LIMIT, 5000, 1010);
	assert_int_equal(c.now, CCS_CONTROL_AT_LIMIT);
}

TEST_WITH(long_rtts_take_a_hundred_of_them, begin, NULL)
{
	c.average_us = 50e3;
	samples(CCS_CONTROL_AT_FLOOR, 50e3, 5000);
	assert_int_equal(c.now, CCS_CONTROL_OK);
	samples(CCS_CONTROL_AT_FLOOR, 50e3, 10);
	assert_int_equal(c.now, CCS_CONTROL_AT_FLOOR);
}

TEST_WITH(rare_samples_count_but_not_across_a_pause, begin, NULL)
{
	for (unsigned i = 1; i < CCS_CONTROL_SAMPLES; i++) {
		now += 3000 * MS;
		sample(CCS_CONTROL_AT_FLOOR, 5000);
	}
	now += 5000 * MS;
	sample(CCS_CONTROL_AT_FLOOR, 5000);
	assert_int_equal(c.now, CCS_CONTROL_OK);
	for (unsigned i = 1; i < CCS_CONTROL_SAMPLES; i++) {
		assert_int_equal(c.now, CCS_CONTROL_OK);
		now += 3000 * MS;
		sample(CCS_CONTROL_AT_FLOOR, 5000);
	}
	assert_int_equal(c.now, CCS_CONTROL_AT_FLOOR);
}

/* -- in a flow: segments of 4 us, a base RTT of 20 us, an algorithm with a fixed rate ------- */

static void send_for_two_seconds(struct ccs_flow *f, double rtt_us, unsigned waiting)
{
	uint64_t t = 1000 * MS, n;

	spy_rate = 4e9;
	spy_window = 4096;
	for (unsigned i = 0; i < 200; i++) {
		while (ccs_flow_waiting(f) <= waiting)
			ccs_flow_accept(f, 4096, CCS_WR_SIGNALED);
		t += 10 * MS;
		assert_non_null(flow_next(f, t, &n));
		complete_up_to(f, n, t + 4096 + (uint64_t)(1e3 * rtt_us));
	}
}

static enum ccs_control after(double rtt_us, unsigned waiting, bool enforce)
{
	struct ccs_flow_config conf = flow_config(4096);
	struct ccs_flow f;
	enum ccs_control now_is;

	conf.enforce = enforce;
	spy_rate = 4e9;
	spy_window = 4096;
	open_started(&f, &conf);
	send_for_two_seconds(&f, rtt_us, waiting);
	now_is = f.rtt.control.now;
	ccs_flow_destroy(&f);
	return now_is;
}

TEST(rtts_of_more_than_32_segments_count)
{
	assert_int_equal(after(20 + 31 * 4.096, 1, true), CCS_CONTROL_OK);
	assert_int_equal(after(20 + 33 * 4.096, 1, true), CCS_CONTROL_AT_LIMIT);
}

TEST(a_flow_with_nothing_waiting_is_not_reported)
{
	assert_int_equal(after(5000, 0, true), CCS_CONTROL_OK);
}

TEST(an_observed_flow_is_not_reported)
{
	assert_int_equal(after(5000, 1, false), CCS_CONTROL_OK);
}
