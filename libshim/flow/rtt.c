/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RTT samples: measured from a segment's departure to its completion, filtered, and passed to the
 * base RTT, slow start and the algorithm. Times and lengths become doubles as signed numbers: of
 * unsigned numbers, the conversion takes five instructions.
 */
#include <math.h>

#include "base/pool.h"
#include "cc/minmax.h"
#include "flow/cc_events.h"
#include "flow/limits.h"
#include "flow/rtt.h"
#include "flow/send_queue.h"

/* The delay above an idle path's RTT, in segment times, that shows a queue; that is filtered
 * (between TIMELY's thresholds); and that is above the aim of any algorithm. */
#define QUEUED_SEGMENTS 4
#define LATE_SEGMENTS 8
#define HIGH_SEGMENTS 32
#define LEAST_WINDOW 3    /* segments: one in flight, copa's 1.67 in the queue, and rounding */
#define LEAST_RATE 1.05   /* times the floor */
#define LEAST_SHARE 2e-4  /* times the line rate */
#define FORGET_NS 10000000000ull /* losses older than this are forgotten */
#define LOSSES_MAX 7 /* further losses are not counted */
#define MOST_RATIO 10     /* largest ratio of the NIC's rate to the bottleneck's */

void ccs_rtt_restart(struct ccs_flow *f, uint64_t now_ns)
{
	ccs_base_rtt_init(&f->rtt.base, now_ns);
	f->learned.base_samples = f->user.base_rtt ? CCS_RTT_BASE_SAMPLES : 0;
	f->learned.imprecise_samples = 0;
	f->rtt.last_us = 0;
	ccs_rtt_outlier_init(&f->rtt.outlier);
	ccs_rnr_filter_init(&f->rtt.rnr);
	f->rtt.control = (struct ccs_control_state){ 0 };
}

/*
 * TIMELY's RTT leaves out the segment's serialisation at the NIC's line rate (3.1). If several
 * segments or WRs are handed over at once, each also waits for its predecessors, so the reference
 * is the time at which a NIC at line rate has sent the last byte. This includes unsplit WRs.
 */
void ccs_rtt_depart(struct ccs_flow *f, struct ccs_seg *seg, uint64_t now_ns)
{
	const double line = f->cc.path.line_rate;
	const int64_t ns = (int64_t)(8e9 * (double)(int64_t)seg->len / line);

	if (seg->len <= f->segments.len || !ccs_flow_splits(f, seg->flags))
		ccs_flow_learn_message(f, seg->len);
	seg->post_ns = now_ns;
	f->gate.nic_free_ns = (f->gate.nic_free_ns > now_ns ? f->gate.nic_free_ns : now_ns) + (uint64_t)ns;
	seg->depart_ns = seg->signal ? f->gate.nic_free_ns : 0;
}

/* If the slowest link is unknown, assume one MOST_RATIO times slower than the NIC. */
static double measured_base_us(const struct ccs_flow *f)
{
	const double rate = f->cc.path.bottleneck_rate > 0 ? f->cc.path.bottleneck_rate
							   : f->cc.path.line_rate / MOST_RATIO;

	return ccs_base_rtt_us(&f->rtt.base, 8e6 * f->segments.len / rate);
}

/*
 * Parameters follow the base RTT when it moves by a tenth. An RTT that includes a retransmission
 * timeout does not measure the path.
 */
static void learn_base(struct ccs_flow *f, const struct ccs_seg *seg, double rtt_us,
		       uint64_t now_ns)
{
	struct ccs_cc_path path;
	double base, rest_us;

	if (f->user.base_rtt || (f->rtt.loss_us > 0 && rtt_us >= f->rtt.loss_us))
		return;
	rest_us = 8e6 * ccs_max(f->segments.len - (double)seg->len, 0) /
		  f->cc.path.line_rate; /* on the first link after the NIC */
	ccs_base_rtt_add(&f->rtt.base, rtt_us, rest_us, seg->len >= f->segments.len, now_ns);
	if (f->learned.base_samples < CCS_RTT_BASE_SAMPLES && ++f->learned.base_samples < CCS_RTT_BASE_SAMPLES)
		return;
	base = ccs_max(measured_base_us(f), 1);
	if (fabs(base - f->cc.path.base_rtt_us) <= 0.1 * f->cc.path.base_rtt_us)
		return;
	path = f->cc.path;
	path.base_rtt_us = base;
	ccs_flow_derive_limits(f, &path);
	ccs_flow_cc_repath(f, &path);
}

