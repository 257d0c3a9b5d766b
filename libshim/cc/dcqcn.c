/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DCQCN's reaction point (Zhu et al., SIGCOMM 2015): a rate that CNPs cut and that
 * timers and sent bytes raise again. Rc of the paper is out.rate, Rt is target.
 *
 * paper    the paper, and QCN's hyper increase, to which it refers without a formula. A flow
 *          that sends less than a segment in a period has a longer one; a cut is given an RTT
 *          to show; where the RTT shows no queue, an increase grows with the period.
 * ns3rdma  the authors' simulator (bobzhuyb/ns3-rdma, qbb-net-device.cc): alpha moves
 *          before the cut; additive turns into hyper increase at an expiry of the
 *          timer only; hyper increase halves both periods; the target may exceed the line,
 *          and falls to an eighth where it is far above the rate.
 * mlx      ConnectX's, as in HPCC's simulator (High-Precision-Congestion-Control,
 *          rdma-hw.cc): a CNP only leaves flags, which periodic timers turn into
 *          updates of alpha and cuts; no byte counter.
 */
#include <math.h>
#include <stdbool.h>

#include "cc/cc.h"
#include "cc/host_jitter.h"
#include "cc/minmax.h"

enum { VARIANT, G, ALPHA_INIT, ALPHA_TIMER, RATE_TIMER, DECREASE_TIMER, BYTE_COUNTER, F,
       RATE_AI, RATE_HAI, MIN_RATE, INIT_RATE, CLAMP_TARGET, NPARAMS };

enum { PAPER, NS3RDMA, MLX };
static const char *const variants[] = { "paper", "ns3rdma", "mlx", NULL };
static const char *const no_yes[] = { "0", "1", NULL };

static const struct ccs_cc_param params[NPARAMS] = {
	[VARIANT] = { "variant", "", PAPER, 0, 0, variants,
		"which published form of the algorithm", "DCQCN 3; ns3-rdma; HPCC's ns-3" },
	[G] = { "g", "", 1.0 / 256, 1e-4, 1, NULL,
		"weight of the newest observation in alpha; ConnectX firmware: 5/1024", "DCQCN Fig. 14" },
	[ALPHA_INIT] = { "alpha_init", "", NAN, 0, 1, NULL,
		"alpha before the first CNP", "DCQCN 3.1; ns3rdma: 0.5" },
	[ALPHA_TIMER] = { "alpha_timer", "us", NAN, 1e-3, 1e9, NULL,
		"period of alpha's updates; longer than the interval of CNPs, mlx excepted",
		"DCQCN 3.1; mlx: DCE_TCP_RTT" },
	[RATE_TIMER] = { "rate_timer", "us", NAN, 1e-3, 1e9, NULL,
		"period of the increase by time", "DCQCN Fig. 14; mlx: RPG_TIME_RESET" },
	[DECREASE_TIMER] = { "decrease_timer", "us", 4, 1e-3, 1e9, NULL,
		"mlx only: period after which the rate is cut if a CNP has arrived",
		"mlx: RATE_REDUCE_MONITOR_PERIOD" },
	[BYTE_COUNTER] = { "byte_counter", "bytes", NAN, 0, 1e15, NULL,
		"bytes sent per increase by bytes; 0: no such increase; not in mlx", "DCQCN Fig. 14" },
	[F] = { "f", "", NAN, 1, 1e6, NULL,
		"increases of one kind in fast recovery", "DCQCN 3.1; mlx: RPG_THRESHOLD" },
	[RATE_AI] = { "rate_ai", "bit/s", NAN, 1, 1e15, NULL,
		"additive increase of the target", "DCQCN Fig. 14: 40 Mb/s at 40 Gb/s; mlx: 5 at 25" },
	[RATE_HAI] = { "rate_hai", "bit/s", NAN, 1, 1e15, NULL,
		"hyper increase of the target", "derived: 10 rate_ai; ns3rdma: 5" },
	[MIN_RATE] = { "min_rate", "bit/s", NAN, 1, 1e15, NULL,
		"floor of the rate", "derived: line rate / 10000; ns3rdma: 400; mlx: 250" },
	[INIT_RATE] = { "init_rate", "bit/s", NAN, 1, 1e15, NULL,
		"rate of a new flow", "DCQCN 3.1: line rate / flows of this host" },
	[CLAMP_TARGET] = { "clamp_target", "", NAN, 0, 0, no_yes,
		"1: each cut takes the target to the rate; 0: only one that follows an increase",
		"DCQCN 3.1; mlx: CLAMP_TGT_RATE" },
};

