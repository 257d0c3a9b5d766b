/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * TIMELY (Mittal et al., SIGCOMM 2015): rate from the gradient of the RTT.
 *
 * snippet       the code that the authors published beside the paper: steps are
 *               scaled by delta_factor, one decrease takes half at most, falls of
 *               the raw RTT are counted
 * paper         Algorithm 1: whole steps, no cap, falling gradients are counted
 * patched       the fixed point of "ECN or Delay" (Zhu et al., CoNEXT 2016,
 *               Algorithm 2) between the thresholds, else as snippet
 * patched_pure  the same without delta_factor and cap: that paper's model
 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "cc/cc.h"

enum { VARIANT, MIN_RTT, T_LOW, T_HIGH, ADD_RATE, BETA, BETA_HIGH, ALPHA, HAI_THRESH, HAI_N,
       MIN_RATE, MAX_RATE, INIT_RATE, NPARAMS };

#define TINY_US 1e-3 /* the least RTT that is normalised by */
#define MOST_US 1e15 /* no RTT, and further on no arithmetic */

enum { SNIPPET, PAPER, PATCHED, PATCHED_PURE };
static const char *const variants[] = { "snippet", "paper", "patched", "patched_pure", NULL };

enum branch { B_NONE, B_IGNORED, B_LOW, B_HIGH, B_AI, B_HAI, B_MD, B_PATCH, BRANCHES };
static const char *const branches[][BRANCHES] = {
	{ "none", "ignored", "low", "high", "ai", "hai", "md", "patch" },
	{ "none", "ignored", "low+cap", "high+cap", "ai+cap", "hai+cap", "md+cap", "patch+cap" },
};

static const struct ccs_cc_param params[NPARAMS] = {
	[VARIANT] = { "variant", "", 0, 0, 0, variants,
		"which published form of the algorithm", "TIMELY; CoNEXT 2016, Algorithm 2" },
	[MIN_RTT] = { "min_rtt", "us", NAN, 1e-3, 1e9, NULL,
		"normalises the gradient; unloaded RTT and two segment times, at least eight", "TIMELY 4.3" },
	[T_LOW] = { "t_low", "us", NAN, 0, 1e9, NULL,
		"below this RTT the rate only grows", "TIMELY 4.4" },
	[T_HIGH] = { "t_high", "us", NAN, 0, 1e9, NULL,
		"above this RTT the rate falls whatever the gradient", "TIMELY 4.4" },
	[ADD_RATE] = { "add_rate", "bit/s", NAN, 0, 1e15, NULL,
		"additive increase per min_rtt", "TIMELY 4.3" },
	[BETA] = { "beta", "", NAN, 0, 1, NULL,
		"multiplicative decrease factor: 0.8, patched 0.008", "TIMELY 6; CoNEXT 2016, Algorithm 2" },
	[BETA_HIGH] = { "beta_high", "", NAN, 0, 1, NULL,
		"the factor above t_high: beta, patched 0.8", "TIMELY 6; patched: drains the start's backlog" },
	[ALPHA] = { "alpha", "", NAN, 0, 1, NULL,
		"weight of the newest difference in the average: 0.02, patched 0.1", "TIMELY authors' code" },
	[HAI_THRESH] = { "hai_thresh", "", 5, 1, 1e6, NULL,
		"consecutive falling RTTs before hyperactive increase", "TIMELY 4.3" },
	[HAI_N] = { "hai_n", "", 5, 1, 1e3, NULL,
		"hyperactive increase is this many times add_rate", "TIMELY 4.3" },
	[MIN_RATE] = { "min_rate", "bit/s", NAN, 1, 1e15, NULL,
		"floor of the rate", "derived: line rate / 32" },
	[MAX_RATE] = { "max_rate", "bit/s", NAN, 1, 1e15, NULL,
		"ceiling of the rate", "TIMELY 5: line rate" },
	[INIT_RATE] = { "init_rate", "bit/s", NAN, 1, 1e15, NULL,
		"rate of a new flow", "derived: line rate / flows of this host" },
};