static double idle_rtt_us(const struct ccs_flow *f, double rtt_us)
{
	return f->user.base_rtt ? f->cc.path.base_rtt_us : ccs_min(measured_base_us(f), rtt_us);
}

static double segment_us(const struct ccs_flow *f)
{
	return 8e6 * f->cc.path.segment / f->cc.path.line_rate;
}

/* The idle path's RTT, plus the jitter and this number of segment times. */
static double limit_us(const struct ccs_flow *f, double rtt_us, double segments)
{
	return idle_rtt_us(f, rtt_us) + f->cc.path.rtt_jitter_us + segments * segment_us(f);
}

static bool is_outlier(struct ccs_flow *f, uint64_t number, double rtt_us)
{
	const unsigned segments = f->slow_start.ramping ? QUEUED_SEGMENTS : LATE_SEGMENTS;
	const struct ccs_rtt_outlier_sample sample = {
		.rtt_us = rtt_us,
		.limit_us = limit_us(f, rtt_us, segments),
		.tolerance_us = segments * segment_us(f),
		.seq = (uint32_t)number,
		.next_seq = (uint32_t)f->seg_head,
	};

	return ccs_rtt_is_outlier(&f->rtt.outlier, &sample);
}

/*
 * True if slow start gives the algorithm its first rate. It does for algorithms that turn RTTs
 * into a rate. An algorithm with its own rule for the start, by a window or by CNPs, gets every
 * sample, and slow start only limits what is outstanding until the path is known.
 */
static bool slow_start_sets_rate(const struct ccs_flow *f)
{
	return (f->cc.ops->needs & CCS_NEEDS_RTT) && !(f->cc.out.window > 0);
}

static bool ramp_sample(struct ccs_flow *f, const struct ccs_seg *seg, double rtt_us, bool queued,
			uint64_t now_ns)
{
	const double net_us = ccs_max(rtt_us - f->cc.path.rtt_jitter_us, idle_rtt_us(f, rtt_us));

	ccs_slow_start_sample(&f->slow_start, seg->len, net_us + segment_us(f), queued,
			      (double)f->gate.max_inflight);
	if (!slow_start_sets_rate(f))
		return false;
	if (queued)
		ccs_flow_cc_set_rate(f, ccs_slow_start_drain(&f->slow_start), now_ns);
	return true;
}

/* A sample in slow start. True if the algorithm must not see it. */
static bool slow_start_sample(struct ccs_flow *f, const struct ccs_seg *seg, double rtt_us,
			      uint64_t now_ns)
{
	const bool queued = rtt_us > limit_us(f, rtt_us, QUEUED_SEGMENTS);

	return f->slow_start.ramping ? ramp_sample(f, seg, rtt_us, queued, now_ns)
				     : ccs_slow_start_is_draining(&f->slow_start, queued);
}

/*
 * TIMELY's thresholds rise as the rate falls, so its rate may stay above its floor: a flow that is
 * practically stopped counts as at its floor.
 */
static bool is_at_floor(const struct ccs_flow *f, double rate, bool by_rtt)
{
	const struct ccs_cc *cc = &f->cc;

	if (rate <= LEAST_RATE * ccs_cc_min_rate(cc))
		return true;
	return by_rtt && (rate <= LEAST_SHARE * cc->path.line_rate ||
			  (cc->out.window > 0 &&
			   cc->out.window <= LEAST_WINDOW * cc->path.segment));
}

/*
 * Whether the algorithm cannot reduce the flow's rate, or does not. Algorithms with marks or
 * telemetry need not respond to RTTs, which a queue in the host raises as well. Whether advice is
 * followed is known.
 */
static enum ccs_control lost_control(const struct ccs_flow *f)
{
	const struct ccs_cc *cc = &f->cc;
	const bool by_rtt = cc->ops->needs == CCS_NEEDS_RTT;
	const double rate = ccs_flow_rate(f);

