/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copa (Arun and Balakrishnan, NSDI 2018): a flow keeps a few segments in the queue.
 *
 * The target rate is one segment per delta * dq, dq being the queueing delay. All flows of
 * a bottleneck see the same dq, so their targets are equal, whatever their RTTs, their NICs'
 * rates and the bottleneck's are, and the queue that results is 1/delta segments per flow.
 * The window moves towards the target by 1/delta segments per RTT.
 *
 * Copa takes the least RTT of 10 s for the RTT of an empty path, and relies on an oscillation
 * of the window that empties the queue every five RTTs. Flows of a data centre, with a
 * segment or two outstanding each, do not oscillate in step: a flow that joins a standing
 * queue never sees the empty path and takes a multiple of its share. Here the queue is drained on
 * purpose. At multiples of a power of two of the hosts' common time, several RTTs long, each
 * flow that sees a queue pauses for one RTT. The queue empties within that RTT, and the next
 * segment, a small one, measures the path. Where hosts' clocks differ by more than an RTT, a
 * drain reveals the flow's own share of the queue only; nothing else depends on it.
 *
 * What an emptied path adds to the least RTT is jitter of the hosts. Its average is taken off
 * dq, but for an eighth of dq: a queue of others that does not drain would be taken for
 * jitter, too. At least a segment's time is taken off: acknowledgements may wait that long
 * behind data of the other direction.
 *
 * The path spaces acknowledgements; hosts that run in batches return several at once. If these
 * are a share of what was in flight, hosts hold them back for about that share of the RTT: the
 * period of the hosts is to the RTT as a batch is to the window. That share does not depend on the
 * flow's rate, so flows of such hosts agree on it and stay fair. (The number of acknowledgements
 * does: a dq divided by it gives a fast flow more and more.)
 *
 * However long the queue is, segments leave it no closer than they came from the NIC. So
 * acknowledgements that are closer were held back after that, by jitter or behind data of the other
 * direction. They are a batch, too, but count for less: with the full weight hosts with data in
 * both directions would use less of their links.
 *
 * A step acts an RTT later, or two where acknowledgements wait behind data as long as data do
 * before them. Steps of equal length would let all flows of a queue oscillate together, until the
 * queue is empty for a part of the time. They are a tenth of Copa's, and shorter near the target.
 *
 * Flows are paced at the window per RTT, since what leaves as a burst waits in the NIC before the
 * acknowledgements of the other direction. Where these wait behind data, too, a queue slows the
 * flows whose acknowledgements it delays, their own queue becomes empty, and so on from host to host:
 * a wave of full and empty queues, as a rate that follows the RTT does so an RTT too late. So it
 * follows the RTT's average, and the rest in part only. With all of it left out the window and the
 * queue would oscillate: the window moves by a share g of the distance from the target in an RTT,
 * and the target by 1/x of what the queue does, x being the queue's share of the RTT. If a part
 * p follows at once, deviations obey l^2 + p l + g/x = 0, in RTTs; p = 2 sqrt(g/x) damps them.
 *
 * Another departure: a flow with more than twice its target drops its share of the queue at once
 * (as FAST TCP does).
 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "cc/cc.h"
#include "cc/minmax.h"

enum { DELTA, DRAIN, MAX_JITTER, MIN_RATE, NPARAMS };

static const struct ccs_cc_param params[NPARAMS] = {
	[DELTA] = { "delta", "", 0.6, 0.01, 100, NULL,
		"inverse of the segments that a flow keeps in the queue", "Copa 2.1; there 0.5" },
	[DRAIN] = { "drain", "", 24, 0, 1e6, NULL,
		"RTTs between two moments at which all flows let the queue drain; 0: none", "our own" },
	[MAX_JITTER] = { "max_jitter", "us", 400, 0, 1e6, NULL,
		"most that is taken for jitter of the hosts", "our own" },
	[MIN_RATE] = { "min_rate", "bit/s", NAN, 1, 1e15, NULL,
		"floor of the rate", "derived: line rate / 100000" },
};

