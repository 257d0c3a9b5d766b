/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests DCQCN's reaction point against a golden trace from another implementation, and against
 * a second implementation below, written directly from the published texts and in whole ns.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdbool.h>

#include "algorithm.h"
#include "seed.h"

static const struct ccs_cc_path path40g = { .line_rate = 40e9, .base_rtt_us = 20,
					    .segment = 32768, .flows = 1 };

static const char *const variants[] = { "paper", "ns3rdma", "mlx" };
enum { PAPER, NS3, MLX };

/* Call in the order of a caller: what is due first comes first. */
static void cnp(struct ccs_cc *cc, double now_us)
{
	ccs_cc_advance(cc, now_us);
	cc->ops->on_cnp(cc, now_us);
}

static void send(struct ccs_cc *cc, double now_us, double bytes)
{
	ccs_cc_advance(cc, now_us);
	cc->ops->on_send(cc, now_us, bytes);
}

static double target(const struct ccs_cc *cc)
{
	return observed(cc, "target_bps").value;
}

static double alpha(const struct ccs_cc *cc)
{
	return observed(cc, "alpha").value;
}

static const char *stage(const struct ccs_cc *cc)
{
	return observed(cc, "stage").text;
}

static void start_variant(struct ccs_cc *cc, unsigned variant, const char *more)
{
	char text[256];

	snprintf(text, sizeof(text), "dcqcn:variant=%s%s", variants[variant], more);
	start(cc, text, &path40g);
}

static void paper_matches_the_golden_trace(void **state)
{
	FILE *f = data("dcqcn_paper_single.csv");
	char line[512], event[16], action[32];
	double t, rc, rt, a;
	int i, rows = 0;
	struct ccs_cc cc;

	(void)state;
	start(&cc, "dcqcn", &path40g);
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
	double limit;                            /* count at which it expires */
	const char *stage;
	bool had_cnp, flag_alpha, flag_dec;
	bool fr, ai_seen, hai_seen, floored, ceiled, eighth, kept; /* counts of what has happened */
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

static void ref_ns3_adjust(struct ref *r, const char *name, double by)
{
	if ((r->t == 1 || r->bc == 1) && r->rt > 10 * r->rc) {
		r->eighth = true;
		r->rt /= 8;
	} else {
		r->rt += by;
	}
	ref_enter(r, name);
	ref_halve(r);
}

static void ref_ns3_hyper(struct ref *r)
{
	ref_ns3_adjust(r, "hai", r->hai * (least_of(r) - r->f + 1));
}

static void ref_ns3_select(struct ref *r)
{
	if (least_of(r) < r->f)
		ref_ns3_adjust(r, "ai", r->ai);
	else
		ref_ns3_hyper(r);
}

static void ref_ns3_time(struct ref *r)
{
	const bool hyper = strcmp(r->stage, "hai") == 0;

	r->t++;
	r->rate_at += hyper ? r->t_ns / 2 : r->t_ns;
	if (hyper)
		ref_ns3_hyper(r);
	else if (strcmp(r->stage, "fr") == 0 && r->t < r->f)
		ref_ns3_adjust(r, "fr", 0);
	else
		ref_ns3_select(r);
}

static void ref_ns3_packet(struct ref *r, double n)
{
	r->sent += n;
	if (r->sent <= r->limit)
		return;
	r->sent = 0;
	r->limit = r->bytes;
	r->bc++;
	if (strcmp(r->stage, "hai") == 0) {
		r->limit = r->bytes / 2;
		ref_ns3_hyper(r);
	} else if (strcmp(r->stage, "ai") == 0) {
		ref_ns3_adjust(r, "ai", r->ai);
	} else if (r->bc < r->f) {
		ref_ns3_adjust(r, "fr", 0);
	} else {
		ref_ns3_select(r);
	}
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
	if (r->clamp || r->bc > 0 || (r->variant == PAPER && r->t > 0)) {
		r->rt = r->rc;
		r->sent = 0;
		r->limit = r->bytes;
	} else {
		r->kept |= r->rt > r->rc;
		if (r->variant == PAPER)
			r->sent = 0;
	}
	if (r->variant == NS3)
		r->alpha = congested;
	ref_cut(r);
	if (r->variant == PAPER)
		r->alpha = congested;
	r->alpha_at = now + r->k_ns;
	r->rate_at = now + r->t_ns;
}

static void ref_send(struct ref *r, long long now, double n)
{
	if (r->rc < r->line && r->rate_at == OFF) { /* of ccshim: see start_below_line */
		r->rate_at = now + r->t_ns;
		r->stage = "fr";
	}
	if (r->variant == MLX || strcmp(r->stage, "idle") == 0)
		return;
	if (r->variant == NS3) {
		ref_ns3_packet(r, n);
		return;
	}
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
	} else if (r->rate_at == now && r->variant == NS3) {
		ref_ns3_time(r);
	} else if (r->rate_at == now) {
		r->t++;
		r->rate_at += r->t_ns;
		ref_paper_increase(r);
	} else {
		ref_mlx_decrease(r);
	}
}

