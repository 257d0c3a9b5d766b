/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the advised rate: where it settles, its bounds, and flows that start. */
#include "test.h"

#include <math.h>

#include "cc/advice.h"

#define C 1e9
#define TAU_US 200

/*
 * A port with `flows` flows, which send at the rate advised one RTT ago. Until that is a bound, delay
 * limits them to little more than their share.
 */
struct loop {
	struct ccs_advice a;
	struct ccs_advice_port port;
	double flows, others;            /* flows that follow, and bit/s that do not */
	double late;                     /* the rate in force at the port */
	double own;                      /* bit/s to which its own control limits each flow */
	double bits, waiting;
};

static struct loop begin(double flows, unsigned counted, bool sees_queue)
{
	return (struct loop){
		.flows = flows,
		.late = C,
		.own = flows > 0 ? 1.05 * C / flows : C,
		.port = { .now_ns = 1000, .capacity = C, .flows = counted, .rtt_us = TAU_US,
			  .sees_queue = sees_queue },
	};
}

static double step(struct loop *l)
{
	const double offered = (l->flows * fmin(l->late, l->own) + l->others) * TAU_US / 1e6;
	const double capacity_bytes = C * TAU_US / 1e6, rate = ccs_advice_feed(&l->a, &l->port);
	const double passed = fmin(capacity_bytes, offered + l->waiting);

	l->waiting += offered - passed;
	l->bits += passed;
	l->late = rate;
	l->port.now_ns += 1000 * TAU_US;
	l->port.bytes = (uint64_t)(l->bits / 8);
	l->port.queue = l->port.sees_queue ? (uint64_t)(l->waiting / 8) : 0;
	return rate;
}

static double after(struct loop *l, unsigned steps)
{
	double rate = 0;

	while (steps--)
		rate = step(l);
	return rate;
}

TEST(utilisation_settles_at_97_percent_for_any_number_of_flows)
{
	for (unsigned n = 3; n <= 1000; n = 2 * n + 1)
		for (int sees = 0; sees < 2; sees++) {
			struct loop l = begin(n, n, sees);

			assert_float_equal(after(&l, 3000) * n / C, 0.972, 0.011);
		}
}

TEST(a_count_that_is_half_or_twice_the_flows_makes_no_difference)
{
	for (unsigned counted = 6; counted <= 24; counted += 6) {
		struct loop l = begin(12, counted, false);

		assert_float_equal(after(&l, 3000) * 12 / C, 0.972, 0.011);
	}
}

TEST(capacity_unused_by_limited_flows_goes_to_the_others)
{
	struct loop l = begin(2, 12, false);

	l.others = 0.5 * C;
	assert_float_equal(after(&l, 3000) * 2 / C, 0.472, 0.011);
}

TEST(a_competitor_that_does_not_follow_leaves_a_floor)
{
	struct loop l = begin(4, 4, false);
	double rate;

	l.others = 2 * C;
	rate = after(&l, 1000);
	assert_true(rate > 0.1 * C && rate < C / 4);
}

TEST(a_lone_flow_gets_the_line_back_within_ten_records)
{
	struct loop l = begin(16, 16, false);

	after(&l, 1000);
	l.flows = l.port.flows = 1;
	l.own = C;
	assert_true(after(&l, 10) >= 0.97 * C);
}

TEST(a_port_that_is_not_full_bounds_no_flow)
{
	for (unsigned n = 1; n <= 1000; n = 3 * n + 1) {
		struct loop l = begin(0, n, false);

		l.others = 0.9 * C;
		for (unsigned i = 0; i < 1000; i++)
			assert_float_equal(step(&l) / C, 1, 0);
	}
}

/* Their delay limits them, and the port is full. The rate falls until it limits them. */
TEST(flows_that_fill_the_port_below_the_rate_get_their_share)
{
	struct loop l = begin(8, 8, false);

	l.own = C / 8;
	assert_float_equal(after(&l, 3000) * 8 / C, 0.972, 0.011);
}

/* A span is 10.5 records at first, and 31.5 of 32 flows. */
TEST(a_lone_flow_gets_the_line_back_within_less_than_a_span)
{
	static const unsigned flows[] = { 2, 4, 16, 32 }, most[] = { 7, 8, 10, 14 };

	for (unsigned i = 0; i < 8; i++) {
		struct loop l = begin(flows[i / 2], flows[i / 2], i % 2);
		unsigned records = 0;

		after(&l, 1000);
		l.flows = 1;
		l.own = C;
		while (records < 100 && step(&l) < 0.9 * C)
			records++;
		assert_in_range(records, 1, most[i / 2]);
	}
}

/* Their bytes come once per round, a segment of each at once, which the port sends one by one. */
TEST(flows_that_send_in_step_are_not_missed_between_their_bursts)
{
	struct loop l = begin(0, 32, true);
	double rate = after(&l, 1), due = 0;

	for (unsigned i = 0; i < 3000; i++) {
		due += 32 * rate * TAU_US / 1e6;
		l.others = 0;
		if (due >= 32 * 4096 * 8) {
			l.others = 32 * 4096 * 8 / (TAU_US / 1e6);
			due -= 32 * 4096 * 8;
		}
		rate = step(&l);
		assert_true(i < 1000 || rate < 1.2 * 0.98 * C / 32);
	}
}

