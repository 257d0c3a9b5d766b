/* SPDX-License-Identifier: BSD-2-Clause */
/* RTT samples: from a segment's departure to its completion, into the algorithm. */
#include <math.h>

#include "flow/flow.h"

#define BASE_WINDOW_NS 10000000000ull /* a minimum older than two of these is forgotten */
#define BASE_FIRST_SAMPLES 8
#define DEFAULT_BASE_RTT_US 50.0      /* until something was measured */
#define SEGMENT_US 8.0
#define DRAIN_SAMPLES 16 /* the longest wait for a queue to go */
#define CAP_SEGMENTS_MAX 256
#define SEGMENT_MIN 4096.0
#define SEGMENT_MAX 65536.0

/*
 * A power of two that the line sends in at most SEGMENT_US: long enough to be
 * worth a completion, short against the RTT that it measures. From the line
 * rate alone, so that flows that share a port have equal segments whatever each
 * has learnt of its path; unequal ones share unequally.
 */
static double derive_segment(double line_rate)
{
	return fmin(fmax(exp2(floor(log2(line_rate * SEGMENT_US / 8e6))), SEGMENT_MIN), SEGMENT_MAX);
}

/*
 * A static worst case of outstanding data (TIMELY 3.3): what fills the pipe, host
 * noise included, and three segments. The queue that a lone flow makes of them
 * stays below TIMELY's t_low.
 */
static double derive_cap(double line_rate, double rtt_us, double segment)
{
	const double bdp = line_rate * rtt_us / 8e6;

	return segment * fmin(ceil(bdp / segment) + 3, CAP_SEGMENTS_MAX);
}

/* The path is better known now: what is derived from it follows, the rate stays. */
static void adopt_base(struct ccs_flow *f, double base_rtt_us)
{
	const struct ccs_flow_config *conf = &f->conf;

	f->path.base_rtt_us = base_rtt_us;
	f->path.noise_us = conf->noise_us;
	f->path.segment = conf->segment > 0 ? conf->segment : derive_segment(conf->line_rate);
	f->segment = (uint64_t)f->path.segment;
	f->cap = (uint64_t)(conf->cap > 0 ? conf->cap
			    : derive_cap(conf->line_rate, base_rtt_us + conf->noise_us, f->path.segment));
	f->window = f->ramping ? fmax(f->window, f->path.segment) : (double)f->cap;
}

void ccs_rtt_init(struct ccs_flow *f, const struct ccs_cc_spec *spec, uint64_t now_ns)
{
	f->base_window_ns = now_ns;
	f->base_min_us[0] = f->base_min_us[1] = INFINITY;
	f->path = (struct ccs_cc_path){ .line_rate = f->conf.line_rate, .flows = 1 };
	f->ramping = f->conf.enforce; /* what holds nothing back has nothing to learn */
	f->draining = 0;
	f->start_rate = INFINITY;
	f->window = 0;
	f->jitter = 1;
	f->base_samples = 0;
	adopt_base(f, f->conf.base_rtt_us > 0 ? f->conf.base_rtt_us : DEFAULT_BASE_RTT_US);
	ccs_drive_start(f, spec, now_ns);
	f->rtt = (struct ccs_hist){ 0 };
}

/*
 * TIMELY's RTT leaves out the segment's own serialisation at the NIC's line
 * rate (3.1). With several segments or a chain of small WRs handed over at once
 * each waits for its own predecessors too, so the reference is the moment at
 * which a NIC at line rate has sent the last byte. A WR that cannot be split
 * is a burst that the network drains at the flow's rate, not at line rate:
 * beyond one segment that is what it is allowed (TIMELY 5, paced bursts).
 */
void ccs_rtt_depart(struct ccs_flow *f, struct ccs_seg *seg, uint64_t now_ns)
{
	const double head = fmin((double)seg->len, f->path.segment);
	const double rest = (double)seg->len - head;
	const double ns = 8e9 * head / f->conf.line_rate +
			  8e9 * rest / fmin(ccs_flow_rate(f), f->conf.line_rate);

	f->nic_free_ns = (f->nic_free_ns > now_ns ? f->nic_free_ns : now_ns) + (uint64_t)ns;
	seg->depart_ns = f->nic_free_ns;
}

static double min_base(const struct ccs_flow *f)
{
	return fmin(f->base_min_us[0], f->base_min_us[1]);
}

static void roll_window(struct ccs_flow *f, uint64_t now_ns)
{
	if (now_ns - f->base_window_ns <= BASE_WINDOW_NS)
		return;
	f->base_min_us[1] = f->base_min_us[0];
	f->base_min_us[0] = INFINITY;
	f->base_window_ns = now_ns;
}

/*
 * The windowed minimum of the RTT; parameters follow it when it moves by a tenth.
 * An RTT that holds a retransmission timeout says nothing about the path.
 */