enum stage { IDLE, FAST_RECOVERY, ADDITIVE, HYPER };
static const char *const stages[] = { "idle", "fr", "ai", "hai" };

/* paper: a period has so much of the time between a flow's own segments at least, */
#define OWN_SHARE 0.25
/* and an increase adds so much of the target at most: to a queue, and to none. */
#define QUEUED_MOST (1.0 / 32)
#define UNQUEUED_MOST (1.0 / 16)
/* While there is none the step grows by itself in so many increases, once recovery is long over. */
#define UNQUEUED_INCREASES 4
/* So many segments' times in an RTT are no queue. */
#define UNQUEUED_SEGMENTS 2

/* Segments that the window has beside what is under way: not fewer than the limit at line rate. */
#define LIMIT_SEGMENTS 4
#define BAND 4.0                 /* base RTTs that may be under way at the rate: Kmax by Kmin */
#define MOST_LATE_US 400.0       /* that is taken for jitter, */
#define MOST_LATE_BASES 10       /* and so many base RTTs: where nothing marks, queues vary RTTs, too */

/* In the order in which those fire that are due at the same time. */
enum { T_ALPHA, T_RATE, T_DECREASE, NTIMERS };

struct dcqcn {
	double target, alpha;
	double due[NTIMERS];         /* INFINITY: stopped */
	double time_count, byte_count; /* expiries since the last cut: T and BC */
	double left;                 /* bytes until the byte counter expires */
	enum stage stage;
	double cut_us;               /* when the last cut was that may show; paper only, as are these: */
	double rtt_us;               /* the last one measured; 0: none */
	double ack_us, acked;        /* the last acknowledgement, and bytes since cut_us */
	struct ccs_host_jitter jitter;
	bool seen;                   /* a CNP, ever */
	bool alpha_cnp, cut_cnp;     /* mlx: a CNP that this timer has not seen yet */
};

/* Sums of different periods that are equal on paper; published traces have whole ns. */
#define SAME_TIME_US 1e-6
/* ns-3 starts mlx's decrease timer 1 ns late, so that alpha's comes first. */
#define DECREASE_LAG_US 1e-3
/* An alpha that cuts nothing: 1 - alpha/2 is 1. Far below what any trace prints. */
#define ALPHA_GONE 1e-300
/* The most expiries of the byte counter in one send: by then the rate has recovered. */
#define EXPIRIES_MAX 1000

#define PAPER_RATE 40e9

/*
 * Published constants, the rates as shares of the line rate: DCQCN's were for 40
 * Gb/s. paper: DCQCN Fig. 14; min_rate our own: CNPs at alpha = 1 halve the rate
 * every 50 us, and nothing else would stop them; a thousand flows whose hosts are ten times
 * as fast as the bottleneck must fit it. ns3rdma: mix/config.txt, alpha from
 * the code, MinRate 100 Mb/s. mlx: run.py and mix/config.txt (5 and 50 Mb/s per 25 Gb/s;
 * 1, 4 and 300 us; f 1), MinRate 100 Mb/s.
 */
