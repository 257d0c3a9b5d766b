/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DCQCN's reaction point (Zhu et al., SIGCOMM 2015): the algorithm's parameters, its entry points
 * and the variant ccshim, which is the default. The published variants are in dcqcn_published.c.
 *
 * ccshim is the paper's algorithm for paths that are slower than the paper's 40 Gb/s, and for up
 * to hundreds of flows:
 *  - Rates are shares of the slowest known link, and the timers follow the RTT and the time
 *    between the flow's own segments (derive(), own_period_us()).
 *  - Within an RTT of a cut, further CNPs reduce the rate to the delivery rate at the lowest
 *    (own_on_cnp()).
 *  - The additive step grows while the RTT shows no queue, and is a small share of the target
 *    (own_step()).
 *  - A window limits the outstanding bytes according to the rate (own_window()).
 *  - A CNP that an unsplit message causes alone has no effect (marks_itself()).
 */
#include "cc/dcqcn.h"

#include <math.h>

#include "cc/minmax.h"

enum { CCSHIM }; /* the others follow, in the order of ccs_dcqcn_published */
static const char *const variants[] = { "ccshim", "paper", "mlx", NULL };
static const char *const no_yes[] = { "0", "1", NULL };

static const struct ccs_cc_param params[NPARAMS] = {
	[VARIANT] = { "variant", "", CCSHIM, 0, 0, variants,
		"ccshim's form of the algorithm, or a published one",
		"DCQCN 3; HPCC's ns-3" },
	[G] = { "g", "", 1.0 / 256, 1e-4, 1, NULL,
		"weight of the newest observation in alpha; ConnectX firmware: 5/1024",
		"DCQCN Fig. 14" },
	[ALPHA_INIT] = { "alpha_init", "", 1, 0, 1, NULL,
		"alpha before the first CNP", "DCQCN 3.1" },
	[ALPHA_TIMER] = { "alpha_timer", "us", NAN, 1e-3, 1e9, NULL,
		"period of alpha's updates; longer than the interval of CNPs, mlx excepted",
		"DCQCN 3.1; mlx: DCE_TCP_RTT" },
	[RATE_TIMER] = { "rate_timer", "us", NAN, 1e-3, 1e9, NULL,
		"period of the increase by time", "DCQCN Fig. 14; mlx: RPG_TIME_RESET" },
	[DECREASE_TIMER] = { "decrease_timer", "us", 4, 1e-3, 1e9, NULL,
		"mlx only: period after which the rate is cut if a CNP has arrived",
		"mlx: RATE_REDUCE_MONITOR_PERIOD" },
	[BYTE_COUNTER] = { "byte_counter", "bytes", NAN, 0, 1e15, NULL,
		"bytes sent per increase by bytes; 0: no such increase; not in mlx",
		"DCQCN Fig. 14" },
	[F] = { "f", "", NAN, 1, 1e6, NULL,
		"increases of one kind in fast recovery", "DCQCN 3.1; mlx: RPG_THRESHOLD" },
	[RATE_AI] = { "rate_ai", "bit/s", NAN, 1, 1e15, NULL,
		"additive increase of the target",
		"DCQCN Fig. 14: 40 Mb/s; ccshim: line rate / 1000; mlx: 5000" },
	[RATE_HAI] = { "rate_hai", "bit/s", NAN, 1, 1e15, NULL,
		"hyper increase of the target", "derived: 10 rate_ai" },
	[MIN_RATE] = { "min_rate", "bit/s", NAN, 1, 1e15, NULL,
		"floor of the rate", "derived: line rate / 10000; mlx: 250" },
	[INIT_RATE] = { "init_rate", "bit/s", NAN, 1, 1e15, NULL,
		"rate of a new flow", "DCQCN 3.1: line rate / flows of this host" },
	[CLAMP_TARGET] = { "clamp_target", "", NAN, 0, 0, no_yes,
		"1: each cut takes the target to the rate; 0: only one that follows an increase",
		"DCQCN 3.1; mlx: CLAMP_TGT_RATE" },
};

static const char *const stages[] = { "idle", "fr", "ai", "hai" };

/* A timer's period is at least this share of the time between two segments of the flow. */
#define OWN_SHARE 0.25
/* Limits of the additive step, as shares of the target: with a queue, also of unsplit messages,
 * whose flows are few, and without a queue. */