static void learn_base(struct ccs_flow *f, double rtt_us, uint64_t now_ns)
{
	double base;

	if (f->conf.base_rtt_us > 0 || (f->loss_us > 0 && rtt_us >= f->loss_us))
		return;
	roll_window(f, now_ns);
	f->base_min_us[0] = fmin(f->base_min_us[0], rtt_us);
	base = fmax(min_base(f), 1);
	if (f->base_samples < BASE_FIRST_SAMPLES && ++f->base_samples < BASE_FIRST_SAMPLES)
		return;
	if (fabs(base - f->path.base_rtt_us) <= 0.1 * f->path.base_rtt_us)
		return;
	adopt_base(f, base);
	ccs_drive_repath(f);
}

/* An RNR wait can only add: the least of the last few is the network's. */
static double without_rnr(struct ccs_flow *f, double rtt_us)
{
	double least = rtt_us;

	f->recv_min_us[f->recv_count++ % 4] = rtt_us;
	for (unsigned i = 0; i < 4 && i < f->recv_count; i++)
		least = fmin(least, f->recv_min_us[i]);
	return least;
}

static bool starts_here(const struct ccs_flow *f)
{
	return (f->cc.ops->needs & CCS_NEEDS_RTT) && !(f->cc.out.window > 0);
}

/*
 * Slow start: the window grows by half each RTT, from one segment to the cap, while
 * nothing queues. The first queue ends it: then the path is full, the least that
 * came back in an RTT is what it gives this flow, and half of it lets the queue
 * drain, so that all that started together get to see the unloaded path. An incast
 * begins near its fair shares instead of in an overflow. The algorithm takes over
 * once the queue has gone (or will not go): an average that holds the fall of that
 * queue would favour those who saw more of it, for fifty samples.
 *
 * That is for algorithms that turn RTTs into a rate. One that has a rule of its own
 * for the start, by a window or by CNPs, hears of every sample, and slow start only
 * limits what is outstanding until the path is known.
 *
 * true while the algorithm is not to hear of samples.
 */
static bool slow_start(struct ccs_flow *f, double rtt_us, uint64_t len)
{
	const double ser_us = 8e6 * f->path.segment / f->conf.line_rate;
	const double least = f->conf.base_rtt_us > 0 ? f->conf.base_rtt_us
						     : fmin(min_base(f), rtt_us);
	const bool queued = rtt_us > least + 4 * ser_us;

	if (!f->ramping) {
		f->draining = queued && f->draining ? f->draining - 1 : 0;
		return f->draining;
	}
	f->start_rate = fmin(f->start_rate, 8e6 * f->window / (rtt_us + ser_us));
	f->window += (double)len / 2;
	f->ramping = !queued && f->window < (double)f->cap;
	if (!f->ramping)
		f->window = (double)f->cap;
	if (!starts_here(f))
		return false;
	if (queued) {
		ccs_drive_set_rate(f, 0.5 * f->start_rate);
		f->draining = DRAIN_SAMPLES;
	}
	return true;
}

static void update(struct ccs_flow *f, double rtt_us, uint64_t now_ns)
{
	ccs_drive_ack(f, rtt_us, f->pending_bytes, now_ns);
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

static bool exact(const struct ccs_flow *f, const struct ccs_done *done)
{
	return (double)(done->latest_ns - done->earliest_ns) <= 500 * f->path.base_rtt_us;
}

/*
 * The completion lies between the last look at an empty queue and this one. When
 * that is too wide to tell congestion from an application that polls rarely, the
 * early end counts, as if the path were idle at best: no flow is slowed for its
 * owner's absence.
 */
static double sample_us(const struct ccs_flow *f, const struct ccs_seg *seg,
			const struct ccs_done *done)
{
	const uint64_t seen = exact(f, done) ? done->latest_ns : done->earliest_ns;
	const double rtt_us = seen > seg->depart_ns ? (double)(seen - seg->depart_ns) / 1e3 : 1e-3;

	return exact(f, done) ? rtt_us : fmax(rtt_us, f->path.base_rtt_us);
}

void ccs_rtt_sample(struct ccs_flow *f, const struct ccs_seg *seg, const struct ccs_done *done)
{
	double rtt_us = sample_us(f, seg, done);

	if (seg->flags & CCS_WR_RECV)
		rtt_us = without_rnr(f, rtt_us);
	if (exact(f, done)) {
		ccs_hist_record(&f->rtt, (uint64_t)(rtt_us * 1e3));
		learn_base(f, rtt_us, done->latest_ns);
	}
	look_for_loss(f, seg, rtt_us, done->latest_ns);
	if (slow_start(f, rtt_us, seg->len))
		return;

	/* One update per segment's worth or per RTT: small messages are not segments. */
	f->pending_bytes += (double)seg->len;
	if (f->pending_bytes >= f->path.segment ||
	    (double)(done->latest_ns - f->updated_ns) >= 1e3 * f->path.base_rtt_us)
		update(f, rtt_us, done->latest_ns);
}
