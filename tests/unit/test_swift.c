/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests Swift against a second implementation below, and properties of any window. */
#include "test.h"

#include <stdbool.h>

#include "algorithm.h"
#include "seed.h"

#define LINE 10e9
#define SEGMENT 4096.0
#define BASE 25.0
#define RANGE 100.0
#define MIN_WINDOW 10.0
#define SER (8e6 * SEGMENT / LINE)

static const struct ccs_cc_path test_path = { .line_rate = LINE, .base_rtt_us = 20,
					      .segment = SEGMENT, .flows = 1 };

/* Start with that many segments as the first window. */
static void start_at(struct ccs_cc *cc, double segments)
{
	char spec[256];

	snprintf(spec, sizeof(spec), "swift:base_target=%gus,fs_range=%gus,min_window=%g,"
		 "init_window=%.17g", BASE, RANGE, MIN_WINDOW, segments * SEGMENT);
	start(cc, spec, &test_path);
}

static void ack(struct ccs_cc *cc, double now_us, double rtt_us, double bytes)
{
	const struct ccs_cc_ack a = { .now_us = now_us, .rtt_us = rtt_us, .bytes = bytes };

	cc->ops->on_ack(cc, &a);
}

static double segments(const struct ccs_cc *cc)
{
	return cc->out.window / SEGMENT;
}

static double target(const struct ccs_cc *cc)
{
	return observed(cc, "target_us").value;
}

/* A second implementation of the published equations; each branch sets a flag. */
struct ref {
	double cwnd, target, rtt, last_decrease, whole;
	int losses;
	bool up, up_below_one, down, most, waits, scaled, at_range, no_scaling, floored, ceiled,
		reset, halved;
};

static double ref_target(struct ref *r)
{
	const double alpha = RANGE / (1 / sqrt(0.1) - 1 / sqrt(100));
	const double beta = -alpha / sqrt(100);
	const double scaling = alpha / sqrt(r->cwnd / r->whole) + beta;

	r->at_range |= scaling > RANGE;
	r->no_scaling |= scaling < 0;
	r->scaled |= scaling > 0 && scaling < RANGE;
	return BASE + (r->whole - 1) * SER + r->whole * (scaling < 0 ? 0 : scaling > RANGE ? RANGE : scaling);
}

static void ref_limit(struct ref *r)
{
	const double most = fmax(100 * r->whole, LINE * (BASE + r->whole * (RANGE + SER)) / 8e6 / SEGMENT);
	const double least = r->whole * MIN_WINDOW / SEGMENT;

	r->floored |= r->cwnd < least;
	r->ceiled |= r->cwnd > most;
	if (r->cwnd < least)
		r->cwnd = least;
	if (r->cwnd > most)
		r->cwnd = most;
}

static void ref_ack(struct ref *r, double now, double delay, double bytes)
{
	const double n = bytes / SEGMENT;
	const bool can_decrease = now - r->last_decrease >= delay;

	r->losses = 0;
	r->rtt = delay;
	r->whole = n > 1 ? n : 1;
	r->target = ref_target(r);
	if (delay < r->target) {
		r->up |= r->cwnd >= 1;
		r->up_below_one |= r->cwnd < 1;
		r->cwnd += r->cwnd >= r->whole ? n / (r->cwnd / r->whole) : n;
	} else if (can_decrease) {
		double factor = 1 - 0.8 * (delay - r->target) / delay;

		r->most |= factor < 0.5;
		r->down |= factor >= 0.5;
		r->cwnd *= factor < 0.5 ? 0.5 : factor;
		r->last_decrease = now;
	} else {
		r->waits = true;
	}
	ref_limit(r);
}

static void ref_loss(struct ref *r, double now)
{
	if (++r->losses >= 5) {
		r->reset = true;
		r->cwnd = 0;
	} else if (now - r->last_decrease >= r->rtt) {
		r->halved = true;
		r->cwnd *= 0.5;
		r->last_decrease = now;
	}
	ref_limit(r);
}