struct timely {
	double prev_rtt, avg_diff, last, gradient;
	unsigned neg;
	enum branch branch;
	bool capped;
};

/*
 * Defaults from the path, in segment times (ser) because one segment of another
 * flow is the quantum in which a queue moves:
 * - t_low four of them above the unloaded RTT and its noise (TIMELY Fig. 15: the
 *   throughput knee moves with the segment);
 * - t_high twelve above that: it must lie within the switch's queue, 16 flows at
 *   10 Gb/s and 256 KB being the tightest that was measured;
 * - min_rtt normalises the gradient and paces the increase: with less than two on
 *   top of the unloaded RTT one foreign segment reads as steep congestion (the
 *   paper has 20 us and ser = 13 us). Where segments are long against the RTT, at
 *   least eight: flows that complete less than one segment in it increase in
 *   proportion to their rate, and sixteen of them stay unequal for seconds;
 * - min_rate such that 32 flows fit: a lower floor starves a flow of samples, and
 *   at one sample in tens of milliseconds it takes a second to recover.
 *
 * patched has a beta of its own within the thresholds, where it gives a queue of
 * N * add_rate / (beta * C) above t_low; as the factor above t_high that would
 * leave the backlog of a start standing for seconds.
 */
static void derive(const struct ccs_cc_path *path, double *p)
{
	const bool patched = p[VARIANT] >= PATCHED;
	const double ser = 8e6 * path->segment / path->line_rate;
	const double t_low = isnan(p[T_LOW]) ? path->base_rtt_us + path->noise_us + 4 * ser : p[T_LOW];
	const double derived[NPARAMS] = {
		[MIN_RTT] = fmax(path->base_rtt_us + 2 * ser, 8 * ser),
		[T_LOW] = isnan(p[T_HIGH]) ? t_low : fmin(t_low, p[T_HIGH]),
		[T_HIGH] = t_low + fmax(8 * path->noise_us, 12 * ser),
		[ADD_RATE] = path->line_rate / 1000,
		[BETA] = patched ? 0.008 : 0.8,
		[BETA_HIGH] = patched || isnan(p[BETA]) ? 0.8 : p[BETA],
		[ALPHA] = patched ? 0.1 : 0.02,
		[MIN_RATE] = path->line_rate / 32,
		[MAX_RATE] = path->line_rate,
		[INIT_RATE] = path->line_rate / fmax(1, path->flows),
	};

	for (unsigned i = 0; i < NPARAMS; i++) {
		if (!isnan(p[i]))
			continue;
		p[i] = derived[i];
		if (i == MIN_RATE && !isnan(p[MAX_RATE])) /* a ceiling that the user gave */
			p[i] = fmin(p[i], p[MAX_RATE]);
	}
}

/* The filter, the same in every branch; gives delta_factor. */
static double learn(struct timely *t, const double *p, const struct ccs_cc_ack *ack)
{
	const double prev = t->prev_rtt == 0 ? ack->rtt_us : t->prev_rtt;
	const double diff = ack->rtt_us - prev;
	const double df = fmin((ack->now_us - t->last) / p[MIN_RTT], 1.0);

	t->avg_diff = (1 - p[ALPHA]) * t->avg_diff + p[ALPHA] * diff;
	t->gradient = t->avg_diff / p[MIN_RTT];
	t->neg = (p[VARIANT] == PAPER ? t->gradient : diff) < 0 ? t->neg + 1 : 0;
	t->prev_rtt = ack->rtt_us;
	t->last = ack->now_us;
	return p[VARIANT] == PAPER || p[VARIANT] == PATCHED_PURE ? 1 : df;
}

