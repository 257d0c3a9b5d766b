/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * TIMELY (Mittal et al., SIGCOMM 2015): rate from the gradient of the RTT.
 *
 * scaled        The default, ccshim's: snippet, with thresholds that rise as the rate falls and
 *               hyperactive increase below t_low, see tuned[]. Above t_high it
 *               decreases once per RTT while the RTT does not fall.
 * snippet       The code that the authors published in addition to the paper: delta_factor scales
 *               steps, a decrease is at most a half, and falls of the raw RTT are counted.
 * paper         Algorithm 1: whole steps without a limit, negative gradients are counted.
 * patched       "ECN or Delay" (Zhu et al., CoNEXT 2016, Algorithm 2): a fixed point between the
 *               thresholds, outside of them as snippet.
 * patched_pure  The same without delta_factor and limit, which is that paper's model.
 * ns3           The simulator of HPCC's authors (rdma-hw.cc): one whole step per window without a
 *               limit, from the second window. Increases are counted, also below t_low.
 */
#include <math.h>
#include <stdbool.h>

#include "cc/cc.h"
#include "cc/minmax.h"

enum { VARIANT, MIN_RTT, T_LOW, T_HIGH, ADD_RATE, BETA, BETA_HIGH, ALPHA, HAI_THRESH, HAI_N,
       HAI_LOW, SCALE, MIN_RATE, MAX_RATE, INIT_RATE, NPARAMS };

#define TINY_US 1e-3 /* smallest divisor */
#define MOST_US 1e15 /* limit of RTTs, so that arithmetic stays finite */

#define LOSS_SHARE 0.5 /* share of the rate that a loss leaves */

enum { SCALED, SNIPPET, PAPER, PATCHED, PATCHED_PURE, NS3 };
static const char *const variants[] = {
	"scaled", "snippet", "paper", "patched", "patched_pure", "ns3", NULL
};

enum branch { B_NONE, B_IGNORED, B_WAIT, B_LOW, B_HIGH, B_AI, B_HAI, B_MD, B_PATCH, BRANCHES };
static const char *const branches[][BRANCHES] = {
	{ "none", "ignored", "wait", "low", "high", "ai", "hai", "md", "patch" },
	{ "none", "ignored", "wait", "low+cap", "high+cap", "ai+cap", "hai+cap", "md+cap",
	  "patch+cap" },
};

static const struct ccs_cc_param params[NPARAMS] = {
	[VARIANT] = { "variant", "", 0, 0, 0, variants,
		"published forms, and scaled, for many flows", "TIMELY; CoNEXT 2016, Algorithm 2" },
	[MIN_RTT] = { "min_rtt", "us", NAN, 1e-3, 1e9, NULL,
		"normalises the gradient; unloaded RTT and two segment times, at least ten",
		"TIMELY 4.3" },
	[T_LOW] = { "t_low", "us", NAN, 0, 1e9, NULL,
		"below this RTT the rate only grows", "TIMELY 4.4" },
	[T_HIGH] = { "t_high", "us", NAN, 0, 1e9, NULL,
		"above this RTT the rate falls whatever the gradient", "TIMELY 4.4" },
	[ADD_RATE] = { "add_rate", "bit/s", NAN, 0, 1e15, NULL,
		"additive increase per min_rtt", "TIMELY 4.3" },
	[BETA] = { "beta", "", NAN, 0, 1, NULL,
		"multiplicative decrease factor: 0.8, patched 0.008",
		"TIMELY 6; CoNEXT 2016, Algorithm 2" },
	[BETA_HIGH] = { "beta_high", "", NAN, 0, 1, NULL,
		"the factor above t_high: beta, patched 0.8",
		"TIMELY 6; patched: drains the start's backlog" },
	[ALPHA] = { "alpha", "", NAN, 0, 1, NULL,
		"weight of the newest difference in the average: 0.02, patched 0.1, ns3 0.875",
		"TIMELY authors' code" },
	[HAI_THRESH] = { "hai_thresh", "", 5, 1, 1e6, NULL,
		"consecutive falling RTTs before hyperactive increase", "TIMELY 4.3" },
	[HAI_N] = { "hai_n", "", 5, 1, 1e3, NULL,
		"hyperactive increase is this many times add_rate", "TIMELY 4.3" },
	[HAI_LOW] = { "hai_low", "", NAN, 0, 1e6, NULL,
		"min_rtts below t_low before hyperactive increase, which then grows; 0: never",
		"derived: scaled 30, others 0" },
	[SCALE] = { "scale", "us", NAN, 0, 1e9, NULL,
		"raises both thresholds, times the square root of bottleneck rate / rate",
		"derived: scaled a segment time, others 0" },
	[MIN_RATE] = { "min_rate", "bit/s", NAN, 1, 1e15, NULL,
		"floor of the rate", "derived: bottleneck rate / 4000, else line rate / 40000" },
	[MAX_RATE] = { "max_rate", "bit/s", NAN, 1, 1e15, NULL,
		"ceiling of the rate", "TIMELY 5: line rate" },
	[INIT_RATE] = { "init_rate", "bit/s", NAN, 1, 1e15, NULL,
		"rate of a new flow", "derived: line rate / flows of this host" },
};

