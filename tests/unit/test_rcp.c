/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests rcp: how it follows advice, its window, and links that no agent measures. */
#include "test.h"

#include "algorithm.h"

#define LINE 10e9
#define RTT 50.0
#define SER (8e6 * 8192 / 1e9)
#define SPREAD 0.01 /* of the rate */

static const struct ccs_cc_path path = {
	.line_rate = LINE, .base_rtt_us = RTT, .segment = 8192, .flows = 1, .bottleneck_rate = 1e9,
};

static void ack_of(struct ccs_cc *cc, unsigned flows, double now_us, double rtt_us, double advised,
		   double load)
{
	const struct ccs_cc_hop hop = {
		.ts_ns = (uint64_t)(now_us * 1e3), .capacity = 1e9,
		.tx_bytes = (uint64_t)(now_us * 125 * load),
	};
	const struct ccs_cc_ack a = {
		.now_us = now_us, .rtt_us = rtt_us, .bytes = rtt_us > 0 ? 8192 : 0, .hops = &hop,
		.nhops = 1, .path = 1, .flows = flows, .advised_rate = advised,
	};

	cc->ops->on_ack(cc, &a);
}

static void ack(struct ccs_cc *cc, double now_us, double rtt_us, double advised, double load)
{
	ack_of(cc, 2, now_us, rtt_us, advised, load);
}

static void assert_rate(const struct ccs_cc *cc, double rate)
{
	assert_float_equal(cc->out.rate, rate, SPREAD * rate + 1);
}

static void the_rate_is_the_advised_rate(void **state)
{
	struct ccs_cc cc;

	start(&cc, "rcp", &path);
	ack(&cc, 1, 0, 123e6, 0.97);
	assert_rate(&cc, 123e6);
	ack(&cc, 100, RTT, 456e6, 0.97);
	assert_rate(&cc, 456e6);
	ack(&cc, 200, RTT, 50e9, 0.97);
	assert_rate(&cc, LINE);
}

static void without_advice_the_rate_stays(void **state)
{
	struct ccs_cc cc;

	start(&cc, "rcp:init_rate=1g", &path);
	ack(&cc, 1, RTT, 0, 0.97);
	assert_float_equal(cc.out.rate, 1e9, 1);
	ccs_cc_set_rate(&cc, 2e9);
	assert_float_equal(cc.out.rate, 2e9, 1);
	ack(&cc, 2, RTT, 300e6, 0.97);
	ack(&cc, 3, RTT, 0, 0.97);
	assert_rate(&cc, 300e6);
}

static void the_window_is_the_rate_times_the_rtt_and_a_few_segments(void **state)
{
	struct ccs_cc cc;

	start(&cc, "rcp", &path);
	ack(&cc, 1, RTT, 1e9, 0.97);
	assert_float_equal(cc.out.window, cc.out.rate / 8e6 * (RTT + 4 * SER) + 8192, 1);
}

/* A lost segment is missed only when a later one arrives. */
static void the_window_is_two_segments_at_any_rate(void **state)
{
	struct ccs_cc cc;

	start(&cc, "rcp", &path);
	ack(&cc, 1, RTT, 1e6, 0.97);
	assert_float_equal(cc.out.window, 2 * 8192, 1);
}

/* However many begin at once, no more of each waits before they get advice. */
static void the_window_is_two_segments_until_the_first_advice(void **state)
{
	struct ccs_cc cc;

	start(&cc, "rcp", &path);
	assert_float_equal(cc.out.window, 2 * 8192, 1);
	ack(&cc, 1, RTT, 0, 0.5);
	assert_float_equal(cc.out.window, 2 * 8192, 1);
	ack(&cc, 2, RTT, 5e9, 0.5);
	assert_true(cc.out.window > 4 * 8192);
}

/* RTTs of ten times the base RTT for that long, in steps of an RTT, after one base RTT. */
static void queue_for(struct ccs_cc *cc, double us, double load)
{
	const double rtt = 40 * RTT;

	ack(cc, 1, RTT, 1e9, load);
	for (double now = rtt; now < us; now += rtt)
		ack(cc, now, rtt, 1e9, load);
}

