/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests TIMELY's variants against a golden trace from another implementation, and against a
 * second implementation below, written directly from the published texts.
 */
#include "test.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "seed.h"
#include "timely.h"

TEST(snippet_matches_the_golden_ramp)
{
	const struct set p1 = read_set("P1");
	FILE *f = data("timely_snippet_P1_ramp.csv");
	struct ccs_cc cc;
	char line[512], branch[32];
	int step, rows = 0;
	double t, rtt, before, after, avg, grad, df, neg;

	start_set(&cc, &p1);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%d,%lf,%lf,%lf,%lf,%31[^,],%lf,%lf,%lf,%lf", &step, &t, &rtt,
			   &before, &after, branch, &avg, &grad, &df, &neg) != 10)
			continue;
		check_close("rate before", step, cc.out.rate, before);
		ack(&cc, t, rtt);
		check_close("rate after", step, cc.out.rate, after);
		check_close("avg_rtt_diff_us", step, observed(&cc, "avg_rtt_diff_us").value, avg);
		check_close("norm_grad", step, observed(&cc, "norm_grad").value, grad);
		assert_true(observed(&cc, "neg_count").value == neg);
		assert_string_equal(observed(&cc, "branch").text, branch);
		rows++;
	}
	fclose(f);
	assert_int_equal(rows, 12);
}

/* A second implementation of the published texts; the members name what happened. */
struct ref {
	double rate, prev, avg, last, lows, judged, judged_rtt;
	unsigned neg;
	bool low, high, wait, ai, hai, md, patch, capped, floored, ceiled, grown;
};

static bool is(const struct set *p, const char *variant)
{
	return strcmp(p->variant, variant) == 0;
}

/* CoNEXT 2016, Algorithm 2, with w(g) as its cases are printed. */
static double ref_patch(const struct set *p, double old, double g, double rtt, double df)
{
	double w;

	if (g <= -0.25)
		w = 0;
	else if (g < 0.25)
		w = 2 * g + 0.5;
	else
		w = 1;
	return df * p->add * (1 - w) + old * (1 - df * p->beta * w * (rtt - p->t_low) / p->t_low);
}

/* One decrease above t_high per RTT, and none if it was less than the one before. */
static bool ref_waits(struct ref *r, const struct set *p, double now, double rtt)
{
	const double before = r->judged_rtt;

	if (!is(p, "scaled"))
		return false;
	if (now < r->judged + rtt)
		return true;
	r->judged = now;
	r->judged_rtt = rtt;
	return rtt < before;
}

static void ref_ack(struct ref *r, const struct set *p, double now, double rtt)
{
	const bool pure = is(p, "paper") || is(p, "patched_pure");
	const double beta_high = p->beta_high > 0 ? p->beta_high : p->beta;
	const double old = r->rate;
	const double lift = p->scale > 0 ? p->scale * sqrt(p->line / old) : 0;
	double diff, g, df, next;

	memset(&r->low, 0, sizeof(*r) - offsetof(struct ref, low));
	if (r->prev == 0)
		r->prev = rtt;
	diff = rtt - r->prev;
	r->avg = (1 - p->alpha) * r->avg + p->alpha * diff;
	g = r->avg / p->min_rtt;
	if (is(p, "paper") ? g < 0 : diff < 0)
		r->neg++;
	else
		r->neg = 0;
	df = (now - r->last) / p->min_rtt;
	if (df > 1 || pure)
		df = 1;
	r->prev = rtt;
	r->last = now;
	r->lows = rtt < p->t_low + lift ? r->lows + df : 0;
	if (rtt <= p->t_high + lift)
		r->judged_rtt = 0;
	if (rtt < p->t_low + lift) {
		r->low = true;
		r->grown = p->hai_low > 0 && r->lows >= p->hai_low;
		next = old + (r->grown ? p->n_hai * r->lows / p->hai_low : 1) * p->add * df;
	} else if (rtt > p->t_high + lift && ref_waits(r, p, now, rtt)) {
		r->wait = true;
		next = old;
	} else if (rtt > p->t_high + lift) {
		r->high = true;
		next = old * (1 - df * beta_high * (1 - (p->t_high + lift) / rtt));
	} else if (is(p, "patched") || is(p, "patched_pure")) {
		r->patch = true;
		next = ref_patch(p, old, g, rtt, df);
	} else if (g <= 0 && r->neg >= p->hai_thresh) {
		r->hai = true;
		next = old + p->n_hai * p->add * df;
	} else if (g <= 0) {
		r->ai = true;
		next = old + p->add * df;
	} else {
		r->md = true;
		next = old * (1 - p->beta * g);
	}
	if (!pure && next < 0.5 * old) {
		r->capped = true;
		next = 0.5 * old;
	}
	if (next > p->line) {
		r->ceiled = true;
		next = p->line;
	}
	if (next < p->min_rate) {
		r->floored = true;
		next = p->min_rate;
	}
	r->rate = next;
}

