/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Swift (Kumar et al., SIGCOMM 2020): a window that keeps the delay at a target.
 *
 * Below the target the window grows by ai segments per RTT. Above it the window falls in proportion
 * to the excess, at most once per RTT. The target rises as the window falls (flow scaling), because
 * the queue of many flows varies more, and would starve some of them. The window is paced over the
 * RTT; a window below a segment is a segment in more than one RTT.
 *
 * A segment is the data of one acknowledgement: a message that is not split counts as one segment
 * of any length.
 */
#include <math.h>
#include <string.h>

#include "cc/cc.h"
#include "cc/minmax.h"

enum { BASE_TARGET, FS_RANGE, FS_MIN, FS_MAX, AI, BETA, MAX_MDF, INIT_WINDOW, SEGMENT, MIN_WINDOW,
       MIN_RATE, NPARAMS };

#define RESET_LOSSES 5 /* consecutive losses after which the path counts as broken */

static const struct ccs_cc_param params[NPARAMS] = {
	[BASE_TARGET] = { "base_target", "us", NAN, 1e-3, 1e9, NULL,
		"delay that is no congestion: unloaded RTT, jitter and a segment",
		"csg-htsim swift.cpp" },
	[FS_RANGE] = { "fs_range", "us", NAN, 0, 1e9, NULL,
		"most that flow scaling adds to the target", "derived: eleven segment times" },
	[FS_MIN] = { "fs_min", "", 0.1, 1e-6, 1e6, NULL,
		"window, in segments, at which flow scaling adds all of fs_range",
		"csg-htsim swift.cpp" },
	[FS_MAX] = { "fs_max", "", 100, 1e-6, 1e6, NULL,
		"window, in segments, above which it adds nothing", "csg-htsim swift.cpp" },
	[AI] = { "ai", "", 1, 0, 1e6, NULL,
		"additive increase per RTT, in segments", "csg-htsim swift.cpp" },
	[BETA] = { "beta", "", 0.8, 0, 1, NULL,
		"weight of the excess delay in a decrease", "csg-htsim swift.cpp" },
	[MAX_MDF] = { "max_mdf", "", 0.5, 0, 1, NULL,
		"most that one decrease takes", "csg-htsim swift.cpp" },
	[INIT_WINDOW] = { "init_window", "bytes", NAN, 1, 1e12, NULL,
		"window of a new flow", "derived: its share of the BDP, at least one segment" },
	[SEGMENT] = { "segment", "bytes", NAN, 1, 1e9, NULL,
		"unit of the window", "derived: the data of an acknowledgement" },
	[MIN_WINDOW] = { "min_window", "bytes", NAN, 1e-3, 1e12, NULL,
		"floor of the window", "derived: a hundredth of a segment" },
	[MIN_RATE] = { "min_rate", "bit/s", NAN, 1, 1e15, NULL,
		"floor of the rate of a window below a segment", "derived: slowest link / 4000" },
};

struct swift {
	double cwnd;                     /* segments */
	double target_us;                /* at the last acknowledgement */
	double rtt_us;                   /* last RTT; 0: no RTT yet */
	double whole;                    /* data of the last acknowledgement, segments, >= 1 */
	double decrease_us;              /* time of the last decrease */
	unsigned losses;                 /* since the last acknowledgement */
};

/*
 * base_target is the delay of an unloaded path with its jitter and a segment of another flow. At
 * fs_min the target is eleven segment times longer. At min_window a segment leaves in 100 RTTs, but
 * not below min_rate: an RTT that contains a stall of the host may have any length, and no other
 * RTT is measured before that segment.
 */
static void derive(const struct ccs_cc_path *path, double *p)
{
	const double segment = isnan(p[SEGMENT]) ? path->segment : p[SEGMENT];
	const double line = ccs_cc_bottleneck(path);
	const double ser = ccs_cc_segment_us(path, segment);
	const double bdp = line * path->base_rtt_us / 8e6 + segment;
	const double derived[NPARAMS] = {
		[BASE_TARGET] = path->base_rtt_us + path->rtt_jitter_us + ser,
		[FS_RANGE] = 11 * ser,
		[INIT_WINDOW] = ccs_max(bdp / ccs_max(1, path->flows), segment),
		[SEGMENT] = segment,
		[MIN_WINDOW] = segment / 100,
		[MIN_RATE] = line / 4000,
	};

	ccs_cc_fill(p, derived, NPARAMS);
}

/* Flow scaling: the addition to the target, us. */
static double flow_scaling(const double *p, double cwnd)
{
	const double at_max = 1 / sqrt(p[FS_MAX]);
	const double a = p[FS_RANGE] / (1 / sqrt(p[FS_MIN]) - at_max);
	const double b = -a * at_max;

	if (p[FS_MIN] >= p[FS_MAX]) /* no slope between them, but a step */
		return cwnd < p[FS_MIN] ? p[FS_RANGE] : 0;
	return ccs_min(ccs_max(a / sqrt(cwnd) + b, 0), p[FS_RANGE]);
}

static double segment_us(const struct ccs_cc *cc)
{
	return ccs_cc_segment_us(&cc->path, cc->param[SEGMENT]);
}