/* The drain period in base RTTs: a flow without competitors must lose little by drains. */
#define DRAIN_BASES 8
#define GAIN 0.1                 /* of Copa's steps, at a distance from the target of */
#define MOST_VELOCITY 1e6        /* beyond any window; it would double to infinity */
#define NEAR 4                   /* so many shares of the queue; in proportion below it */
#define LEAST_RTTS 0.25          /* part of an RTT, or two, that the least RTT is of */
#define AVERAGE_RTTS 32          /* that the RTT's average is of */
#define REFILL_RTTS 6            /* until the queue has come back after a drain */
#define JITTER_SAMPLES 16        /* that its average is of */
#define BATCH_SEGMENTS 32.0      /* that the average share of batches is of */
#define FORGET_US 10e6           /* after so long losses are forgotten */
#define CLOSE 0.5                /* share of the data's time at line rate that ends a batch */
#define CLOSE_WEIGHT (2 / 3.0)   /* of an acknowledgement that is close to the one before */

struct copa {
	double cwnd;                 /* segments */
	double velocity;             /* steps per RTT */
	double srtt_us;
	double least_us[2];          /* RTT, of this part of an RTT and of the one before */
	double least_from_us;        /* when this one began */
	double average_us;           /* of the RTT without batches, over */
	double average_rtts;         /* so many RTTs, */
	double averaged_us;          /* at that time */
	double base_us;              /* least RTT seen; INFINITY: none yet */
	double queue_us;             /* dq */
	double excess_us, jitter_us; /* its average, and as far as it is relied on */
	double batch_us;             /* when the latest acknowledgements arrived, */
	double batch, rest;          /* how many segments' worth, and left in flight by them */
	double batch_share;          /* the average of (batch - 1) / (batch + rest), */
	double batch_more;           /* and of batch - 1 */
	double held_us;              /* the part of dq that batches account for */
	double turn_us;              /* when the velocity was last judged */
	double settle_us;            /* what was decided before shows by then */
	double resume_us;            /* the last pause ended */
	double lost_us;              /* the last loss was noticed; 0: none, or long ago */
	unsigned far, samples;       /* RTTs far below the target; of jitter */
	bool startup;
	bool paused, awaited;        /* a drain; its measurement is to come, */
	bool drained;                /* or the queue of before */
	bool acked;                  /* since the last timer */
};

static struct copa *state(struct ccs_cc *cc)
{
	return CCS_CC_PRIV(struct copa, cc);
}

static void derive(const struct ccs_cc_path *path, double *p)
{
	if (isnan(p[MIN_RATE]))
		p[MIN_RATE] = ccs_max(path->line_rate / 1e5, 1);
}

/* A segment's time at line rate: an RTT is without it, a window is with it. */
static double line_us(const struct ccs_cc *cc)
{
	return 8e6 * cc->path.segment / cc->path.line_rate;
}

static double base_us(const struct ccs_cc *cc, const struct copa *c)
{
	return ccs_min(cc->path.base_rtt_us, c->base_us);
}

/* The least of the last quarter to half RTT: what is late by acknowledgements' bunching is not. */
static double standing_us(const struct ccs_cc *cc, const struct copa *c)
{
	const double us = ccs_min(c->least_us[0], c->least_us[1]);

	return us < INFINITY ? us : cc->path.base_rtt_us;
}

static double jitter_us(const struct ccs_cc *cc, const struct copa *c)
{
	return ccs_max(cc->path.rtt_jitter_us, c->jitter_us);
}

/* What fills the line, with acknowledgements that wait behind data, and jitter. */
static double most_cwnd(const struct ccs_cc *cc, const struct copa *c)
{
	const double us = 2 * (cc->path.base_rtt_us + jitter_us(cc, c) + c->held_us);

	return cc->path.line_rate * us / 8e6 / cc->path.segment + 8;
}

/* Without the delay by batches. */
static double unbatched_us(const struct ccs_cc *cc, const struct copa *c)
{
	return standing_us(cc, c) - c->held_us;
}

/* The same from a segment's first byte. */
static double path_us(const struct ccs_cc *cc, const struct copa *c)
{
	return unbatched_us(cc, c) + line_us(cc);
}

/* The RTT that paces: of what differs from the average, a part. */
static double pace_us(const struct ccs_cc *cc, const struct copa *c)
{
	const double queue = c->average_us - base_us(cc, c) - line_us(cc);
	const double x = ccs_max(queue / (c->average_us + line_us(cc)), 1e-3);
	const double part = c->drained ? 1 : ccs_min(2 * sqrt(GAIN / NEAR / x), 1);

	return c->average_us + part * (unbatched_us(cc, c) - c->average_us) + line_us(cc);
}