#define QUEUED_MOST (1.0 / 32)
#define BURST_MOST (1.0 / 8)
#define UNQUEUED_MOST (1.0 / 16)
/* Without a queue the step grows by its first value in this number of increases, after 2 F. */
#define UNQUEUED_INCREASES 4
/* An RTT that is this number of segment times above the base RTT shows no queue. */
#define UNQUEUED_SEGMENTS 2

#define LEAST_PART 4096          /* least bytes of a part into which flow/limits.c splits */
#define PART_US 8.0              /* time of a longer part on the line */
#define BURST_PARTS 8            /* a burst is longer than this number of parts */
#define SLOWEST 10.0             /* time of a burst at the slowest link over the line's */
#define LEAST_WEIGHT (1.0 / 256) /* with which the least RTT follows longer RTTs */
#define LIMIT_SEGMENTS 4         /* in the window of a flow without CNPs, see limit_segments() */
#define SLOW_SHARE 0.25          /* a slower flow is taken for one of many at a full port */
#define BAND 4.0                 /* Kmax / Kmin: the RTT in the marking band, in base RTTs */
#define MOST_LATE_US 400.0       /* limit of the host jitter in the window */
#define MOST_LATE_BASES 10       /* the same in base RTTs, for queues that no switch marks */

#define PAPER_RATE 40e9

/*
 * The period of a timer. It is at least the current RTT, which a queue may have made longer than
 * the base RTT, and a quarter of the time between the flow's own segments. Each of these causes
 * one CNP at most, so before the next cut a flow regains at most 15/16 of a cut, with any number of
 * flows and any ratio of the NIC's rate to the bottleneck's.
 */
static double own_period_us(const struct ccs_cc *cc, unsigned timer)
{
	const double apart = 8e6 * cc->path.segment / cc->out.rate;

	if (ccs_cc_is_given(cc, timer))
		return cc->param[timer];
	return ccs_max(ccs_max(cc->param[timer], ccs_dcqcn_const(cc)->rtt_us), OWN_SHARE * apart);
}

/* Whether segments are whole messages, far longer than the parts into which the flow layer splits. */
static bool is_burst(const struct ccs_cc_path *path)
{
	const double part = ccs_max(LEAST_PART, PART_US * path->line_rate / 8e6);

	return path->segment > BURST_PARTS * part;
}

/*
 * Segments in the window besides the rate times the RTT. A flow whose last CNP is less than F periods
 * ago shares a queue, so it has fewer there: a short queue holds a segment of each of many flows.
 */
static double limit_segments(const struct ccs_cc *cc)
{
	const struct dcqcn *d = ccs_dcqcn_const(cc);
	const bool marked = isfinite(d->cut_us) && d->time_count < cc->param[F];

	if (is_burst(&cc->path))
		return 2;
	if (!marked)
		return LIMIT_SEGMENTS;
	return cc->out.rate < SLOW_SHARE * cc->path.line_rate ? 1 : 2;
}

/*
 * The flow layer limits outstanding bytes by the base RTT (flow/limits.c), but flows that begin
 * together measure a base RTT that contains their queue. With that limit alone the queue would not
 * drain before the rate is below the limit per RTT. In the marking band the RTT is up to BAND
 * base RTTs. While the flow is at line rate no port marks, so RTTs vary because hosts are late or
 * because acknowledgements wait for data of the other direction: this jitter widens the window.
 */
static double own_window(const struct ccs_cc *cc)
{
	const double rate = cc->out.rate, line = cc->path.line_rate, base = cc->path.base_rtt_us;
	const double late = ccs_min((double)ccs_dcqcn_const(cc)->jitter.us,
				    ccs_min(MOST_LATE_US, MOST_LATE_BASES * base));
	const double idle = ccs_min(BAND * rate, line) * (base + cc->path.rtt_jitter_us);

	if (rate >= line && !(late > 0) && !is_burst(&cc->path))
		return 0;
	return (idle + rate * late) / 8e6 + limit_segments(cc) * cc->path.segment;
}

/*
 * An RTT below this shows no queue of others. The least RTT of unsplit messages contains the
 * queue that they make; others' may be in it, so it counts up to SLOWEST times their line time.
 */
static double unqueued_us(const struct ccs_cc *cc)
{
	const double base = cc->path.base_rtt_us + cc->path.rtt_jitter_us;
	const double segment_us = ccs_cc_segment_us(&cc->path, cc->path.segment);
	const double own = is_burst(&cc->path) ? ccs_dcqcn_const(cc)->least_us - base : 0;

	return base + ccs_min(ccs_max(own, 0), SLOWEST * segment_us) + UNQUEUED_SEGMENTS * segment_us;
}