	if (cc->ops == &ccs_cc_none || (cc->ops->needs & CCS_NEEDS_ADVICE))
		return CCS_CONTROL_OK;
	if (!cc->ops->set_rate)
		return CCS_CONTROL_AT_LIMIT;
	if (is_at_floor(f, rate, by_rtt))
		return CCS_CONTROL_AT_FLOOR;
	if (by_rtt && !(cc->out.window > 0) && rate >= ccs_min(f->user.max_rate, cc->path.line_rate))
		return CCS_CONTROL_AT_LIMIT;
	return CCS_CONTROL_OK;
}

/* A flow without waiting WRs is limited by its application. */
static void watch_control(struct ccs_flow *f, double rtt_us, uint64_t now_ns)
{
	const struct ccs_cc_path *path = &f->cc.path;
	const bool high = rtt_us > path->base_rtt_us + path->rtt_jitter_us +
				   HIGH_SEGMENTS * segment_us(f);

	if (f->user.enforce && (!high || ccs_flow_waiting(f)))
		ccs_control_sample(&f->rtt.control, high ? lost_control(f) : CCS_CONTROL_OK, rtt_us,
				   f->rtt.updated_ns, now_ns);
}

static void update_algorithm(struct ccs_flow *f, const struct ccs_seg *seg, double rtt_us,
			     uint64_t now_ns)
{
	const double own_us = 8e6 * (double)(int64_t)seg->len / f->cc.path.line_rate;
	const double nic_us = (double)(int64_t)(seg->depart_ns - seg->post_ns) / 1e3;

	watch_control(f, rtt_us, now_ns);
	f->stats.samples++;
	ccs_flow_cc_on_ack(f, rtt_us, ccs_max(nic_us - own_us, 0), (double)(int64_t)f->pending_bytes,
			   now_ns);
	f->pending_bytes = 0;
	f->rtt.updated_ns = now_ns;
}

/*
 * 4.096 us * 2^timeout, or later (IBTA 9.7.6.1.3). Soft-RoCE rounds down to kernel ticks, and the
 * first tick has begun. A shorter RTT is the pause of a busy host, not a loss.
 */
float ccs_flow_loss_us(unsigned timeout, double tick_us)
{
	const double us = 4.096 * (double)(1ull << (timeout & 31));

	return timeout ? (float)ccs_max(us - 2 * tick_us, us / 2) : 0;
}

/*
 * At most one loss per window: segments that were in flight when the timeout was seen waited for
 * the same retransmission.
 */
static void detect_loss(struct ccs_flow *f, const struct ccs_seg *seg, double rtt_us,
			uint64_t now_ns)
{
	const bool lost = f->rtt.loss_us > 0 && rtt_us >= f->rtt.loss_us && seg->depart_ns >= f->rtt.lost_ns;
	const bool forgotten = f->learned.losses && now_ns > f->rtt.lost_ns + FORGET_NS;

	if (forgotten)
		f->learned.losses = 0;
	if (lost) {
		f->rtt.lost_ns = now_ns;
		ccs_flow_cc_on_loss(f, now_ns);
		if (f->learned.losses < LOSSES_MAX)
			f->learned.losses++;
	}
	if (f->learned.losses || forgotten)
		ccs_flow_update_segment(f);
}

static double since_departure_us(const struct ccs_seg *seg, uint64_t ns)
{
	return ns > seg->depart_ns ? (double)(int64_t)(ns - seg->depart_ns) / 1e3 : 1e-3;
}