static const struct constants {
	double alpha_init, f, clamp;
	double alpha_timer, rate_timer, byte_counter;
	double ai_share, hai_ais, min_share;
} published[] = {
	[PAPER] = { 1, 5, 1, 55, 55, 10e6, 1000, 10, 10000 },
	[NS3RDMA] = { 0.5, 5, 1, 55, 60, 300e6, 1000, 5, 400 },
	[MLX] = { 1, 1, 0, 1, 300, 0, 5000, 10, 250 },
};

/*
 * paper's timers follow paths that are slower than the paper's. They must exceed the loop's
 * delay, 1.5 RTT. And what five of them bring back, a CNP takes; so in equilibrium each
 * flow must get one in five periods, of its own segments, of which N flows send one each in
 * N ser: the share that is marked is N ser / (5 period). At 8 ser that is N/40: a tenth for 4
 * flows, where 4 ser would leave no reserve to mark more. Beyond 20 flows the period
 * grows with the time between own segments (period_us()), or no mark could hold the queue. ser is
 * a segment's time on the slowest link known, and rates are shares of that one's. With
 * the paper's segments of 0.2 us it is 55 us up to an RTT of 36 us. The byte counter stays as many
 * periods at line rate as there, 36; else flows at 200 Mb/s would see no hyper increase
 * within seconds. The simulators' constants stay as published, and are the NIC's.
 */
static void derive(const struct ccs_cc_path *path, double *p)
{
	const struct constants *c = &published[(unsigned)p[VARIANT]];
	const bool paper = p[VARIANT] == PAPER;
	const double line = paper ? ccs_cc_bottleneck(path) : path->line_rate;
	const double ser = 8e6 * path->segment / line;
	const double loop = paper ? ccs_max(1.5 * path->base_rtt_us, 8 * ser) : 0;
	const double rate_timer = isnan(p[RATE_TIMER]) ? ccs_max(c->rate_timer, loop) : p[RATE_TIMER];
	const double pace = paper ? rate_timer / c->rate_timer * line / PAPER_RATE : 1;
	const double ai = isnan(p[RATE_AI]) ? line / c->ai_share : p[RATE_AI];
	const double derived[NPARAMS] = {
		[ALPHA_INIT] = c->alpha_init,
		[ALPHA_TIMER] = ccs_max(c->alpha_timer, loop),
		[RATE_TIMER] = rate_timer,
		[BYTE_COUNTER] = c->byte_counter * pace,
		[F] = c->f,
		[RATE_AI] = ai,
		[RATE_HAI] = ai * c->hai_ais,
		[MIN_RATE] = line / c->min_share,
		[INIT_RATE] = path->line_rate / ccs_max(1, path->flows),
		[CLAMP_TARGET] = c->clamp,
	};

	for (unsigned i = 0; i < NPARAMS; i++)
		if (isnan(p[i]))
			p[i] = derived[i];
}

static struct dcqcn *state(struct ccs_cc *cc)
{
	return CCS_CC_PRIV(struct dcqcn, cc);
}

static bool is(const struct ccs_cc *cc, unsigned variant)
{
	return cc->param[VARIANT] == variant;
}

static bool is_given(const struct ccs_cc *cc, unsigned param)
{
	return !isnan(cc->spec->given[param]);
}

/*
 * The period of a timer from now on. paper's holds the RTT that there is, which a queue may have
 * made longer, and half of the time between own segments: each of them may bring a CNP, and
 * no more. What then comes back between two of them is 3/4 of a cut, however many flows
 * there are, and however much faster than the bottleneck this host is.
 */
static double period_us(const struct ccs_cc *cc, unsigned timer)
{
	const struct dcqcn *d = (const struct dcqcn *)(const void *)cc->priv;
	const double own = 8e6 * cc->path.segment / cc->out.rate;

	if (!is(cc, PAPER) || is_given(cc, timer))
		return cc->param[timer];
	return ccs_max(ccs_max(cc->param[timer], d->rtt_us), OWN_SHARE * own);
}