static void an_unmeasured_bottleneck_lowers_a_ceiling(void **state)
{
	struct ccs_cc cc;

	start(&cc, "rcp", &path);
	queue_for(&cc, 200e3, 0.5);
	assert_true(cc.out.rate < 0.1e9);
	assert_true(cc.out.rate >= LINE / 1000);
	for (double now = 200e3; now < 210e3; now += RTT)
		ack(&cc, now, RTT, 1e9, 0.5);
	assert_rate(&cc, 1e9);
}

static void a_queue_at_a_measured_link_lowers_no_ceiling(void **state)
{
	struct ccs_cc cc;

	start(&cc, "rcp", &path);
	queue_for(&cc, 200e3, 0.97);
	assert_true(cc.out.rate >= 0.97e9 - 1);
}

/* Without this, flows of equal rate would meet in the queue again and again. */
static void a_segment_that_found_a_queue_slows_its_flow_by_a_hundredth(void **state)
{
	struct ccs_cc cc;

	start(&cc, "rcp", &path);
	ack(&cc, 1, RTT, 1e9, 0.97);
	assert_float_equal(cc.out.rate, 1.01e9, 1);
	ack(&cc, 100, RTT + SER / 2, 1e9, 0.97);
	assert_float_equal(cc.out.rate, 1e9, 1);
	ack(&cc, 200, RTT + SER, 1e9, 0.97);
	assert_float_equal(cc.out.rate, 0.99e9, 1);
	ack(&cc, 300, RTT + 2 * SER, 1e9, 0.97);
	assert_float_equal(cc.out.rate, 0.99e9, 1);
}

/* 900 flows of a full link send a segment less often than once per RTT; 45 segments are chance. */
static void many_flows_slow_down_by_a_fiftieth_at_most_while_a_queue_stands(void **state)
{
	const double rate = 1e9 / 900;
	struct ccs_cc cc;

	start(&cc, "rcp", &path);
	ack_of(&cc, 900, 1, RTT, rate, 0.98);
	ack_of(&cc, 900, 1e5, RTT + 44 * SER, rate, 0.98);
	assert_float_equal(cc.out.rate, 0.99 * rate, 1);
	ack_of(&cc, 900, 2e5, RTT + 54 * SER, rate, 0.98);
	assert_float_equal(cc.out.rate, (0.99 - 9 / 900.0) * rate, 0.001 * rate);
	ack_of(&cc, 900, 3e5, RTT + 500 * SER, rate, 0.98);
	assert_float_equal(cc.out.rate, 0.97 * rate, 1);
	for (double now = 4e5; now < 3e6; now += 1e5)
		ack_of(&cc, 900, now, RTT + 500 * SER, rate, 0.9);
	assert_float_equal(cc.out.rate, 0.99 * rate, 1);
}

/* Acknowledge with so many RTTs, every second one longer by `us`. */
static double vary(struct ccs_cc *cc, double now, unsigned rtts, double us, double load)
{
	for (unsigned i = 0; i < rtts; i++)
		ack(cc, now += RTT, i % 2 ? RTT : RTT + us, 1e9, load);
	return now;
}

/* The RTTs stay below the length that would lower the ceiling. */
static void jitter_widens_the_window_where_no_link_is_full(void **state)
{
	struct ccs_cc cc;
	double empty, now;

	start(&cc, "rcp", &path);
	now = vary(&cc, 1, 90, 400, 0.5);
	empty = cc.out.window;
	now = vary(&cc, now, 200, 400, 0.5);
	assert_in_range((unsigned)observed(&cc, "jitter_us").value, 200, 400);
	assert_true(cc.out.window > empty + 1e9 / 8e6 * 200);
	now = vary(&cc, now, 1000, 400, 0.97);
	assert_true(observed(&cc, "jitter_us").value > 150); /* a link that is used as advised */
	vary(&cc, now, 30000, 400, 0.97);
	assert_true(observed(&cc, "jitter_us").value < 1);
}

static void a_queue_at_a_full_link_is_no_jitter(void **state)
{
	struct ccs_cc cc;

	start(&cc, "rcp", &path);
	vary(&cc, 1, 1000, 400, 0.97);
	assert_true(observed(&cc, "jitter_us").value == 0);
}

