/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Swift (Kumar et al., SIGCOMM 2020): a window that holds the delay at a target.
 *
 * The window grows by ai segments per RTT below the target and falls in proportion to
 * the excess above it, at most once per RTT. The target rises as the window falls, so
 * that many flows, whose queue varies more, do not starve each other. A window goes out evenly
 * over the RTT; one below a segment is a segment in more than one RTT.
 *
 * The segment of these rules is what is acknowledged as a whole: a message that cannot be split
 * counts as one, however long.
 *
 * The delay includes the wait in the host's own NIC. Without it a window whose data waits there
 * grew until the network's part reached the target, and acknowledgements of the other direction
 * waited behind that data.
 *
 * A queue holds every acknowledgement up, jitter only some. Where batches of acknowledgements
 * (cc/batch.h) show that hosts hold them back, the window falls by the least of several delays.
 * Elsewhere it must not: of flows with less than a segment per RTT some would see low delays only.
 */
#include <math.h>
#include <string.h>

#include "cc/batch.h"
#include "cc/cc.h"
#include "cc/minmax.h"

enum { BASE_TARGET, FS_RANGE, FS_MIN, FS_MAX, AI, BETA, MAX_MDF, INIT_WINDOW, SEGMENT, MIN_WINDOW,
       MIN_RATE, NPARAMS };

/* So many losses without an acknowledgement between them: the path is gone. */
#define RESET_LOSSES 5

/*
 * Flows that increase by a segment each until they see the queue of all overshoot together. The
 * increase is smaller within so many segments' times of the target.
 */
#define NEAR_SEGMENTS 4

#define HELD_SHARE 0.04 /* of batches in the window: hosts hold acknowledgements back */
#define LEAST_SAMPLES 4 /* and half an RTT; the least is of so many, and of those before */

static const struct ccs_cc_param params[NPARAMS] = {
	[BASE_TARGET] = { "base_target", "us", NAN, 1e-3, 1e9, NULL,
		"delay that is no congestion: unloaded RTT, noise and a segment", "csg-htsim swift.cpp" },
	[FS_RANGE] = { "fs_range", "us", NAN, 0, 1e9, NULL,
		"most that flow scaling adds to the target", "derived: twelve segment times" },
	[FS_MIN] = { "fs_min", "", 0.1, 1e-6, 1e6, NULL,
		"window, in segments, at which flow scaling adds all of fs_range", "csg-htsim swift.cpp" },
	[FS_MAX] = { "fs_max", "", 100, 1e-6, 1e6, NULL,
		"window, in segments, from which on it adds nothing", "csg-htsim swift.cpp" },
	[AI] = { "ai", "", 1, 0, 1e6, NULL,
		"additive increase per RTT, in segments", "csg-htsim swift.cpp" },
	[BETA] = { "beta", "", 0.8, 0, 1, NULL,
		"weight of the excess delay in a decrease", "csg-htsim swift.cpp" },
	[MAX_MDF] = { "max_mdf", "", 0.5, 0, 1, NULL,
		"most that one decrease takes", "csg-htsim swift.cpp" },
	[INIT_WINDOW] = { "init_window", "bytes", NAN, 1, 1e12, NULL,
		"window of a new flow", "derived: its share of the BDP, at least one segment" },
	[SEGMENT] = { "segment", "bytes", NAN, 1, 1e9, NULL,
		"unit of the window", "derived: what is acknowledged as a whole" },
	[MIN_WINDOW] = { "min_window", "bytes", NAN, 1e-3, 1e12, NULL,
		"floor of the window", "derived: a hundredth of a segment" },
	[MIN_RATE] = { "min_rate", "bit/s", NAN, 1, 1e15, NULL,
		"floor of the rate of a window below a segment", "derived: slowest link / 4000" },
};

struct swift {
	double cwnd;                     /* segments */
	double target_us;                /* of the last acknowledgement */
	double rtt_us;                   /* its delay; 0: none yet */
	double whole;                    /* acknowledged by it, in segments, at least 1 */
	double decrease_us;              /* when the window was last cut */
	struct ccs_batch batch;
	double least_us[2];              /* delay of the last samples, and of those before */
	double since_us;                 /* when the last ones began */
	unsigned samples;                /* of them */
	unsigned losses;                 /* since the last acknowledgement */
};

/*
 * Defaults from the path, ser being a segment's time on the slowest link known: base_target is
 * what an unloaded path shows with its noise and one foreign segment, and at fs_min twelve more.
 * At min_window a segment leaves in a hundred RTTs, but not below min_rate: an RTT that holds
 * an absence of the host may be of any length, and no other comes before that segment.
 */
static void derive(const struct ccs_cc_path *path, double *p)
{
	const double segment = isnan(p[SEGMENT]) ? path->segment : p[SEGMENT];
	const double line = ccs_cc_bottleneck(path);
	const double ser = ccs_cc_segment_us(path, segment);
	const double bdp = line * path->base_rtt_us / 8e6 + segment;
	const double derived[NPARAMS] = {
		[BASE_TARGET] = path->base_rtt_us + path->rtt_jitter_us + ser,
		[FS_RANGE] = 12 * ser,
		[INIT_WINDOW] = ccs_max(bdp / ccs_max(1, path->flows), segment),
		[SEGMENT] = segment,
		[MIN_WINDOW] = segment / 100,
		[MIN_RATE] = line / 4000,
	};

	for (unsigned i = 0; i < NPARAMS; i++)
		if (isnan(p[i]))
			p[i] = derived[i];
}