/*
 * What may be outstanding is limited in any case (flow/limits.c), but by a base RTT that flows which
 * begin together learn in their own queue. So paper's limit follows the rate, else that queue would
 * only drain once the rate is below the limit per RTT of the queue. In the marking band RTTs are
 * some times the base RTT. While a flow is at line rate no port marks, so RTTs vary for late hosts,
 * or because acknowledgements wait behind data of the other direction: by as much the limit is
 * larger. 0: it is as it was.
 */
static double window_of(const struct ccs_cc *cc)
{
	const struct dcqcn *d = (const struct dcqcn *)(const void *)cc->priv;
	const double rate = cc->out.rate, line = cc->path.line_rate, base = cc->path.base_rtt_us;
	const double late = ccs_min((double)d->jitter.us,
				    ccs_min(MOST_LATE_US, MOST_LATE_BASES * base));
	const double idle = ccs_min(BAND * rate, line) * (base + cc->path.rtt_jitter_us);

	if (!is(cc, PAPER) || (rate >= line && !(late > 0)))
		return 0;
	return (idle + rate * late) / 8e6 + LIMIT_SEGMENTS * cc->path.segment;
}

static void put_rate(struct ccs_cc *cc, double rate)
{
	cc->out.rate = ccs_min(rate, cc->path.line_rate);
	cc->out.window = window_of(cc);
}

static void arm(struct ccs_cc *cc)
{
	const double *due = state(cc)->due;

	cc->out.timer_us = ccs_min(ccs_min(due[T_ALPHA], due[T_RATE]), due[T_DECREASE]);
}

static void stop_timers(struct dcqcn *d)
{
	for (unsigned i = 0; i < NTIMERS; i++)
		d->due[i] = INFINITY;
}

static void reset_counts(struct ccs_cc *cc)
{
	struct dcqcn *d = state(cc);

	d->time_count = d->byte_count = 0;
	d->left = cc->param[BYTE_COUNTER];
}

/* The stage of an increase; the counts include it, but for mlx. */
static enum stage next_stage(const struct ccs_cc *cc, const struct dcqcn *d, bool by_time)
{
	const double f = cc->param[F];
	const double most = ccs_max(d->time_count, d->byte_count);
	const double least = ccs_min(d->time_count, d->byte_count);

	switch ((unsigned)cc->param[VARIANT]) {
	case PAPER:
		return most < f ? FAST_RECOVERY : least > f ? HYPER : ADDITIVE;
	case NS3RDMA:
		if (d->stage == ADDITIVE && !by_time)
			return ADDITIVE;
		return most < f ? FAST_RECOVERY : least < f ? ADDITIVE : HYPER;
	default:
		return most < f ? FAST_RECOVERY : most > f ? HYPER : ADDITIVE;
	}
}

/*
 * paper's step is for a period of 55 us. As long as the RTT shows no queue it is as large in
 * longer ones, by time; at one, the slower loop makes the smaller steps. Nor does it outgrow
 * the target: steps of hundreds of flows would exceed the link at once. Without a queue it grows the
 * longer there was no CNP, since more is free then: others have left, or the port is fast again.
 */
static double additive(const struct ccs_cc *cc, const struct dcqcn *d)
{
	const double *p = cc->param;
	const double idle_us = cc->path.base_rtt_us + cc->path.rtt_jitter_us +
			       UNQUEUED_SEGMENTS * ccs_cc_segment_us(&cc->path, cc->path.segment);
	const double longer = period_us(cc, RATE_TIMER) / published[PAPER].rate_timer;
	const double late = ccs_max(d->time_count - 2 * p[F], 0);

	if (!is(cc, PAPER) || is_given(cc, RATE_AI) || !(d->rtt_us > 0))
		return p[RATE_AI];
	if (d->rtt_us < idle_us)
		return ccs_min(p[RATE_AI] * longer * (1 + late / UNQUEUED_INCREASES),
			       UNQUEUED_MOST * d->target);
	return ccs_min(p[RATE_AI], QUEUED_MOST * d->target);
}

