/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rcp: each flow sends at the rate that the receiver advises (cc/advice.h), the same for all flows.
 *
 * Window: the data of that rate on an empty path, a few segments for queues by chance, and the
 * jitter of the hosts. It limits the flow when advice ceases. It is at least two segments, and two
 * until the first advice, because any number of flows may begin together. With one segment, no
 * later packet would show a loss to the receiver, and the flow would wait for a timeout.
 *
 * Ceiling: a bottleneck that no agent measures shows in delay alone. While RTTs stay above the
 * possible queue of advised flows and no measured link is busy, a ceiling falls below the advised
 * rate; then it rises again. A loss also sets it, to half the rate: a flow that waits for its
 * retransmission is not counted, and the others are advised more until records show it again.
 *
 * Spread: segments of equal rates that meet in a queue would meet in each round, see set_spread().
 */
#include <math.h>
#include <string.h>

#include "cc/cc.h"
#include "cc/hops.h"
#include "cc/host_jitter.h"
#include "cc/minmax.h"

enum { QUEUE_ALLOWANCE, TARGET, DELAY_RTTS, BETA, MIN_RATE, INIT_RATE, NPARAMS };

#define BUSY 0.9                 /* load at which a measured link may be the bottleneck */
#define RISE 1.1                 /* factor of the ceiling per RTT */
#define SPREAD 0.01              /* largest deviation of the rate from the advice, as a share */
#define DRAIN 0.02               /* largest reduction while a queue does not drain, as a share */
#define EVIDENCE 32              /* consecutive RTTs above the target before the ceiling falls */
#define JITTER_DECAY (1 / 4096.0) /* per RTT at a full link; an advised link is almost full */

static const struct ccs_cc_param params[NPARAMS] = {
	[QUEUE_ALLOWANCE] = { "queue_allowance", "", 4, 0, 1e3, NULL,
		"segment times of the slowest link in the window besides the base RTT", "ccshim" },
	[TARGET] = { "target", "us", NAN, 1e-3, 1e9, NULL,
		"RTT above which an unmeasured link is congested",
		"derived: base RTT, noise and 8 segment times" },
	[DELAY_RTTS] = { "delay_rtts", "", 4, 0, 1e6, NULL,
		"RTTs that are above the target before the ceiling falls", "ccshim" },
	[BETA] = { "beta", "", 0.5, 0, 1, NULL,
		"weight of the excess delay in a fall of the ceiling", "Swift 3.1" },
	[MIN_RATE] = { "min_rate", "bit/s", NAN, 1, 1e15, NULL,
		"floor of the ceiling", "derived: line rate / 1000" },
	[INIT_RATE] = { "init_rate", "bit/s", NAN, 1, 1e15, NULL,
		"rate until the first advice", "derived: line rate / flows of this host" },
};

struct rcp {
	struct ccs_hops last;
	double advised;                  /* bit/s; 0: no advice yet */
	double ceiling;                  /* bit/s; INFINITY: no ceiling */
	double load;                     /* load of the busiest measured link; 0: unknown */
	double own;                      /* rate until new advice arrives, bit/s; INFINITY after */
	double min_rtt_us;               /* INFINITY: no RTT yet */
	struct ccs_jitter jitter;
	double jitter_us;                /* largest jitter while no measured link was full */
	double lost_us;                  /* time of the last loss */
	double spread;                   /* factor of the advised rate */
	double above_us;                 /* first of the consecutive RTTs above the target */
	double moved_us;                 /* last change of the ceiling */
	unsigned flows;                  /* number of flows in telemetry */
	unsigned above;                  /* number of consecutive RTTs above the target */
	int settled;                     /* 1: enough RTTs since the last loss */
	bool started;                    /* has an advised or given rate */
};

static void derive(const struct ccs_cc_path *path, double *p)
{
	const double ser = ccs_cc_segment_us(path, path->segment);
	const double derived[NPARAMS] = {
		[TARGET] = path->base_rtt_us + path->rtt_jitter_us + 8 * ser,
		[MIN_RATE] = path->line_rate / 1000,
		[INIT_RATE] = path->line_rate / ccs_max(1, path->flows),
	};

	ccs_cc_fill(p, derived, NPARAMS);
}