/*
 * A message that cannot be split arrives as a burst, which a slower port marks even if it is alone
 * there, at any rate of the flow. Such a CNP shows no congestion if the RTT shows no queue.
 */
static bool marks_itself(const struct ccs_cc *cc)
{
	const double rtt_us = ccs_dcqcn_const(cc)->rtt_us;

	return is_burst(&cc->path) && rtt_us > 0 && rtt_us < unqueued_us(cc);
}

/*
 * The additive step. rate_ai is for periods of 55 us. Without a queue the step is in proportion to
 * the period, so that the rate grows equally fast in time, and it grows with the time since the
 * last CNP, because capacity has become free. With a queue, longer periods have the same step. A
 * share of the target limits it: steps of hundreds of flows would exceed the link at once.
 */
static double own_step(const struct ccs_cc *cc)
{
	const struct dcqcn *d = ccs_dcqcn_const(cc);
	const double *p = cc->param;
	const double longer = own_period_us(cc, RATE_TIMER) /
			      ccs_dcqcn_published[CCS_DCQCN_PAPER].rate_timer;
	const double late = ccs_max(d->time_count - 2 * p[F], 0);

	if (ccs_cc_is_given(cc, RATE_AI) || !(d->rtt_us > 0))
		return p[RATE_AI];
	if (d->rtt_us < unqueued_us(cc))
		return ccs_min(p[RATE_AI] * longer * (1 + late / UNQUEUED_INCREASES),
			       UNQUEUED_MOST * d->target);
	return ccs_min(p[RATE_AI], (is_burst(&cc->path) ? BURST_MOST : QUEUED_MOST) * d->target);
}

/*
 * CNPs that arrive within an RTT of a cut are for packets that were sent before it. The paper's
 * interval of CNPs exceeds its RTT. Here a queue may hold many segments of each flow, and all
 * these CNPs would reduce every flow to min_rate. Until the cut can have an effect, they reduce
 * the rate to the delivery rate at the lowest, which is not known before an acknowledgement. The
 * first message of a flow that cannot split it causes many CNPs before its own.
 */
static void own_on_cnp(struct ccs_cc *cc, double now_us)
{
	struct dcqcn *d = ccs_dcqcn(cc);
	const bool first = !(d->rtt_us > 0) && is_burst(&cc->path) && isfinite(d->cut_us);
	const bool awaits_effect = first || now_us < d->cut_us + d->rtt_us;
	double least = ccs_dcqcn_floor(cc);

	if (marks_itself(cc))
		return;
	if (awaits_effect) {
		if (!(d->ack_us > d->cut_us))
			return;
		least = ccs_max(8e6 * d->acked / (d->ack_us - d->cut_us), least);
		least = ccs_min(least, cc->out.rate);
		if (cc->out.rate <= least)
			return;
	}
	ccs_dcqcn_cut(cc, now_us, least);
	if (!awaits_effect) {
		d->cut_us = now_us;
		d->acked = 0;
	}
	cc->out.window = own_window(cc);
}

static void learn_from_ack(struct ccs_cc *cc, const struct ccs_cc_ack *ack)
{
	struct dcqcn *d = ccs_dcqcn(cc);

	if (ack->rtt_us > 0 && ack->rtt_us < INFINITY) {
		d->rtt_us = ack->rtt_us;
		d->least_us = !(d->least_us > 0) ? ack->rtt_us
			      : ccs_min(ack->rtt_us, d->least_us + LEAST_WEIGHT *
							     (ack->rtt_us - d->least_us));
	}
	d->ack_us = ack->now_us;
	d->acked += ack->bytes;
	ccs_host_jitter_add(&d->jitter, ack, cc->out.rate < cc->path.line_rate);
	cc->out.window = own_window(cc);
}

/*
 * The paper has no floor of the rate. At alpha = 1 CNPs halve the rate every 50 us, without end;
 * and a thousand flows of hosts ten times as fast as the bottleneck must fit into it.
 */
static const struct ccs_dcqcn_variant own = {
	.f = 5, .clamp_target = 1,
	.alpha_timer = 55, .rate_timer = 55, .byte_counter = 10e6,
	.ai_share = 1000, .min_share = 10000,
	.on_cnp = own_on_cnp, .increase = ccs_dcqcn_increase, .counts_bytes = true,
	.additive_step = own_step, .period_us = own_period_us, .window = own_window,
};

