/* SPDX-License-Identifier: BSD-2-Clause */
/* RTT samples: from a segment's departure to its completion, into the algorithm. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/apart.h"
#include "cc/minmax.h"
#include "flow/flow.h"

#define BASE_WINDOW_NS 10000000000ull /* a minimum older than two of these is forgotten */
#define DEFAULT_BASE_RTT_US 50.0      /* until something was measured */
#define SEGMENT_US 8.0
#define SEGMENT_LOOKS 32     /* at the clock, in the time of a segment */
#define DRAIN_SAMPLES 16 /* the longest wait for a queue to go */
#define QUEUED_SEGMENTS 4 /* so many segments' times in an RTT are a queue */
#define LATE_SEGMENTS 8   /* and so many want a witness: between TIMELY's thresholds */
#define CAP_SEGMENTS_MAX 1024
#define MOST_RATIO 10     /* of the NIC's rate and the bottleneck's */
#define MESSAGES 64       /* so many short ones, and the long ones before them are forgotten */
#define SEGMENT_MIN 4096.0
#define SEGMENT_MAX 65536.0

/*
 * A power of two that the line sends in at most SEGMENT_US: long enough to be
 * worth a completion, short against the RTT that it measures. From the line
 * rate alone, so that flows that share a port have equal segments whatever each
 * has learnt of its path; unequal ones share unequally. And from the host: a segment takes
 * a few looks at the clock, a WQE and an acknowledgement. Where a look is a system call (no
 * vDSO: some virtual machines), of 10 us or more under User-Mode Linux, the rest is as dear,
 * and short segments would take more of the CPU than all else that is done for their bytes.
 */
static double derive_segment(double line_rate, double look_us)
{
	const double us = ccs_max(SEGMENT_US, SEGMENT_LOOKS * look_us);

	return ccs_min(ccs_max(exp2(floor(log2(line_rate * us / 8e6))), SEGMENT_MIN), SEGMENT_MAX);
}

/*
 * A static worst case of outstanding data (TIMELY 3.3): what fills the pipe, host
 * noise included, and three segments. The queue that a lone flow makes of them
 * stays below TIMELY's t_low.
 */
static double derive_cap(double line_rate, double rtt_us, double segment)
{
	const double bdp = line_rate * rtt_us / 8e6;

	return segment * ccs_min(ceil(bdp / segment) + 3, CAP_SEGMENTS_MAX);
}

/* What the flow itself derives from the path. */
static void fit(struct ccs_flow *f, struct ccs_cc_path *path)
{
	if (!f->segment_given)
		f->segment = (uint32_t)derive_segment(path->line_rate, f->look_ns / 1e3);
	path->segment = ccs_max(f->segment, f->message);
	if (!f->cap_given)
		f->cap = (uint64_t)derive_cap(path->line_rate, path->base_rtt_us + path->noise_us,
					      path->segment);
	f->window = f->ramping ? ccs_max(f->window, path->segment) : (double)f->cap;
}

static void begin(struct ccs_flow *f, const struct ccs_cc_spec *spec, struct ccs_cc_path path,
		  uint64_t now_ns)
{
	f->base_window_ns = now_ns;
	f->base_min_us[0] = f->base_min_us[1] = INFINITY;
	f->base_full_us[0] = f->base_full_us[1] = INFINITY;
	f->base_samples = f->base_given ? CCS_RTT_BASE_SAMPLES : 0;
	memset(f->recv_ns, 0xff, sizeof(f->recv_ns));
	if (!f->base_given)
		path.base_rtt_us = DEFAULT_BASE_RTT_US;
	f->ramping = f->enforce; /* what holds nothing back has nothing to learn */
	f->draining = 0;
	f->late = false;
	f->believed_us = 0;
	f->vague = 0;
	f->message = f->longest = f->shorter = 0;
	f->start_rate = INFINITY;
	f->window = 0;
	fit(f, &path);
	ccs_drive_start(f, spec, &path, now_ns);
	if (f->rtt)
		*f->rtt = (struct ccs_hist){ 0 };
}