static double increment(const struct ccs_cc *cc, const struct dcqcn *d)
{
	const double *p = cc->param;

	if (d->stage == FAST_RECOVERY)
		return 0;
	if (d->stage == ADDITIVE)
		return additive(cc, d);
	return is(cc, MLX) ? p[RATE_HAI]
			   : p[RATE_HAI] * (ccs_min(d->time_count, d->byte_count) - p[F] + 1);
}

static void increase(struct ccs_cc *cc, bool by_time)
{
	struct dcqcn *d = state(cc);
	const bool first = d->time_count == 1 || d->byte_count == 1;

	d->stage = next_stage(cc, d, by_time);
	if (is(cc, NS3RDMA) && first && d->target > 10 * cc->out.rate)
		d->target /= 8;
	else
		d->target += increment(cc, d);
	if (!is(cc, NS3RDMA))
		d->target = ccs_min(d->target, cc->path.line_rate);
	put_rate(cc, (d->target + cc->out.rate) / 2);
}

/* Whether a cut takes the target along. ns3rdma counts increases by bytes only. */
static bool clamps(const struct ccs_cc *cc, const struct dcqcn *d)
{
	return cc->param[CLAMP_TARGET] != 0 || d->byte_count > 0 ||
	       (d->time_count > 0 && !is(cc, NS3RDMA));
}

/* A floor that has risen above the rate with the path does not make a cut an increase. */
static void cut(struct ccs_cc *cc, double least)
{
	struct dcqcn *d = state(cc);
	const double rate = cc->out.rate;
	const bool clamp = clamps(cc, d);

	if (clamp)
		d->target = rate;
	put_rate(cc, ccs_max(least, rate * (1 - d->alpha / 2)));
	if (clamp || !is(cc, NS3RDMA)) /* as published */
		d->left = cc->param[BYTE_COUNTER];
	d->time_count = d->byte_count = 0;
	d->stage = FAST_RECOVERY;
}

static void update_alpha(struct ccs_cc *cc, bool congested)
{
	struct dcqcn *d = state(cc);
	const double g = cc->param[G];

	d->alpha = (1 - g) * d->alpha;
	if (congested)
		d->alpha = ccs_min(d->alpha + g, 1);
}

/* The first CNP finds alpha as it is to be; it only starts the timers. */
static void flag_cnp(struct ccs_cc *cc, double now_us)
{
	struct dcqcn *d = state(cc);

	if (isinf(d->due[T_DECREASE])) {
		d->due[T_ALPHA] = now_us + cc->param[ALPHA_TIMER];
		d->due[T_DECREASE] = now_us + cc->param[DECREASE_TIMER] + DECREASE_LAG_US;
		d->target = cc->out.rate;
	}
	if (d->stage == IDLE)
		d->stage = FAST_RECOVERY;
	d->alpha_cnp = d->seen;
	d->cut_cnp = true;
}

/* What the network gave since the last cut, bit/s; 0: unknown. */
static double delivered(const struct dcqcn *d)
{
	return d->ack_us > d->cut_us ? 8e6 * d->acked / (d->ack_us - d->cut_us) : 0;
}

/*
 * paper: what is marked within an RTT of a cut was sent before it. In the paper, the CNP interval
 * exceeds the RTT; here a queue of many segments of each flow would take every flow to its
 * floor. So until that cut can show, the rate falls to what the network gives, and no further.
 */
static double least_rate(const struct ccs_cc *cc, const struct dcqcn *d, bool answered)
{
	const double least = ccs_min(cc->param[MIN_RATE], cc->out.rate);

	if (!answered)
		return least;
	return ccs_min(ccs_max(delivered(d), least), cc->out.rate);
}

static void await_effect(struct dcqcn *d, double now_us)
{
	d->cut_us = now_us;
	d->acked = 0;
}