static void follow(struct ccs_cc *cc, struct ref *r, const struct set *p, double now, double rtt,
		   int step)
{
	char branch[16];

	ack(cc, now, rtt);
	ref_ack(r, p, now, rtt);
	check_close("rate", step, cc->out.rate, r->rate);
	check_close("average", step, observed(cc, "avg_rtt_diff_us").value, r->avg);
	assert_true(observed(cc, "neg_count").value == r->neg);
	snprintf(branch, sizeof(branch), "%s%s", r->low ? "low" : r->high ? "high"
		 : r->wait ? "wait" : r->ai ? "ai"
		 : r->hai ? "hai" : r->md ? "md" : "patch", r->capped ? "+cap" : "");
	assert_string_equal(observed(cc, "branch").text, branch);
}

static struct ref begin(struct ccs_cc *cc, const struct set *p)
{
	start_set(cc, p);
	return (struct ref){ .rate = p->init_rate, .judged = -INFINITY };
}

/* RTTs rise in bursts, fall as the queue drains, and step in between. */
static double next_rtt(const struct set *p, double rtt, int step)
{
	const double pull = (double)seed_below(1000) / 1000;

	if (seed_below(20) == 0)
		return p->min_rtt + pull * pull * 2 * p->t_high;
	if (step / 10 % 2)
		return rtt - pull * (rtt - p->min_rtt) / 8;
	return rtt + pull * p->t_low / 2;
}

static struct set random_set(const char *variant, unsigned walk)
{
	struct set p = read_set(walk % 2 ? "P1" : strncmp(variant, "patched", 7) ? "P3" : "P4");

	p.variant = variant;
	if (strcmp(variant, "scaled") == 0) {
		p.scale = p.t_low / 8;
		p.hai_low = 3;
	}
	p.alpha = walk % 3 ? 0.02 : 0.875;
	p.beta_high = walk % 5 ? 0 : 0.8;
	p.init_rate = p.line / (double)(1 + seed_below(50));
	if (p.beta_high == 0 && strncmp(variant, "patched", 7) == 0)
		p.beta_high = p.beta; /* its default is not beta */
	return p;
}

static void walk(const char *variant, unsigned number, struct ref *seen)
{
	const struct set p = random_set(variant, number);
	double now = 0, rtt = p.min_rtt;
	struct ccs_cc cc;
	struct ref r = begin(&cc, &p);

	for (int step = 0; step < 200; step++) {
		now += p.min_rtt * 3 * (double)seed_below(1000) / 1000;
		rtt = next_rtt(&p, rtt, step);
		follow(&cc, &r, &p, now, rtt, step);
		seen->low |= r.low, seen->high |= r.high, seen->ai |= r.ai;
		seen->hai |= r.hai, seen->md |= r.md, seen->patch |= r.patch;
		seen->capped |= r.capped, seen->ceiled |= r.ceiled, seen->floored |= r.floored;
		seen->grown |= r.grown;
	}
}

