/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rcp: the rate that the receiver advises (cc/advice.h), which is the same for all flows.
 *
 * The window is what that rate has under way on an empty path, with a few segment times of
 * the slowest link for the queue that segments meet by chance: it holds when advice ceases. It is
 * two segments at least. If the only one outstanding is lost, no later packet shows the gap to
 * the receiver, and the flow stops for the queue pair's timeout, which is thousands of RTTs.
 *
 * A bottleneck that no agent measures is seen by the delay alone. While round-trip times stay
 * above what the advised flows can have waiting, and no measured link is busy, a ceiling
 * falls below the advised rate, and rises again when they do not.
 *
 * Flows of equal rates keep the phases that they begin with, so segments that meet in the queue
 * would meet there in every round. A flow therefore sends a little slower after a segment that
 * waited in the queue, and a little faster after one that did not: segments spread over time.
 *
 * Until the first advice the window of a flow that was not controlled before is two segments,
 * because any number of flows may begin at once.
 *
 * While no measured link is full, variation of the RTT is taken for jitter of the hosts. It is
 * added to the window, which would else limit a flow whose host acknowledges late, and half of
 * it to the RTT above which a link counts as congested. While no measured link is busy,
 * telemetry is wanted once per RTT, jitter included: the flow could not act on more frequent
 * records, and they would take CPU time from hosts that are late for lack of it.
 *
 * A loss halves the rate, as a ceiling that rises again: while a flow waits for its retransmission
 * it is not counted, so others are advised more, and a receiver needs records to see that it is back.
 *
 * A loss halves the jitter. Where the window overflows an unmeasured queue, further losses soon
 * reduce it to nothing; a single loss may come from a host that was stalled for longer than the
 * queue pair's timeout.
 */
#include <math.h>
#include <string.h>

#include "cc/cc.h"
#include "cc/hops.h"
#include "cc/jitter.h"
#include "cc/minmax.h"

enum { QUEUE_ALLOWANCE, TARGET, DELAY_RTTS, BETA, MIN_RATE, INIT_RATE, NPARAMS };

#define BUSY 0.9                 /* a load from which on a measured link may be the bottleneck */
#define RISE 1.1                 /* of the ceiling, per RTT */
#define SPREAD 0.01              /* most that the rate is above or below the advice, as a share */
#define DRAIN 0.02               /* most that a flow slows down while a queue does not drain */
#define CHANCE 1.5               /* segments that wait, by the root of the flows: a 99th percentile */
#define EVIDENCE 32              /* RTTs in a row above the target before the ceiling falls */
#define FULL 0.96                /* a load from which on RTTs vary for the measured link's queue */
#define JITTER_SAMPLES 100       /* RTTs before the first, */
#define LOSS_SAMPLES 1000        /* and after a loss, which leaves */
#define LOSS_SHARE 0.5           /* of what was learnt before, and of the rate */
/* Per RTT at a full link: slowly, because one that is used as advised is full by that measure. */
#define JITTER_DECAY (1 / 4096.0)

static const struct ccs_cc_param params[NPARAMS] = {
	[QUEUE_ALLOWANCE] = { "queue_allowance", "", 4, 0, 1e3, NULL,
		"segment times of the slowest link that the window has above the base RTT", "ccshim" },
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
	double advised;                  /* bit/s; 0: none yet */
	double ceiling;                  /* bit/s; INFINITY: none */
	double load;                     /* of the busiest measured link; 0: unknown */
	double own;                      /* bit/s, learnt elsewhere; INFINITY: advice came since */
	double least_us;                 /* of the RTTs so far; INFINITY: none yet */
	struct ccs_jitter jitter;
	double jitter_us;                /* the most that was seen while no measured link was full */
	double lost_us;                  /* the last loss was learnt of */
	double spread;                   /* of the rate, as a factor */
	double above_us;                 /* RTTs are above the target since then, */
	double moved_us;                 /* the ceiling, last */
	unsigned flows;
	unsigned above;                  /* so many; 0: they are not */
	int settled;                     /* RTTs without a loss, up to 1; below that too few */
	bool started;                    /* by advice, or with a rate learnt elsewhere */
};

static void derive(const struct ccs_cc_path *path, double *p)
{
	const double ser = ccs_cc_segment_us(path, path->segment);
	const double derived[NPARAMS] = {
		[TARGET] = path->base_rtt_us + path->rtt_jitter_us + 8 * ser,
		[MIN_RATE] = path->line_rate / 1000,
		[INIT_RATE] = path->line_rate / ccs_max(1, path->flows),
	};

	for (unsigned i = 0; i < NPARAMS; i++)
		if (isnan(p[i]))
			p[i] = derived[i];
}

/* At first the base RTT is not known: what no RTT was below counts then. */
static double base_us(const struct ccs_cc *cc, const struct rcp *r)
{
	return r->least_us < INFINITY ? ccs_max(cc->path.base_rtt_us, r->least_us)
				      : cc->path.base_rtt_us;
}