static double ref_rate(const struct ref *r)
{
	const double drain = (r->whole - 1) * SER;
	const double rtt = fmax(r->rtt - drain, fmin(r->rtt, 20));
	const double rate = 8 * r->cwnd * SEGMENT / (drain > 0 ? rtt : r->rtt) * 1e6;

	return fmax(fmin(LINE, rate), LINE / 4000);
}

static void check_ref(const struct ccs_cc *cc, const struct ref *r, int step)
{
	check_close("window", step, cc->out.window, r->cwnd * SEGMENT);
	check_close("target", step, target(cc), r->target);
	check_close("rate", step, cc->out.rate, ref_rate(r));
}

/* Idle, uncongested, congested and lossy periods. */
static void follow_ref(struct ref *r, int steps)
{
	struct ccs_cc cc;
	double now = 0;

	start_at(&cc, r->cwnd);
	for (int i = 0; i < steps; i++) {
		const int load = i / 40 % 3;
		const double delay = (double)(1 + seed_below(load ? 400 : 60)) / (load == 2 ? 0.5 : 1);

		now += (double)seed_below(seed_below(10) ? 60 : 2000);
		if (load && seed_below(load == 2 ? 2 : 30) == 0) {
			cc.ops->on_loss(&cc, now);
			ref_loss(r, now);
			assert_true(cc.out.window > 0);
			check_close("window", i, cc.out.window, r->cwnd * SEGMENT);
			continue;
		}
		ack(&cc, now, delay, SEGMENT * (load ? 1 : i % 7 ? 1.5 : 100));
		ref_ack(r, now, delay, SEGMENT * (load ? 1 : i % 7 ? 1.5 : 100));
		check_ref(&cc, r, i);
	}
}

TEST(random_sequences_equal_the_reference)
{
	struct ref m = { 0 };

	seed_start("reference");
	for (int i = 0; i < 400; i++) {
		m.cwnd = (double)(1 + seed_below(4000)) / 100;
		m.last_decrease = -INFINITY;
		m.losses = 0;
		m.rtt = 0;
		m.whole = 1;
		follow_ref(&m, 400);
	}
	assert_true(m.up && m.up_below_one && m.down && m.most && m.waits);
	assert_true(m.scaled && m.at_range && m.floored && m.ceiled && m.reset && m.halved);
}

/* Results of single steps, computed by hand. */
TEST(increases_decreases_and_targets_match_hand_computed_values)
{
	struct ccs_cc cc;

	start_at(&cc, 10);
	ack(&cc, 100, 20, SEGMENT);
	check_close("increase", 0, segments(&cc), 10.1);
	start_at(&cc, 10);
	/* a message of two segments counts in units of the message */
	ack(&cc, 100, 20, 2 * SEGMENT);
	check_close("increase", 1, segments(&cc), 10 + 2 * 2 / 10.0);
	start_at(&cc, 0.5);
	ack(&cc, 100, 20, SEGMENT);
	check_close("increase below one", 0, segments(&cc), 1.5);
	start_at(&cc, 100); /* from here on there is no flow scaling */
	ack(&cc, 100, 50, SEGMENT);
	check_close("target", 0, target(&cc), BASE);
	check_close("decrease", 0, segments(&cc), 100 * (1 - 0.8 * 25 / 50));
	start_at(&cc, 100);
	ack(&cc, 100, 5000, SEGMENT);
	check_close("most", 0, segments(&cc), 50);
	start_at(&cc, 0.1);
	ack(&cc, 100, 1, 0);
	check_close("target", 1, target(&cc), BASE + RANGE);
}

/* At exactly the target the window does not grow; this counts as a decrease by nothing. */
TEST(the_target_is_strict)
{
	struct ccs_cc cc;

	start_at(&cc, 100);
	ack(&cc, 100, BASE, SEGMENT);
	check_close("window", 0, segments(&cc), 100);
	ack(&cc, 110, 500, SEGMENT);
	check_close("window", 1, segments(&cc), 100);
	start_at(&cc, 99);
	ack(&cc, 100, nextafter(BASE, 0), SEGMENT);
	assert_true(segments(&cc) > 99);
}