/* Random walks that are long enough to take each branch and clamp of the variant. */
TEST(random_walks_equal_the_reference)
{
	static const struct { const char *name; bool patched, cap; } variants[] = {
		{ "snippet", false, true }, { "paper", false, false },
		{ "patched", true, true }, { "patched_pure", true, false },
		{ "scaled", false, true },
	};

	seed_start("walks");
	for (size_t v = 0; v < sizeof(variants) / sizeof(*variants); v++) {
		const bool patched = variants[v].patched;
		struct ref seen = { 0 };

		for (unsigned i = 0; i < 400; i++)
			walk(variants[v].name, i, &seen);
		assert_true(seen.low && seen.high && seen.ceiled && seen.floored);
		assert_true(seen.ai == !patched && seen.hai == !patched && seen.md == !patched);
		assert_true(seen.patch == patched && seen.capped == variants[v].cap);
		assert_true(seen.grown == (strcmp(variants[v].name, "scaled") == 0));
	}
}

/* (a) At exactly T_low or T_high the gradient decides. */
TEST(a_thresholds_are_strict)
{
	const struct set p = read_set("P1");
	struct ccs_cc cc;
	struct ref r = begin(&cc, &p);

	follow(&cc, &r, &p, 100, p.t_low, 0);
	assert_true(r.ai);
	follow(&cc, &r, &p, 200, p.t_high, 1);
	assert_true(r.md);
	follow(&cc, &r, &p, 300, nextafter(p.t_high, INFINITY), 2);
	assert_true(r.high);
	follow(&cc, &r, &p, 400, nextafter(p.t_low, 0), 3);
	assert_true(r.low);
}

/* (b) The averaged gradient is updated also where it is not used. */
TEST(b_state_is_kept_in_every_branch)
{
	const struct set p = read_set("P1");
	struct ccs_cc cc;
	struct ref r = begin(&cc, &p);
	double before;

	follow(&cc, &r, &p, 100, 20, 0);
	follow(&cc, &r, &p, 200, 45, 1);
	assert_true(r.low);
	assert_true(observed(&cc, "avg_rtt_diff_us").value == 0.02 * 25);
	before = observed(&cc, "avg_rtt_diff_us").value;
	follow(&cc, &r, &p, 300, 2000, 2);
	assert_true(r.high);
	check_close("average", 2, observed(&cc, "avg_rtt_diff_us").value,
		    0.98 * before + 0.02 * 1955);
	for (int i = 0; i < 4; i++)
		follow(&cc, &r, &p, 400 + i, 1900 - i, 3 + i);
	assert_true(observed(&cc, "neg_count").value == 4);
}

/* (c) The first acknowledgement has a delta_factor of 1; the next one its share. */
TEST(c_steps_are_scaled_by_the_time_since_the_last_ack)
{
	const struct set p = read_set("P1");
	struct set small = p;
	struct ccs_cc cc;

	small.init_rate = 1e9;
	start_set(&cc, &small);
	ack(&cc, 100, 20);
	check_close("rate", 0, cc.out.rate, 1e9 + p.add);
	ack(&cc, 105, 20);
	check_close("rate", 1, cc.out.rate, 1e9 + 1.25 * p.add);
	ack(&cc, 500, 20);
	check_close("rate", 2, cc.out.rate, 1e9 + 2.25 * p.add);
	/* the decrease above T_high is scaled too: (1 - 5/20 * 0.8 * (1 - 1000/2000)) */
	ack(&cc, 505, 2000);
	check_close("rate", 3, cc.out.rate, (1e9 + 2.25 * p.add) * 0.9);
}

/* (d) The floor is applied last, so it takes precedence over a lower ceiling. */
TEST(d_min_rate_wins_over_a_lower_ceiling)
{
	struct set p = read_set("P1");
	struct ccs_cc cc;

	p.min_rate = 2e9;
	p.line = 1e9; /* becomes max_rate */
	start_set(&cc, &p);
	ack(&cc, 100, 20);
	assert_true(cc.out.rate == 2e9);
}

