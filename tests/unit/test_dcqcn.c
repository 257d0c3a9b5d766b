/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests DCQCN's reaction point against a golden trace from another implementation, and against
 * a second implementation below, written directly from the published texts and in whole ns.
 */
#include "test.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "dcqcn.h"
#include "seed.h"

static void check_golden_trace(const char *spec)
{
	FILE *f = data("dcqcn_paper_single.csv");
	char line[512], event[16], action[32];
	double t, rc, rt, a;
	int i, rows = 0;
	struct ccs_cc cc;

	start(&cc, spec, &path40g);
	assert_string_equal(stage(&cc), "idle");
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%d,%lf,%15[^,],%31[^,],%lf,%lf,%lf", &i, &t, event, action, &rc,
			   &rt, &a) != 7)
			continue;
		if (strcmp(event, "cnp") == 0) {
			assert_true(cc.out.timer_us > t);
			cc.ops->on_cnp(&cc, t);
		} else {
			check_close("time", i, cc.out.timer_us, t);
			cc.ops->on_timer(&cc, cc.out.timer_us);
		}
		check_close("rate", i, cc.out.rate, rc);
		check_close("target", i, target(&cc), rt);
		check_close("alpha", i, alpha(&cc), a);
		if (strncmp(action, "timer:", 6) == 0)
			assert_string_equal(stage(&cc), action + 6);
		rows++;
	}
	fclose(f);
	assert_int_equal(rows, 12);
}

/* On this path ccshim's form decides as the paper's does. */
TEST(paper_matches_the_golden_trace)
{
	check_golden_trace("dcqcn:variant=paper");
	check_golden_trace("dcqcn");
}

/* A second implementation of the published texts, on a clock of whole ns. */
struct ref {
	int variant;
	double line, g, ai, hai, min, bytes;
	int f;
	bool clamp;
	long long k_ns, t_ns, dec_ns;            /* periods of alpha, rate, decrease */
	double rc, rt, alpha;
	long long alpha_at, rate_at, dec_at;     /* LLONG_MAX: off */
	int t, bc;
	double sent;                             /* since the byte counter's last expiry */
	const char *stage;
	bool had_cnp, flag_alpha, flag_dec;
	bool fr, ai_seen, hai_seen, floored, ceiled, kept; /* counts of what has happened */
};

#define OFF INT64_MAX

static void ref_halve(struct ref *r)
{
	r->rc = 0.5 * r->rc + 0.5 * r->rt;
	if (r->rc > r->line) {
		r->ceiled = true;
		r->rc = r->line;
	}
}

static void ref_enter(struct ref *r, const char *name)
{
	r->stage = name;
	r->fr |= strcmp(name, "fr") == 0;
	r->ai_seen |= strcmp(name, "ai") == 0;
	r->hai_seen |= strcmp(name, "hai") == 0;
}

static int least_of(const struct ref *r)
{
	return r->t < r->bc ? r->t : r->bc;
}

static void ref_raise_target(struct ref *r, double by)
{
	r->rt += by;
	if (r->rt > r->line) {
		r->ceiled = true;
		r->rt = r->line;
	}
}

static void ref_paper_increase(struct ref *r)
{
	if (r->t < r->f && r->bc < r->f) {
		ref_enter(r, "fr");
	} else if (least_of(r) > r->f) {
		ref_enter(r, "hai");
		ref_raise_target(r, r->hai * (least_of(r) - r->f + 1));
	} else {
		ref_enter(r, "ai");
		ref_raise_target(r, r->ai);
	}
	ref_halve(r);
}

static void ref_mlx_increase(struct ref *r)
{
	r->rate_at += r->t_ns;
	if (r->t < r->f) {
		ref_enter(r, "fr");
	} else if (r->t == r->f) {
		ref_enter(r, "ai");
		ref_raise_target(r, r->ai);
	} else {
		ref_enter(r, "hai");
		ref_raise_target(r, r->hai);
	}
	ref_halve(r);
	r->t++;
}

static void ref_cut(struct ref *r)
{
	r->rc *= 1 - r->alpha / 2;
	if (r->rc < r->min) {
		r->floored = true;
		r->rc = r->min;
	}
	r->t = r->bc = 0;
	ref_enter(r, "fr");
}