/* Small grains, so that the span is two RTTs; the hosts still count the flows that left. */
TEST(the_rate_of_63_flows_that_leave_is_advised_within_five_records)
{
	struct loop l = begin(64, 64, true);
	unsigned records = 0;

	l.port.grain = 64;
	after(&l, 1000);
	l.flows = 1;
	l.own = C;
	while (records < 100 && step(&l) < 0.9 * C)
		records++;
	assert_in_range(records, 1, 4);
}

/* They get shares when they are announced, and keep them, since their data arrive in the trial. */
TEST(flows_that_begin_together_get_their_shares_before_they_send)
{
	for (unsigned n = 4; n <= 64; n *= 2) {
		struct loop l = begin(0, n, false);

		after(&l, 20);
		assert_float_equal(ccs_advice_join(&l.a, &l.port, n) * n / C, 0.98, 1e-6);
		l.flows = n;
		l.late = 0.98 * C / n;
		for (unsigned i = 0; i < 200; i++)
			assert_true(step(&l) < 1.1 * C / n);
	}
}

/* Flows of one host are announced again and again and never send, beside one that does. */
TEST(flows_that_are_announced_and_do_not_send_cost_others_little)
{
	for (unsigned every = 1; every < 50; every = 2 * every + 1) {
		struct loop l = begin(1, 512, false);
		double sum = 0;

		for (unsigned i = 0; i < 5000; i++) {
			if (i % every == 0)
				ccs_advice_join(&l.a, &l.port, 512);
			sum += step(&l) / C;
		}
		assert_true(sum / 5000 > 0.95);
	}
}

TEST(a_reading_is_wanted_when_announced_flows_must_have_sent)
{
	struct loop l = begin(0, 8, false);

	after(&l, 20);
	assert_true(ccs_advice_wait_ns(&l.a, &l.port) == 0);
	ccs_advice_join(&l.a, &l.port, 8);
	assert_true(ccs_advice_wait_ns(&l.a, &l.port) > 1e3 * l.port.rtt_us);
	l.port.now_ns += (uint64_t)ccs_advice_wait_ns(&l.a, &l.port) + 1;
	assert_true(ccs_advice_wait_ns(&l.a, &l.port) == 0);
	assert_float_equal(ccs_advice_feed(&l.a, &l.port) / C, 1, 0); /* none did */
}

/* A rate that falls has its effect early then, and the bytes that are less are not of flows that left. */
TEST(a_delay_that_is_stated_too_long_does_not_raise_a_rate_that_fell)
{
	struct loop l = begin(8, 8, false);

	l.port.rtt_us = 4 * TAU_US;
	after(&l, 500);
	for (unsigned i = 0; i < 2000; i++) {
		l.others = i / 60 % 2 ? 0.4 * C : 0;
		assert_true(step(&l) < 1.02 * C / 8);
	}
}

/* Each used a tenth of its share, and the others could have the rest. */
TEST(flows_that_all_begin_to_use_their_rate_soon_fall_to_their_share)
{
	for (unsigned n = 8; n <= 64; n *= 2) {
		struct loop l = begin(n / 8.0, n, false);
		const double span_us = 8e6 * 4096 * fmax(64, 6 * n) / C;

		after(&l, 1000);
		l.flows = n;
		assert_true(after(&l, (unsigned)(4 * span_us / TAU_US)) < 1.1 * C / n);
	}
}

TEST(announcements_at_a_full_port_change_nothing)
{
	struct loop l = begin(4, 4, false);
	const double rate = after(&l, 1000);

	assert_float_equal(ccs_advice_join(&l.a, &l.port, 400) / rate, 1, 0);
}

TEST(a_newcomer_to_an_idle_port_begins_at_once)
{
	struct ccs_advice a = { 0 };
	const struct ccs_advice_port port = { .now_ns = 1, .capacity = C };

	assert_float_equal(ccs_advice_join(&a, &port, 1) / C, 1, 0);
}

TEST(a_counter_that_starts_over_changes_nothing)
{
	struct loop l = begin(4, 4, false);
	const double rate = after(&l, 1000);

	l.bits = 0;
	l.port.bytes = 0;
	for (unsigned i = 0; i < 100; i++)
		assert_float_equal(step(&l) / rate, 1, 0.01);
}

TEST(random_input_keeps_the_advice_within_bounds)
{
	struct ccs_advice a = { 0 };
	struct ccs_advice_port port = { .now_ns = 1, .capacity = C };
	uint64_t random = 1;

	for (unsigned i = 0; i < 20000; i++) {
		double rate;

		random = random * 6364136223846793005u + 1442695040888963407u;
		port.bytes += random >> 60 ? random >> 40 : -(random >> 45);
		port.queue = random >> 61 == 3 ? random : random >> 50;
		port.sees_queue = random >> 59 & 1;
		port.now_ns += random >> 35 & 0xfffff;
		port.flows = (unsigned)(random >> 32 >> (random >> 58));
		port.rtt_us = (double)(random >> 40 & 0xffff);
		rate = i % 7 ? ccs_advice_feed(&a, &port)
			     : ccs_advice_join(&a, &port, (unsigned)(random >> 33));
		assert_true(rate > 0 && rate <= C);
	}
}
