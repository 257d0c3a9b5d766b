/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests TIMELY's variants against a golden trace from another implementation, and against a
 * second implementation below, written directly from the published texts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "algorithm.h"
#include "seed.h"

/* A parameter set of tests/data/timely_params.csv, as a user would write it. */
struct set {
	const char *variant;
	double beta_high;                /* 0: not given */
	double line, min_rtt, t_low, t_high, add, beta, alpha, min_rate, hai_thresh, n_hai, cap,
		init_rate;
	double scale, hai_low;           /* not in the publications: 0 */
};

static struct set read_set(const char *wanted)
{
	FILE *f = data("timely_params.csv");
	char line[512], name[16];
	struct set s = { .variant = "snippet" };

	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%15[^,],%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf", name,
			   &s.line, &s.min_rtt, &s.t_low, &s.t_high, &s.add, &s.beta, &s.alpha,
			   &s.min_rate, &s.hai_thresh, &s.n_hai, &s.cap, &s.init_rate) == 13 &&
		    strcmp(name, wanted) == 0) {
			fclose(f);
			return s;
		}
	fclose(f);
	fail_msg("no parameter set %s", wanted);
	return s;
}

static void start_set(struct ccs_cc *cc, const struct set *s)
{
	const struct ccs_cc_path path = { .line_rate = s->line, .base_rtt_us = 1, .segment = 1,
					  .flows = 1 };
	char spec[512], high[64] = "";

	if (s->beta_high > 0)
		snprintf(high, sizeof(high), ",beta_high=%.17g", s->beta_high);
	snprintf(spec, sizeof(spec),
		 "timely:variant=%s,min_rtt=%.17g,t_low=%.17g,t_high=%.17g,add_rate=%.17g,"
		 "beta=%.17g,alpha=%.17g,min_rate=%.17g,max_rate=%.17g,hai_thresh=%.17g,"
		 "hai_n=%.17g,init_rate=%.17g,scale=%.17g,hai_low=%.17g%s", s->variant, s->min_rtt,
		 s->t_low, s->t_high, s->add, s->beta, s->alpha, s->min_rate, s->line,
		 s->hai_thresh, s->n_hai, s->init_rate, s->scale, s->hai_low, high);
	start(cc, spec, &path);
}

/* Bytes of the flow up to ack_seq are acknowledged, up to snd_nxt sent. */
static void ack_window(struct ccs_cc *cc, double now_us, double rtt_us, uint64_t ack_seq,
		       uint64_t snd_nxt)
{
	const struct ccs_cc_ack a = { .now_us = now_us, .rtt_us = rtt_us, .bytes = 16384,
				      .ack_seq = ack_seq, .snd_nxt = snd_nxt };

	cc->ops->on_ack(cc, &a);
}

/* A flow with one segment outstanding: each acknowledgement ends a window. */
static void ack(struct ccs_cc *cc, double now_us, double rtt_us)
{
	static uint64_t sent;

	sent += 16384;
	ack_window(cc, now_us, rtt_us, sent, sent);
}