static const struct ccs_dcqcn_variant *variant_of(const double *p)
{
	return p[VARIANT] == CCSHIM ? &own : &ccs_dcqcn_published[(unsigned)p[VARIANT] - 1];
}

/*
 * ccshim: both timers exceed the delay of the control loop, 1.5 RTT. In equilibrium five increases
 * make up for the cut of a CNP, so each flow needs one CNP in five periods. N flows send a segment
 * each in N ser, where ser is a segment's time on the slowest known link. The share of marked
 * segments is then N ser / (5 period): with a period of 8 ser it is N/40, with 4 ser it would reach
 * 1 too early. Beyond 20 flows own_period_us() lengthens the period. The paper's path, which has
 * segments of 0.2 us and an RTT of up to 36 us, has the paper's 55 us.
 *
 * The byte counter is 36 periods at line rate, as in the paper. With the paper's 10 MB, flows at
 * 200 Mb/s would have no hyper increase for seconds.
 */
static void derive(const struct ccs_cc_path *path, double *p)
{
	const struct ccs_dcqcn_variant *v = variant_of(p);
	const double line = v == &own ? ccs_cc_bottleneck(path) : path->line_rate;
	const double ser = ccs_cc_segment_us(path, path->segment);
	const double loop = v == &own ? ccs_max(1.5 * path->base_rtt_us, 8 * ser) : 0;
	const double rate_timer = isnan(p[RATE_TIMER]) ? ccs_max(v->rate_timer, loop)
						       : p[RATE_TIMER];
	const double pace = v == &own ? rate_timer / v->rate_timer * line / PAPER_RATE : 1;
	const double default_ai = v->rate_ai > 0 ? v->rate_ai : line / v->ai_share;
	const double ai = isnan(p[RATE_AI]) ? default_ai : p[RATE_AI];
	const double derived[NPARAMS] = {
		[ALPHA_TIMER] = ccs_max(v->alpha_timer, loop),
		[RATE_TIMER] = rate_timer,
		[BYTE_COUNTER] = v->byte_counter * pace,
		[F] = v->f,
		[RATE_AI] = ai,
		[RATE_HAI] = 10 * ai,
		[MIN_RATE] = line / v->min_share,
		[INIT_RATE] = path->line_rate / ccs_max(1, path->flows),
		[CLAMP_TARGET] = v->clamp_target,
	};

	ccs_cc_fill(p, derived, NPARAMS);
}

static void on_ack(struct ccs_cc *cc, const struct ccs_cc_ack *ack)
{
	if (cc->param[VARIANT] == CCSHIM)
		learn_from_ack(cc, ack);
	ccs_dcqcn_start_below_line(cc, ack->now_us);
}

static void on_loss(struct ccs_cc *cc, double now_us)
{
	(void)now_us;
	ccs_host_jitter_loss(&ccs_dcqcn(cc)->jitter);
}

static void on_init(struct ccs_cc *cc)
{
	ccs_dcqcn_init(cc, variant_of(cc->param));
}

static unsigned observe(const struct ccs_cc *cc, struct ccs_cc_obs *obs, unsigned max)
{
	const struct dcqcn *d = ccs_dcqcn_const(cc);
	const struct ccs_cc_obs all[] = {
		{ "target_bps", d->target, NULL },
		{ "alpha", d->alpha, NULL },
		{ "stage", 0, stages[d->stage] },
	};

	return ccs_cc_observed(obs, max, all, sizeof(all) / sizeof(*all));
}

const struct ccs_cc_ops ccs_cc_dcqcn = {
	.abi = CCS_CC_ABI, .size = sizeof(struct ccs_cc_ops),
	.name = "dcqcn",
	.doc = "rate from the CNPs with which a receiver answers ECN marks",
	.needs = CCS_NEEDS_CNP | CCS_NEEDS_ECT,
	.params = params, .nparams = NPARAMS, .derive = derive,
	.on_init = on_init, .on_ack = on_ack, .on_loss = on_loss, .on_cnp = ccs_dcqcn_on_cnp,
	.on_send = ccs_dcqcn_on_send, .on_timer = ccs_dcqcn_on_timer,
	.set_rate = ccs_dcqcn_set_rate, .observe = observe,
};
