/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests how TIMELY's parameters and its equilibrium follow from the path, and the scaled
 * variant.
 */
#include "test.h"

#include <math.h>
#include <stdio.h>

#include "timely.h"

enum { MOST_FLOWS = 20 };

/* N flows and one queue, one step of the model per min_rtt; returns the final RTT. */
static double converge(struct ccs_cc *cc, unsigned n, const struct set *p)
{
	double bits = 0, rtt = 0;

	for (int k = 1; k <= 40000; k++) {
		double sum = 0;

		for (unsigned i = 0; i < n; i++)
			sum += cc[i].out.rate;
		bits = fmax(0, bits + (sum - p->line) * p->min_rtt / 1e6);
		rtt = p->min_rtt / 4 + bits / p->line * 1e6;
		for (unsigned i = 0; i < n; i++)
			ack(&cc[i], k * p->min_rtt, rtt);
	}
	return rtt;
}

/* CoNEXT 2016 proves for the patch: RTT* = T_low (1 + N delta / (beta C)), equal shares. */
static void check_fixed_point(struct set p, unsigned n)
{
	const double want = p.t_low * (1 + n * p.add / (p.beta * p.line));
	struct ccs_cc cc[MOST_FLOWS];
	double rtt;

	for (unsigned i = 0; i < n; i++) {
		p.init_rate = p.line * (i + 1) * 2 / (n * (n + 1)); /* 1:2:3... */
		start_set(&cc[i], &p);
	}
	rtt = converge(cc, n, &p);
	if (fabs(rtt - want) > 0.01 * want)
		fail_msg("%s, %u flows: RTT %g us, not %g", p.variant, n, rtt, want);
	for (unsigned i = 0; i < n; i++)
		assert_true(fabs(cc[i].out.rate * n / p.line - 1) < 0.01);
}

TEST(patched_has_one_fair_fixed_point)
{
	struct set p = read_set("P4");

	p.min_rate = 1e6;
	p.alpha = 0.1;
	for (unsigned v = 2; v < 4; v++) {
		p.variant = all_variants[v];
		check_fixed_point(p, 2);
		check_fixed_point(p, 10);
		check_fixed_point(p, MOST_FLOWS);
	}
}

static void start_at(struct ccs_cc *cc, double base_rtt_us, double rtt_jitter_us, double segment)
{
	const struct ccs_cc_path path = { .line_rate = 10e9, .base_rtt_us = base_rtt_us,
					  .rtt_jitter_us = rtt_jitter_us, .segment = segment, .flows = 4 };

	start(cc, "timely", &path);
}

/* The factors are a matter of tuning; these relations must hold with any. */
TEST(parameters_are_derived_from_the_path)
{
	const double ser = 8e6 * 16384 / 10e9;
	struct ccs_cc cc, noisy, coarse;

	start_at(&cc, 20, 3, 16384);
	start_at(&noisy, 20, 30, 16384);
	start_at(&coarse, 20, 3, 65536);
	for (unsigned i = 0; i < cc.ops->nparams; i++)
		assert_true(isfinite(cc.param[i]));
	assert_true(param(&cc, "min_rtt") >= 20);
	/* otherwise an idle path would appear loaded */
	assert_true(param(&cc, "t_low") >= 20 + 3 + ser);
	assert_true(param(&cc, "t_high") >= param(&cc, "t_low") + ser);
	assert_true(param(&noisy, "t_low") > param(&cc, "t_low"));
	assert_true(param(&noisy, "t_high") > param(&cc, "t_high"));
	assert_true(param(&coarse, "t_low") > param(&cc, "t_low"));
	assert_true(param(&cc, "add_rate") > 0 && param(&cc, "add_rate") <= 10e9 / 100);
	check_close("max_rate", 0, param(&cc, "max_rate"), 10e9);
	check_close("init_rate", 0, param(&cc, "init_rate"), 2.5e9);
	check_close("beta", 0, param(&cc, "beta"), 0.8);
	check_close("alpha", 0, param(&cc, "alpha"), 0.02);
	assert_true(cc.out.rate == 2.5e9);
	assert_true(cc.out.window == 0);
}