/* In startup the window alone holds the flow. */
static void put_out(struct ccs_cc *cc, struct copa *c)
{
	const double us = pace_us(cc, c);
	const double rate = c->startup ? cc->path.line_rate : 8e6 * c->cwnd * cc->path.segment / us;

	cc->out.window = (c->cwnd + 1) * cc->path.segment;
	cc->out.rate = ccs_min(ccs_max(rate, cc->param[MIN_RATE]), cc->path.line_rate);
	if (c->paused)
		cc->out.rate = cc->param[MIN_RATE];
}

static void set_cwnd(struct ccs_cc *cc, struct copa *c, double cwnd)
{
	const double least = cc->param[MIN_RATE] * path_us(cc, c) / 8e6;

	c->cwnd = ccs_max(ccs_min(cwnd, most_cwnd(cc, c)), least / cc->path.segment);
	put_out(cc, c);
}

static void on_init(struct ccs_cc *cc)
{
	struct copa *c = state(cc);

	*c = (struct copa){
		.velocity = 1, .startup = true, .base_us = INFINITY,
		.least_us = { INFINITY, INFINITY },
	};
	cc->out.timer_us = INFINITY;
	set_cwnd(cc, c, 1);
}

/* -- drains ---------------------------------------------------------------------------- */

/* The part of dq that is not congestion. */
static double no_queue_us(const struct ccs_cc *cc, const struct copa *c)
{
	return ccs_max(jitter_us(cc, c), line_us(cc));
}

/* With less than that the flow has the path for itself, or nearly. */
static bool queues(const struct ccs_cc *cc, const struct copa *c)
{
	return c->queue_us + jitter_us(cc, c) > 1.5 * line_us(cc);
}

static void arm(struct ccs_cc *cc, const struct copa *c, double now_us)
{
	const double apart = cc->param[DRAIN] * (c->srtt_us + DRAIN_BASES * base_us(cc, c));
	const double period = exp2(ceil(log2(apart)));

	cc->out.timer_us = INFINITY;
	if (apart > 0 && period < INFINITY && queues(cc, c))
		cc->out.timer_us = (floor((now_us + cc->path.epoch_us) / period) + 1) * period -
				   cc->path.epoch_us;
	if (cc->out.timer_us <= now_us) /* rounding */
		cc->out.timer_us = now_us + period;
}

static void on_timer(struct ccs_cc *cc, double now_us)
{
	struct copa *c = state(cc);

	if (!c->paused && !c->acked) {
		cc->out.timer_us = INFINITY;
		return;
	}
	c->acked = false;
	c->paused = !c->paused;
	put_out(cc, c);
	if (c->paused) {
		cc->out.timer_us = now_us + c->srtt_us;
		return;
	}
	c->resume_us = now_us;
	c->settle_us = now_us + c->srtt_us;
	c->awaited = true;
	cc->out.small_next = true;
	arm(cc, c, now_us);
}

/*
 * The first RTT of an emptied path. A segment is no jitter: one may have been left. A flow that
 * waits for a timeout or sends rarely may have none before the queue has built up again.
 */
static void learn_jitter(struct ccs_cc *cc, struct copa *c, double rtt_us, double now_us)
{
	const double excess = ccs_max(rtt_us - base_us(cc, c) - line_us(cc), 0);

	c->awaited = false;
	if (now_us - rtt_us > c->resume_us + c->srtt_us)
		return;
	c->samples += c->samples < JITTER_SAMPLES;
	c->excess_us += (ccs_min(excess, cc->param[MAX_JITTER]) - c->excess_us) / c->samples;
	if (c->samples >= JITTER_SAMPLES / 4)
		c->jitter_us = c->excess_us;
}

/* -- the window ------------------------------------------------------------------------ */

static void end_batch(struct copa *c)
{
	const double more = ccs_max(c->batch - 1, 0), share = more / (c->batch + c->rest);
	const double weight = ccs_min(c->batch / BATCH_SEGMENTS, 1);

	c->batch_share += (share - c->batch_share) * weight;
	c->batch_more += (more - c->batch_more) * weight;
	c->batch = 0;
}