static void snippet_matches_the_golden_ramp(void **state)
{
	const struct set p1 = read_set("P1");
	FILE *f = data("timely_snippet_P1_ramp.csv");
	struct ccs_cc cc;
	char line[512], branch[32];
	int step, rows = 0;
	double t, rtt, before, after, avg, grad, df, neg;

	(void)state;
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
static void random_walks_equal_the_reference(void **state)
{
	static const struct { const char *name; bool patched, cap; } variants[] = {
		{ "snippet", false, true }, { "paper", false, false },
		{ "patched", true, true }, { "patched_pure", true, false },
		{ "scaled", false, true },
	};

	(void)state;
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
static void a_thresholds_are_strict(void **state)
{
	const struct set p = read_set("P1");
	struct ccs_cc cc;
	struct ref r = begin(&cc, &p);

	(void)state;
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
static void b_state_is_kept_in_every_branch(void **state)
{
	const struct set p = read_set("P1");
	struct ccs_cc cc;
	struct ref r = begin(&cc, &p);
	double before;

	(void)state;
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
static void c_steps_are_scaled_by_the_time_since_the_last_ack(void **state)
{
	const struct set p = read_set("P1");
	struct set small = p;
	struct ccs_cc cc;

	(void)state;
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
static void d_min_rate_wins_over_a_lower_ceiling(void **state)
{
	struct set p = read_set("P1");
	struct ccs_cc cc;

	(void)state;
	p.min_rate = 2e9;
	p.line = 1e9; /* becomes max_rate */
	start_set(&cc, &p);
	ack(&cc, 100, 20);
	assert_true(cc.out.rate == 2e9);
}

/* (e) neg counts falls of the raw RTT: a fall of the average is neither required nor sufficient. */
static void e_raw_differences_are_counted(void **state)
{
	struct set p = read_set("P1");
	struct ccs_cc cc;
	struct ref r;

	(void)state;
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
static void f_one_decrease_is_at_most_half(void **state)
{
	struct set p = read_set("P1");
	struct ccs_cc cc;
	struct ref r;

	(void)state;
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
static void g_gradient_decrease_is_not_scaled(void **state)
{
	const struct set p = read_set("P1");
	struct ccs_cc near, far;

	(void)state;
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
static void paper_has_neither_delta_factor_nor_cap(void **state)
{
	struct set p = read_set("P2");
	struct ccs_cc cc;
	struct ref r;

	(void)state;
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
static void beta_high_is_used_above_t_high_where_the_variant_has_it(void **state)
{
	static const struct { const char *spec; double beta; } cases[] = {
		{ "timely:variant=snippet", 0.8 }, { "timely:variant=snippet,beta=0.5", 0.5 },
		{ "timely:variant=paper,beta=0.5", 0.5 }, { "timely:variant=snippet,beta_high=0.3", 0.3 },
		{ "timely:variant=patched", 0.8 }, { "timely:variant=patched_pure,beta=0.01", 0.8 },
		{ "timely:variant=patched,beta_high=0.01", 0.01 },
	};
	const struct ccs_cc_path path = { .line_rate = 10e9, .base_rtt_us = 20, .segment = 16384,
					  .flows = 1 };

	(void)state;
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

static const char *const all_variants[] = { "snippet", "paper", "patched", "patched_pure",
					    "scaled", "ns3" };

/* The rate stays within bounds for any RTT, and an invalid RTT has no effect. */
static void rates_stay_within_bounds(void **state)
{
	static const double odd[] = { 0, -1, NAN, INFINITY, -INFINITY, 1e300, 1e14, 1e-300 };

	(void)state;
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
static void a_longer_rtt_gives_no_higher_rate(void **state)
{
	(void)state;
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

static void patched_has_one_fair_fixed_point(void **state)
{
	struct set p = read_set("P4");

	(void)state;
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
static void parameters_are_derived_from_the_path(void **state)
{
	const double ser = 8e6 * 16384 / 10e9;
	struct ccs_cc cc, noisy, coarse;

	(void)state;
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
static void rate_floor_lets_1000_flows_share_a_port(void **state)
{
	(void)state;
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
static void parameters_follow_the_bottleneck(void **state)
{
	static const char *const specs[] = { "timely", "timely:variant=snippet" };
	const struct ccs_cc_path fast = { .line_rate = 10e9, .base_rtt_us = 20, .segment = 16384,
					  .flows = 1 };

	(void)state;
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
static void below_t_low_the_increase_grows_with_time(void **state)
{
	struct set p = read_set("P1");
	struct ccs_cc cc, often;
	double before;

	(void)state;
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
static void thresholds_rise_as_the_rate_falls(void **state)
{
	struct set p = read_set("P1");
	struct ccs_cc fast, slow;
	const double rtt = p.t_low + 20;

	(void)state;
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
static void one_queue_causes_one_decrease_per_rtt(void **state)
{
	struct set p = read_set("P1");
	const double rtt = 10 * p.t_high;
	struct ccs_cc cc;

	(void)state;
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
static void a_given_threshold_moves_the_other(void **state)
{
	const struct ccs_cc_path path = { .line_rate = 10e9, .base_rtt_us = 20, .rtt_jitter_us = 3,
					  .segment = 16384, .flows = 1 };
	struct ccs_cc cc;

	(void)state;
	start(&cc, "timely:t_low=5ms", &path);
	check_close("t_high", 0, param(&cc, "t_high"), 5000 + 8 * 8 * 16384 / 10e3);
	start(&cc, "timely:t_high=10us", &path);
	assert_true(param(&cc, "t_low") == 10);
	start(&cc, "timely:t_high=10ms", &path);
	check_close("t_low", 2, param(&cc, "t_low"), 23 + 8 * 16384 / 10e3);
}

/* User's values stay; derived values follow the path; the rate does neither. */
static void a_better_known_path_moves_only_derived_values(void **state)
{
	struct ccs_cc_path path = { .line_rate = 10e9, .base_rtt_us = 20, .segment = 16384,
				    .flows = 1 };
	struct ccs_cc cc;
	double rate, before;

	(void)state;
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

/*
 * The simulator of HPCC's authors at 100 Gb/s with the settings of its run.py: its own
 * thresholds, steps of 100 and 500 Mb/s, a floor of 1 Gb/s. The steps below are computed by
 * hand.
 */
static void start_ns3(struct ccs_cc *cc)
{
	const struct ccs_cc_path path = { .line_rate = 100e9, .base_rtt_us = 4.16, .segment = 1000,
					  .flows = 1 };

	start(cc, "timely:variant=ns3,min_rate=1g", &path);
	check_close("min_rtt", 0, param(cc, "min_rtt"), 20);
	check_close("t_low", 0, param(cc, "t_low"), 50);
	check_close("t_high", 0, param(cc, "t_high"), 500);
	check_close("add_rate", 0, param(cc, "add_rate"), 100e6);
	check_close("alpha", 0, param(cc, "alpha"), 0.875);
}

static void ns3_begins_with_the_second_window(void **state)
{
	struct ccs_cc cc;

	(void)state;
	start_ns3(&cc);
	ack_window(&cc, 65, 65, 1000, 800000); /* any first RTT is only recorded */
	assert_true(cc.out.rate == 100e9);
	assert_true(observed(&cc, "avg_rtt_diff_us").value == 0);
	ack_window(&cc, 130, 69, 801000, 1600000);
	/* diff 4, average .875 * 4 = 3.5, gradient .175: 1 - .8 * .175 = .86 */
	check_close("gradient", 1, observed(&cc, "norm_grad").value, 0.175);
	check_close("rate", 1, cc.out.rate, 86e9);
}

static void ns3_takes_one_step_per_window(void **state)
{
	struct ccs_cc cc;

	(void)state;
	start_ns3(&cc);
	ack_window(&cc, 65, 65, 1000, 800000);
	for (uint64_t seq = 2000; seq <= 800000; seq += 1000) {
		ack_window(&cc, 65.1, 300, seq, 800000 + seq);
		assert_string_equal(observed(&cc, "branch").text, "wait");
	}
	assert_true(cc.out.rate == 100e9);
	/* samples in between are not part of the difference: 69 - 65 */
	ack_window(&cc, 130, 69, 801000, 1600000);
	check_close("rate", 1, cc.out.rate, 86e9);
}

static void ns3_counts_increases_below_t_low_too(void **state)
{
	struct ccs_cc cc;
	uint64_t seq = 1000;
	double want = 1e9;

	(void)state;
	start_ns3(&cc);
	ccs_cc_set_rate(&cc, want);
	ack_window(&cc, 1, 20, seq, seq);
	for (int i = 0; i < 20; i++, seq += 1000) {
		want += i < 5 ? 100e6 : 500e6;
		ack_window(&cc, 2 + i, i % 2 ? 20 : 30, seq + 1000, seq + 1000);
		check_close("rate", i, cc.out.rate, want);
	}
	/* 1 - .8 * (1 - 500/1000) = .6, at any time, and the count restarts */
	ack_window(&cc, 22, 1000, seq + 1000, seq + 1000);
	check_close("rate", 20, cc.out.rate, want *= 0.6);
	ack_window(&cc, 23, 20, seq + 2000, seq + 2000);
	check_close("rate", 21, cc.out.rate, want + 100e6);
}

/* diff 135, average 118.125, gradient 5.9: the decrease is not limited to a half. */
static void ns3_has_no_limit_of_a_half(void **state)
{
	struct ccs_cc cc;

	(void)state;
	start_ns3(&cc);
	ack_window(&cc, 65, 65, 1000, 2000);
	ack_window(&cc, 66, 200, 3000, 4000);
	assert_true(cc.out.rate == 1e9);
}

/* A second implementation of its rule, from the text of rdma-hw.cc. */
struct ns3 {
	double rate, diff, last;
	uint64_t update;
	int stage;
};

static void ns3_ack(struct ns3 *n, double rtt, uint64_t ack_seq, uint64_t snd_nxt)
{
	double gradient, c = -1;

	if (ack_seq <= n->update)
		return;
	if (n->update) {
		n->diff = 0.125 * n->diff + 0.875 * (rtt - n->last);
		gradient = n->diff / 20;
		if (rtt > 500)
			c = 1 - 0.8 * (1 - 500 / rtt);
		else if (rtt >= 50 && gradient > 0)
			c = fmax(0, 1 - 0.8 * gradient);
		if (c < 0)
			n->rate = fmin(n->rate + (n->stage++ < 5 ? 100e6 : 500e6), 100e9);
		else
			n->rate = fmax(n->rate * c, 1e9);
		n->stage = c < 0 ? n->stage : 0;
	}
	n->update = snd_nxt;
	n->last = rtt;
}

static void ns3_equals_the_simulator_over_random_walks(void **state)
{
	(void)state;
	seed_start("ns3");
	for (unsigned walk = 0; walk < 200; walk++) {
		struct ns3 n = { .rate = 100e9 };
		uint64_t acked = 0, sent = 0;
		double rtt = 60;
		struct ccs_cc cc;

		start_ns3(&cc);
		for (int i = 0; i < 300; i++) {
			acked += seed_below(sent - acked + 1);
			sent += 1 + seed_below(50000);
			rtt = fmax(4, rtt * (0.8 + 0.4 * (double)seed_below(1000) / 1000));
			ack_window(&cc, i, rtt, acked, sent);
			ns3_ack(&n, rtt, acked, sent);
			check_close("rate", i, cc.out.rate, n.rate);
		}
	}
}

static const struct { const char *spec, *says; } wrong[] = {
	{ "", "no algorithm ''" },
	{ "timelly", "no algorithm 'timelly'" },
	{ "timely:", "is not param=value" },
	{ "timely:beta", "is not param=value" },
	{ "timely:beta=0.5,", "is not param=value" },
	{ "timely:gamma=1", "no parameter 'gamma'" },
	{ "timely:beta=", "is not a value for beta" },
	{ "timely:beta=x", "is not a value for beta" },
	{ "timely:beta=1.5", "outside" },
	{ "timely:t_low=5g", "is not a value for t_low in us" },
	{ "timely:min_rtt=0", "outside" },
	{ "timely:add_rate=inf", "outside" },
	{ "timely:variant=papyrus", "no variant" },
	{ "fixed:rate=50us", "is not a value for rate in bit/s" },
	{ "fixed:rate=0", "outside" },
	{ "none:rate=1g", "no parameter 'rate'" },
};

static void wrong_specs_are_refused_and_change_nothing(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct ccs_cc_spec cc = parse("timely:beta=0.5");
		const struct ccs_cc_spec before = cc;
		char err[256] = "";

		if (!ccs_cc_parse(&cc, wrong[i].spec, err, sizeof(err)))
			fail_msg("'%s' was accepted", wrong[i].spec);
		if (!strstr(err, wrong[i].says))
			fail_msg("'%s' says \"%s\", not \"%s\"", wrong[i].spec, err, wrong[i].says);
		assert_memory_equal(&cc, &before, sizeof(cc));
	}
}

static void an_endless_spec_is_refused(void **state)
{
	static char spec[4096];
	struct ccs_cc_spec cc = { 0 };
	char err[256] = "";

	(void)state;
	memset(spec, 'a', sizeof(spec) - 1);
	assert_int_equal(ccs_cc_parse(&cc, spec, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "longer than"));
	assert_null(cc.ops);
}

static void garbage_never_crashes_the_parser(void **state)
{
	static const char letters[] = "timelyfxdno:=,.0123456789kmgus_brath";
	unsigned taken = 0;

	(void)state;
	seed_start("garbage");
	for (int i = 0; i < 50000; i++) {
		struct ccs_cc_spec cc = { 0 };
		char text[64] = "timely:", err[256];

		seed_garbage(text + (i % 2 ? 7 : 0), sizeof(text) - 7, letters,
			     sizeof(letters) - 1);
		if (ccs_cc_parse(&cc, text, err, sizeof(err)) == 0)
			taken++;
		else
			assert_true(*err);
	}
	assert_true(taken < 50000);
}

static void units_and_choices_are_understood(void **state)
{
	const struct ccs_cc_path path = { .line_rate = 1e9, .base_rtt_us = 1, .segment = 1,
					  .flows = 1 };
	struct ccs_cc cc;

	(void)state;
	start(&cc, "timely:variant=snippet,t_high=2ms,add_rate=5mbit,t_low=1500ns,min_rate=100k", &path);
	assert_true(param(&cc, "t_high") == 2000);
	assert_true(param(&cc, "t_low") == 1.5);
	assert_true(param(&cc, "add_rate") == 5e6);
	assert_true(param(&cc, "min_rate") == 100e3);
	assert_string_equal(ccs_cc_variant(&cc), "snippet");
	start(&cc, "fixed:rate=250m", &path);
	ack(&cc, 10, 1e6);
	assert_true(cc.out.rate == 250e6);
	start(&cc, "none", &path);
	ack(&cc, 10, 1e6);
	assert_true(isinf(cc.out.rate) && cc.out.window == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(snippet_matches_the_golden_ramp),
		cmocka_unit_test(random_walks_equal_the_reference),
		cmocka_unit_test(a_thresholds_are_strict),
		cmocka_unit_test(b_state_is_kept_in_every_branch),
		cmocka_unit_test(c_steps_are_scaled_by_the_time_since_the_last_ack),
		cmocka_unit_test(d_min_rate_wins_over_a_lower_ceiling),
		cmocka_unit_test(e_raw_differences_are_counted),
		cmocka_unit_test(f_one_decrease_is_at_most_half),
		cmocka_unit_test(g_gradient_decrease_is_not_scaled),
		cmocka_unit_test(paper_has_neither_delta_factor_nor_cap),
		cmocka_unit_test(beta_high_is_used_above_t_high_where_the_variant_has_it),
		cmocka_unit_test(rates_stay_within_bounds),
		cmocka_unit_test(a_longer_rtt_gives_no_higher_rate),
		cmocka_unit_test(patched_has_one_fair_fixed_point),
		cmocka_unit_test(parameters_are_derived_from_the_path),
		cmocka_unit_test(rate_floor_lets_1000_flows_share_a_port),
		cmocka_unit_test(parameters_follow_the_bottleneck),
		cmocka_unit_test(below_t_low_the_increase_grows_with_time),
		cmocka_unit_test(thresholds_rise_as_the_rate_falls),
		cmocka_unit_test(one_queue_causes_one_decrease_per_rtt),
		cmocka_unit_test(ns3_begins_with_the_second_window),
		cmocka_unit_test(ns3_takes_one_step_per_window),
		cmocka_unit_test(ns3_counts_increases_below_t_low_too),
		cmocka_unit_test(ns3_has_no_limit_of_a_half),
		cmocka_unit_test(ns3_equals_the_simulator_over_random_walks),
		cmocka_unit_test(a_given_threshold_moves_the_other),
		cmocka_unit_test(a_better_known_path_moves_only_derived_values),
		cmocka_unit_test(wrong_specs_are_refused_and_change_nothing),
		cmocka_unit_test(an_endless_spec_is_refused),
		cmocka_unit_test(garbage_never_crashes_the_parser),
		cmocka_unit_test(units_and_choices_are_understood),
	};

	return cmocka_run_group_tests_name("timely", tests, NULL, NULL);
}