/* Parameters that the paper variant would stretch for a slow flow. */
#define PUBLISHED ",alpha_timer=55us,rate_timer=55us,rate_ai=40m"

static struct ref begin(struct ccs_cc *cc, unsigned variant, bool clamp)
{
	static const double counters[] = { 150e3, 1e6, 10e6 };
	const double init = 40e9 / (double)(1 + seed_below(2) * seed_below(30));
	const double g = seed_below(2) ? 1.0 / 256 : 1.0 / 16;
	const double bytes = counters[seed_below(3)];
	const double hai = (seed_below(2) ? 1 : 20) * (double[]){ 400e6, 200e6, 80e6 }[variant];
	char more[256];

	snprintf(more, sizeof(more), ",g=%.17g,byte_counter=%.17g,init_rate=%.17g,rate_hai=%.17g,"
		 "clamp_target=%d%s", g, bytes, init, hai, clamp, variant == PAPER ? PUBLISHED : "");
	start_variant(cc, variant, more);
	return (struct ref){
		.variant = (int)variant, .line = 40e9, .g = g, .clamp = clamp,
		.ai = variant == MLX ? 8e6 : 40e6, .f = variant == MLX ? 1 : 5,
		.hai = hai, .min = (double[]){ 4e6, 100e6, 160e6 }[variant],
		.k_ns = variant == MLX ? 1000 : 55000, .dec_ns = 4000,
		.t_ns = (long long[]){ 55000, 60000, 300000 }[variant],
		.rc = init, .rt = init, .alpha = variant == NS3 ? 0.5 : 1,
		.alpha_at = OFF, .rate_at = OFF, .dec_at = OFF,
		.bytes = bytes, .limit = bytes, .stage = "idle",
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

static void follow_random_event(struct ccs_cc *cc, struct ref *r, long long now, bool loud,
				int step)
{
	const double us = (double)now / 1e3;
	const double before = cc->out.rate, bytes = (double)seed_below(loud ? 1u << 18 : 1u << 22);

	if (seed_below(loud ? 2 : 60) == 0) {
		cc->ops->on_cnp(cc, us);
		ref_cnp(r, now);
		assert_true(cc->out.rate <= before);
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
	seen->eighth |= r.eighth, seen->kept |= r.kept;
}

static void random_walks_equal_the_reference(void **state)
{
	(void)state;
	seed_start("walks");
	for (unsigned variant = PAPER; variant <= MLX; variant++)
		for (int clamp = 0; clamp <= 1; clamp++) {
			struct ref seen = { 0 };

			for (int walk = 0; walk < 60; walk++)
				random_walk(variant, clamp, &seen);
			assert_true(seen.fr && seen.ai_seen && seen.hai_seen);
			assert_true(seen.floored && seen.ceiled);
			assert_true(seen.kept == !clamp);
			assert_true(seen.eighth == (variant == NS3 && !clamp));
		}
}

/* DCQCN 3.1: alpha falls little within 50 us, so each CNP halves. */
static void consecutive_cnps_halve_down_to_the_floor(void **state)
{
	struct ccs_cc cc, floored;

	(void)state;
	start(&cc, "dcqcn:min_rate=1m", &path40g);
	start(&floored, "dcqcn", &path40g);
	for (int i = 0; i < 15; i++) {
		cnp(&cc, 100 + 50 * i);
		cnp(&floored, 100 + 50 * i);
		check_close("rate", i, cc.out.rate, 40e9 / exp2(i + 1));
		check_close("floored rate", i, floored.out.rate, fmax(40e9 / exp2(i + 1), 4e6));
	}
}

/* ns3rdma updates alpha first, from a half. */
static void the_first_cut_is_by_each_variants_initial_alpha(void **state)
{
	static const double share[] = { 0.5, 1 - (0.5 * 255 / 256 + 1.0 / 256) / 2, 1 };
	struct ccs_cc cc;

	(void)state;
	for (unsigned variant = PAPER; variant <= MLX; variant++) {
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
static void mlx_increases_before_it_cuts(void **state)
{
	(void)state;
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

/* The counter expires at its limit in paper, above it in ns3rdma. */
static void the_byte_counter_expires_at_its_limit(void **state)
{
	struct ccs_cc cc;

	(void)state;
	for (unsigned variant = PAPER; variant <= NS3; variant++) {
		double cut;

		start_variant(&cc, variant, ",byte_counter=150000");
		send(&cc, 0, 1e6); /* idle: not counted */
		cnp(&cc, 1);
		cut = cc.out.rate;
		send(&cc, 2, 149999);
		assert_true(cc.out.rate == cut);
		send(&cc, 3, 1);
		assert_true((cc.out.rate > cut) == (variant == PAPER));
		send(&cc, 4, 1);
		assert_true(cc.out.rate == (40e9 + cut) / 2);
	}
}

/*
 * Every variant recovers without CNPs; halving, in doubles, does not reach this line rate
 * exactly.
 */
static void a_flow_recovers_and_rests(void **state)
{
	struct ccs_cc_path path = path40g;

	(void)state;
	path.line_rate = nextafter(40e9, INFINITY);
	for (unsigned variant = PAPER; variant <= MLX; variant++) {
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
static void a_rested_flow_starts_again(void **state)
{
	static const double alpha_at_cut[] = { 0, 1.0 / 256,
		1.0 / 256 * 255 / 256 * 255 / 256 * 255 / 256 };

	(void)state;
	for (unsigned variant = PAPER; variant <= MLX; variant++) {
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
static void without_cnps_it_climbs_by_the_papers_stages(void **state)
{
	static const struct ccs_cc_path lab = { .line_rate = 200e6, .base_rtt_us = 50,
						.segment = 4096, .flows = 1 };
	const double timer = 8 * 163.84, ai = 200e3, hai = 2e6, t0 = 1000, slip = 0.001;
	double goal, gap;
	struct ccs_cc cc;

	(void)state;
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
static void a_flow_that_begins_below_line_rate_reaches_it(void **state)
{
	static const struct ccs_cc_ack ack = { .now_us = 100, .bytes = 1000 };

	(void)state;
	for (unsigned variant = PAPER; variant <= MLX; variant++) {
		struct ccs_cc cc;

		start_variant(&cc, variant, ",init_rate=10g");
		assert_true(cc.out.rate == 10e9 && isinf(cc.out.timer_us));
		if (variant == PAPER)
			cc.ops->on_ack(&cc, &ack);
		else
			send(&cc, 100, 1000);
		assert_string_equal(stage(&cc), "fr");
		ccs_cc_advance(&cc, 5e6);
		assert_true(cc.out.rate == 40e9 && isinf(cc.out.timer_us));
		check_close("alpha", 0, alpha(&cc), variant == NS3 ? 0.5 : 1);
	}
}

static void set_rate_moves_rate_and_target_only(void **state)
{
	(void)state;
	for (unsigned variant = PAPER; variant <= MLX; variant++) {
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
static void a_lower_line_rate_binds_and_a_higher_floor_does_not_raise(void **state)
{
	struct ccs_cc_path path = path40g;
	struct ccs_cc cc;

	(void)state;
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
static void a_send_takes_bounded_time(void **state)
{
	struct ccs_cc cc;

	(void)state;
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

static void check_params(unsigned variant, const char *const *names, const double *values)
{
	struct ccs_cc cc;

	start_variant(&cc, variant, "");
	for (unsigned i = 0; names[i]; i++)
		check_close(names[i], (int)variant, param(&cc, names[i]), values[i]);
}

/* At 40 Gb/s and 20 us the published parameters apply; mlx's are for 25 Gb/s. */
static void published_parameters_on_an_ordinary_path(void **state)
{
	static const char *const names[] = { "g", "alpha_init", "alpha_timer", "rate_timer",
		"byte_counter", "f", "rate_ai", "rate_hai", "min_rate", "init_rate", "clamp_target",
		NULL };
	static const double of[][11] = {
		{ 1.0 / 256, 1, 55, 55, 10e6, 5, 40e6, 400e6, 4e6, 40e9, 1 },
		{ 1.0 / 256, 0.5, 55, 60, 300e6, 5, 40e6, 200e6, 100e6, 40e9, 1 },
		{ 1.0 / 256, 1, 1, 300, 0, 1, 8e6, 80e6, 160e6, 40e9, 0 },
	};
	struct ccs_cc_path slow = { .line_rate = 1e9, .base_rtt_us = 200, .segment = 16384,
				    .flows = 4 };
	struct ccs_cc cc;

	(void)state;
	for (unsigned variant = PAPER; variant <= MLX; variant++)
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

/* The port behind a NIC of ten times its rate counts; the simulators' variants use the NIC's. */
static void paper_takes_the_slowest_link(void **state)
{
	struct ccs_cc_path path = { .line_rate = 10e9, .base_rtt_us = 50, .segment = 8192, .flows = 1,
				    .bottleneck_rate = 1e9 };
	struct ccs_cc cc;

	(void)state;
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

static void ack(struct ccs_cc *cc, double now_us, double rtt_us, double bytes)
{
	const struct ccs_cc_ack a = { .now_us = now_us, .rtt_us = rtt_us, .bytes = bytes };

	ccs_cc_advance(cc, now_us);
	cc->ops->on_ack(cc, &a);
}

/* One of hundreds of flows gets at most one CNP per own segment, and recovery waits for it. */
static void a_period_holds_a_quarter_of_the_own_segments_time(void **state)
{
	static const struct { const char *spec; double period; } cases[] = {
		{ "dcqcn", 0.25 * 8e6 * 32768 / 20e6 }, { "dcqcn:rate_timer=55us,alpha_timer=55us", 55 },
		{ "dcqcn:variant=ns3rdma", 55 },
	};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct ccs_cc cc;

		start(&cc, cases[i].spec, &path40g);
		cc.ops->set_rate(&cc, 40e6);
		cnp(&cc, 1000);
		if (i < 2)
			check_close("rate", i, cc.out.rate, 20e6);
		check_close("timer", i, cc.out.timer_us, 1000 + cases[i].period);
	}
}

/* A queue of 400 us consists of data sent before the first cut. */
static void cuts_within_an_rtt_end_at_the_delivered_rate(void **state)
{
	const double given = 32768 / 50.0 * 8e6; /* a segment in 50 us */
	struct ccs_cc cc;

	(void)state;
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
}

/*
 * The increase per time is the paper's while the RTT is the base RTT; otherwise the increase
 * per period is.
 */
static void steps_grow_with_the_period_where_nothing_queues(void **state)
{
	static const struct ccs_cc_path far = { .line_rate = 100e6, .base_rtt_us = 1000,
						.segment = 4096, .flows = 1 };
	const double period = 8 * 327.68;

	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paper_matches_the_golden_trace),
		cmocka_unit_test(random_walks_equal_the_reference),
		cmocka_unit_test(consecutive_cnps_halve_down_to_the_floor),
		cmocka_unit_test(the_first_cut_is_by_each_variants_initial_alpha),
		cmocka_unit_test(mlx_increases_before_it_cuts),
		cmocka_unit_test(the_byte_counter_expires_at_its_limit),
		cmocka_unit_test(a_flow_recovers_and_rests),
		cmocka_unit_test(a_rested_flow_starts_again),
		cmocka_unit_test(without_cnps_it_climbs_by_the_papers_stages),
		cmocka_unit_test(a_flow_that_begins_below_line_rate_reaches_it),
		cmocka_unit_test(set_rate_moves_rate_and_target_only),
		cmocka_unit_test(a_lower_line_rate_binds_and_a_higher_floor_does_not_raise),
		cmocka_unit_test(a_send_takes_bounded_time),
		cmocka_unit_test(published_parameters_on_an_ordinary_path),
		cmocka_unit_test(paper_takes_the_slowest_link),
		cmocka_unit_test(a_period_holds_a_quarter_of_the_own_segments_time),
		cmocka_unit_test(cuts_within_an_rtt_end_at_the_delivered_rate),
		cmocka_unit_test(steps_grow_with_the_period_where_nothing_queues),
	};

	return cmocka_run_group_tests_name("dcqcn", tests, NULL, NULL);
}
