/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests how DCQCN's parameters and periods follow from the path and the measured RTT. */
#include "test.h"

#include <math.h>

#include "dcqcn.h"

static void check_params(unsigned variant, const char *const *names, const double *values)
{
	struct ccs_cc cc;

	start_variant(&cc, variant, "");
	for (unsigned i = 0; names[i]; i++)
		check_close(names[i], (int)variant, param(&cc, names[i]), values[i]);
}

/* At 40 Gb/s and 20 us the published parameters apply; mlx's are for 25 Gb/s. */
TEST(published_parameters_on_an_ordinary_path)
{
	static const char *const names[] = { "g", "alpha_init", "alpha_timer", "rate_timer",
		"byte_counter", "f", "rate_ai", "rate_hai", "min_rate", "init_rate", "clamp_target",
		NULL };
	static const double of[][11] = {
		{ 1.0 / 256, 1, 55, 55, 10e6, 5, 40e6, 400e6, 4e6, 40e9, 1 },
		{ 1.0 / 256, 1, 55, 55, 10e6, 5, 40e6, 400e6, 4e6, 40e9, 1 },
		{ 1.0 / 256, 1, 1, 300, 0, 1, 8e6, 80e6, 160e6, 40e9, 0 },
	};
	struct ccs_cc_path slow = { .line_rate = 1e9, .base_rtt_us = 200, .segment = 16384,
				    .flows = 4 };
	struct ccs_cc cc;

	for (unsigned variant = CCSHIM; variant <= MLX; variant++)
		check_params(variant, names, of[variant]);
	start(&cc, "dcqcn:rate_ai=2m", &slow);
	check_close("rate_hai", 0, param(&cc, "rate_hai"), 20e6);
	check_close("init_rate", 0, cc.out.rate, 250e6);
	check_close("alpha_timer", 0, param(&cc, "alpha_timer"), 8 * 131.072);
	slow.base_rtt_us = 1000;
	start(&cc, "dcqcn", &slow);
	check_close("rate_timer", 0, param(&cc, "rate_timer"), 1500);
	check_close("byte_counter", 0, param(&cc, "byte_counter"), 10e6 * 1500 / 55 / 40);
	start(&cc, "dcqcn:rate_timer=550us", &slow);
	check_close("byte_counter", 0, param(&cc, "byte_counter"), 10e6 * 10 / 40);
}

/* DCQCN Fig. 14, on any path. */
TEST(papers_parameters_do_not_follow_the_path)
{
	const struct ccs_cc_path slow = { .line_rate = 1e9, .base_rtt_us = 1000, .segment = 16384,
					  .flows = 4, .bottleneck_rate = 100e6 };
	struct ccs_cc cc;

	start(&cc, "dcqcn:variant=paper", &slow);
	check_close("alpha_timer", 0, param(&cc, "alpha_timer"), 55);
	check_close("rate_timer", 0, param(&cc, "rate_timer"), 55);
	check_close("byte_counter", 0, param(&cc, "byte_counter"), 10e6);
	check_close("rate_ai", 0, param(&cc, "rate_ai"), 40e6);
}

/* The port counts, not the NIC of ten times its rate; published variants use the NIC's. */
TEST(ccshim_takes_the_slowest_link)
{
	struct ccs_cc_path path = { .line_rate = 10e9, .base_rtt_us = 50, .segment = 8192, .flows = 1,
				    .bottleneck_rate = 1e9 };
	struct ccs_cc cc;

	start(&cc, "dcqcn", &path);
	check_close("rate_timer", 0, param(&cc, "rate_timer"), 8 * 65.536);
	check_close("alpha_timer", 0, param(&cc, "alpha_timer"), 8 * 65.536);
	check_close("rate_ai", 0, param(&cc, "rate_ai"), 1e6);
	check_close("min_rate", 0, param(&cc, "min_rate"), 1e5);
	check_close("byte_counter", 0, param(&cc, "byte_counter"), 10e6 * 8 * 65.536 / 55 / 40);
	start(&cc, "dcqcn:variant=mlx", &path);
	check_close("rate_timer", 1, param(&cc, "rate_timer"), 300);
	check_close("rate_ai", 1, param(&cc, "rate_ai"), 2e6);
}

