/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests HPCC with telemetry that is old, odd or missing, its bounds, and its parameters. */
#include "test.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "hpcc.h"
#include "seed.h"

TEST(the_first_record_only_baselines)
{
	for (unsigned variant = 0; variant < VARIANTS; variant++) {
		struct ccs_cc cc;
		struct wire w;

		open_wire(&w, 1);
		w.hop[0].tx_bytes = 1u << 30;
		w.hop[0].qlen_bytes = 1u << 30;
		start_variant(&cc, variant);
		acknowledge(&cc, &w, 1, 2000);
		check_close("window", 0, cc.out.window, W_INIT);
		check_close("rate", 0, cc.out.rate, LINE);
		assert_true(seen(&cc, "u") == 1);
		/* of data that was sent before the update: no commit */
		step(&cc, &w, 0.5, 0, 2000);
		step(&cc, &w, 0.5, 0, 2000);
		assert_true(seen(&cc, "inc_stage") == 0);
		step(&cc, &w, 0.5, 0, 2000);
		step(&cc, &w, 0.5, 0, 0);
		assert_true(seen(&cc, "inc_stage") == 1);
	}
}

static bool same_decision(const struct ccs_cc *a, const struct ccs_cc *b)
{
	return a->out.rate == b->out.rate && a->out.window == b->out.window &&
	       seen(a, "u") == seen(b, "u") && seen(a, "wc_bytes") == seen(b, "wc_bytes") &&
	       seen(a, "inc_stage") == seen(b, "inc_stage");
}

TEST(records_that_do_not_compare_decide_nothing)
{
	for (unsigned i = 0; i < VARIANTS * 4; i++) {
		struct ccs_cc cc, before;
		struct wire w;

		start_with_steady_flow(&cc, &w, i / 4, 2);
		before = cc;
		w.ack.path += i % 4 == 0;
		w.ack.nhops -= i % 4 == 1;
		if (i % 4 == 2)
			w.hop[1].tx_bytes = 0;
		if (i % 4 == 3)
			w.hop[1].capacity *= 10;
		step(&cc, &w, 1, 1u << 30, 0);
		assert_true(same_decision(&cc, &before));
		pass(&w, 1, T_US, 0.1, 0);
		/* measurement continues from the new records, and may commit */
		step(&cc, &w, 0.5, 0, 0);
		check_close("u", (int)i, seen(&cc, "u"), 0.5);
		assert_true(seen(&cc, "wc_bytes") != seen(&before, "wc_bytes"));
	}
}

TEST(a_repeated_record_does_nothing)
{
	for (unsigned variant = 0; variant < VARIANTS; variant++) {
		struct ccs_cc cc, before;
		struct wire w;

		start_with_steady_flow(&cc, &w, variant, 2);
		before = cc;
		for (int i = 0; i < 5; i++)
			acknowledge(&cc, &w, 10, 0);
		w.hop[0].ts_ns -= 10; /* an older record has no effect either */
		acknowledge(&cc, &w, 10, 0);
		assert_true(same_decision(&cc, &before));
		w.hop[0].ts_ns += 10;
		pass(&w, 1, T_US, 2, 0); /* only the other link has a new record */
		acknowledge(&cc, &w, 10, 0);
		check_close("u", 0, seen(&cc, "u"), 2);
		assert_true(cc.out.window < before.out.window);
	}
}

TEST(without_telemetry_nothing_changes)
{
	for (unsigned variant = 0; variant < VARIANTS; variant++) {
		struct ccs_cc cc, before;
		struct wire w;

		start_with_steady_flow(&cc, &w, variant, 1);
		before = cc;
		w.ack.nhops = 0;
		w.ack.flows = 40;
		w.ack.rtt_us = 1e6;
		for (int i = 0; i < 10; i++)
			acknowledge(&cc, &w, T_US, 0);
		w.ack.nhops = CCS_CC_MAX_HOPS + 1; /* a violation of the interface */
		acknowledge(&cc, &w, T_US, 0);
		assert_true(same_decision(&cc, &before));
	}
}

/* Ten acknowledgements of one queue cause one decrease, the next RTT's cause another. */
TEST(one_queue_causes_one_decrease_per_rtt)
{
	for (unsigned variant = 0; variant <= NS3; variant++) {
		struct ccs_cc cc;
		struct wire w;
		double once;

		start_with_steady_flow(&cc, &w, variant, 1);
		step(&cc, &w, 0.95, 0, 10000);
		step(&cc, &w, 1, 125000, 10000); /* the smaller of two queue lengths counts */
		check_close("u", 0, seen(&cc, "u"), 1);
		step(&cc, &w, 1, 125000, 10000);
		check_close("u", 0, seen(&cc, "u"), 2);
		once = cc.out.window;
		for (int i = 0; i < 8; i++)
			step(&cc, &w, 1, 125000, 10000);
		check_close("window", 0, cc.out.window, once);
		step(&cc, &w, 1, 125000, 10000); /* commits the same window */
		check_close("window", 0, cc.out.window, once);
		check_close("wc_bytes", 0, seen(&cc, "wc_bytes"), once);
		step(&cc, &w, 1, 125000, 10000);
		check_close("window", 1, cc.out.window,
			    once * ETA / 2 + (variant == NS3 ? RATE_AI * T_US / 8e6 : W_AI));
	}
}