/* A batch is over with the first acknowledgement that is later than the line explains. */
static void count_batch(const struct ccs_cc *cc, struct copa *c, const struct ccs_cc_ack *ack)
{
	const double apart_us = ack->now_us - c->batch_us;
	const bool later = apart_us > CLOSE * 8e6 * ack->bytes / cc->path.line_rate;
	const double segments = ccs_min(ack->bytes / cc->path.segment, 1);

	if (later && c->batch > 0)
		end_batch(c);
	c->batch += apart_us > 0 && !later ? CLOSE_WEIGHT * segments : segments;
	c->batch_us = ack->now_us;
	c->rest = ack->inflight / cc->path.segment;
}

/*
 * dq without the share of batches. Hosts may return a window in two batches or three, and then the
 * average is a part of what they hold: what is left is cubed.
 */
static double queueing_us(struct copa *c, double dq)
{
	const double rest = 1 - c->batch_share, left = rest * rest * rest;

	c->held_us = dq * (1 - left);
	return dq * left;
}

/*
 * Until the queue has come back after a drain, RTTs say nothing of its average. If it is gone, or has
 * been far too short for more than an RTT, others have left, and the average begins again.
 */
static void average(const struct ccs_cc *cc, struct copa *c, double now_us)
{
	const double us = unbatched_us(cc, c), rtts = (now_us - c->averaged_us) / c->srtt_us;

	c->averaged_us = now_us;
	c->drained = c->paused || now_us < c->resume_us + REFILL_RTTS * c->srtt_us;
	if (c->startup || c->average_rtts == 0 ||
	    (!c->drained && (c->far > 1 || !queues(cc, c)))) {
		c->average_us = us;
		c->average_rtts = 1;
	} else if (!c->drained) {
		c->average_rtts = ccs_min(c->average_rtts + rtts, AVERAGE_RTTS);
		c->average_us += (us - c->average_us) * ccs_min(rtts / c->average_rtts, 1);
	}
}

static void measure(struct ccs_cc *cc, struct copa *c, const struct ccs_cc_ack *ack)
{
	const double rtt = ack->rtt_us + ack->nic_wait_us, segment = cc->path.segment;
	const double rest = ccs_max(1 - ack->bytes / segment, 0) * line_us(cc);
	double dq;

	c->srtt_us += c->srtt_us > 0 ? (rtt - c->srtt_us) / 8 : rtt;
	if (ack->now_us - c->least_from_us >= LEAST_RTTS * c->srtt_us) {
		c->least_us[1] = c->least_us[0];
		c->least_us[0] = INFINITY;
		c->least_from_us = ack->now_us;
	}
	c->least_us[0] = ccs_min(c->least_us[0], rtt);
	c->base_us = ccs_min(c->base_us, rtt + rest);
	if (c->awaited && ack->now_us - rtt >= c->resume_us)
		learn_jitter(cc, c, rtt, ack->now_us);
	count_batch(cc, c, ack);
	dq = queueing_us(c, ccs_max(standing_us(cc, c) - base_us(cc, c), 1e-3));
	c->queue_us = ccs_max(dq - no_queue_us(cc, c), dq / 8);
	average(cc, c, ack->now_us);
	c->acked = true;
}

/* Segments that the flow is to have in the queue: one if that is too short for more. */
static double in_queue(const struct ccs_cc *cc, const struct copa *c)
{
	return ccs_min(1 / cc->param[DELTA], c->lost_us > 0 ? 1 : INFINITY);
}

/*
 * Once per RTT: whether the target is far. From below the velocity doubles with each such RTT
 * but the first, to a quarter of the window. From above the window falls to what it has
 * of the path or of the hosts' batches, and its share of the queue; true: that is done.
 */
static bool judge(struct ccs_cc *cc, struct copa *c, double target, double now_us)
{
	if (now_us - c->turn_us < c->srtt_us)
		return false;
	c->turn_us = now_us;
	if (now_us > c->lost_us + FORGET_US)
		c->lost_us = 0;
	if (c->cwnd > 2 * target) {
		const double us = path_us(cc, c) - line_us(cc);
		const double rest = ccs_max(c->cwnd * base_us(cc, c) / us, c->batch_more);

		c->settle_us = now_us + c->srtt_us;
		c->velocity = 1;
		c->far = 0;
		set_cwnd(cc, c, ccs_min(c->cwnd, rest + in_queue(cc, c)));
		return true;
	}
	c->far = target > 2 * c->cwnd ? c->far + 1 : 0;
	c->velocity = c->far > 1 ? ccs_min(2 * c->velocity, MOST_VELOCITY) : 1;
	return false;
}