struct timely {
	double prev_rtt, avg_diff, last, gradient;
	double low;                  /* time below t_low, in min_rtts, at most 1 per sample */
	double cut_us, cut_rtt;      /* last RTT that was compared above t_high; 0: not above */
	uint64_t window;             /* ns3: snd_nxt of the last step */
	unsigned neg;                /* consecutive falls; ns3: consecutive increases */
	enum branch branch;
	bool capped;
};

static bool is_patched(const double *p)
{
	return p[VARIANT] == PATCHED || p[VARIANT] == PATCHED_PURE;
}

/* delta_factor scales steps, and a decrease is at most a half. */
static bool is_limited(const double *p)
{
	return p[VARIANT] == SCALED || p[VARIANT] == SNIPPET || p[VARIANT] == PATCHED;
}

/*
 * Defaults are in segment times at the bottleneck, the steps in which other flows change its queue:
 * - t_low is above the unloaded RTT and its jitter (TIMELY Fig. 15: the throughput knee moves with
 *   the segment). t_high is a band above it, within the switch's queue; the shortest measured queue
 *   was 256 KB with 16 flows at 10 Gb/s.
 * - min_rtt normalises the gradient and paces the increase. With less than two segment times above
 *   the unloaded RTT, a segment of another flow would look like steep congestion (the paper has
 *   20 us and segments of 13 us). It is at least eight: flows that complete less than a segment
 *   in it increase in proportion to their rate, and 16 of them stay unequal for seconds.
 *
 * scaled is for more flows. Each of N flows reacts once in N segment times. In a round they add
 * N * add_rate, and their phases alone change the queue by sqrt(N) segments. So steps are smaller,
 * and the thresholds rise by a segment for each sqrt(bottleneck / rate): a flow below its share
 * increases while others decrease, as with flow scaling in Swift (SIGCOMM 2020, 3.5). The increase
 * below t_low makes up for the smaller step.
 */
static const struct tuning {
	double low, band, min_rtt, steps, scale, hai_low;
} tuned[] = { { 4, 12, 8, 1000, 0, 0 }, [true] = { 1, 8, 10, 2000, 1, 30 } };

/*
 * beta of patched leads to a queue of N * add_rate / (beta * C) above t_low. As the factor above
 * t_high it would drain the backlog of a start in seconds only, so beta_high differs. ns3 has the
 * thresholds of its simulator on any path.
 */