TEST(one_decrease_per_rtt)
{
	struct ccs_cc cc;

	start_at(&cc, 64);
	ack(&cc, 1000, 200, SEGMENT);
	check_close("window", 0, segments(&cc), 32);
	for (int i = 1; i < 20; i++)
		ack(&cc, 1000 + 10 * i, 200, SEGMENT);
	check_close("window", 1, segments(&cc), 32);
	cc.ops->on_loss(&cc, 1199);
	check_close("window", 2, segments(&cc), 32);
	ack(&cc, 1200, 200, SEGMENT);
	assert_true(segments(&cc) < 32);
}

TEST(repeated_losses_halve_and_then_reach_the_minimum_window)
{
	struct ccs_cc cc;

	start_at(&cc, 64);
	ack(&cc, 1000, 25, 0);
	for (int i = 1; i < 5; i++) {
		cc.ops->on_loss(&cc, 1000 + 100 * i);
		check_close("window", i, segments(&cc), 64 / exp2(i));
	}
	ack(&cc, 1401, 10, 0); /* an acknowledgement arrives: the count restarts */
	cc.ops->on_loss(&cc, 1500);
	check_close("window", 5, segments(&cc), 2);
	for (int i = 2; i <= 5; i++)
		cc.ops->on_loss(&cc, 1500);
	check_close("window", 6, cc.out.window, MIN_WINDOW);
}

/*
 * A third of a segment in flight means a segment in three RTTs; larger windows are paced evenly
 * over one RTT.
 */
TEST(windows_below_one_segment_are_paced)
{
	struct ccs_cc cc;

	start_at(&cc, 1.0 / 3);
	ack(&cc, 100, 60, 0);
	check_close("window", 0, cc.out.window, SEGMENT / 3);
	check_close("time of a segment", 0, 8e6 * SEGMENT / cc.out.rate, 180);
	ack(&cc, 110, 60, SEGMENT);
	assert_true(segments(&cc) > 1);
	check_close("rate", 0, cc.out.rate, 8e6 * cc.out.window / 60);
}

/*
 * Until a segment is sent no shorter RTT can be measured: one long absence must not stop the
 * flow.
 */
TEST(a_long_rtt_leaves_at_least_min_rate)
{
	struct ccs_cc cc;

	start_at(&cc, 1.0 / 3);
	ack(&cc, 1e9, 540e3, 0);
	assert_true(cc.out.window <= SEGMENT / 3);
	check_close("rate", 0, cc.out.rate, LINE / 4000);
	start(&cc, "swift:init_window=1,min_rate=1m", &test_path);
	ack(&cc, 1e9, 540e3, 0);
	check_close("rate", 1, cc.out.rate, 1e6);
}

TEST(odd_delays_are_ignored)
{
	static const double odd[] = { 0, -1, NAN, INFINITY, -INFINITY };

	for (int i = 0; i < 5; i++) {
		struct ccs_cc cc, before;

		start_at(&cc, 5);
		ack(&cc, 100, 90, SEGMENT);
		before = cc;
		ack(&cc, 1000, odd[i], SEGMENT);
		assert_true(cc.out.window == before.out.window && cc.out.rate == before.out.rate);
		assert_true(target(&cc) == target(&before));
	}
}

