/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * copa (Arun and Balakrishnan, NSDI 2018), and rcp, which is copa below an advised bound.
 *
 * Copa keeps 1/delta segments of each flow in the queue. Its target rate is one segment per
 * delta * dq, where dq is the queueing delay. All flows of a bottleneck have the same dq, so their
 * targets are equal. The window moves towards the target once per acknowledgement. In a data centre
 * a flow has few segments outstanding, and hosts add delays that are not congestion. Therefore:
 *  - All flows pause for an RTT at common times, to measure the empty path (arm_drain()).
 *  - dq does not contain the jitter of hosts or the delay of batches (measure_queue()).
 *  - Steps are shorter, and a window of more than twice the target falls at once (judge_distance()).
 *  - The rate follows an average of the RTT (pacing_rtt_us()).
 *
 * The agent of a receiver advises the capacity of its port while the port is not full, and otherwise a
 * share of it (cc/advice.h). The advice bounds rate and window. Below a share the port's flows are
 * equal and its queue is short, and delay limits a flow only if a queue is at another link.
 */
#include <math.h>
#include <stdbool.h>

#include "cc/advice.h"
#include "cc/cc.h"
#include "cc/hops.h"
#include "cc/jitter.h"
#include "cc/minmax.h"

enum { DELTA, DRAIN, MAX_JITTER, MIN_RATE, NPARAMS };

static const struct ccs_cc_param params[NPARAMS] = {
	[DELTA] = { "delta", "", 0.6, 0.01, 100, NULL,
		"inverse of the segments that a flow keeps in the queue", "Copa 2.1; there 0.5" },
	[DRAIN] = { "drain", "", 24, 0, 1e6, NULL,
		"RTTs between two drains of the queue by all flows; 0: no drains", "ccshim" },
	[MAX_JITTER] = { "max_jitter", "us", 400, 0, 1e6, NULL,
		"upper limit of the learnt jitter of the hosts", "ccshim" },
	[MIN_RATE] = { "min_rate", "bit/s", NAN, 1, 1e15, NULL,
		"floor of the rate", "derived: line rate / 100000" },
};

#define DRAIN_BASES 8            /* base RTTs in the drain period: a lone flow must lose little */
#define GAIN 0.1                 /* step as a share of Copa's; smaller near the target */
#define NEAR 4                   /* distance at which steps become smaller, shares of the queue */
#define MIN_RTT_PERIOD 0.25      /* period of the minimum RTT, RTTs */
#define AVERAGE 32.0             /* length of an average: RTTs; segments for batches */
#define FORGET_US 10e6           /* time for which a loss counts */
#define REFILL_RTTS 6            /* time in which the queue returns after a drain */
#define CLOSE 0.5                /* distance within a batch, in times of the data at line rate */
#define CLOSE_WEIGHT (2 / 3.0)   /* weight of a close acknowledgement in a batch */
#define VARIATION_DECAY (1 / 4096.0) /* per acknowledgement at a full port */
#define ELSEWHERE 0.5            /* share of the bound below which another link limits the flow */
#define BOUND_QUEUE 4            /* segment times in the window of the bound, besides the base RTT */
#define SPREAD 0.01              /* largest deviation of the rate from the bound, as a share */