/* What is automatic in conf stays as it is in path. */
static void take_settings(struct ccs_flow *f, const struct ccs_flow_config *conf,
			  struct ccs_cc_path *path)
{
	f->epoch_ns = conf->epoch_ns;
	f->look_ns = (uint16_t)ccs_min(1e3 * conf->look_us, UINT16_MAX);
	f->max_rate = conf->max_rate;
	f->split = conf->split;
	f->enforce = conf->enforce;
	f->base_given = conf->base_rtt_us > 0;
	f->segment_given = conf->segment > 0;
	f->cap_given = conf->cap > 0;
	if (f->base_given)
		path->base_rtt_us = conf->base_rtt_us;
	if (f->segment_given)
		f->segment = (uint32_t)ccs_min(conf->segment, UINT32_MAX);
	if (f->cap_given)
		f->cap = (uint64_t)conf->cap;
	path->line_rate = conf->line_rate;
	path->noise_us = conf->noise_us;
}

void ccs_rtt_init(struct ccs_flow *f, const struct ccs_flow_config *conf,
		  const struct ccs_cc_spec *spec, uint64_t now_ns)
{
	struct ccs_cc_path path = { .flows = 1 };

	take_settings(f, conf, &path);
	f->sink = conf->sink;
	begin(f, spec, path, now_ns);
}

/* Slow start is over where nothing is held back; else it is not begun once more. */
void ccs_flow_configure(struct ccs_flow *f, const struct ccs_flow_config *conf,
			const struct ccs_cc_spec *spec, uint64_t now_ns)
{
	const bool base_given = f->base_given;
	struct ccs_cc_path path = f->cc.path;

	take_settings(f, conf, &path);
	if (!f->sent || path.line_rate != f->cc.path.line_rate || f->base_given < base_given) {
		begin(f, spec, path, now_ns);
		return;
	}
	if (f->base_given)
		f->base_samples = CCS_RTT_BASE_SAMPLES;
	if (!f->enforce) {
		f->ramping = false;
		f->draining = 0;
	}
	fit(f, &path);
	ccs_drive_advance(f, now_ns);
	ccs_drive_repath(f, &path);
	ccs_gate_follow(f, now_ns);
	if (spec != f->cc.spec)
		ccs_flow_switch(f, spec, now_ns);
}

void ccs_flow_set_line(struct ccs_flow *f, double line_rate, uint64_t now_ns)
{
	struct ccs_cc_path path = f->cc.path;

	path.line_rate = line_rate;
	begin(f, f->cc.spec, path, now_ns);
}

/*
 * What cannot be split leaves as a burst, so a queue moves by messages, not by segments. What
 * algorithms and the cap derive from the path's segment follows the longest message of late.
 */
static void learn_message(struct ccs_flow *f, uint64_t len)
{
	struct ccs_cc_path path = f->cc.path;

	if (len <= f->segment && !f->message)
		return;
	f->shorter = len < f->message ? f->shorter + 1 : 0;
	f->longest = (uint32_t)ccs_min(ccs_max(f->shorter ? f->longest : 0, (double)len), 0x1p31);
	if (f->longest == f->message || (f->shorter && f->shorter < MESSAGES))
		return;
	f->message = f->longest > f->segment ? f->longest : 0;
	f->shorter = f->longest = 0;
	fit(f, &path);
	ccs_drive_repath(f, &path);
}

/*
 * TIMELY's RTT leaves out the segment's own serialisation at the NIC's line
 * rate (3.1). With several segments or a chain of small WRs handed over at once
 * each waits for its own predecessors too, so the reference is the moment at
 * which a NIC at line rate has sent the last byte; of a WR that cannot be split, too.
 */
void ccs_rtt_depart(struct ccs_flow *f, struct ccs_seg *seg, uint64_t now_ns)
{
	const double line = f->cc.path.line_rate;
	const double ns = 8e9 * (double)seg->len / line;

	learn_message(f, seg->len);
	seg->post_ns = now_ns;
	f->nic_free_ns = (f->nic_free_ns > now_ns ? f->nic_free_ns : now_ns) + (uint64_t)ns;
	seg->depart_ns = f->nic_free_ns;
}