/* Records may state the time at which they were taken. The paper's do not. */
TEST(records_from_before_an_update_commit_nothing)
{
	for (unsigned variant = 0; variant < VARIANTS; variant++) {
		struct ccs_cc cc;
		struct wire w;
		double reference, acked;

		if (variant == PAPER)
			continue;
		start_with_steady_flow(&cc, &w, variant, 1);
		for (reference = seen(&cc, "wc_bytes"); seen(&cc, "wc_bytes") == reference;) {
			w.ack.covers_us = w.ack.now_us + T_US;
			step(&cc, &w, 0.5, 0, 0);
		}
		reference = seen(&cc, "wc_bytes");
		acked = w.ack.now_us + T_US;     /* the first acknowledgement after it */
		w.ack.covers_us = acked - 1;
		for (int i = 0; i < 5; i++)
			step(&cc, &w, 0.5, 0, 0);
		assert_true(seen(&cc, "wc_bytes") == reference);
		w.ack.covers_us = acked;
		step(&cc, &w, 0.5, 0, 0);        /* the interval began too early */
		assert_true(seen(&cc, "wc_bytes") == reference);
		step(&cc, &w, 0.5, 0, 0);
		assert_true(seen(&cc, "wc_bytes") != reference);
	}
}

static struct ccs_cc_ack odd_ack(struct wire *w)
{
	static const double odd[] = { 0, -1, NAN, INFINITY, -INFINITY, 1e300, 1e-300, 1e9 };
	static const uint64_t counts[] = { 0, 1, UINT64_MAX, UINT64_MAX - 1, 1ull << 40 };

	for (unsigned i = 0; i < CCS_CC_MAX_HOPS; i++) {
		struct ccs_cc_hop *hop = &w->hop[i];

		hop->ts_ns = seed_below(8) ? hop->ts_ns + seed_below(1 << 22) : counts[seed_below(5)];
		hop->tx_bytes = seed_below(8) ? hop->tx_bytes + seed_below(1 << 20)
					      : counts[seed_below(5)];
		hop->qlen_bytes = seed_below(4) ? seed_below(1 << 20) : counts[seed_below(5)];
		hop->capacity = seed_below(50) ? LINE : odd[seed_below(8)];
	}
	return (struct ccs_cc_ack){
		.now_us = w->ack.now_us += (double)seed_below(5000),
		.rtt_us = seed_below(4) ? (double)seed_below(4000) : odd[seed_below(8)],
		.bytes = 1000,
		.ack_seq = seed_below(8) ? w->ack.ack_seq += 1000 : counts[seed_below(5)],
		.snd_nxt = w->ack.ack_seq + seed_below(20000),
		.hops = w->hop,
		.nhops = 1 + (unsigned)seed_below(seed_below(20) ? 1 : 6),
		.flows = seed_below(4) ? 0 : (unsigned)counts[seed_below(5)],
		.covers_us = seed_below(4) ? 0 : seed_below(4) ? (double)seed_below(1 << 20)
							      : odd[seed_below(8)],
	};
}

TEST(random_input_keeps_rate_and_window_within_bounds)
{
	seed_start("bounds");
	for (unsigned i = 0; i < 3000; i++) {
		const unsigned variant = i % VARIANTS;
		struct ccs_cc cc;
		struct wire w;

		open_wire(&w, 1);
		start_variant(&cc, variant);
		for (int k = 0; k < 60; k++) {
			const struct ccs_cc_ack a = odd_ack(&w);

			cc.ops->on_ack(&cc, &a);
			assert_true(cc.out.rate >= MIN_RATE * (1 - 1e-12) && cc.out.rate <= LINE);
			assert_true(cc.out.window <= 2 * W_INIT * (1 + 1e-12));
			assert_true(cc.out.window >= (variant == NS3 ? MIN_RATE * T_US / 8e6 : MIN_WINDOW)
						      * (1 - 1e-12));
			assert_true(isfinite(seen(&cc, "u")) && seen(&cc, "u") >= 0);
			assert_true(isfinite(seen(&cc, "wc_bytes")));
		}
	}
}

/*
 * After equal histories more bytes sent, more bytes waiting or a longer RTT never give a larger
 * window.
 */