struct copa {
	double cwnd;                 /* bytes, as segments may change their length */
	double velocity;             /* steps per RTT; below 1: the target is not far above */
	double base_us;              /* minimum RTT of the flow; INFINITY: unknown */
	double srtt_us;
	double standing_us;          /* minimum RTT of this period and of the period before */
	double least_us;             /* the same of this period */
	double since_us;             /* start of the current period */
	double avg_rtt_us;           /* moving average of the RTT, without batching delay */
	double queue_us;             /* dq */
	double excess_us;            /* average excess of the RTT over base_us after drains */
	double acked_us;             /* time of the last acknowledgement */
	double batch;                /* length of the current batch, segments */
	double batch_left;           /* segments in flight after it */
	double batch_share;          /* average of (batch - 1) / (batch + batch_left) */
	double held_us;              /* batching delay */
	double judged_us;            /* time of the last judge_distance() */
	double decided_us;           /* last decision, whose effect only later segments show */
	double resumed_us;           /* end of the last pause */
	double lost_us;              /* last loss; 0: no loss within FORGET_US */
	double delivered;            /* bytes acknowledged since */
	double bound;                /* upper limit of the rate, bit/s of payload; 0: no advice */
	double spread;               /* factor of the bound */
	double load;                 /* load of the nearest measured port, between two records */
	uint64_t record_ns, record_bytes; /* its last record */
	double variation_us;         /* variation of RTTs while the port is not full */
	double period_us;            /* least variation of this period */
	struct ccs_jitter rtts;      /* these RTTs */
	unsigned jitter_samples;
	bool full;                   /* the advice is less than the port's capacity */
	bool startup;                /* until the window reaches the target for the first time */
	bool paused;                 /* in a drain */
	bool measure_next;           /* the first RTT after a drain is due */
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

/* A segment's time at line rate. ack.rtt_us does not include it, the RTT of a window does. */
static double line_us(const struct ccs_cc *cc)
{
	return 8e6 * cc->path.segment / cc->path.line_rate;
}

static double base_us(const struct ccs_cc *cc, const struct copa *c)
{
	return ccs_min(cc->path.base_rtt_us, c->base_us);
}

static double jitter_us(const struct ccs_cc *cc, const struct copa *c)
{
	const double learnt = c->jitter_samples < CCS_JITTER_PERIOD / 4 ? 0 : c->excess_us;

	return ccs_max(ccs_max(cc->path.rtt_jitter_us, learnt), c->variation_us);
}

/* Fills the line even if acknowledgements wait as long as data, and with the delay of hosts. */
static double max_cwnd(const struct ccs_cc *cc, const struct copa *c)
{
	const double us = 2 * (cc->path.base_rtt_us + jitter_us(cc, c) + c->held_us);

	return cc->path.line_rate * us / 8e6 + 8 * cc->path.segment;
}

/*
 * The RTT at which the window is paced: a burst would wait in the NIC, in front of acknowledgements
 * for the other direction. A rate that follows the RTT is late by an RTT. Where acknowledgements
 * wait for data, such rates send a wave of full and empty queues from host to host. So the rate
 * follows the average RTT, and a part of the deviation from it, which damps the window: see "Two
 * directions" in docs/notebook/theory.md.
 */
static double pacing_rtt_us(const struct ccs_cc *cc, const struct copa *c)
{
	const double queue = c->avg_rtt_us - base_us(cc, c) - line_us(cc);
	const double x = ccs_max(queue / (c->avg_rtt_us + line_us(cc)), 1e-3);
	const double part = ccs_min(2 * sqrt(GAIN / NEAR / x), 1);

	return c->avg_rtt_us + part * (c->standing_us - c->held_us - c->avg_rtt_us) + line_us(cc);
}

/* The rate of the window. */
static double delay_rate(const struct ccs_cc *cc, const struct copa *c)
{
	return 8e6 * c->cwnd / pacing_rtt_us(cc, c);
}

static void set_outputs(struct ccs_cc *cc, struct copa *c)
{
	double rate = c->startup ? cc->path.line_rate : delay_rate(cc, c);

	if (c->bound > 0)
		rate = ccs_min(rate, c->bound * c->spread);
	cc->out.window = c->cwnd + cc->path.segment;
	cc->out.rate = ccs_min(ccs_max(rate, cc->param[MIN_RATE]), cc->path.line_rate);
	if (c->paused)
		cc->out.rate = cc->param[MIN_RATE];
}

/* A bound limits the window by the base RTT, so the queue of flows that began together drains. */
static void set_cwnd(struct ccs_cc *cc, struct copa *c, double cwnd)
{
	const double least = cc->param[MIN_RATE] * pacing_rtt_us(cc, c) / 8e6;
	const double us = base_us(cc, c) + jitter_us(cc, c) + c->held_us +
			  BOUND_QUEUE * ccs_cc_segment_us(&cc->path, cc->path.segment);

	if (c->bound > 0)
		cwnd = ccs_min(cwnd, c->bound * us / 8e6 + cc->path.segment);
	c->cwnd = ccs_max(ccs_min(cwnd, max_cwnd(cc, c)), least);
	set_outputs(cc, c);
}

static void on_init(struct ccs_cc *cc)
{
	struct copa *c = state(cc);

	*c = (struct copa){
		.velocity = 0.5, .startup = true, .base_us = INFINITY, .spread = 1,
		.standing_us = cc->path.base_rtt_us, .avg_rtt_us = cc->path.base_rtt_us,
		.least_us = INFINITY, .period_us = INFINITY,
	};
	cc->out.timer_us = INFINITY;
	set_cwnd(cc, c, cc->path.segment);
}

/* -- drains ---------------------------------------------------------------------------- */

/*
 * Whether the flow sees a queue that its bound does not drain. Pauses of bound flows would disturb
 * the measurement from which the bound follows. False as well: the flow has the path alone.
 */
static bool has_queue(const struct ccs_cc *cc, const struct copa *c)
{
	if (c->bound > 0 && delay_rate(cc, c) > ELSEWHERE * c->bound)
		return false;
	return c->queue_us + jitter_us(cc, c) > 1.5 * line_us(cc);
}

/*
 * A flow that joins a standing queue would never measure the empty path, and take a multiple of
 * its share. So each flow that sees a queue pauses for an RTT at multiples of a power of two of
 * the hosts' common time. The queue drains, and the next segment, which is small, measures the
 * path. If clocks differ by more than an RTT, a drain only reveals the flow's share of the queue.
 */
static void arm_drain(struct ccs_cc *cc, const struct copa *c, double now_us)
{
	const double apart = cc->param[DRAIN] * (c->srtt_us + DRAIN_BASES * base_us(cc, c));
	const double period = exp2(ceil(log2(apart)));

	cc->out.timer_us = INFINITY;
	if (apart > 0 && period < INFINITY && has_queue(cc, c))
		cc->out.timer_us = (floor((now_us + cc->path.epoch_us) / period) + 1) * period -
				   cc->path.epoch_us;
	if (cc->out.timer_us <= now_us) /* rounding */
		cc->out.timer_us = now_us + period;
}

static void on_timer(struct ccs_cc *cc, double now_us)
{
	struct copa *c = state(cc);

	if (!c->paused && (c->acked_us < c->resumed_us || !has_queue(cc, c))) {
		cc->out.timer_us = INFINITY;
		return;
	}
	c->paused = !c->paused;
	set_outputs(cc, c);
	c->decided_us = now_us;
	if (c->paused) {
		cc->out.timer_us = now_us + c->srtt_us;
		return;
	}
	c->resumed_us = now_us;
	c->measure_next = true;
	cc->out.small_next = true;
	arm_drain(cc, c, now_us);
}

/*
 * The excess of the first RTT after a drain over the minimum RTT is jitter of the hosts, except
 * for a segment that the drain may have left. A flow that waits for a timeout or sends rarely may
 * have no RTT before the queue has returned.
 */
static void learn_jitter(struct ccs_cc *cc, struct copa *c, double rtt_us, double now_us)
{
	const double excess = ccs_max(rtt_us - base_us(cc, c) - line_us(cc), 0);

	c->measure_next = false;
	if (now_us - rtt_us > c->resumed_us + c->srtt_us)
		return;
	c->jitter_samples += c->jitter_samples < CCS_JITTER_PERIOD;
	c->excess_us += (ccs_min(excess, cc->param[MAX_JITTER]) - c->excess_us) / c->jitter_samples;
}

/*
 * A queue does not shorten the distance at which the NIC sent segments. Acknowledgements that are
 * closer together were held after the queue: by a host, or by data of the other direction. The
 * second case counts less, or hosts with data in both directions would use less of their links.
 */
static void count_batch(const struct ccs_cc *cc, struct copa *c, const struct ccs_cc_ack *ack)
{
	const double apart_us = ack->now_us - c->acked_us;
	const bool is_new = apart_us > CLOSE * 8e6 * ack->bytes / cc->path.line_rate;
	const double segments = ccs_min(ack->bytes / cc->path.segment, 1);

	if (is_new && c->batch > 0) {
		const double share = ccs_max(c->batch - 1, 0) / (c->batch + c->batch_left);

		c->batch_share += (share - c->batch_share) * ccs_min(c->batch / AVERAGE, 1);
		c->batch = 0;
	}
	c->batch += apart_us > 0 && !is_new ? CLOSE_WEIGHT * segments : segments;
	c->batch_left = ack->inflight / cc->path.segment;
}

/*
 * If a batch is a share of the data in flight, hosts hold acknowledgements for about that share of
 * the RTT. The share does not depend on the flow's rate, so flows with such hosts stay fair; dq
 * divided by the length of a batch would favour fast flows. Hosts may return a window in two or
 * three batches, and each batch has a part of the delay: therefore the rest is cubed.
 *
 * The jitter of hosts counts as a segment's time at least, because an acknowledgement may wait for
 * data of the other direction. At least 1/8 of dq remains: the queue of flows that do not drain may
 * look like jitter.
 */
static void measure_queue(const struct ccs_cc *cc, struct copa *c)
{
	const double all = ccs_max(c->standing_us - base_us(cc, c), 1e-3);
	const double rest = 1 - c->batch_share, left = rest * rest * rest, dq = all * left;

	c->held_us = all * (1 - left);
	c->queue_us = ccs_max(dq - ccs_max(jitter_us(cc, c), line_us(cc)), dq / 8);
}

/* The average starts again when the queue was far too short for more than an RTT. */
static void update_average(struct copa *c, double now_us)
{
	const double us = c->standing_us - c->held_us;
	const double rtts = c->acked_us > 0 ? (now_us - c->acked_us) / c->srtt_us : AVERAGE;

	if (c->startup || c->velocity > 1)
		c->avg_rtt_us = us;
	else if (!c->paused)
		c->avg_rtt_us += (us - c->avg_rtt_us) * ccs_min(rtts / AVERAGE, 1);
}

/*
 * While the nearest measured port is not full, RTTs vary because of the hosts, or of a queue at another
 * link. Hosts delay at all times, but flows that come and go vary a queue at some times only. So the
 * least variation of the last two periods counts.
 */
static void learn_variation(const struct ccs_cc *cc, struct copa *c, double rtt_us, double now_us)
{
	if (c->full || c->load >= CCS_LOAD_FULL) {
		c->variation_us *= 1 - VARIATION_DECAY;
		return;
	}
	if (c->bound == 0 || c->lost_us > 0 || now_us < c->resumed_us + REFILL_RTTS * c->srtt_us)
		return;
	ccs_jitter_add(&c->rtts, rtt_us);
	if (c->rtts.samples % CCS_JITTER_PERIOD == 0) {
		c->variation_us = c->period_us;
		c->period_us = INFINITY;
	}
	c->period_us = ccs_min(c->period_us, ccs_min(ccs_jitter_us(&c->rtts), cc->param[MAX_JITTER]));
	c->variation_us = ccs_min(c->variation_us, c->period_us);
}

static void measure(struct ccs_cc *cc, struct copa *c, const struct ccs_cc_ack *ack)
{
	const double rtt = ack->rtt_us + ack->nic_wait_us, segment = cc->path.segment;
	const double rest = ccs_max(1 - ack->bytes / segment, 0) * line_us(cc);

	if (!c->paused)
		learn_variation(cc, c, rtt, ack->now_us);
	c->srtt_us += c->srtt_us > 0 ? (rtt - c->srtt_us) / 8 : rtt;
	if (ack->now_us - c->since_us >= MIN_RTT_PERIOD * c->srtt_us) {
		c->standing_us = c->least_us;
		c->least_us = INFINITY;
		c->since_us = ack->now_us;
	}
	c->least_us = ccs_min(c->least_us, rtt);
	c->standing_us = ccs_min(c->standing_us, rtt);
	c->base_us = ccs_min(c->base_us, rtt + rest);
	if (c->measure_next && ack->now_us - rtt >= c->resumed_us)
		learn_jitter(cc, c, rtt, ack->now_us);
	count_batch(cc, c, ack);
	measure_queue(cc, c);
	update_average(c, ack->now_us);
	c->acked_us = ack->now_us;
}

/* -- the window ------------------------------------------------------------------------ */

/* The flow's share of the queue: one segment after losses, because the queue is too short. */
static double queue_share(const struct ccs_cc *cc, const struct copa *c)
{
	return cc->path.segment * ccs_min(1 / cc->param[DELTA], c->lost_us > 0 ? 1 : INFINITY);
}

/*
 * Once per RTT, check whether the target is far. If it is far above, the velocity doubles in each
 * RTT but the first. If it is far below, the window falls to its part on the path without a queue,
 * and its share of the queue. True: the window has fallen.
 */
static bool judge_distance(struct ccs_cc *cc, struct copa *c, double target, double now_us)
{
	if (now_us - c->judged_us < c->srtt_us)
		return false;
	c->judged_us = now_us;
	if (now_us > c->lost_us + FORGET_US)
		c->lost_us = 0;
	c->velocity = target <= 2 * c->cwnd ? 0.5 :
		      ccs_min(2 * c->velocity, max_cwnd(cc, c) / (GAIN * cc->path.segment));
	if (c->cwnd <= 2 * target)
		return false;
	c->decided_us = now_us;
	set_cwnd(cc, c, ccs_min(c->cwnd, c->cwnd * base_us(cc, c) / (c->standing_us - c->held_us) +
					 queue_share(cc, c)));
	return true;
}

/*
 * A step takes effect an RTT later, or two RTTs if acknowledgements wait for the same time as data.
 * With steps of constant length all flows of a queue would oscillate together, and the queue would
 * be empty for a part of the time.
 */
static void step(struct ccs_cc *cc, struct copa *c, const struct ccs_cc_ack *ack, double target)
{
	double by = GAIN * ccs_min(queue_share(cc, c), fabs(target - c->cwnd) / NEAR);

	if (target >= c->cwnd)
		by = ccs_max(by, ccs_min(c->velocity * by, c->cwnd));
	by *= ccs_min(ack->bytes / c->cwnd, 1);
	set_cwnd(cc, c, c->cwnd > target ? c->cwnd - by : c->cwnd + by);
}

/*
 * Segments that meet in a queue at equal rates would meet in each round. So a flow whose last
 * segment waited sends slower, and a flow whose segment did not wait faster. Windows do not limit
 * flows with less than a segment per RTT: while their segments wait for longer than chance explains,
 * they slow down by up to another 2 %. With more the advice would rise, and the queue would return.
 */
static void set_spread(const struct ccs_cc *cc, struct copa *c, double rtt_us)
{
	const double segment_us = ccs_cc_segment_us(&cc->path, cc->path.segment);
	const double waited_us = rtt_us - base_us(cc, c) - jitter_us(cc, c);
	const double flows = 8e6 * cc->path.segment / segment_us / c->bound;
	const double excess_us = waited_us - CCS_CHANCE_P99 * sqrt(flows) * segment_us;

	c->spread = 1 + SPREAD * (1 - 2 * ccs_min(ccs_max(waited_us / segment_us, 0), 1));
	if (c->bound > 0 && flows * segment_us >= base_us(cc, c) && excess_us > 0)
		c->spread -= ccs_min(excess_us / (flows * segment_us), 2 * SPREAD);
}

/* After a restart of the agent, time and counter may be smaller: the next record is measured. */
static void measure_port(struct ccs_cc *cc, struct copa *c, const struct ccs_cc_ack *ack)
{
	const struct ccs_cc_hop *now = ack->hops;

	if (!ack->nhops || now->ts_ns == c->record_ns)
		return;
	if (c->record_ns && now->ts_ns > c->record_ns && now->tx_bytes >= c->record_bytes &&
	    now->capacity >= 1)
		c->load = 8e9 * (double)(now->tx_bytes - c->record_bytes) /
			  ((double)(now->ts_ns - c->record_ns) * now->capacity);
	cc->out.utilisation = c->load;
	c->record_ns = now->ts_ns;
	c->record_bytes = now->tx_bytes;
}

static void take_advice(struct ccs_cc *cc, struct copa *c, const struct ccs_cc_ack *ack)
{
	double capacity = ccs_cc_bottleneck(&cc->path);
	const double payload = cc->path.payload_share > 0 ? cc->path.payload_share : 1;
	const double advised = cc->ops->needs & CCS_NEEDS_ADVICE ? payload * ack->advised_rate : 0;

	if (advised == c->bound)
		return;
	for (unsigned i = 0; i < ack->nhops; i++)
		capacity = ccs_min(capacity, ack->hops[i].capacity);
	c->bound = advised;
	c->full = advised > 0 && advised < CCS_ADVICE_FREE * payload * capacity;
	set_cwnd(cc, c, c->cwnd);
}

static void on_ack(struct ccs_cc *cc, const struct ccs_cc_ack *ack)
{
	struct copa *c = state(cc);
	const double rtt = ack->rtt_us + ack->nic_wait_us;
	double target;

	measure_port(cc, c, ack);
	take_advice(cc, c, ack);
	if (!(ack->rtt_us > 0 && rtt < INFINITY))
		return;
	set_spread(cc, c, ack->rtt_us);
	c->delivered += ack->bytes;
	if (ack->now_us - ack->rtt_us < c->lost_us) /* contains a retransmission */
		return;
	measure(cc, c, ack);
	if (!c->paused && cc->out.timer_us == INFINITY)
		arm_drain(cc, c, ack->now_us);
	target = (c->standing_us + line_us(cc)) * queue_share(cc, c) / c->queue_us;
	if (c->startup && c->cwnd <= target) {
		set_cwnd(cc, c, c->cwnd + ack->bytes);
		return;
	}
	c->startup = false;
	if (c->paused || ack->now_us - rtt < c->decided_us)
		return;
	if (!judge_distance(cc, c, target, ack->now_us))
		step(cc, c, ack, target);
}

/*
 * The device retransmits after a NAK, so only timeouts are reported as losses, and flows with more
 * data in flight have fewer of them. If each loss reduced a flow's share of the queue, these flows
 * would take it. So all flows that lost packets have equal shares, and one segment remains.
 *
 * If every segment since the last loss had a timeout, the queue may be longer than the timeout, and the
 * devices repeat segments that only wait. Then the flow sends half of the data that arrived since.
 */
static void on_loss(struct ccs_cc *cc, double now_us)
{
	struct copa *c = state(cc);
	const bool repeated = c->lost_us > 0 && c->acked_us <= c->lost_us;
	const double rate = c->delivered / ccs_max(now_us - c->lost_us, 1); /* bytes per us */
	double cwnd = ccs_min(c->cwnd, ccs_max(c->cwnd / 2, cc->path.segment));

	if (repeated)
		cwnd = ccs_min(c->cwnd, rate * pacing_rtt_us(cc, c)) / 2;
	c->lost_us = now_us;
	c->delivered = 0;
	if (now_us < c->decided_us + c->srtt_us)
		return;
	c->decided_us = now_us;
	c->startup = false;
	c->velocity = ccs_min(c->velocity, 1);
	set_cwnd(cc, c, cwnd);
}

static void set_rate(struct ccs_cc *cc, double rate)
{
	struct copa *c = state(cc);

	rate = ccs_min(rate, cc->path.line_rate);
	c->startup = false;
	set_cwnd(cc, c, rate * pacing_rtt_us(cc, c) / 8e6);
}

static unsigned observe(const struct ccs_cc *cc, struct ccs_cc_obs *obs, unsigned max)
{
	const struct copa *c = (const struct copa *)(const void *)cc->priv;
	const struct ccs_cc_obs all[] = {
		{ "cwnd_segments", c->cwnd / cc->path.segment, NULL },
		{ "queue_us", c->queue_us, NULL },
		{ "jitter_us", jitter_us(cc, c), NULL },
		{ "held_us", c->held_us, NULL },
		{ "velocity", ccs_max(c->velocity, 1), NULL },
		{ "advised_rate", c->bound, NULL },
		{ "phase", 0, c->paused ? "drain" : c->full ? "bound" : "steady" },
	};

	return ccs_cc_observed(obs, max, all, sizeof(all) / sizeof(*all));
}

#define COPA(NAME, DOC, NEEDS) { \
	.abi = CCS_CC_ABI, .size = sizeof(struct ccs_cc_ops), \
	.name = NAME, .doc = DOC, .needs = NEEDS, \
	.params = params, .nparams = NPARAMS, .derive = derive, \
	.on_init = on_init, .on_ack = on_ack, .on_loss = on_loss, .on_timer = on_timer, \
	.set_rate = set_rate, .observe = observe, .fallback = "copa", \
}

const struct ccs_cc_ops ccs_cc_copa = COPA("copa",
	"a few segments of each flow in the queue; needs nothing of peer or switch",
	CCS_NEEDS_RTT);
const struct ccs_cc_ops ccs_cc_rcp = COPA("rcp",
	"copa, below the rate that the agent of a receiver with a full port advises",
	CCS_NEEDS_RTT | CCS_NEEDS_ADVICE);