/*
 * The least RTT of a whole segment. It holds the segment's own time on the slowest link, but
 * also what is queued there all the time; so it is not believed beyond what small segments
 * measured and that time, or MOST_RATIO times the segment's time on the line if it is unknown.
 */
static double min_base(const struct ccs_flow *f)
{
	const double any = ccs_min(f->base_min_us[0], f->base_min_us[1]);
	const double full = ccs_min(f->base_full_us[0], f->base_full_us[1]);
	const double rate = f->cc.path.bottleneck_rate > 0 ? f->cc.path.bottleneck_rate
							   : f->cc.path.line_rate / MOST_RATIO;

	return full < INFINITY ? ccs_min(full, any + 8e6 * f->segment / rate) : any;
}

static void roll_window(struct ccs_flow *f, uint64_t now_ns)
{
	if (now_ns - f->base_window_ns <= BASE_WINDOW_NS)
		return;
	f->base_min_us[1] = f->base_min_us[0];
	f->base_full_us[1] = f->base_full_us[0];
	f->base_min_us[0] = f->base_full_us[0] = INFINITY;
	f->base_window_ns = now_ns;
}

/*
 * The windowed minimum of the RTT; parameters follow it when it moves by a tenth.
 * An RTT that holds a retransmission timeout says nothing about the path.
 */
static void learn_base(struct ccs_flow *f, const struct ccs_seg *seg, double rtt_us,
		       uint64_t now_ns)
{
	const double rest_us = 8e6 * ccs_max(f->segment - (double)seg->len, 0) /
			       f->cc.path.line_rate; /* on the first link behind the NIC's */
	struct ccs_cc_path path;
	double base;

	if (f->base_given || (f->loss_us > 0 && rtt_us >= f->loss_us))
		return;
	roll_window(f, now_ns);
	f->base_min_us[0] = ccs_min(f->base_min_us[0], rtt_us + rest_us);
	if (seg->len >= f->segment)
		f->base_full_us[0] = (float)ccs_min(f->base_full_us[0], rtt_us);
	base = ccs_max(min_base(f), 1);
	if (f->base_samples < CCS_RTT_BASE_SAMPLES && ++f->base_samples < CCS_RTT_BASE_SAMPLES)
		return;
	if (fabs(base - f->cc.path.base_rtt_us) <= 0.1 * f->cc.path.base_rtt_us)
		return;
	path = f->cc.path;
	path.base_rtt_us = base;
	fit(f, &path);
	ccs_drive_repath(f, &path);
}

static bool starts_here(const struct ccs_flow *f)
{
	return (f->cc.ops->needs & CCS_NEEDS_RTT) && !(f->cc.out.window > 0);
}

static double idle_rtt(const struct ccs_flow *f, double rtt_us)
{
	return f->base_given ? f->cc.path.base_rtt_us : ccs_min(min_base(f), rtt_us);
}

static double segment_us(const struct ccs_flow *f)
{
	return 8e6 * f->cc.path.segment / f->cc.path.line_rate;
}

/* Whether it is longer than an idle path's, and the noise, by so many segments' times. */
static bool exceeds(const struct ccs_flow *f, double rtt_us, double segments)
{
	return rtt_us > idle_rtt(f, rtt_us) + f->cc.path.noise_us + segments * segment_us(f);
}

/*
 * An RNR wait can only add to the RTT, so of RTTs as long as those of a long queue the least of
 * the last few counts. Shorter ones are not filtered: the algorithm has to see how the RTT moves.
 */
static double without_rnr(struct ccs_flow *f, double rtt_us)
{
	uint32_t least = (uint32_t)ccs_min(ceil(rtt_us * 1e3), UINT32_MAX);

	f->recv_ns[f->recv_count++] = least;
	if (!exceeds(f, rtt_us, LATE_SEGMENTS))
		return rtt_us;
	for (unsigned i = 0; i < 4; i++)
		least = f->recv_ns[i] < least ? f->recv_ns[i] : least;
	return ccs_min(rtt_us, (double)least / 1e3);
}