/* One of hundreds of flows gets at most one CNP per own segment, and recovery waits for it. */
TEST(a_period_holds_a_quarter_of_the_own_segments_time)
{
	static const struct { const char *spec; double period; } cases[] = {
		{ "dcqcn", 0.25 * 8e6 * 32768 / 20e6 }, { "dcqcn:rate_timer=55us,alpha_timer=55us", 55 },
		{ "dcqcn:variant=paper", 55 },
	};

	for (int i = 0; i < 3; i++) {
		struct ccs_cc cc;

		start(&cc, cases[i].spec, &path40g);
		cc.ops->set_rate(&cc, 40e6);
		cnp(&cc, 1000);
		check_close("rate", i, cc.out.rate, 20e6);
		check_close("timer", i, cc.out.timer_us, 1000 + cases[i].period);
	}
}

/* A queue of 400 us consists of data sent before the first cut. */
TEST(cuts_within_an_rtt_end_at_the_delivered_rate)
{
	const double given = 32768 / 50.0 * 8e6; /* a segment in 50 us */
	struct ccs_cc cc;

	start(&cc, "dcqcn", &path40g);
	ack(&cc, 950, 400, 32768);
	cnp(&cc, 950);
	check_close("rate", 0, cc.out.rate, 20e9);
	for (int i = 1; i < 8; i++) {
		ack(&cc, 950 + 50 * i, 400, 32768);
		cnp(&cc, 950 + 50 * i);
		check_close("rate", i, cc.out.rate, fmax(given, 40e9 / exp2(i + 1)));
	}
	ack(&cc, 1350, 400, 32768);
	cnp(&cc, 1350);
	assert_true(cc.out.rate < 0.6 * given);
	start(&cc, "dcqcn:variant=paper", &path40g);
	for (int i = 0; i < 8; i++) {
		ack(&cc, 950 + 50 * i, 400, 32768);
		cnp(&cc, 950 + 50 * i);
		check_close("rate of paper", i, cc.out.rate, 40e9 / exp2(i + 1));
	}
}

/* Half an RTT after the cut no data sent after it can have been acknowledged. */
TEST(cnps_before_an_acknowledgement_change_nothing_after_a_cut)
{
	struct ccs_cc cc;

	start(&cc, "dcqcn", &path40g);
	ack(&cc, 950, 400, 32768);
	for (int i = 0; i < 8; i++)
		cnp(&cc, 1000 + 40 * i);
	check_close("rate", 0, cc.out.rate, 20e9);
	cnp(&cc, 1401);
	assert_true(cc.out.rate < 0.8 * 20e9);
}

static const struct ccs_cc_path sends = { .line_rate = 1e9, .base_rtt_us = 50, .segment = 65536,
					  .flows = 1 };

/* At 200 Mb/s a message of 64 KB alone makes a queue of 2.1 ms. */
TEST(marks_that_an_unsplit_message_causes_alone_change_nothing)
{
	struct ccs_cc cc;
	double now_us = 0;

	start(&cc, "dcqcn", &sends);
	cnp(&cc, 500);
	for (int i = 0; i < 40; i++)
		cnp(&cc, 550 + 50 * i);
	check_close("rate before the first message has arrived", 0, cc.out.rate, 500e6);
	for (now_us = 10e3; now_us < 200e3; now_us += 5e3) {
		ack(&cc, now_us, 2200, 65536);
		cnp(&cc, now_us);
	}
	check_close("rate of a flow alone", 0, cc.out.rate, 1e9);
	ack(&cc, now_us, 20e3, 65536);
	cnp(&cc, now_us);
	assert_true(cc.out.rate < 0.9e9);
}

/* A least RTT that was measured in the queue of others does not hide that queue. */
TEST(a_queue_of_others_is_not_the_messages_own)
{
	struct ccs_cc cc;
	double now_us;

	start(&cc, "dcqcn", &sends);
	for (now_us = 10e3; now_us < 2e6; now_us += 50e3) {
		ack(&cc, now_us, 50e3, 65536);
		cnp(&cc, now_us);
	}
	assert_true(cc.out.rate < 100e6);
}

/*
 * The increase per time is the paper's while the RTT is the base RTT; otherwise the increase
 * per period is.
 */
TEST(steps_grow_with_the_period_where_nothing_queues)
{
	static const struct ccs_cc_path far = { .line_rate = 100e6, .base_rtt_us = 1000,
						.segment = 4096, .flows = 1 };
	const double period = 8 * 327.68;

	for (int queued = 0; queued < 2; queued++) {
		struct ccs_cc cc;
		double before;

		start(&cc, "dcqcn", &far);
		cc.ops->set_rate(&cc, 40e6);
		for (int i = 0; i < 5; i++)
			ack(&cc, 1000 + i * period, queued ? 2000 : 1000, 4096);
		assert_string_equal(stage(&cc), "fr");
		before = target(&cc);
		ack(&cc, 1000 + 5.5 * period, queued ? 2000 : 1000, 4096);
		assert_string_equal(stage(&cc), "ai");
		check_close("step", queued, target(&cc) - before,
			    queued ? 100e3 : fmin(before / 16, 100e3 * period / 55));
	}
}

