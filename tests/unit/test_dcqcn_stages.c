/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests DCQCN's cuts, stages of recovery and bounds of the rate. */
#include "test.h"

#include <math.h>

#include "dcqcn.h"

/* DCQCN 3.1: alpha falls little within 50 us, so each CNP halves. */
TEST(consecutive_cnps_halve_down_to_the_floor)
{
	struct ccs_cc cc, floored;

	start(&cc, "dcqcn:min_rate=1m", &path40g);
	start(&floored, "dcqcn", &path40g);
	for (int i = 0; i < 15; i++) {
		cnp(&cc, 100 + 50 * i);
		cnp(&floored, 100 + 50 * i);
		check_close("rate", i, cc.out.rate, 40e9 / exp2(i + 1));
		check_close("floored rate", i, floored.out.rate, fmax(40e9 / exp2(i + 1), 4e6));
	}
}

TEST(the_first_cut_is_by_each_variants_initial_alpha)
{
	static const double share[] = { 0.5, 0.5, 1 };
	struct ccs_cc cc;

	for (unsigned variant = CCSHIM; variant <= MLX; variant++) {
		start_variant(&cc, variant, "");
		assert_true(cc.out.rate == 40e9 && isinf(cc.out.timer_us) && cc.out.window == 0);
		cnp(&cc, 7);
		check_close("rate", 0, cc.out.rate, 40e9 * share[variant]);
		assert_true(target(&cc) == 40e9);
	}
	ccs_cc_advance(&cc, 11); /* mlx: alpha has fallen four times before, not since the CNP */
	assert_true(cc.out.rate == 40e9);
	ccs_cc_advance(&cc, 11.0011);
	check_close("rate", 1, cc.out.rate, 40e9 * (1 - pow(255.0 / 256, 4) / 2));
}

/*
 * In mlx a CNP arrives right before the increase that is due with a cut: the increase comes
 * first, however the sums of their periods are rounded.
 */
TEST(mlx_increases_before_it_cuts)
{
	for (int i = 0; i < 2000; i++) {
		const double t = 0.137 * i;
		struct ccs_cc cc;
		double after_cut;

		start_variant(&cc, MLX, "");
		cnp(&cc, t);
		ccs_cc_advance(&cc, t + 302);
		after_cut = cc.out.rate;
		cnp(&cc, t + 302);
		assert_true(cc.out.rate == after_cut);
		ccs_cc_advance(&cc, t + 305);
		/* fast recovery set the middle as the target, in spite of clamp_target=0 */
		check_close("target", i, target(&cc), (40e9 + after_cut) / 2);
		assert_true(cc.out.rate < target(&cc));
	}
}

TEST(the_byte_counter_expires_at_its_limit)
{
	struct ccs_cc cc;

	for (unsigned variant = CCSHIM; variant <= PAPER; variant++) {
		double cut;

		start_variant(&cc, variant, ",byte_counter=150000");
		send(&cc, 0, 1e6); /* idle: not counted */
		cnp(&cc, 1);
		cut = cc.out.rate;
		send(&cc, 2, 149999);
		assert_true(cc.out.rate == cut);
		send(&cc, 3, 1);
		assert_true(cc.out.rate == (40e9 + cut) / 2);
	}
}

/*
 * Every variant recovers without CNPs; halving, in doubles, does not reach this line rate
 * exactly.
 */
TEST(a_flow_recovers_and_rests)
{
	struct ccs_cc_path path = path40g;

	path.line_rate = nextafter(40e9, INFINITY);
	for (unsigned variant = CCSHIM; variant <= MLX; variant++) {
		struct ccs_cc cc;
		double last;
		int timers = 0;

		start_variant(&cc, variant, "");
		ccs_cc_start(&cc, cc.spec, &path);
		for (int i = 0; i < 100; i++)
			cnp(&cc, 50 * i);
		ccs_cc_advance(&cc, 5000); /* mlx still had a cut due */
		last = cc.out.rate;
		assert_true(last < 1e9);
		for (; cc.out.timer_us < INFINITY && timers < 1000000; timers++) {
			cc.ops->on_timer(&cc, cc.out.timer_us);
			assert_true(cc.out.rate >= last);
			last = cc.out.rate;
		}
		assert_true(timers < 1000000 && cc.out.rate == path.line_rate);
		assert_string_equal(stage(&cc), "idle");
	}
}

/* The current alpha counts, not alpha_init. */
TEST(a_rested_flow_starts_again)
{
	static const double alpha_at_cut[] = { 0, 0,
		1.0 / 256 * 255 / 256 * 255 / 256 * 255 / 256 };

	for (unsigned variant = CCSHIM; variant <= MLX; variant++) {
		struct ccs_cc cc;

		start_variant(&cc, variant, "");
		cnp(&cc, 0);
		ccs_cc_advance(&cc, 1e8);
		assert_true(isinf(cc.out.timer_us));
		cnp(&cc, 1e8);
		assert_true(cc.out.timer_us > 1e8 && cc.out.timer_us <= 1e8 + 55);
		ccs_cc_advance(&cc, 1e8 + 10);
		check_close("rate", (int)variant, cc.out.rate, 40e9 * (1 - alpha_at_cut[variant] / 2));
	}
}

/*
 * The stages of DCQCN 3.1 in closed form, at the lab's 200 Mb/s. In fast recovery the rate
 * halves its gap to the target at each timer; the target then rises by rate_ai a timer, and
 * by rate_hai times what both counts exceed f - 1, once both exceed f.
 */