static void store(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

/* Other processes read this at any time: each word is stored at once. */
static void add_to_stats(struct ccs_stats_rtt *stats, uint64_t ns)
{
	uint64_t *bucket = &stats->bucket[ccs_stats_bucket(ns)];

	if (!stats->count || ns < stats->min_ns)
		store(&stats->min_ns, ns);
	if (ns > stats->max_ns)
		store(&stats->max_ns, ns);
	store(bucket, *bucket + 1);
	store(&stats->sum_ns, stats->sum_ns + ns);
	store(&stats->last_ns, ns);
	store(&stats->count, stats->count + 1);
}

static void record(struct ccs_flow *f, double rtt_us)
{
	if (!f->rtt.stats) {
		f->rtt.stats = ccs_pool_calloc(1, sizeof(*f->rtt.stats));
		f->rtt.owns_stats = f->rtt.stats;
	}
	if (f->rtt.stats)
		add_to_stats(f->rtt.stats, (uint64_t)(int64_t)(rtt_us * 1e3));
	else
		f->stats.unrecorded++;
}

/* A queue's delay must be known to an eighth of itself. */
static double precision_ns(double idle_us, double rtt_us)
{
	return 125 * (rtt_us - idle_us);
}

double ccs_flow_poll_ns(const struct ccs_flow *f, double idle_ns, uint64_t now_ns)
{
	const double base_us = f->cc.path.base_rtt_us;
	const struct ccs_seg *oldest = ccs_flow_seg(f, f->seg_tail);
	double rtt_us = f->rtt.last_us;

	if (f->seg_tail != f->seg_head && oldest->depart_ns)
		rtt_us = ccs_max(rtt_us, since_departure_us(oldest, now_ns));
	return ccs_max(ccs_min(idle_ns, 250 * base_us), precision_ns(base_us, rtt_us) / 2);
}

/*
 * The completion occurred between the last poll that found the queue empty and this one, and after
 * the departure.
 *
 * The base RTT is learned from an RTT that is known to within half of itself or of the base RTT.
 * The comparison with the sample itself lets an application that polls rarely learn its path,
 * whatever base RTT was assumed. Samples of an application that paused mostly measure its pause.
 *
 * The algorithm gets the late end if it is exact to half of the least RTT, or to an eighth of the
 * delay in queues. Otherwise congestion cannot be distinguished from an application that polls
 * rarely, and the algorithm gets the early end, or the base RTT if that is longer: a flow is not
 * slowed because its application paused.
 */
static double measured_rtt_us(struct ccs_flow *f, const struct ccs_seg *seg,
			      const struct ccs_done *done)
{
	const double base_us = f->cc.path.base_rtt_us;
	const uint64_t earliest_ns = done->earliest_ns > seg->depart_ns ? done->earliest_ns
									 : seg->depart_ns;
	const double span_ns = done->latest_ns > earliest_ns
		? (double)(int64_t)(done->latest_ns - earliest_ns) : 0;
	double late_us = since_departure_us(seg, done->latest_ns), idle_us, rtt_us;
	const bool precise = span_ns <= 500 * ccs_max(late_us, base_us);

	if (seg->flags & CCS_WR_RECV)
		late_us = ccs_rnr_filter_us(&f->rtt.rnr, late_us, limit_us(f, late_us, LATE_SEGMENTS));
	idle_us = idle_rtt_us(f, late_us);
	if (span_ns <= ccs_max(500 * idle_us, precision_ns(idle_us, late_us)))
		rtt_us = late_us;
	else
		rtt_us = ccs_min(late_us,
				 ccs_max(since_departure_us(seg, done->earliest_ns), base_us));
	f->rtt.last_us = (float)rtt_us;
	if (precise) {
		record(f, late_us);
		learn_base(f, seg, late_us, done->latest_ns);
	} else if (f->learned.imprecise_samples < CCS_RTT_BASE_SAMPLES) {
		f->learned.imprecise_samples++;
	}
	return rtt_us;
}

/*
 * If one poll returns several completions, only the last is a sample: the others waited longer for
 * the poll or for the acknowledgement.
 */
void ccs_rtt_sample(struct ccs_flow *f, const struct ccs_seg *seg, const struct ccs_done *done)
{
	const double rtt_us = measured_rtt_us(f, seg, done);
	const bool counts = !ccs_flow_uses_rtts_only(f) ||
			    (!done->more && !is_outlier(f, done->number, rtt_us));

	ccs_flow_fastpath_revoke(f);
	detect_loss(f, seg, rtt_us, done->latest_ns);
	if (counts && (f->slow_start.ramping || f->slow_start.drain_samples) &&
	    slow_start_sample(f, seg, rtt_us, done->latest_ns))
		return;
	if (!counts && done->more)
		ccs_slow_start_grow(&f->slow_start, seg->len);

	/* One update per segment of data or per RTT, as messages may be small. */
	f->pending_bytes += seg->len;
	if (!counts)
		return;
	if (f->pending_bytes >= f->segments.len ||
	    (double)(done->latest_ns - f->rtt.updated_ns) >= 1e3 * f->cc.path.base_rtt_us)
		update_algorithm(f, seg, rtt_us, done->latest_ns);
}