static void ref_mlx_decrease(struct ref *r)
{
	if (r->flag_dec) {
		if (r->clamp || r->t > 0)
			r->rt = r->rc;
		else
			r->kept |= r->rt > r->rc;
		ref_cut(r);
		r->rate_at = r->dec_at + r->t_ns;
		r->flag_dec = false;
	}
	r->dec_at += r->dec_ns;
}

static void ref_mlx_cnp(struct ref *r, long long now)
{
	r->flag_alpha = r->flag_dec = true;
	if (r->had_cnp)
		return;
	r->had_cnp = true;
	r->flag_alpha = false;
	r->rt = r->rc;
	r->alpha_at = now + r->k_ns;
	r->dec_at = now + r->dec_ns + 1;
	if (strcmp(r->stage, "idle") == 0)
		r->stage = "fr";
}

static void ref_cnp(struct ref *r, long long now)
{
	const double congested = (1 - r->g) * r->alpha + r->g;

	if (r->variant == MLX) {
		ref_mlx_cnp(r, now);
		return;
	}
	if (r->clamp || r->bc > 0 || r->t > 0)
		r->rt = r->rc;
	else
		r->kept |= r->rt > r->rc;
	r->sent = 0;
	ref_cut(r);
	r->alpha = congested;
	r->alpha_at = now + r->k_ns;
	r->rate_at = now + r->t_ns;
}

/* Not in the texts: see ccs_dcqcn_start_below_line(). */
static void ref_start(struct ref *r, long long now)
{
	if (r->rc < r->line && r->rate_at == OFF) {
		r->rate_at = now + r->t_ns;
		r->stage = "fr";
	}
}

static void ref_send(struct ref *r, long long now, double n)
{
	ref_start(r, now);
	if (r->variant == MLX || strcmp(r->stage, "idle") == 0)
		return;
	for (r->sent += n; r->sent >= r->bytes; r->sent -= r->bytes) {
		r->bc++;
		ref_paper_increase(r);
	}
}

static long long ref_next(const struct ref *r)
{
	long long at = r->alpha_at;

	at = r->rate_at < at ? r->rate_at : at;
	return r->dec_at < at ? r->dec_at : at;
}

static void ref_timer(struct ref *r)
{
	const long long now = ref_next(r);

	if (r->alpha_at == now) {
		r->alpha = r->flag_alpha ? (1 - r->g) * r->alpha + r->g : (1 - r->g) * r->alpha;
		r->flag_alpha = false;
		r->alpha_at += r->k_ns;
	} else if (r->rate_at == now && r->variant == MLX) {
		ref_mlx_increase(r);
	} else if (r->rate_at == now) {
		r->t++;
		r->rate_at += r->t_ns;
		ref_paper_increase(r);
	} else {
		ref_mlx_decrease(r);
	}
}

/* Parameters that ccshim would stretch for a slow flow. */
#define PUBLISHED ",alpha_timer=55us,rate_timer=55us,rate_ai=40m"

static struct ref begin(struct ccs_cc *cc, unsigned variant, bool clamp)
{
	static const double counters[] = { 150e3, 1e6, 10e6 };
	const double init = 40e9 / (double)(1 + seed_below(2) * seed_below(30));
	const double g = seed_below(2) ? 1.0 / 256 : 1.0 / 16;
	const double bytes = counters[seed_below(3)];
	const double hai = (seed_below(2) ? 1 : 20) * (double[]){ 400e6, 400e6, 80e6 }[variant];
	char more[256];

	snprintf(more, sizeof(more), ",g=%.17g,byte_counter=%.17g,init_rate=%.17g,rate_hai=%.17g,"
		 "clamp_target=%d%s", g, bytes, init, hai, clamp, variant == CCSHIM ? PUBLISHED : "");
	start_variant(cc, variant, more);
	return (struct ref){
		.variant = (int)variant, .line = 40e9, .g = g, .clamp = clamp,
		.ai = variant == MLX ? 8e6 : 40e6, .f = variant == MLX ? 1 : 5,
		.hai = hai, .min = (double[]){ 4e6, 4e6, 160e6 }[variant],
		.k_ns = variant == MLX ? 1000 : 55000, .dec_ns = 4000,
		.t_ns = (long long[]){ 55000, 55000, 300000 }[variant],
		.rc = init, .rt = init, .alpha = 1,
		.alpha_at = OFF, .rate_at = OFF, .dec_at = OFF,
		.bytes = bytes, .stage = "idle",
	};
}