/* The path's base RTT may be a guess at first: the minimum RTT counts if it is larger. */
static double base_us(const struct ccs_cc *cc, const struct rcp *r)
{
	return r->min_rtt_us < INFINITY ? ccs_max(cc->path.base_rtt_us, r->min_rtt_us)
				      : cc->path.base_rtt_us;
}

static void set_outputs(struct ccs_cc *cc, const struct rcp *r)
{
	const double advised = r->advised > 0 ? ccs_min(r->advised * r->spread, r->own) : r->own;
	const double rate = ccs_min(ccs_min(advised, r->ceiling), cc->path.line_rate);
	const double ser = ccs_cc_segment_us(&cc->path, cc->path.segment);
	const double late = ccs_max(cc->path.rtt_jitter_us, r->jitter_us);
	const double us = base_us(cc, r) + late + cc->param[QUEUE_ALLOWANCE] * ser;
	const double under_way = r->started ? rate * us / 8e6 : 0;

	cc->out.rate = rate;
	cc->out.window = ccs_max(under_way, cc->path.segment) + cc->path.segment;
	/* Late hosts cannot act on more frequent records, which cost CPU time. */
	cc->out.telemetry_period_us = cc->path.base_rtt_us + (r->load < BUSY ? r->jitter_us : 0);
	cc->out.utilisation = r->load;
}

static void on_init(struct ccs_cc *cc)
{
	struct rcp *r = CCS_CC_PRIV(struct rcp, cc);

	memset(r, 0, sizeof(*r));
	r->ceiling = r->min_rtt_us = INFINITY;
	r->spread = 1;
	r->settled = -CCS_HOST_JITTER_SAMPLES;
	r->own = cc->param[INIT_RATE];
	set_outputs(cc, r);
}

/* Earlier advice may be out of date: the lower rate applies until new advice arrives. */
static void set_rate(struct ccs_cc *cc, double rate)
{
	struct rcp *r = CCS_CC_PRIV(struct rcp, cc);

	r->own = ccs_max(rate, cc->param[MIN_RATE]);
	r->started = true;
	set_outputs(cc, r);
}

static void handle_records(struct rcp *r, const struct ccs_cc_ack *ack)
{
	double tau;

	if (ack->flows)
		r->flows = ack->flows;
	if (ccs_hops_continue(&r->last, ack) &&
	    !ccs_hops_measure(&r->last, ack, INFINITY, false, 0, &r->load, &tau))
		return;
	ccs_hops_store(&r->last, ack);
}

/*
 * Windows do not limit flows with less than a segment per RTT, so their queue drains only by the
 * 2 % that the advice leaves free. While their segments wait for longer than chance explains, they
 * slow down by up to another 2 %. With more the advice would rise, and the queue would return.
 */
static double drain(const struct ccs_cc *cc, const struct rcp *r, double waited_us)
{
	const double segment_us = ccs_cc_segment_us(&cc->path, cc->path.segment);
	const double apart_us = 8e6 * cc->path.segment / cc->out.rate;
	const double chance = CCS_CHANCE_P99 * sqrt(ccs_max(r->flows, 1));
	const double excess_us = waited_us - chance * segment_us;

	if (r->load < CCS_LOAD_FULL || apart_us < base_us(cc, r) || excess_us <= 0)
		return 0;
	return ccs_min(excess_us / apart_us, DRAIN);
}

/*
 * A flow whose last segment waited sends slower, and a flow whose segment did not wait faster, so
 * that segments spread over time. It is slowest after a wait of a segment's time or longer.
 */
static void set_spread(const struct ccs_cc *cc, struct rcp *r, double rtt_us)
{
	const double waited = rtt_us - base_us(cc, r) - r->jitter_us;
	const double segments = waited / ccs_cc_segment_us(&cc->path, cc->path.segment);

	r->spread = 1 + SPREAD * (1 - 2 * ccs_min(ccs_max(segments, 0), 1)) -
		    drain(cc, r, waited);
}

/* RTTs that contain a retransmission do not count. */
static void learn_jitter(struct rcp *r, const struct ccs_cc_ack *ack)
{
	if (ack->now_us - ack->rtt_us < r->lost_us)
		return;
	ccs_jitter_add(&r->jitter, ack->rtt_us);
	r->settled += r->settled <= 0;
	if (!(r->load > 0 && r->load < CCS_LOAD_FULL))
		r->jitter_us *= 1 - JITTER_DECAY;
	else if (r->settled > 0)
		r->jitter_us = ccs_max(r->jitter_us, ccs_jitter_us(&r->jitter));
}