static void derive(const struct ccs_cc_path *path, double *p)
{
	const struct tuning *tune = &tuned[p[VARIANT] == SCALED];
	const bool ns3 = p[VARIANT] == NS3;
	const double ser = ccs_cc_segment_us(path, path->segment);
	const double low = ns3 ? 50 : path->base_rtt_us + path->rtt_jitter_us + tune->low * ser;
	const double t_low = isnan(p[T_LOW]) ? low : p[T_LOW];
	/* 4000 flows fit into the bottleneck; if it is unknown it may be a tenth of the line. */
	const double min_rate = ccs_cc_bottleneck(path) / (path->bottleneck_rate > 0 ? 4e3 : 40e3);
	const double derived[NPARAMS] = {
		[MIN_RTT] = ns3 ? 20 : ccs_max(path->base_rtt_us + 2 * ser, tune->min_rtt * ser),
		[T_LOW] = ccs_min(t_low, p[T_HIGH]),
		[T_HIGH] = t_low + (ns3 ? 450 : ccs_max(8 * path->rtt_jitter_us, tune->band * ser)),
		[ADD_RATE] = ccs_cc_bottleneck(path) / tune->steps,
		[BETA] = is_patched(p) ? 0.008 : 0.8,
		[BETA_HIGH] = is_patched(p) || isnan(p[BETA]) ? 0.8 : p[BETA],
		[ALPHA] = ns3 ? 0.875 : is_patched(p) ? 0.1 : 0.02,
		[HAI_LOW] = tune->hai_low,
		[SCALE] = tune->scale * ser,
		[MIN_RATE] = ccs_min(min_rate, p[MAX_RATE]),
		[MAX_RATE] = path->line_rate,
		[INIT_RATE] = path->line_rate / ccs_max(1, path->flows),
	};

	ccs_cc_fill(p, derived, NPARAMS);
}

/* The filter of all variants; returns delta_factor. */
static double learn(struct timely *t, const double *p, const struct ccs_cc_ack *ack)
{
	const double prev = t->prev_rtt == 0 ? ack->rtt_us : t->prev_rtt;
	const double diff = ack->rtt_us - prev;
	const double df = ccs_min((ack->now_us - t->last) / p[MIN_RTT], 1);

	t->avg_diff = (1 - p[ALPHA]) * t->avg_diff + p[ALPHA] * diff;
	t->gradient = t->avg_diff / p[MIN_RTT];
	if (p[VARIANT] != NS3)
		t->neg = (p[VARIANT] == PAPER ? t->gradient : diff) < 0 ? t->neg + 1 : 0;
	t->prev_rtt = ack->rtt_us;
	t->last = ack->now_us;
	return is_limited(p) ? df : 1;
}

/* Consecutive falls of the RTT, in ns3 increases of the rate, make an increase hyperactive. */
static double hyper(const struct timely *t, const double *p)
{
	return t->neg >= p[HAI_THRESH] ? p[HAI_N] : 1;
}

/*
 * Below t_low the RTT is at its base, so its falls have no meaning. A long time below t_low means
 * free capacity, and the factor grows with that time. The number of samples does not measure the
 * time: an RTT of 1 ms may have a hundred samples before an increase has an effect.
 */
static double below(struct timely *t, const double *p, double rate, double df)
{
	double n = p[VARIANT] == NS3 ? hyper(t, p) : 1;

	if (p[HAI_LOW] > 0 && t->low >= p[HAI_LOW])
		n = p[HAI_N] * t->low / p[HAI_LOW];
	t->branch = B_LOW;
	return rate + n * p[ADD_RATE] * df;
}

static double by_gradient(struct timely *t, const double *p, double rate, double df)
{
	if (t->gradient <= 0) {
		const double n = hyper(t, p);

		t->branch = n > 1 ? B_HAI : B_AI;
		return rate + n * p[ADD_RATE] * df;
	}
	t->branch = B_MD;
	return rate * (1 - p[BETA] * t->gradient); /* df does not scale it, as published */
}

/* CoNEXT 2016, Algorithm 2: increase and decrease, weighted by the gradient. */
static double patched(struct timely *t, const double *p, double rate, double df)
{
	const double ref = ccs_max(p[T_LOW], TINY_US);
	const double w = ccs_min(ccs_max(2 * t->gradient + 0.5, 0), 1);
	const double err = (t->prev_rtt - ref) / ref;

	t->branch = B_PATCH;
	return p[ADD_RATE] * df * (1 - w) + rate * (1 - p[BETA] * df * w * err);
}