TEST(more_congestion_gives_no_larger_window)
{
	seed_start("monotone");
	for (unsigned i = 0; i < 6000; i++) {
		const double us = (double)(1 + seed_below(2000));
		struct ccs_cc cc, worse;
		struct wire w, x;

		open_wire(&w, 1);
		start_variant(&cc, i % VARIANTS);
		for (uint64_t k = seed_below(30); k > 0; k--)
			random_step(&cc, &w, k % 2);
		worse = cc;
		x = w;
		w.ack.rtt_us = 1 + (double)seed_below(3000);
		x.ack.rtt_us = w.ack.rtt_us + (double)(seed_below(2) * seed_below(3000));
		pass(&w, 0, us, (double)seed_below(100) / 100, seed_below(1 << 18));
		x.hop[0] = w.hop[0];
		x.hop[0].tx_bytes += seed_below(2) * seed_below(100000);
		x.hop[0].qlen_bytes += seed_below(2) * seed_below(1 << 18);
		/* tau is the busiest link's, and there are more of them */
		w.ack.nhops = x.ack.nhops = 1;
		acknowledge(&cc, &w, us, 0);
		acknowledge(&worse, &x, us, 0);
		if (worse.out.window > cc.out.window * (1 + 1e-12))
			fail_msg("%s: %.17g, but %.17g when worse", variants[i % VARIANTS],
				 cc.out.window, worse.out.window);
	}
}

TEST(parameters_are_derived_from_the_path)
{
	const struct ccs_cc_path path = { .line_rate = 10e9, .base_rtt_us = 20, .rtt_jitter_us = 3,
					  .segment = 4096, .flows = 8 };
	const double ser = 8e6 * 4096 / 10e9;
	struct ccs_cc cc;

	for (unsigned variant = 0; variant < VARIANTS; variant++) {
		const double T = variant == ECHO ? 20 + 8 * ser : 23;
		char spec[64];

		snprintf(spec, sizeof(spec), "hpcc:variant=%s", variants[variant]);
		start(&cc, spec, &path);
		check_close("base_rtt", 0, param(&cc, "base_rtt"), T);
		check_close("w_ai", 0, param(&cc, "w_ai"), 10e9 * T / 8e6 * 0.05 / 32);
		check_close("min_window", 0, param(&cc, "min_window"), 10e6 * T / 8e6);
		check_close("rate_ai", 0, param(&cc, "rate_ai"), 5e6);
		check_close("min_rate", 0, param(&cc, "min_rate"), 10e6);
		assert_true(param(&cc, "max_stage") == (variant == NS3 ? 0 : 5));
		check_close("rate", 0, cc.out.rate, variant == ECHO ? 10e9 / 8 : 10e9);
	}
	start(&cc, "hpcc:eta=0.9,base_rtt=1us", &path);
	check_close("w_ai", 1, param(&cc, "w_ai"), 1250 * 0.1 / 32);
	check_close("min_window", 1, param(&cc, "min_window"), 1.25);
	start(&cc, "hpcc:variant=echo", &test_path);
	check_close("base_rtt", 2, param(&cc, "base_rtt"), 100 + 4 * 8);
}

/* New facts about the path change T; the rate stays, and W changes in proportion. */
TEST(a_better_known_path_keeps_the_rate)
{
	for (unsigned variant = 0; variant < VARIANTS; variant++) {
		struct ccs_cc_path path = test_path;
		struct ccs_cc cc;
		struct wire w;
		char spec[64];

		open_wire(&w, 1);
		snprintf(spec, sizeof(spec), "hpcc:variant=%s", variants[variant]);
		start(&cc, spec, &path);
		cc.ops->set_rate(&cc, LINE / 4);
		check_close("rate", 0, cc.out.rate, LINE / 4);
		acknowledge(&cc, &w, 1, 0);
		path.base_rtt_us = 400;
		ccs_cc_repath(&cc, &path);
		check_close("rate", 1, cc.out.rate, LINE / 4);
		/* U = eta < 1: changes by little more than the increase */
		step(&cc, &w, 0.95, 0, 1000);
		assert_true(fabs(cc.out.rate / (LINE / 4) - 1) < 0.1);
		check_close("window", 2, cc.out.window,
			    cc.out.rate * param(&cc, "base_rtt") / 8e6);
	}
}

TEST(set_rate_sets_rate_and_windows)
{
	static const double rates[] = { 1, 33e6, 1e8, 1e9, 1e12, INFINITY };

	for (unsigned i = 0; i < VARIANTS * 6; i++) {
		const unsigned variant = i / 6;
		const double floor = variant == NS3 ? MIN_RATE : MIN_WINDOW * 8e6 / T_US;
		const double want = fmin(fmax(rates[i % 6], floor), LINE);
		struct ccs_cc cc;
		struct wire w;

		start_with_steady_flow(&cc, &w, variant, 1);
		cc.ops->set_rate(&cc, rates[i % 6]);
		check_close("rate", (int)i, cc.out.rate, want);
		check_close("window", (int)i, cc.out.window, want * T_US / 8e6);
		check_close("wc_bytes", (int)i, seen(&cc, "wc_bytes"), cc.out.window);
	}
}