/* (e) neg counts falls of the raw RTT: a fall of the average is neither required nor sufficient. */
TEST(e_raw_differences_are_counted)
{
	struct set p = read_set("P1");
	struct ccs_cc cc;
	struct ref r;

	p.alpha = 0.875;
	p.init_rate = 1e9;
	r = begin(&cc, &p);
	follow(&cc, &r, &p, 100, 500, 0);
	for (int i = 1; i <= 6; i++) {
		follow(&cc, &r, &p, 100 + 100 * i, 500 - 10 * i, i);
		assert_true(i < 5 ? r.ai : r.hai);
	}
	follow(&cc, &r, &p, 1000, 440, 7); /* no change: the count restarts, the average falls */
	assert_true(r.ai && r.neg == 0 && r.avg < 0);
}

/* (f) One decrease takes at most half, whatever the gradient. */
TEST(f_one_decrease_is_at_most_half)
{
	struct set p = read_set("P1");
	struct ccs_cc cc;
	struct ref r;

	p.alpha = 0.875;
	r = begin(&cc, &p);
	follow(&cc, &r, &p, 100, 60, 0);
	follow(&cc, &r, &p, 200, 900, 1);
	assert_true(r.capped);
	assert_true(cc.out.rate == 5e9);
	p.min_rate = 4e9; /* the floor still takes precedence over the cap */
	r = begin(&cc, &p);
	follow(&cc, &r, &p, 100, 60, 0);
	follow(&cc, &r, &p, 200, 500, 1);
	follow(&cc, &r, &p, 300, 900, 2);
	assert_true(r.floored && cc.out.rate == 4e9);
}

/* (g) The gradient's decrease is not scaled by delta_factor. */
TEST(g_gradient_decrease_is_not_scaled)
{
	const struct set p = read_set("P1");
	struct ccs_cc near, far;

	start_set(&near, &p);
	start_set(&far, &p);
	ack(&near, 100, 60);
	ack(&far, 100, 60);
	ack(&near, 100.5, 160);
	ack(&far, 200, 160);
	check_close("rate", 0, near.out.rate, 1e10 * (1 - 0.8 * 2.0 / 20));
	assert_true(near.out.rate == far.out.rate);
}

/* The paper takes whole steps however close completions are, and counts gradients. */
TEST(paper_has_neither_delta_factor_nor_cap)
{
	struct set p = read_set("P2");
	struct ccs_cc cc;
	struct ref r;

	p.variant = "paper";
	p.init_rate = 1e9;
	r = begin(&cc, &p);
	follow(&cc, &r, &p, 1, 20, 0);
	follow(&cc, &r, &p, 1.5, 20, 1);
	check_close("rate", 1, cc.out.rate, 1e9 + 2 * p.add);
	/* beta * gradient > 1: only the floor limits the decrease */
	follow(&cc, &r, &p, 2, 400, 2);
	assert_true(r.md && r.floored && cc.out.rate == p.min_rate);
	for (int i = 0; i < 10; i++)
		follow(&cc, &r, &p, 3 + i, 390 - 10 * i, 3 + i);
	assert_true(r.hai && r.neg >= 5);
	follow(&cc, &r, &p, 20, 300.1, 13); /* the RTT rises, its average still falls */
	assert_true(r.hai && r.neg >= 6);
}