TEST(random_input_keeps_rate_and_window_within_bounds)
{
	static const double odd[] = { 1e-300, 1e300, 1e9, 1e-9, NAN, INFINITY };
	static const char *const specs[] = {
		"swift", "swift:fs_min=5,fs_max=5", "swift:fs_min=7,fs_max=5", "swift:ai=1000000",
		"swift:max_mdf=1,beta=1", "swift:fs_range=0", "swift:min_window=1g", "swift:segment=1",
	};

	seed_start("bounds");
	for (unsigned i = 0; i < 4000; i++) {
		struct ccs_cc cc;
		double floor, longest, now = 0;

		start(&cc, specs[i % 8], &test_path);
		floor = param(&cc, "min_window");
		longest = 2 * SEGMENT / param(&cc, "segment");
		for (int k = 0; k < 50; k++) {
			now += (double)seed_below(300);
			if (seed_below(10) == 0)
				cc.ops->on_loss(&cc, now);
			else
				ack(&cc, now, seed_below(5) ? (double)seed_below(500) : odd[seed_below(6)],
				    (double)seed_below(3) * SEGMENT);
			assert_true(cc.out.window >= floor * (1 - 1e-12) && isfinite(cc.out.window));
			assert_true(cc.out.window <= longest * fmax(floor, 100 * SEGMENT * 1.0001));
			assert_true(cc.out.rate > 0 && cc.out.rate <= LINE);
			assert_true(target(&cc) >= param(&cc, "base_target") &&
				    target(&cc) <= param(&cc, "base_target") + 2 * SER +
						   longest * param(&cc, "fs_range"));
		}
	}
}

/*
 * After equal histories and times since the last decrease, a longer delay never gives a larger
 * window.
 */
TEST(a_longer_delay_gives_no_larger_window)
{
	seed_start("monotone");
	for (int i = 0; i < 10000; i++) {
		const double delay = (double)(1 + seed_below(300)), more = (double)seed_below(300);
		struct ccs_cc cc, longer;
		double now = 0;

		start_at(&cc, (double)(1 + seed_below(3000)) / 100);
		for (uint64_t k = seed_below(20); k > 0; k--)
			ack(&cc, now += 30, (double)(1 + seed_below(200)), SEGMENT);
		longer = cc;
		ack(&cc, now + 1000, delay, SEGMENT);
		ack(&longer, now + 1000, delay + more, SEGMENT);
		assert_true(longer.out.window <= cc.out.window);
		assert_true(longer.out.rate <= cc.out.rate);
	}
}

/* The smaller the window the higher the target, which makes shares equal. */
TEST(the_target_falls_with_the_window)
{
	double last = INFINITY;

	for (double cwnd = 0.05; cwnd <= 100; cwnd *= 1.3) {
		struct ccs_cc cc;

		start_at(&cc, cwnd);
		ack(&cc, 1, 1, 0);
		assert_true(target(&cc) < last || cwnd * 1.3 < 0.14);
		last = target(&cc);
	}
}

/* N windows share one queue; in the long run shares are equal and the RTT is at the target. */
TEST(flows_share_evenly_at_the_target)
{
	enum { N = 8, ROUNDS = 20000 };
	double mean[N] = { 0 }, mean_rtt = 0, all = 0;
	struct ccs_cc cc[N];

	for (int i = 0; i < N; i++)
		start_at(&cc[i], 1 + 4 * i);
	for (int round = 1; round < ROUNDS; round++) {
		double sum = 0, rtt;

		for (int i = 0; i < N; i++)
			sum += cc[i].out.window;
		rtt = fmax(20, sum * 8e6 / LINE);
		for (int i = 0; i < N; i++) {
			for (double left = cc[i].out.window; left > 0; left -= SEGMENT)
				ack(&cc[i], round * 1000.0, rtt, fmin(left, SEGMENT));
			mean[i] += round > ROUNDS / 2 ? segments(&cc[i]) * 2 / ROUNDS : 0;
		}
		mean_rtt += round > ROUNDS / 2 ? rtt * 2 / ROUNDS : 0;
	}
	for (int i = 0; i < N; i++)
		all += mean[i];
	for (int i = 0; i < N; i++)
		assert_true(fabs(mean[i] * N / all - 1) < 0.1);
	start_at(&cc[0], all / N);
	ack(&cc[0], 1, 1, 0);
	assert_true(fabs(mean_rtt - target(&cc[0])) < N * 8e6 * SEGMENT / LINE); /* all increase at once */
}