static void put_out(struct ccs_cc *cc, const struct rcp *r)
{
	const double advised = r->advised > 0 ? ccs_min(r->advised * r->spread, r->own) : r->own;
	const double rate = ccs_min(ccs_min(advised, r->ceiling), cc->path.line_rate);
	const double ser = ccs_cc_segment_us(&cc->path, cc->path.segment);
	const double late = ccs_max(cc->path.rtt_jitter_us, r->jitter_us);
	const double us = base_us(cc, r) + late + cc->param[QUEUE_ALLOWANCE] * ser;
	const double under_way = r->started ? rate * us / 8e6 : 0;

	cc->out.rate = rate;
	cc->out.window = ccs_max(under_way, cc->path.segment) + cc->path.segment;
	cc->out.telemetry_period_us = cc->path.base_rtt_us + (r->load < BUSY ? r->jitter_us : 0);
	cc->out.utilisation = r->load;
}

static void on_init(struct ccs_cc *cc)
{
	struct rcp *r = CCS_CC_PRIV(struct rcp, cc);

	memset(r, 0, sizeof(*r));
	r->ceiling = r->least_us = INFINITY;
	r->spread = 1;
	r->settled = -JITTER_SAMPLES;
	r->own = cc->param[INIT_RATE];
	put_out(cc, r);
}

/* Earlier advice may be out of date: use the lower rate until a new one arrives. */
static void set_rate(struct ccs_cc *cc, double rate)
{
	struct rcp *r = CCS_CC_PRIV(struct rcp, cc);

	r->own = ccs_max(rate, cc->param[MIN_RATE]);
	r->started = true;
	put_out(cc, r);
}

static void take_records(struct rcp *r, const struct ccs_cc_ack *ack)
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
 * Flows whose rate is less than a segment per RTT are not limited by their windows, so a queue of
 * theirs drains only by what the advice leaves of the link. While their segments wait for longer
 * than chance explains, they slow down by as much again. More would let the advice rise meanwhile,
 * and the queue come back.
 */
static double drain(const struct ccs_cc *cc, const struct rcp *r, double waited_us)
{
	const double segment_us = ccs_cc_segment_us(&cc->path, cc->path.segment);
	const double apart_us = 8e6 * cc->path.segment / cc->out.rate;
	const double excess_us = waited_us - CHANCE * sqrt(ccs_max(r->flows, 1)) * segment_us;

	if (r->load < FULL || apart_us < base_us(cc, r) || excess_us <= 0)
		return 0;
	return ccs_min(excess_us / apart_us, DRAIN);
}

/* The flow is slowest if its last segment waited for a segment's time or longer. */
static void set_spread(const struct ccs_cc *cc, struct rcp *r, double rtt_us)
{
	const double waited = rtt_us - base_us(cc, r) - r->jitter_us;
	const double segments = waited / ccs_cc_segment_us(&cc->path, cc->path.segment);

	r->spread = 1 + SPREAD * (1 - 2 * ccs_min(ccs_max(segments, 0), 1)) -
		    drain(cc, r, waited);
}

/* RTTs that contain a retransmission are left out. */
static void learn_jitter(struct rcp *r, const struct ccs_cc_ack *ack)
{
	if (ack->now_us - ack->rtt_us < r->lost_us)
		return;
	ccs_jitter_add(&r->jitter, ack->rtt_us);
	r->settled += r->settled <= 0;
	if (!(r->load > 0 && r->load < FULL))
		r->jitter_us *= 1 - JITTER_DECAY;
	else if (r->settled > 0)
		r->jitter_us = ccs_max(r->jitter_us, ccs_jitter_us(&r->jitter));
}

/* What flows of one rate have waiting by chance, on top. */
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

static void watch_delay(struct ccs_cc *cc, struct rcp *r, const struct ccs_cc_ack *ack)
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
		take_records(r, ack);
	if (ack->rtt_us > 0 && ack->rtt_us < INFINITY) {
		r->least_us = ccs_min(r->least_us, ack->rtt_us);
		learn_jitter(r, ack);
		set_spread(cc, r, ack->rtt_us);
		if (r->advised > 0)
			watch_delay(cc, r, ack);
	}
	put_out(cc, r);
}

static void on_loss(struct ccs_cc *cc, double now_us)
{
	struct rcp *r = CCS_CC_PRIV(struct rcp, cc);

	r->lost_us = now_us;
	r->settled = -LOSS_SAMPLES;
	r->jitter_us *= LOSS_SHARE;
	r->ceiling = ccs_max(cc->out.rate * LOSS_SHARE, cc->param[MIN_RATE]);
	r->moved_us = now_us;
	put_out(cc, r);
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
	.abi = CCS_CC_ABI,
	.size = sizeof(struct ccs_cc_ops),
	.name = "rcp",
	.doc = "the rate that the receiver advises to all flows alike; needs agents",
	.needs = CCS_NEEDS_ADVICE,
	.params = params,
	.nparams = NPARAMS,
	.derive = derive,
	.on_init = on_init,
	.on_ack = on_ack,
	.on_loss = on_loss,
	.set_rate = set_rate,
	.observe = observe,
	.start_rate = ccs_hops_start_rate,
	.fallback = "swift",
};