/* Above t_high the decrease uses beta in variants with one beta, and beta_high in the others. */
TEST(beta_high_is_used_above_t_high_where_the_variant_has_it)
{
	static const struct { const char *spec; double beta; } cases[] = {
		{ "timely:variant=snippet", 0.8 }, { "timely:variant=snippet,beta=0.5", 0.5 },
		{ "timely:variant=paper,beta=0.5", 0.5 }, { "timely:variant=snippet,beta_high=0.3", 0.3 },
		{ "timely:variant=patched", 0.8 }, { "timely:variant=patched_pure,beta=0.01", 0.8 },
		{ "timely:variant=patched,beta_high=0.01", 0.01 },
	};
	const struct ccs_cc_path path = { .line_rate = 10e9, .base_rtt_us = 20, .segment = 16384,
					  .flows = 1 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct ccs_cc cc;
		double t_high;

		start(&cc, cases[i].spec, &path);
		t_high = param(&cc, "t_high");
		ack(&cc, 1e6, 1.25 * t_high);
		check_close(cases[i].spec, (int)i, cc.out.rate, 10e9 * (1 - cases[i].beta * 0.2));
		check_close("beta", (int)i, param(&cc, "beta"),
			    strstr(cases[i].spec, "beta=0.5") ? 0.5
			    : strstr(cases[i].spec, "beta=0.01") ? 0.01
			    : strstr(cases[i].spec, "patched") ? 0.008 : 0.8);
		check_close("alpha", (int)i, param(&cc, "alpha"),
			    strstr(cases[i].spec, "patched") ? 0.1 : 0.02);
	}
}

/* The rate stays within bounds for any RTT, and an invalid RTT has no effect. */
TEST(rates_stay_within_bounds)
{
	static const double odd[] = { 0, -1, NAN, INFINITY, -INFINITY, 1e300, 1e14, 1e-300 };

	seed_start("bounds");
	for (unsigned i = 0; i < 2000; i++) {
		struct set p = read_set(i % 2 ? "P2" : "P4");
		struct ccs_cc cc;
		double now = 0;

		p.variant = all_variants[i / 2 % 6];
		p.scale = i % 5;
		p.hai_low = i % 3;
		if (i % 7 == 0)
			p.t_low = 0;
		start_set(&cc, &p);
		for (int k = 0; k < 50; k++) {
			const double rtt = seed_below(4) ? pow(10, (double)seed_below(80) / 10 - 2)
							 : odd[seed_below(8)];
			const double before = cc.out.rate;

			now += (double)seed_below(100);
			ack(&cc, now, rtt);
			assert_true(cc.out.rate >= p.min_rate && cc.out.rate <= p.line);
			assert_true(isfinite(observed(&cc, "avg_rtt_diff_us").value));
			if (rtt > 0 && rtt < 1e15)
				continue;
			assert_true(cc.out.rate == before);
			assert_string_equal(observed(&cc, "branch").text, "ignored");
		}
	}
}

/* After equal histories a longer RTT in the same band never gives a higher rate. */
TEST(a_longer_rtt_gives_no_higher_rate)
{
	seed_start("monotone");
	for (unsigned i = 0; i < 4000; i++) {
		struct set p = read_set(i % 2 ? "P2" : "P4");
		const double edge[] = { 0.01, p.t_low, p.t_high, 4 * p.t_high };
		const unsigned band = (unsigned)seed_below(3);
		double a = (double)(1 + seed_below(99999)) / 1e5; /* thresholds excluded */
		double b = (double)(1 + seed_below(99999)) / 1e5;
		struct ccs_cc cc, longer;
		double now = 0;

		p.variant = all_variants[i / 2 % 4];
		p.init_rate = p.line / 4;
		start_set(&cc, &p);
		for (uint64_t k = seed_below(12); k > 0; k--)
			ack(&cc, now += 15, 20 + (double)seed_below(600));
		longer = cc;
		a = edge[band] + a * (edge[band + 1] - edge[band]);
		b = edge[band] + b * (edge[band + 1] - edge[band]);
		ack(&cc, now + 15, fmin(a, b));
		ack(&longer, now + 15, fmax(a, b));
		if (longer.out.rate > cc.out.rate * (1 + 1e-12))
			fail_msg("%s: %.17g after %g us, %.17g after %g us", p.variant,
				 cc.out.rate, fmin(a, b), longer.out.rate, fmax(a, b));
	}
}