static double by_gradient(struct timely *t, const double *p, double rate, double df)
{
	if (t->gradient <= 0) {
		const double n = t->neg >= p[HAI_THRESH] ? p[HAI_N] : 1;

		t->branch = n > 1 ? B_HAI : B_AI;
		return rate + n * p[ADD_RATE] * df;
	}
	t->branch = B_MD;
	return rate * (1 - p[BETA] * t->gradient); /* as published: not scaled by df */
}

/* Increase and decrease both, weighted by the gradient: CoNEXT 2016, Algorithm 2. */
static double patched(struct timely *t, const double *p, double rate, double df)
{
	const double ref = fmax(p[T_LOW], TINY_US);
	const double w = fmin(fmax(2 * t->gradient + 0.5, 0), 1);
	const double err = (t->prev_rtt - ref) / ref;

	t->branch = B_PATCH;
	return p[ADD_RATE] * df * (1 - w) + rate * (1 - p[BETA] * df * w * err);
}

/* The new rate before clamping. */
static double next_rate(struct timely *t, const double *p, double rate,
			const struct ccs_cc_ack *ack)
{
	const double rtt = ack->rtt_us;
	const double df = learn(t, p, ack);

	if (rtt < p[T_LOW]) {
		t->branch = B_LOW;
		return rate + p[ADD_RATE] * df;
	}
	if (rtt > p[T_HIGH]) {
		t->branch = B_HIGH;
		return rate * (1 - df * p[BETA_HIGH] * (1 - p[T_HIGH] / rtt));
	}
	return p[VARIANT] >= PATCHED ? patched(t, p, rate, df) : by_gradient(t, p, rate, df);
}

/* The floor is applied last: it wins. */
static void set_rate(struct ccs_cc *cc, double rate)
{
	cc->out.rate = fmax(fmin(rate, cc->param[MAX_RATE]), cc->param[MIN_RATE]);
}

static void on_init(struct ccs_cc *cc)
{
	memset(CCS_CC_PRIV(struct timely, cc), 0, sizeof(struct timely));
	set_rate(cc, cc->param[INIT_RATE]);
	cc->out.window = 0;
}

static bool has_cap(const double *p)
{
	return p[VARIANT] == SNIPPET || p[VARIANT] == PATCHED;
}

static void on_ack(struct ccs_cc *cc, const struct ccs_cc_ack *ack)
{
	struct timely *t = CCS_CC_PRIV(struct timely, cc);
	const double rate = cc->out.rate;
	double next;

	t->capped = false;
	if (!(ack->rtt_us > 0 && ack->rtt_us < MOST_US)) { /* NaN too */
		t->branch = B_IGNORED;
		return;
	}
	next = next_rate(t, cc->param, rate, ack);
	t->capped = has_cap(cc->param) && next < 0.5 * rate;
	set_rate(cc, t->capped ? 0.5 * rate : next);
}

static unsigned observe(const struct ccs_cc *cc, struct ccs_cc_obs *obs, unsigned max)
{
	const struct timely *t = (const struct timely *)(const void *)cc->priv;
	const struct ccs_cc_obs all[] = {
		{ "avg_rtt_diff_us", t->avg_diff, NULL },
		{ "norm_grad", t->gradient, NULL },
		{ "neg_count", t->neg, NULL },
		{ "branch", 0, branches[t->capped][t->branch] },
	};

	return ccs_cc_observed(obs, max, all, sizeof(all) / sizeof(*all));
}

const struct ccs_cc_ops ccs_cc_timely = {
	.abi = CCS_CC_ABI,
	.size = sizeof(struct ccs_cc_ops),
	.name = "timely",
	.doc = "rate from the gradient of the round-trip time; needs nothing of peer or switch",
	.needs = CCS_NEEDS_RTT,
	.params = params,
	.nparams = NPARAMS,
	.derive = derive,
	.on_init = on_init,
	.on_ack = on_ack,
	.set_rate = set_rate,
	.observe = observe,
};