TEST(parameters_are_derived_from_the_path)
{
	const struct ccs_cc_path path = { .line_rate = 10e9, .base_rtt_us = 20, .rtt_jitter_us = 3,
					  .segment = 4096, .flows = 2 };
	const double ser = 8e6 * 4096 / 10e9;
	struct ccs_cc_path crowded = path;
	struct ccs_cc cc;

	start(&cc, "swift", &path);
	check_close("base_target", 0, param(&cc, "base_target"), 20 + 3 + ser);
	check_close("fs_range", 0, param(&cc, "fs_range"), 11 * ser);
	check_close("segment", 0, param(&cc, "segment"), 4096);
	check_close("init_window", 0, param(&cc, "init_window"), (25000 + 4096) / 2);
	assert_true(param(&cc, "min_window") > 0 && param(&cc, "min_window") < 4096 / 32);
	check_close("window", 0, cc.out.window, param(&cc, "init_window"));
	crowded.flows = 50;
	start(&cc, "swift", &crowded);
	check_close("init_window", 1, param(&cc, "init_window"), 4096);
	start(&cc, "swift:segment=8k", &path);
	check_close("base_target", 2, param(&cc, "base_target"), 23 + 2 * ser);
	check_close("fs_range", 2, param(&cc, "fs_range"), 22 * ser);
}

/* At a port of a tenth of the NIC's rate the parameters are in segment times of the port. */
TEST(the_target_is_derived_from_the_slowest_link)
{
	const struct ccs_cc_path path = { .line_rate = 10e9, .base_rtt_us = 50, .segment = 8192,
					  .flows = 1, .bottleneck_rate = 1e9 };
	const double ser = 8e6 * 8192 / 1e9;
	struct ccs_cc cc;

	start(&cc, "swift", &path);
	check_close("base_target", 0, param(&cc, "base_target"), 50 + ser);
	check_close("fs_range", 0, param(&cc, "fs_range"), 11 * ser);
	check_close("min_rate", 0, param(&cc, "min_rate"), 1e9 / 4000);
}

/*
 * Messages of one flow follow each other, with an RTT that includes their own serialisation:
 * the flow keeps the whole link.
 */
TEST(messages_of_many_segments_do_not_stall)
{
	const struct ccs_cc_path path = { .line_rate = 1e9, .base_rtt_us = 50, .segment = 4096,
					  .flows = 1 };

	for (double len = 65536; len <= 4 << 20; len *= 4)
		for (int corrected = 0; corrected < 2; corrected++) {
			const double drain = 8e6 * (len - 4096) / 1e9;
			struct ccs_cc cc;
			double now = 0;

			start(&cc, "swift", &path);
			for (int i = 0; i < 100; i++)
				ack(&cc, now += drain + 100, 50 + (corrected ? 0 : drain), len);
			assert_true(cc.out.rate == 1e9 && cc.out.window >= len);
		}
}

TEST(set_rate_sets_rate_and_window)
{
	struct ccs_cc cc;

	start_at(&cc, 10);
	cc.ops->set_rate(&cc, 5e9);
	check_close("window", 0, cc.out.window, 5e9 * 20 / 8e6);
	check_close("rate", 0, cc.out.rate, 5e9); /* until the next acknowledgement */
	ack(&cc, 100, 50, SEGMENT);
	check_close("rate", 3, cc.out.rate, 8e6 * cc.out.window / 50);
	cc.ops->set_rate(&cc, 100e6);
	check_close("window", 1, cc.out.window, 100e6 * 50 / 8e6);
	check_close("rate", 1, cc.out.rate, 100e6);
	cc.ops->set_rate(&cc, INFINITY);
	check_close("rate", 2, cc.out.rate, LINE);
	cc.ops->set_rate(&cc, 1);
	check_close("window", 3, cc.out.window, MIN_WINDOW);
}