static void compare(const struct ccs_cc *cc, const struct ref *r, int step)
{
	check_close("rate", step, cc->out.rate, r->rc);
	check_close("target", step, target(cc), r->rt);
	check_close("alpha", step, alpha(cc), r->alpha);
	assert_string_equal(stage(cc), r->stage);
	if (ref_next(r) == OFF)
		assert_true(isinf(cc->out.timer_us));
	else
		check_close("timer", step, cc->out.timer_us, (double)ref_next(r) / 1e3);
	assert_true(cc->out.rate <= 40e9 && cc->out.rate >= r->min);
	assert_true(alpha(cc) >= 0 && alpha(cc) <= 1);
}

static void follow_timers(struct ccs_cc *cc, struct ref *r, long long now, int step)
{
	while (ref_next(r) <= now) {
		cc->ops->on_timer(cc, cc->out.timer_us);
		ref_timer(r);
		compare(cc, r, step);
	}
}

/* RTTs and losses have no effect on a published form. */
static void follow_random_ack(struct ccs_cc *cc, struct ref *r, long long now)
{
	ack(cc, (double)now / 1e3, (double)seed_below(2000), (double)seed_below(1u << 20));
	ref_start(r, now);
	if (seed_below(4) == 0)
		cc->ops->on_loss(cc, (double)now / 1e3);
	assert_true(cc->out.window == 0);
}

static void follow_random_event(struct ccs_cc *cc, struct ref *r, long long now, bool loud,
				int step)
{
	const double us = (double)now / 1e3;
	const double before = cc->out.rate, bytes = (double)seed_below(loud ? 1u << 18 : 1u << 22);

	if (seed_below(loud ? 2 : 60) == 0) {
		cc->ops->on_cnp(cc, us);
		ref_cnp(r, now);
		assert_true(cc->out.rate <= before);
	} else if (r->variant != CCSHIM && seed_below(2)) {
		follow_random_ack(cc, r, now);
	} else {
		cc->ops->on_send(cc, us, bytes);
		ref_send(r, now, bytes);
	}
	compare(cc, r, step);
}

/* Bursts of CNPs alternate with quiet periods, so that each stage and bound is reached. */
static void random_walk(unsigned variant, bool clamp, struct ref *seen)
{
	const uint64_t dense_ns = seed_below(2) ? 100000 : 2000; /* mlx cuts every 4 us */
	long long now = (long long)seed_below(1000000);
	struct ccs_cc cc;
	struct ref r = begin(&cc, variant, clamp);

	for (int step = 0; step < 400; step++) {
		const bool loud = step / 40 % 2 == 0;

		now += (long long)seed_below(loud ? dense_ns : 400000);
		if (seed_below(8) == 0 && ref_next(&r) != OFF)
			now = ref_next(&r); /* at the same time: timers come first */
		follow_timers(&cc, &r, now, step);
		follow_random_event(&cc, &r, now, loud, step);
	}
	seen->fr |= r.fr, seen->ai_seen |= r.ai_seen, seen->hai_seen |= r.hai_seen;
	seen->floored |= r.floored, seen->ceiled |= r.ceiled;
	seen->kept |= r.kept;
}

TEST(random_walks_equal_the_reference)
{
	seed_start("walks");
	for (unsigned variant = CCSHIM; variant <= MLX; variant++)
		for (int clamp = 0; clamp <= 1; clamp++) {
			struct ref seen = { 0 };

			for (int walk = 0; walk < 60; walk++)
				random_walk(variant, clamp, &seen);
			assert_true(seen.fr && seen.ai_seen && seen.hai_seen);
			assert_true(seen.floored && seen.ceiled);
			assert_true(seen.kept == !clamp);
		}
}