static void on_cnp(struct ccs_cc *cc, double now_us)
{
	struct dcqcn *d = state(cc);

	const bool answered = is(cc, PAPER) && now_us < d->cut_us + d->rtt_us;
	const double least = least_rate(cc, d, answered);

	if (answered && cc->out.rate <= least)
		return;
	if (is(cc, MLX)) {
		flag_cnp(cc, now_us);
	} else {
		if (is(cc, NS3RDMA))
			update_alpha(cc, true);
		cut(cc, least);
		if (is(cc, PAPER)) {
			update_alpha(cc, true);
			if (!answered)
				await_effect(d, now_us);
		}
		d->due[T_ALPHA] = now_us + period_us(cc, ALPHA_TIMER);
		d->due[T_RATE] = now_us + period_us(cc, RATE_TIMER);
	}
	d->seen = true;
	arm(cc);
}

/*
 * The timers of a flow that has recovered change nothing any more, but a process that
 * was idle for an hour would have to fire billions of them. Nothing is lost: alpha
 * stays, and the next CNP starts them again.
 */
static void rest_if_recovered(struct ccs_cc *cc, double rate_before)
{
	struct dcqcn *d = state(cc);
	const bool alpha_rests = isinf(d->due[T_ALPHA]) || (d->alpha < ALPHA_GONE && !d->alpha_cnp);

	if (!alpha_rests || d->cut_cnp || cc->out.rate != rate_before ||
	    d->target < cc->path.line_rate)
		return;
	stop_timers(d);
	reset_counts(cc);
	put_rate(cc, cc->path.line_rate); /* halving may have ended one bit below */
	d->stage = IDLE;
}

static void rate_expired(struct ccs_cc *cc)
{
	struct dcqcn *d = state(cc);
	const double period = period_us(cc, RATE_TIMER);
	const double before = cc->out.rate;

	d->due[T_RATE] += is(cc, NS3RDMA) && d->stage == HYPER ? period / 2 : period;
	if (!is(cc, MLX))
		d->time_count++;
	increase(cc, true);
	if (is(cc, MLX))
		d->time_count++;
	rest_if_recovered(cc, before);
}

/* mlx only: a cut restarts the increase's timer. */
static void decrease_expired(struct ccs_cc *cc)
{
	struct dcqcn *d = state(cc);

	if (d->cut_cnp) {
		cut(cc, ccs_min(cc->param[MIN_RATE], cc->out.rate));
		d->cut_cnp = false;
		d->due[T_RATE] = d->due[T_DECREASE] + cc->param[RATE_TIMER];
	}
	d->due[T_DECREASE] += cc->param[DECREASE_TIMER];
}

/* Periods are added to a timer's own due time: late calls do not shift later ones. */
static void on_timer(struct ccs_cc *cc, double now_us)
{
	struct dcqcn *d = state(cc);
	const double until = now_us + SAME_TIME_US;

	if (d->due[T_ALPHA] <= until) {
		d->due[T_ALPHA] += period_us(cc, ALPHA_TIMER);
		update_alpha(cc, d->alpha_cnp);
		d->alpha_cnp = false;
	} else if (d->due[T_RATE] <= until) {
		rate_expired(cc);
	} else if (d->due[T_DECREASE] <= until) {
		decrease_expired(cc);
	}
	arm(cc);
}

/*
 * A flow that does not begin at line rate (others of this host were there, or slow
 * start found less) has to get there although no CNP has started the timers.
 */
static void start_below_line(struct ccs_cc *cc, double now_us)
{
	struct dcqcn *d = state(cc);

	if (cc->out.rate >= cc->path.line_rate || !isinf(d->due[T_RATE]))
		return;
	d->due[T_RATE] = now_us + period_us(cc, RATE_TIMER);
	d->stage = FAST_RECOVERY;
	arm(cc);
}