/* The longer there is neither a CNP nor a queue, the more is free. */
TEST(steps_grow_with_time_where_nothing_queues)
{
	const struct ccs_cc_path path = { .line_rate = 1e9, .base_rtt_us = 20, .segment = 512,
					  .flows = 1 };

	for (int queued = 0; queued <= 1; queued++) {
		double before = 0;
		struct ccs_cc cc;

		start(&cc, "dcqcn", &path);
		cnp(&cc, 100);
		cc.ops->set_rate(&cc, 200e6);
		for (int i = 1; i <= 30; i++) {
			before = target(&cc);
			ack(&cc, 100 + (i + 0.5) * 55, queued ? 40 : 20, 512);
		}
		assert_string_equal(stage(&cc), "ai");
		check_close("step", queued, target(&cc) - before, 1e6 * (queued ? 1 : 1 + 20 / 4.0));
	}
}

/* So many RTTs, every second one 100 us longer, without a CNP. */
static double vary(struct ccs_cc *cc, double now_us, unsigned rtts)
{
	for (unsigned i = 0; i < rtts; i++)
		ack(cc, now_us += 20, i % 2 ? 20 : 120, 32768);
	return now_us;
}

/* RTTs that vary at line rate: hosts are late, or acknowledgements wait behind other data. */
TEST(jitter_at_line_rate_widens_the_limit)
{
	const double least = 40e9 * 20 / 8e6 + 3 * 32768; /* as without a window */
	struct ccs_cc cc;
	double now_us, wide;

	for (unsigned variant = CCSHIM; variant <= MLX; variant++) {
		start_variant(&cc, variant, "");
		now_us = vary(&cc, 0, 90);
		assert_true(cc.out.window == 0);
		now_us = vary(&cc, now_us, 100);
		assert_true(variant == CCSHIM ? cc.out.window > least + 40e9 * 50 / 8e6
					     : cc.out.window == 0);
	}
	start(&cc, "dcqcn", &path40g);
	now_us = vary(&cc, 0, 200);
	wide = cc.out.window;
	cc.ops->on_loss(&cc, now_us);
	now_us = vary(&cc, now_us, 100);
	assert_true(cc.out.window < wide);
	assert_true(cc.out.window > least);
}

/* Flows that begin together learn a base RTT in their own queue; their limits are no larger for it. */
TEST(the_limit_follows_the_rate)
{
	static const double rates[] = { 40e9, 20e9, 4e9, 40e6 };

	for (unsigned variant = CCSHIM; variant <= MLX; variant++)
		for (unsigned i = 0; i < 4; i++) {
			struct ccs_cc cc;

			start_variant(&cc, variant, "");
			cc.ops->set_rate(&cc, rates[i]);
			check_close("window", (int)i, cc.out.window, variant != CCSHIM || i == 0 ? 0
				    : fmin(4 * rates[i], 40e9) * 20 / 8e6 + 4 * 32768);
		}
}

TEST(the_limit_is_lower_after_a_cut)
{
	struct ccs_cc cc;

	start(&cc, "dcqcn", &path40g);
	cnp(&cc, 100);
	check_close("window of half the line", 0, cc.out.window, 40e9 * 20 / 8e6 + 2 * 32768);
	for (int i = 0; i < 6; i++)
		cnp(&cc, 150 + 50 * i);
	assert_true(cc.out.rate < 10e9);
	check_close("window below a quarter", 0, cc.out.window, 4 * cc.out.rate * 20 / 8e6 + 32768);
}

TEST(jitter_below_line_rate_is_forgotten)
{
	struct ccs_cc cc;
	double now_us, wide;

	start(&cc, "dcqcn", &path40g);
	now_us = vary(&cc, 0, 200);
	wide = cc.out.window;
	cnp(&cc, now_us);
	cc.ops->set_rate(&cc, 1e9);
	for (int i = 0; i < 400; i++) {
		cnp(&cc, now_us);
		now_us = vary(&cc, now_us, 2);
	}
	cc.ops->set_rate(&cc, 40e9);
	assert_true(cc.out.window < 40e9 * 25 / 8e6 + 4 * 32768);
	assert_true(wide > 40e9 * 70 / 8e6);
}