/*
 * Is it a queue, or was a host away: the peer, or whoever drives a software device? All
 * that was in flight then comes late, and at once. A queue also holds up what is sent after
 * it was first seen; a host that is back does not. So what is late counts from the first
 * segment on that left after the first late one had come back, one RTT later; for as long
 * as no other comes in time. The algorithm does not hear of the rest: a host that is away
 * for 1 ms in every 20 would cost a lone flow half of its throughput, as each time takes
 * half of the rate, and the steps up are small.
 *
 * Nor does a queue come all at once, as the absence does: what is later than the last that
 * counted by no more than it may be without a witness needs none. To doubt that, too, is to
 * hear of fewer late ones the more are in flight: among sixteen at a slow port who is fast
 * would stay so.
 */
static bool doubtful(struct ccs_flow *f, uint64_t number, double rtt_us)
{
	const unsigned segments = f->ramping ? QUEUED_SEGMENTS : LATE_SEGMENTS;
	const bool late = exceeds(f, rtt_us, segments);

	if (late && !f->late)
		f->late_next = (uint32_t)f->seg_head;
	f->late = late;
	if (late && rtt_us > f->believed_us + segments * segment_us(f) &&
	    (int32_t)((uint32_t)number - f->late_next) < 0)
		return true;
	f->believed_us = (float)rtt_us;
	return false;
}

static void grow(struct ccs_flow *f, const struct ccs_seg *seg)
{
	if (f->ramping)
		f->window += (double)seg->len / 2;
}

/*
 * Slow start: the window grows by half each RTT, from one segment to the cap, while
 * nothing queues, as far as can be told from the hosts' noise. The first queue ends it:
 * then the path is full, the least that came back in an RTT is what it gives this flow,
 * and half of it lets the queue drain, so that all that started together get to see the
 * unloaded path. An incast begins near its fair shares instead of in an overflow. The
 * algorithm takes over once the queue has gone (or will not go): an average that holds the
 * fall of that queue would favour those who saw more of it, for fifty samples.
 *
 * That is for algorithms that turn RTTs into a rate. One that has a rule of its own
 * for the start, by a window or by CNPs, hears of every sample, and slow start only
 * limits what is outstanding until the path is known.
 *
 * true while the algorithm is not to hear of samples.
 */
static bool slow_start(struct ccs_flow *f, const struct ccs_seg *seg, double rtt_us,
		       uint64_t now_ns)
{
	bool queued;
	double idle_us;

	if (!f->ramping && !f->draining)
		return false;
	queued = exceeds(f, rtt_us, QUEUED_SEGMENTS);
	if (!f->ramping) {
		f->draining = queued && f->draining ? f->draining - 1 : 0;
		return f->draining;
	}
	idle_us = idle_rtt(f, rtt_us);
	f->start_rate = ccs_min(f->start_rate, 8e6 * f->window /
				(ccs_max(rtt_us - f->cc.path.noise_us, idle_us) + segment_us(f)));
	grow(f, seg);
	f->ramping = !queued && f->window < (double)f->cap;
	if (!f->ramping)
		f->window = (double)f->cap;
	if (!starts_here(f))
		return false;
	if (queued) {
		ccs_drive_set_rate(f, 0.5 * f->start_rate, now_ns);
		f->draining = DRAIN_SAMPLES;
	}
	return true;
}

static void update(struct ccs_flow *f, const struct ccs_seg *seg, double rtt_us, uint64_t now_ns)
{
	const double own_us = 8e6 * (double)seg->len / f->cc.path.line_rate;
	const double wait_us = ccs_max((double)(seg->depart_ns - seg->post_ns) / 1e3 - own_us, 0);

	ccs_drive_ack(f, rtt_us, wait_us, f->pending_bytes, now_ns);
	f->pending_bytes = 0;
	f->updated_ns = now_ns;
}

/*
 * One loss a window: what was in flight when the peer's silence was seen waited for
 * the same retransmission.
 */
static void look_for_loss(struct ccs_flow *f, const struct ccs_seg *seg, double rtt_us,
			  uint64_t now_ns)
{
	if (!f->loss_us || rtt_us < f->loss_us || seg->depart_ns < f->lost_ns)
		return;
	f->lost_ns = now_ns;
	ccs_drive_loss(f, now_ns);
}