/* Records more frequent than one per RTT are of no use, and late hosts have no time for them. */
static void jitter_makes_telemetry_rarer_while_no_link_is_busy(void **state)
{
	struct ccs_cc cc;

	start(&cc, "rcp", &path);
	assert_float_equal(cc.out.telemetry_period_us, RTT, 1e-6);
	vary(&cc, 1, 300, 400, 0.5);
	assert_float_equal(cc.out.telemetry_period_us, RTT + observed(&cc, "jitter_us").value, 1e-6);
	assert_true(cc.out.telemetry_period_us > RTT + 200);
	vary(&cc, 1e6, 10, 400, 0.97);
	assert_float_equal(cc.out.telemetry_period_us, RTT, 1e-6);
}

/* Retransmissions also make RTTs vary, and a wider window loses more. */
static void a_loss_halves_the_jitter_which_does_not_grow_for_a_thousand_rtts(void **state)
{
	struct ccs_cc cc;
	double now, jitter;

	start(&cc, "rcp", &path);
	now = vary(&cc, 1, 300, 400, 0.5);
	jitter = observed(&cc, "jitter_us").value;
	assert_true(jitter > 0);
	cc.ops->on_loss(&cc, now);
	now = vary(&cc, now, 900, 400, 0.5);
	assert_float_equal(observed(&cc, "jitter_us").value, jitter / 2, 1e-6);
	vary(&cc, now, 300, 400, 0.5);
	assert_float_equal(observed(&cc, "jitter_us").value, jitter, 1);
}

static void a_loss_halves_the_rate_which_rises_again(void **state)
{
	struct ccs_cc cc;
	double now, rate;

	start(&cc, "rcp", &path);
	now = vary(&cc, 1, 100, 0, 0.5);
	rate = cc.out.rate;
	cc.ops->on_loss(&cc, now);
	assert_float_equal(cc.out.rate, rate / 2, 0.02 * rate);
	now = vary(&cc, now, 3, 0, 0.5);
	assert_true(cc.out.rate < 0.8 * rate);
	vary(&cc, now, 20, 0, 0.5);
	assert_float_equal(cc.out.rate, rate, 0.02 * rate);
}

static void repeated_losses_reduce_jitter_to_zero(void **state)
{
	struct ccs_cc cc;
	double now;

	start(&cc, "rcp", &path);
	now = vary(&cc, 1, 300, 400, 0.5);
	for (unsigned i = 0; i < 10; i++) {
		cc.ops->on_loss(&cc, now);
		now = vary(&cc, now, 100, 400, 0.5);
	}
	assert_true(observed(&cc, "jitter_us").value < 1);
}

/* Late acknowledgements give long RTTs with short ones between them. */
static void a_few_long_rtts_lower_no_ceiling(void **state)
{
	struct ccs_cc cc;
	double now = 1;

	start(&cc, "rcp", &path);
	for (unsigned i = 0; i < 100; i++) {
		ack(&cc, now += RTT, RTT, 1e9, 0.5);
		for (unsigned k = 0; k < 30; k++)
			ack(&cc, now += 40 * RTT, 40 * RTT, 1e9, 0.5);
		assert_rate(&cc, 1e9);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_rate_is_the_advised_rate),
		cmocka_unit_test(without_advice_the_rate_stays),
		cmocka_unit_test(the_window_is_the_rate_times_the_rtt_and_a_few_segments),
		cmocka_unit_test(the_window_is_two_segments_at_any_rate),
		cmocka_unit_test(the_window_is_two_segments_until_the_first_advice),
		cmocka_unit_test(an_unmeasured_bottleneck_lowers_a_ceiling),
		cmocka_unit_test(a_queue_at_a_measured_link_lowers_no_ceiling),
		cmocka_unit_test(a_segment_that_found_a_queue_slows_its_flow_by_a_hundredth),
		cmocka_unit_test(many_flows_slow_down_by_a_fiftieth_at_most_while_a_queue_stands),
		cmocka_unit_test(jitter_widens_the_window_where_no_link_is_full),
		cmocka_unit_test(a_queue_at_a_full_link_is_no_jitter),
		cmocka_unit_test(jitter_makes_telemetry_rarer_while_no_link_is_busy),
		cmocka_unit_test(a_loss_halves_the_jitter_which_does_not_grow_for_a_thousand_rtts),
		cmocka_unit_test(a_loss_halves_the_rate_which_rises_again),
		cmocka_unit_test(repeated_losses_reduce_jitter_to_zero),
		cmocka_unit_test(a_few_long_rtts_lower_no_ceiling),
	};

	return cmocka_run_group_tests_name("rcp", tests, NULL, NULL);
}