/* What flow scaling adds to the target, us. */
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

/* In segments as long as what is acknowledged as a whole: a foreign one of them, and scaling. */
static double target_us(const struct ccs_cc *cc, const struct swift *s)
{
	const double longer = (s->whole - 1) * segment_us(cc);

	return cc->param[BASE_TARGET] + longer +
	       s->whole * flow_scaling(cc->param, s->cwnd / s->whole);
}

/*
 * The ceiling: what alone would hold the highest target, and where flow scaling ends.
 * The window of a flow that its application or max_rate limits continues to grow; it stops here.
 */
static double max_cwnd(const struct ccs_cc *cc, const struct swift *s)
{
	const double *p = cc->param;
	const double most = cc->path.line_rate *
			    (p[BASE_TARGET] + s->whole * (p[FS_RANGE] + segment_us(cc))) / 8e6;

	return ccs_max(ccs_max(most, p[INIT_WINDOW]) / p[SEGMENT], s->whole * p[FS_MAX]);
}

/* The RTT from a segment's first byte, without what a long message itself takes to drain. */
static double rtt_of(const struct ccs_cc *cc, const struct swift *s)
{
	const double base = cc->path.base_rtt_us, own_us = (s->whole - 1) * segment_us(cc);
	const double line_us = 8e6 * cc->param[SEGMENT] / cc->path.line_rate;

	if (!(s->rtt_us > 0))
		return base + line_us;
	return ccs_max(s->rtt_us - own_us, ccs_min(s->rtt_us, base)) + line_us;
}

/*
 * The rate at which the window goes out once per RTT. What is faster leaves as a burst, before
 * which the acknowledgements of the other direction wait in the NIC.
 */
static double paced(const struct ccs_cc *cc, const struct swift *s)
{
	const double rate = 8e6 * s->cwnd * cc->param[SEGMENT] / rtt_of(cc, s);

	return ccs_min(ccs_max(rate, cc->param[MIN_RATE]), cc->path.line_rate);
}

/* The floor wins. */
static void set_cwnd(struct ccs_cc *cc, struct swift *s, double cwnd)
{
	const double *p = cc->param;

	s->cwnd = ccs_max(ccs_min(cwnd, max_cwnd(cc, s)), s->whole * p[MIN_WINDOW] / p[SEGMENT]);
	cc->out.window = (s->cwnd + s->whole / 2) * p[SEGMENT];
	cc->out.rate = paced(cc, s);
}

static void on_init(struct ccs_cc *cc)
{
	struct swift *s = CCS_CC_PRIV(struct swift, cc);

	memset(s, 0, sizeof(*s));
	s->decrease_us = -INFINITY;
	s->least_us[0] = s->least_us[1] = INFINITY;
	s->whole = 1;
	set_cwnd(cc, s, cc->param[INIT_WINDOW] / cc->param[SEGMENT]);
	s->target_us = target_us(cc, s);
}

/* The delay by whose distance from the target the window changes. */
static double standing_us(const struct ccs_cc *cc, struct swift *s, const struct ccs_cc_ack *ack,
			  double delay)
{
	ccs_batch_add(&s->batch, &cc->path, ack);
	if (s->samples >= LEAST_SAMPLES && ack->now_us - s->since_us >= delay / 2) {
		s->least_us[1] = s->least_us[0];
		s->least_us[0] = INFINITY;
		s->since_us = ack->now_us;
		s->samples = 0;
	}
	s->samples++;
	s->least_us[0] = ccs_min(s->least_us[0], delay);
	if (s->batch.share <= HELD_SHARE)
		return delay;
	return ccs_min(s->least_us[0], s->least_us[1]);
}

/* Segments per RTT. */
static double increase(const struct ccs_cc *cc, const struct swift *s, double standing)
{
	const double near_us = NEAR_SEGMENTS * segment_us(cc);

	return cc->param[AI] * ccs_min((s->target_us - standing) / near_us, 1);
}

static void on_ack(struct ccs_cc *cc, const struct ccs_cc_ack *ack)
{
	struct swift *s = CCS_CC_PRIV(struct swift, cc);
	const double *p = cc->param, n = ack->bytes / p[SEGMENT];
	const double delay = ack->rtt_us + ack->nic_wait_us;
	double cwnd = s->cwnd, standing;

	if (!(ack->rtt_us > 0 && delay < INFINITY))
		return;
	standing = standing_us(cc, s, ack, delay);
	s->rtt_us = delay;
	s->losses = 0;
	s->whole = ccs_max(n, 1);
	s->target_us = target_us(cc, s);
	if (delay < s->target_us) {
		cwnd += increase(cc, s, standing) * n * (cwnd >= s->whole ? s->whole / cwnd : 1);
	} else if (standing >= s->target_us && ack->now_us - s->decrease_us >= delay) {
		cwnd *= ccs_max(1 - p[BETA] * (standing - s->target_us) / standing,
				1 - p[MAX_MDF]);
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

/* The window that brings this rate at the RTT there is. */
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
	.abi = CCS_CC_ABI,
	.size = sizeof(struct ccs_cc_ops),
	.name = "swift",
	.doc = "window that holds the round-trip time at a target; needs nothing of peer or switch",
	.needs = CCS_NEEDS_RTT,
	.params = params,
	.nparams = NPARAMS,
	.derive = derive,
	.on_init = on_init,
	.on_ack = on_ack,
	.on_loss = on_loss,
	.set_rate = set_rate,
	.observe = observe,
};