/* For long messages the segment of another flow and flow scaling are longer in proportion. */
static double target_us(const struct ccs_cc *cc, const struct swift *s)
{
	const double longer = (s->whole - 1) * segment_us(cc);

	return cc->param[BASE_TARGET] + longer +
	       s->whole * flow_scaling(cc->param, s->cwnd / s->whole);
}

/*
 * The limit of the window, which grows without congestion if the application or max_rate limits
 * the flow: the data of a lone flow at the highest target, and the end of flow scaling.
 */
static double max_cwnd(const struct ccs_cc *cc, const struct swift *s)
{
	const double *p = cc->param;
	const double most = cc->path.line_rate *
			    (p[BASE_TARGET] + s->whole * (p[FS_RANGE] + segment_us(cc))) / 8e6;

	return ccs_max(ccs_max(most, p[INIT_WINDOW]) / p[SEGMENT], s->whole * p[FS_MAX]);
}

/* The RTT without the time of a long message on the link. */
static double rtt_of(const struct ccs_cc *cc, const struct swift *s)
{
	const double own_us = (s->whole - 1) * segment_us(cc);

	if (!(s->rtt_us > 0))
		return cc->path.base_rtt_us;
	return own_us > 0 ? ccs_max(s->rtt_us - own_us, ccs_min(s->rtt_us, cc->path.base_rtt_us))
			  : s->rtt_us;
}

/*
 * The window is paced over an RTT, because acknowledgements of the other direction wait for a burst
 * in the NIC.
 */
static double paced(const struct ccs_cc *cc, const struct swift *s)
{
	const double rate = 8e6 * cc->out.window / rtt_of(cc, s);

	return ccs_min(ccs_max(rate, cc->param[MIN_RATE]), cc->path.line_rate);
}

/* The floor takes precedence. */
static void set_cwnd(struct ccs_cc *cc, struct swift *s, double cwnd)
{
	const double *p = cc->param;

	s->cwnd = ccs_max(ccs_min(cwnd, max_cwnd(cc, s)), s->whole * p[MIN_WINDOW] / p[SEGMENT]);
	cc->out.window = s->cwnd * p[SEGMENT];
	cc->out.rate = paced(cc, s);
}

static void on_init(struct ccs_cc *cc)
{
	struct swift *s = CCS_CC_PRIV(struct swift, cc);

	memset(s, 0, sizeof(*s));
	s->decrease_us = -INFINITY;
	s->whole = 1;
	set_cwnd(cc, s, cc->param[INIT_WINDOW] / cc->param[SEGMENT]);
	s->target_us = target_us(cc, s);
}

static void on_ack(struct ccs_cc *cc, const struct ccs_cc_ack *ack)
{
	struct swift *s = CCS_CC_PRIV(struct swift, cc);
	const double *p = cc->param, delay = ack->rtt_us, n = ack->bytes / p[SEGMENT];
	double cwnd = s->cwnd;

	if (!(delay > 0 && delay < INFINITY))
		return;
	s->rtt_us = delay;
	s->losses = 0;
	s->whole = ccs_max(n, 1);
	s->target_us = target_us(cc, s);
	if (delay < s->target_us) {
		cwnd += p[AI] * n * (cwnd >= s->whole ? s->whole / cwnd : 1);
	} else if (ack->now_us - s->decrease_us >= delay) {
		cwnd *= ccs_max(1 - p[BETA] * (delay - s->target_us) / delay, 1 - p[MAX_MDF]);
		s->decrease_us = ack->now_us;
	}
	set_cwnd(cc, s, cwnd);
}

static void on_loss(struct ccs_cc *cc, double now_us)
{
	struct swift *s = CCS_CC_PRIV(struct swift, cc);

	if (++s->losses >= RESET_LOSSES) {
		set_cwnd(cc, s, 0);
	} else if (now_us - s->decrease_us >= s->rtt_us) {
		s->decrease_us = now_us;
		set_cwnd(cc, s, s->cwnd * (1 - cc->param[MAX_MDF]));
	}
}

static void set_rate(struct ccs_cc *cc, double rate)
{
	struct swift *s = CCS_CC_PRIV(struct swift, cc);
	const double window = ccs_min(rate, cc->path.line_rate) * rtt_of(cc, s) / 8e6;

	set_cwnd(cc, s, window / cc->param[SEGMENT]);
}

static unsigned observe(const struct ccs_cc *cc, struct ccs_cc_obs *obs, unsigned max)
{
	const struct swift *s = (const struct swift *)(const void *)cc->priv;
	const struct ccs_cc_obs all[] = {
		{ "target_us", s->target_us, NULL },
		{ "cwnd_segments", s->cwnd, NULL },
	};

	return ccs_cc_observed(obs, max, all, sizeof(all) / sizeof(*all));
}

const struct ccs_cc_ops ccs_cc_swift = {
	.abi = CCS_CC_ABI, .size = sizeof(struct ccs_cc_ops),
	.name = "swift",
	.doc = "window that holds the round-trip time at a target; needs nothing of peer or switch",
	.needs = CCS_NEEDS_RTT,
	.params = params, .nparams = NPARAMS, .derive = derive,
	.on_init = on_init, .on_ack = on_ack, .on_loss = on_loss,
	.set_rate = set_rate, .observe = observe,
};