TEST(without_cnps_it_climbs_by_the_papers_stages)
{
	static const struct ccs_cc_path lab = { .line_rate = 200e6, .base_rtt_us = 50,
						.segment = 4096, .flows = 1 };
	const double timer = 8 * 163.84, ai = 200e3, hai = 2e6, t0 = 1000, slip = 0.001;
	double goal, gap;
	struct ccs_cc cc;

	start(&cc, "dcqcn", &lab);
	for (int i = 0; i < 4; i++)
		cnp(&cc, t0);
	goal = target(&cc);
	gap = goal - cc.out.rate;
	for (int t = 1; t < 5; t++) {
		ccs_cc_advance(&cc, t0 + t * timer - slip);
		check_close("before", t, cc.out.rate, goal - gap * exp2(1 - t));
		ccs_cc_advance(&cc, t0 + t * timer + slip);
		check_close("recovery", t, cc.out.rate, goal - gap * exp2(-t));
		assert_string_equal(stage(&cc), "fr");
	}
	gap = goal - cc.out.rate;
	for (int k = 1; k <= 20; k++) {
		ccs_cc_advance(&cc, t0 + (4 + k) * timer + slip);
		assert_string_equal(stage(&cc), "ai");
		check_close("additive", k, target(&cc), goal + k * ai);
		check_close("rate", k, cc.out.rate, goal + k * ai - ai - (gap - ai) * exp2(-k));
	}
	send(&cc, t0 + 24.5 * timer, 5.5 * param(&cc, "byte_counter"));
	assert_string_equal(stage(&cc), "ai");
	goal = target(&cc);
	send(&cc, t0 + 24.5 * timer, param(&cc, "byte_counter"));
	assert_string_equal(stage(&cc), "hai");
	check_close("hyper", 0, target(&cc), goal + 2 * hai);
	for (int k = 1; k <= 10; k++) {
		ccs_cc_advance(&cc, t0 + (24 + k) * timer + slip);
		check_close("hyper", k, target(&cc), goal + (k + 1) * 2 * hai);
	}
	ccs_cc_advance(&cc, t0 + 1000 * timer);
	assert_true(cc.out.rate == 200e6);
}

/* A flow that is slow for other reasons gets no CNP. */
TEST(a_flow_that_begins_below_line_rate_reaches_it)
{
	static const struct ccs_cc_ack ack = { .now_us = 100, .bytes = 1000 };

	for (unsigned variant = CCSHIM; variant <= MLX; variant++) {
		struct ccs_cc cc;

		start_variant(&cc, variant, ",init_rate=10g");
		assert_true(cc.out.rate == 10e9 && isinf(cc.out.timer_us));
		if (variant <= PAPER)
			cc.ops->on_ack(&cc, &ack);
		else
			send(&cc, 100, 1000);
		assert_string_equal(stage(&cc), "fr");
		ccs_cc_advance(&cc, 5e6);
		assert_true(cc.out.rate == 40e9 && isinf(cc.out.timer_us));
		check_close("alpha", 0, alpha(&cc), 1);
	}
}

TEST(set_rate_moves_rate_and_target_only)
{
	for (unsigned variant = CCSHIM; variant <= MLX; variant++) {
		static const struct ccs_cc_ack ack = { .now_us = 205, .bytes = 1 };
		struct ccs_cc cc;
		double due, a;

		start_variant(&cc, variant, "");
		cnp(&cc, 100);
		ccs_cc_advance(&cc, 200);
		due = cc.out.timer_us;
		a = alpha(&cc);
		cc.ops->set_rate(&cc, 3e9);
		assert_true(cc.out.rate == 3e9 && target(&cc) == 3e9);
		assert_true(cc.out.timer_us == due && alpha(&cc) == a);
		cc.ops->on_ack(&cc, &ack);
		assert_true(cc.out.rate == 3e9 && cc.out.timer_us == due);
		cc.ops->set_rate(&cc, 1);
		assert_true(cc.out.rate == param(&cc, "min_rate"));
		cc.ops->set_rate(&cc, INFINITY);
		assert_true(cc.out.rate == 40e9);
	}
}

/*
 * A lower line rate applies at once; a higher floor does not raise a rate that was allowed
 * before.
 */
TEST(a_lower_line_rate_binds_and_a_higher_floor_does_not_raise)
{
	struct ccs_cc_path path = path40g;
	struct ccs_cc cc;

	start(&cc, "dcqcn:clamp_target=0", &path);
	for (int i = 0; i < 14; i++)
		cnp(&cc, 50 * i);
	assert_true(cc.out.rate == 4e6 && target(&cc) == 40e9);
	path.line_rate = 100e9;
	ccs_cc_repath(&cc, &path);
	cnp(&cc, 700);
	assert_true(cc.out.rate == 4e6);
	path.line_rate = 1e9;
	ccs_cc_repath(&cc, &path);
	ccs_cc_advance(&cc, 200000);
	assert_true(cc.out.rate > 9e8 && cc.out.rate <= 1e9 && target(&cc) == 1e9);
}

/* This holds for any size, also many times the byte counter. */
TEST(a_send_takes_bounded_time)
{
	struct ccs_cc cc;

	start(&cc, "dcqcn:byte_counter=1", &path40g);
	cnp(&cc, 0);
	send(&cc, 1, 1e300);
	assert_true(cc.out.rate > 39e9 && cc.out.rate <= 40e9);
	assert_true(cc.out.timer_us == 55);
	start(&cc, "dcqcn:byte_counter=0", &path40g);
	cnp(&cc, 0);
	send(&cc, 1, 1e300);
	assert_true(cc.out.rate == 20e9);
}