static double since_us(const struct ccs_seg *seg, uint64_t ns)
{
	return ns > seg->depart_ns ? (double)(ns - seg->depart_ns) / 1e3 : 1e-3;
}

static void set(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

/* Other processes look on: each word is whole. */
static void show(struct ccs_stats_rtt *shown, uint64_t ns)
{
	uint64_t *bucket = &shown->bucket[ccs_stats_bucket(ns)];

	if (!shown->count || ns < shown->min_ns)
		set(&shown->min_ns, ns);
	if (ns > shown->max_ns)
		set(&shown->max_ns, ns);
	set(bucket, *bucket + 1);
	set(&shown->sum_ns, shown->sum_ns + ns);
	set(&shown->last_ns, ns);
	set(&shown->count, shown->count + 1);
}

static void record(struct ccs_flow *f, double rtt_us)
{
	if (f->shown)
		show(f->shown, (uint64_t)(rtt_us * 1e3));
	if (!f->rtt)
		f->rtt = ccs_calloc_apart(1, sizeof(*f->rtt));
	if (f->rtt)
		ccs_hist_record(f->rtt, (uint64_t)(rtt_us * 1e3));
	else
		f->stats.unrecorded++;
}

/*
 * The completion lies between the last look at an empty queue and this one, and
 * behind its departure.
 *
 * For the path to be learnt, the RTT must be known to within its half or the base
 * RTT's: measured against the sample itself, so that also who polls rarely learns
 * what his path is like, whatever was assumed of it. Samples of an owner who was
 * away for long are mostly his absence.
 *
 * The algorithm is told the late end if that is within half of a base RTT. Else
 * congestion cannot be told from an application that polls rarely, and the early
 * end counts, as if the path were idle at best: no flow is slowed for its owner's
 * absence.
 */
static double measure(struct ccs_flow *f, const struct ccs_seg *seg, const struct ccs_done *done)
{
	const double base_us = f->cc.path.base_rtt_us;
	const uint64_t earliest_ns = done->earliest_ns > seg->depart_ns ? done->earliest_ns
									 : seg->depart_ns;
	const double span_ns = done->latest_ns > earliest_ns
		? (double)(done->latest_ns - earliest_ns) : 0;
	double late_us = since_us(seg, done->latest_ns), rtt_us;
	const bool known = span_ns <= 500 * ccs_max(late_us, base_us);

	if (seg->flags & CCS_WR_RECV)
		late_us = without_rnr(f, late_us);
	if (span_ns <= 500 * base_us)
		rtt_us = late_us;
	else
		rtt_us = ccs_min(late_us, ccs_max(since_us(seg, done->earliest_ns), base_us));
	if (known) {
		record(f, late_us);
		learn_base(f, seg, late_us, done->latest_ns);
	} else if (f->vague < CCS_RTT_BASE_SAMPLES) {
		f->vague++;
	}
	return rtt_us;
}

/*
 * Of what one look finds the last is the sample: the others waited for whoever did not look,
 * or did not acknowledge, longer than it did.
 */
void ccs_rtt_sample(struct ccs_flow *f, const struct ccs_seg *seg, const struct ccs_done *done)
{
	const double rtt_us = measure(f, seg, done);
	const bool counts = !ccs_flow_lives_on_rtts(f) ||
			    (!done->more && !doubtful(f, done->number, rtt_us));

	ccs_flow_revoke(f);
	look_for_loss(f, seg, rtt_us, done->latest_ns);
	if (counts && slow_start(f, seg, rtt_us, done->latest_ns))
		return;
	if (!counts && done->more)
		grow(f, seg);

	/* One update per segment's worth or per RTT: small messages are not segments. */
	f->pending_bytes += (double)seg->len;
	if (!counts)
		return;
	if (f->pending_bytes >= f->segment ||
	    (double)(done->latest_ns - f->updated_ns) >= 1e3 * f->cc.path.base_rtt_us)
		update(f, seg, rtt_us, done->latest_ns);
}