/*
 * Above t_high a cut has an effect one RTT later. If each sample until then caused another cut,
 * flows whose port slows down would halve their rates ten times for one queue, and idle for a long
 * time. A queue that falls needs no further cut.
 */
static bool cut_is_due(struct timely *t, const struct ccs_cc_ack *ack)
{
	const double before = t->cut_rtt;

	if (ack->now_us - t->cut_us < ack->rtt_us)
		return false;
	t->cut_us = ack->now_us;
	t->cut_rtt = ack->rtt_us;
	return ack->rtt_us >= before;
}

/* The new rate before clamping. */
static double next_rate(struct ccs_cc *cc, struct timely *t, const struct ccs_cc_ack *ack)
{
	const double *p = cc->param;
	const double rate = cc->out.rate, rtt = ack->rtt_us;
	const double df = learn(t, p, ack);
	const double lift = p[SCALE] > 0 ? p[SCALE] * sqrt(ccs_cc_bottleneck(&cc->path) / rate) : 0;
	const double t_high = p[T_HIGH] + lift;

	if (rtt <= t_high)
		t->cut_rtt = 0;
	if (rtt < p[T_LOW] + lift) {
		t->low += df;
		return below(t, p, rate, df);
	}
	t->low = 0;
	if (rtt > t_high) {
		t->branch = B_WAIT;
		if (p[VARIANT] == SCALED && !cut_is_due(t, ack))
			return rate;
		t->branch = B_HIGH;
		return rate * (1 - df * p[BETA_HIGH] * (1 - t_high / rtt));
	}
	return is_patched(p) ? patched(t, p, rate, df) : by_gradient(t, p, rate, df);
}

/* A step is due when the data that was sent by the last step is acknowledged. */
static double next_window(struct ccs_cc *cc, struct timely *t, const struct ccs_cc_ack *ack)
{
	const bool first = t->window == 0;
	double next;

	t->branch = B_WAIT;
	if (ack->ack_seq <= t->window)
		return cc->out.rate;
	t->window = ack->snd_nxt;
	if (first) {
		t->prev_rtt = ack->rtt_us;
		return cc->out.rate;
	}
	next = next_rate(cc, t, ack);
	t->neg = t->branch == B_LOW || t->branch == B_AI || t->branch == B_HAI ? t->neg + 1 : 0;
	return next;
}

/* The floor takes precedence. */
static void set_rate(struct ccs_cc *cc, double rate)
{
	cc->out.rate = ccs_max(ccs_min(rate, cc->param[MAX_RATE]), cc->param[MIN_RATE]);
}

/* Published forms ignore losses, so flows at a short queue lose packets again and again. */
static void on_loss(struct ccs_cc *cc, double now_us)
{
	(void)now_us;
	if (cc->param[VARIANT] == SCALED)
		set_rate(cc, cc->out.rate * LOSS_SHARE);
}

static void on_init(struct ccs_cc *cc)
{
	*CCS_CC_PRIV(struct timely, cc) = (struct timely){ .cut_us = -INFINITY };
	set_rate(cc, cc->param[INIT_RATE]);
	cc->out.window = 0;
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
	next = cc->param[VARIANT] == NS3 ? next_window(cc, t, ack) : next_rate(cc, t, ack);
	t->capped = is_limited(cc->param) && next < 0.5 * rate;
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
	.abi = CCS_CC_ABI, .size = sizeof(struct ccs_cc_ops),
	.name = "timely",
	.doc = "rate from the gradient of the round-trip time; needs nothing of peer or switch",
	.needs = CCS_NEEDS_RTT,
	.params = params, .nparams = NPARAMS, .derive = derive,
	.on_init = on_init, .on_ack = on_ack, .on_loss = on_loss,
	.set_rate = set_rate, .observe = observe,
};