/* The target for the number of flows, whose segments wait by chance. */
static double target_us(const struct ccs_cc *cc, const struct rcp *r)
{
	return cc->param[TARGET] + r->jitter_us / 2 +
	       2 * r->flows * ccs_cc_segment_us(&cc->path, cc->path.segment);
}

/* Once per RTT. */
static void move_ceiling(struct ccs_cc *cc, struct rcp *r, double rtt_us, double target)
{
	const double excess = (rtt_us - target) / rtt_us;

	if (excess > 0)
		r->ceiling = ccs_max(cc->out.rate * (1 - cc->param[BETA] * excess),
				     cc->param[MIN_RATE]);
	else
		r->ceiling *= RISE;
	if (r->ceiling >= r->advised)
		r->ceiling = INFINITY;
}

static void check_delay(struct ccs_cc *cc, struct rcp *r, const struct ccs_cc_ack *ack)
{
	const double target = target_us(cc, r), now = ack->now_us, rtt = ack->rtt_us;
	const bool above = rtt > target && r->load < BUSY;

	r->above = above ? r->above + 1 : 0;
	if (r->above == 1)
		r->above_us = now;
	if (now < r->moved_us + rtt || (above ? r->above < EVIDENCE : r->ceiling == INFINITY))
		return;
	if (above && now < r->above_us + cc->param[DELAY_RTTS] * rtt)
		return;
	r->moved_us = now;
	move_ceiling(cc, r, above ? rtt : target, target);
}

static void on_ack(struct ccs_cc *cc, const struct ccs_cc_ack *ack)
{
	struct rcp *r = CCS_CC_PRIV(struct rcp, cc);

	if (ack->advised_rate > 0) {
		if (ack->bytes == 0 || ack->advised_rate != r->advised)
			r->own = INFINITY;
		r->advised = ack->advised_rate;
		r->started = true;
	}
	if (ack->nhops > 0 && ack->nhops <= CCS_CC_MAX_HOPS)
		handle_records(r, ack);
	if (ack->rtt_us > 0 && ack->rtt_us < INFINITY) {
		r->min_rtt_us = ccs_min(r->min_rtt_us, ack->rtt_us);
		learn_jitter(r, ack);
		set_spread(cc, r, ack->rtt_us);
		if (r->advised > 0)
			check_delay(cc, r, ack);
	}
	set_outputs(cc, r);
}

/*
 * A loss halves the jitter: if the window overflows an unmeasured queue, further losses soon reduce
 * it to zero. A single loss may be due to a host that was stalled for longer than the timeout.
 */
static void on_loss(struct ccs_cc *cc, double now_us)
{
	struct rcp *r = CCS_CC_PRIV(struct rcp, cc);

	r->lost_us = now_us;
	r->settled = -CCS_HOST_JITTER_LOSS_SAMPLES;
	r->jitter_us *= CCS_HOST_JITTER_LOSS_SHARE;
	r->ceiling = ccs_max(cc->out.rate / 2, cc->param[MIN_RATE]);
	r->moved_us = now_us;
	set_outputs(cc, r);
}

static unsigned observe(const struct ccs_cc *cc, struct ccs_cc_obs *obs, unsigned max)
{
	const struct rcp *r = (const struct rcp *)(const void *)cc->priv;
	const struct ccs_cc_obs all[] = {
		{ "advised_rate", r->advised, NULL },
		{ "ceiling", r->ceiling == INFINITY ? 0 : r->ceiling, NULL },
		{ "jitter_us", r->jitter_us, NULL },
		{ "load", r->load, NULL },
		{ "flows", r->flows, NULL },
	};

	return ccs_cc_observed(obs, max, all, sizeof(all) / sizeof(*all));
}

const struct ccs_cc_ops ccs_cc_rcp = {
	.abi = CCS_CC_ABI, .size = sizeof(struct ccs_cc_ops),
	.name = "rcp",
	.doc = "the rate that the receiver advises to all flows alike; needs agents",
	.needs = CCS_NEEDS_ADVICE,
	.params = params, .nparams = NPARAMS, .derive = derive,
	.on_init = on_init, .on_ack = on_ack, .on_loss = on_loss,
	.set_rate = set_rate, .observe = observe, .start_rate = ccs_hops_start_rate,
	.fallback = "swift",
};