/* Whether a bottleneck of a tenth of the line rate is known or not. */
TEST(rate_floor_lets_1000_flows_share_a_port)
{
	for (unsigned v = 0; v < sizeof(all_variants) / sizeof(*all_variants); v++)
		for (unsigned ratio = 1; ratio <= 10; ratio++) {
			struct ccs_cc_path path = { .line_rate = 10e9, .base_rtt_us = 20,
						    .segment = 16384, .flows = 1 };
			char spec[64];
			struct ccs_cc cc;

			snprintf(spec, sizeof(spec), "timely:variant=%s", all_variants[v]);
			start(&cc, spec, &path);
			assert_true(1000 * param(&cc, "min_rate") <= 0.5 * path.line_rate / ratio);
			path.bottleneck_rate = path.line_rate / ratio;
			ccs_cc_repath(&cc, &path);
			assert_true(1000 * param(&cc, "min_rate") <= 0.5 * path.bottleneck_rate);
		}
}

/* Parameters in segment times use those of the slowest link; the ceiling is the NIC's. */
TEST(parameters_follow_the_bottleneck)
{
	static const char *const specs[] = { "timely", "timely:variant=snippet" };
	const struct ccs_cc_path fast = { .line_rate = 10e9, .base_rtt_us = 20, .segment = 16384,
					  .flows = 1 };

	for (unsigned i = 0; i < 2; i++) {
		struct ccs_cc_path slow = fast, above = fast;
		struct ccs_cc cc, known, wrong;

		slow.bottleneck_rate = 1e9;
		above.bottleneck_rate = 100e9;
		start(&cc, specs[i], &fast);
		start(&known, specs[i], &slow);
		start(&wrong, specs[i], &above);
		check_close("t_low", 0, param(&known, "t_low") - 20, 10 * (param(&cc, "t_low") - 20));
		check_close("band", 0, param(&known, "t_high") - param(&known, "t_low"),
			    10 * (param(&cc, "t_high") - param(&cc, "t_low")));
		check_close("min_rtt", 0, param(&known, "min_rtt"), 10 * param(&cc, "min_rtt"));
		check_close("scale", 0, param(&known, "scale"), 10 * param(&cc, "scale"));
		check_close("add_rate", 0, param(&known, "add_rate"), param(&cc, "add_rate") / 10);
		check_close("max_rate", 0, param(&known, "max_rate"), 10e9);
		check_close("t_low", 1, param(&wrong, "t_low"), param(&cc, "t_low"));
		check_close("add_rate", 1, param(&wrong, "add_rate"), param(&cc, "add_rate"));
	}
}

/* The increase grows with the time below t_low, not with the number of samples. */
TEST(below_t_low_the_increase_grows_with_time)
{
	struct set p = read_set("P1");
	struct ccs_cc cc, often;
	double before;

	p.variant = "scaled";
	p.init_rate = 1e9;
	p.hai_low = 10;
	start_set(&cc, &p);
	start_set(&often, &p);
	for (int i = 1; i <= 9; i++)
		ack(&cc, i * p.min_rtt, 20);
	check_close("rate", 9, cc.out.rate, 1e9 + 9 * p.add);
	ack(&cc, 10 * p.min_rtt, 20);
	check_close("rate", 10, cc.out.rate, 1e9 + (9 + p.n_hai) * p.add);
	before = cc.out.rate;
	ack(&cc, 11 * p.min_rtt, 20);
	check_close("rate", 11, cc.out.rate, before + 1.1 * p.n_hai * p.add);
	for (int i = 1; i <= 90; i++)
		ack(&often, i * p.min_rtt / 10, 20);
	check_close("rate", 90, often.out.rate, 1e9 + 9 * p.add);
	ack(&cc, 12 * p.min_rtt, p.t_low + 1); /* the queue is back: the increase restarts */
	before = cc.out.rate;
	ack(&cc, 13 * p.min_rtt, 20);
	check_close("rate", 13, cc.out.rate, before + p.add);
}