/* Segments per RTT. */
static double step_length(const struct ccs_cc *cc, const struct copa *c, double target)
{
	const double gain = GAIN * ccs_min(in_queue(cc, c), fabs(target - c->cwnd) / NEAR);

	if (c->cwnd > target)
		return gain;
	return ccs_max(gain, ccs_min(c->velocity * gain, 0.25 * c->cwnd));
}

static void step(struct ccs_cc *cc, struct copa *c, const struct ccs_cc_ack *ack, double target)
{
	const double n = ack->bytes / cc->path.segment;
	const double by = ccs_min(step_length(cc, c, target) * n / c->cwnd, 0.5 * c->cwnd);
	const bool limited = ack->inflight + 2 * ack->bytes >= 0.5 * c->cwnd * cc->path.segment;

	if (c->cwnd > target)
		set_cwnd(cc, c, c->cwnd - by);
	else if (limited || !queues(cc, c)) /* else it is the application that holds it */
		set_cwnd(cc, c, c->cwnd + by);
	else
		put_out(cc, c);
}

static void on_ack(struct ccs_cc *cc, const struct ccs_cc_ack *ack)
{
	struct copa *c = state(cc);
	double target;

	if (!(ack->rtt_us > 0 && ack->rtt_us + ack->nic_wait_us < INFINITY))
		return;
	if (ack->now_us - ack->rtt_us < c->lost_us) /* it waited for the retransmission */
		return;
	measure(cc, c, ack);
	if (!c->paused && cc->out.timer_us == INFINITY)
		arm(cc, c, ack->now_us);
	target = (standing_us(cc, c) + line_us(cc)) * in_queue(cc, c) / c->queue_us;
	if (c->startup && c->cwnd <= target) {
		set_cwnd(cc, c, c->cwnd + ack->bytes / cc->path.segment);
		return;
	}
	c->startup = false;
	if (c->paused || ack->now_us < c->settle_us)
		return;
	if (!judge(cc, c, target, ack->now_us))
		step(cc, c, ack, target);
}

/*
 * Only timeouts show as losses, and flows with more in flight have few of them: the device retransmits
 * for a NAK. If each loss reduced a flow's share of the queue, it would leave it to those. So the
 * shares of all that have lost are equal, and a segment, as the target is never less, remains.
 */
static void on_loss(struct ccs_cc *cc, double now_us)
{
	struct copa *c = state(cc);

	c->lost_us = now_us;
	if (now_us < c->settle_us)
		return;
	c->settle_us = now_us + c->srtt_us;
	c->startup = false;
	c->velocity = 1;
	set_cwnd(cc, c, ccs_min(c->cwnd, ccs_max(c->cwnd / 2, 1)));
}

static void set_rate(struct ccs_cc *cc, double rate)
{
	struct copa *c = state(cc);
	const double us = path_us(cc, c);

	c->startup = false;
	set_cwnd(cc, c, ccs_min(rate, cc->path.line_rate) * us / 8e6 / cc->path.segment);
}

static unsigned observe(const struct ccs_cc *cc, struct ccs_cc_obs *obs, unsigned max)
{
	const struct copa *c = (const struct copa *)(const void *)cc->priv;
	const struct ccs_cc_obs all[] = {
		{ "cwnd_segments", c->cwnd, NULL },
		{ "queue_us", c->queue_us, NULL },
		{ "jitter_us", c->jitter_us, NULL },
		{ "held_us", c->held_us, NULL },
		{ "velocity", c->velocity, NULL },
		{ "phase", 0, c->paused ? "drain" : c->startup ? "startup" : "steady" },
	};

	return ccs_cc_observed(obs, max, all, sizeof(all) / sizeof(*all));
}

const struct ccs_cc_ops ccs_cc_copa = {
	.abi = CCS_CC_ABI,
	.size = sizeof(struct ccs_cc_ops),
	.name = "copa",
	.doc = "a few segments of each flow in the queue; needs nothing of peer or switch",
	.needs = CCS_NEEDS_RTT,
	.params = params,
	.nparams = NPARAMS,
	.derive = derive,
	.on_init = on_init,
	.on_ack = on_ack,
	.on_loss = on_loss,
	.on_timer = on_timer,
	.set_rate = set_rate,
	.observe = observe,
};