/* paper: every byte counts. */
static void count_bytes(struct ccs_cc *cc, double bytes)
{
	struct dcqcn *d = state(cc);
	const double period = cc->param[BYTE_COUNTER];

	d->left -= ccs_min(bytes, EXPIRIES_MAX * period);
	while (d->left <= 0) {
		d->left += period;
		d->byte_count++;
		increase(cc, false);
	}
}

/* ns3rdma: a packet that exceeds the counter resets it, and what was too much is lost. */
static void count_packet(struct ccs_cc *cc, double bytes)
{
	struct dcqcn *d = state(cc);
	const double period = cc->param[BYTE_COUNTER];

	d->left -= bytes;
	if (d->left >= 0)
		return;
	d->left = d->stage == HYPER ? period / 2 : period;
	d->byte_count++;
	increase(cc, false);
}

static void on_send(struct ccs_cc *cc, double now_us, double bytes)
{
	start_below_line(cc, now_us);
	if (state(cc)->stage == IDLE || is(cc, MLX) || cc->param[BYTE_COUNTER] == 0)
		return;
	if (is(cc, PAPER))
		count_bytes(cc, bytes);
	else
		count_packet(cc, bytes);
}

static void on_ack(struct ccs_cc *cc, const struct ccs_cc_ack *ack)
{
	struct dcqcn *d = state(cc);

	if (ack->rtt_us > 0 && ack->rtt_us < INFINITY)
		d->rtt_us = ack->rtt_us;
	d->ack_us = ack->now_us;
	d->acked += ack->bytes;
	start_below_line(cc, ack->now_us);
	ccs_host_jitter_add(&d->jitter, ack, cc->out.rate < cc->path.line_rate);
	cc->out.window = window_of(cc);
}

static void on_loss(struct ccs_cc *cc, double now_us)
{
	(void)now_us;
	ccs_host_jitter_loss(&state(cc)->jitter);
}

/* alpha and the timers depend on CNPs only, and continue. */
static void set_rate(struct ccs_cc *cc, double rate)
{
	struct dcqcn *d = state(cc);

	put_rate(cc, ccs_max(rate, cc->param[MIN_RATE]));
	d->target = cc->out.rate;
	reset_counts(cc);
	if (d->stage != IDLE)
		d->stage = FAST_RECOVERY;
}

static void on_init(struct ccs_cc *cc)
{
	struct dcqcn *d = state(cc);

	*d = (struct dcqcn){ .alpha = cc->param[ALPHA_INIT], .stage = IDLE, .cut_us = -INFINITY };
	ccs_host_jitter_init(&d->jitter);
	stop_timers(d);
	arm(cc);
	set_rate(cc, cc->param[INIT_RATE]);
}

static unsigned observe(const struct ccs_cc *cc, struct ccs_cc_obs *obs, unsigned max)
{
	const struct dcqcn *d = (const struct dcqcn *)(const void *)cc->priv;
	const struct ccs_cc_obs all[] = {
		{ "target_bps", d->target, NULL },
		{ "alpha", d->alpha, NULL },
		{ "stage", 0, stages[d->stage] },
	};
	unsigned n = 0;

	for (; n < max && n < sizeof(all) / sizeof(all[0]); n++)
		obs[n] = all[n];
	return n;
}

const struct ccs_cc_ops ccs_cc_dcqcn = {
	.abi = CCS_CC_ABI,
	.size = sizeof(struct ccs_cc_ops),
	.name = "dcqcn",
	.doc = "rate from the CNPs with which a receiver answers ECN marks",
	.needs = CCS_NEEDS_CNP | CCS_NEEDS_ECT,
	.params = params,
	.nparams = NPARAMS,
	.derive = derive,
	.on_init = on_init,
	.on_ack = on_ack,
	.on_loss = on_loss,
	.on_cnp = on_cnp,
	.on_send = on_send,
	.on_timer = on_timer,
	.set_rate = set_rate,
	.observe = observe,
};