/* Of two flows with the same queue the slower one may still increase. */
TEST(thresholds_rise_as_the_rate_falls)
{
	struct set p = read_set("P1");
	struct ccs_cc fast, slow;
	const double rtt = p.t_low + 20;

	p.variant = "scaled";
	p.scale = 10;
	p.init_rate = p.line;
	start_set(&fast, &p);
	p.init_rate = p.line / 100; /* 10 * sqrt(100) us above t_low */
	start_set(&slow, &p);
	ack(&fast, 100, rtt);
	ack(&slow, 100, rtt);
	assert_string_equal(observed(&fast, "branch").text, "ai");
	assert_string_equal(observed(&slow, "branch").text, "low");
	ack(&fast, 200, p.t_high + 50);
	ack(&slow, 200, p.t_high + 50);
	assert_string_equal(observed(&fast, "branch").text, "high");
	assert_string_equal(observed(&slow, "branch").text, "md+cap");
}

/*
 * Samples of data in flight at a decrease are of the same queue; ten of them once halved the
 * rate ten times.
 */
TEST(one_queue_causes_one_decrease_per_rtt)
{
	struct set p = read_set("P1");
	const double rtt = 10 * p.t_high;
	struct ccs_cc cc;

	p.variant = "scaled";
	p.init_rate = p.line;
	start_set(&cc, &p);
	for (int i = 1; i <= 10; i++)
		ack(&cc, 100e3 + i * rtt / 20, rtt);
	check_close("rate", 10, cc.out.rate, p.line / 2);
	assert_string_equal(observed(&cc, "branch").text, "wait");
	ack(&cc, 100e3 + 1.1 * rtt, rtt); /* the queue has not shrunk */
	check_close("rate", 11, cc.out.rate, p.line / 4);
	ack(&cc, 100e3 + 2.2 * rtt, 0.9 * rtt); /* the queue has shrunk */
	check_close("rate", 12, cc.out.rate, p.line / 4);
}

/* Giving one threshold moves the other: there is always a band between them. */
TEST(a_given_threshold_moves_the_other)
{
	const struct ccs_cc_path path = { .line_rate = 10e9, .base_rtt_us = 20, .rtt_jitter_us = 3,
					  .segment = 16384, .flows = 1 };
	struct ccs_cc cc;

	start(&cc, "timely:t_low=5ms", &path);
	check_close("t_high", 0, param(&cc, "t_high"), 5000 + 8 * 8 * 16384 / 10e3);
	start(&cc, "timely:t_high=10us", &path);
	assert_true(param(&cc, "t_low") == 10);
	start(&cc, "timely:t_high=10ms", &path);
	check_close("t_low", 2, param(&cc, "t_low"), 23 + 8 * 16384 / 10e3);
}

/* User's values stay; derived values follow the path; the rate does neither. */
TEST(a_better_known_path_moves_only_derived_values)
{
	struct ccs_cc_path path = { .line_rate = 10e9, .base_rtt_us = 20, .segment = 16384,
				    .flows = 1 };
	struct ccs_cc cc;
	double rate, before;

	start(&cc, "timely:t_low=77us,init_rate=3g", &path);
	ack(&cc, 100, 20);
	rate = cc.out.rate;
	assert_true(rate > 3e9);
	before = param(&cc, "min_rtt");
	path.base_rtt_us = 400;
	ccs_cc_repath(&cc, &path);
	assert_true(param(&cc, "t_low") == 77);
	assert_true(param(&cc, "min_rtt") > before);
	assert_true(cc.out.rate == rate);
	ccs_cc_start(&cc, cc.spec, &path);
	assert_true(cc.out.rate == 3e9);
	assert_true(observed(&cc, "neg_count").value == 0);
}

/* Published forms do not know losses. */
TEST(a_loss_halves_the_rate_of_the_scaled_variant_only)
{
	static const char *const variants[] = { "timely", "timely:variant=paper", "timely:variant=ns3" };
	const struct ccs_cc_path path = { .line_rate = 10e9, .base_rtt_us = 20, .segment = 8192,
					  .flows = 1 };

	for (unsigned i = 0; i < 3; i++) {
		struct ccs_cc_spec spec;
		struct ccs_cc cc;
		char err[128];

		assert_int_equal(ccs_cc_parse(&spec, variants[i], err, sizeof(err)), 0);
		ccs_cc_start(&cc, &spec, &path);
		cc.ops->on_loss(&cc, 100);
		assert_true(cc.out.rate == (i ? 10e9 : 5e9));
	}
}
