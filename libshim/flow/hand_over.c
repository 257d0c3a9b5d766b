/* SPDX-License-Identifier: BSD-2-Clause */
/* The next segment of a flow: its length, whether it asks for a completion, and when it may leave. */

#include "base/probe.h"
#include "cc/minmax.h"
#include "flow/cc_events.h"
#include "flow/rtt.h"
#include "flow/run.h"
#include "flow/send_queue.h"

enum { UNTIMED_MAX = 128 };

#define CAP_CHECK_NS 100000000ull /* how long a flow waits for its turn before it reads the cap again */

#define SMALL_BYTES 256 /* length of a segment that measures the path: it builds no queue */

/* The first WR that waits, if one does. */
struct head {
	const struct ccs_wr *wr;
	uint64_t rest;           /* bytes that were not handed over */
	bool splits;             /* it may leave in segments */
	bool split;              /* the rest takes more than one */
};

static inline struct head head_of(const struct ccs_flow *f)
{
	const struct ccs_wr *wr = ccs_flow_wr(f, f->wr_next);
	const uint64_t rest = wr->len - f->next_offset;
	const bool splits = ccs_flow_splits(f, wr->flags);

	return (struct head){ wr, rest, splits, splits && rest > f->segments.split_len };
}

/*
 * The first segment of a flow that RTTs control measures the path, and so does one that the
 * algorithm asks for, if it waits: the path of a flow that was idle is empty, and its next message
 * would only be late. No segment follows at once.
 */
static bool measures_path(const struct ccs_flow *f)
{
	return ((!f->sent && (f->cc.ops->needs & CCS_NEEDS_RTT)) ||
		(f->cc.out.small_next && f->gated_since_ns)) && !f->user.base_rtt;
}

/* Bytes that should be in flight. Long segments take a quarter of the RTT more. */
static double wanted_bytes(const struct ccs_flow *f)
{
	const struct ccs_cc_path *path = &f->cc.path;
	const double rtt_us = 1.25 * (path->base_rtt_us + path->rtt_jitter_us);

	return ccs_min(ccs_flow_window(f), ccs_flow_rate(f) * rtt_us / 8e6 + 3.0 * f->segments.len);
}

/*
 * The entries that are left, and the READs that may be outstanding, have to hold the rest of the
 * window: on a long path there may be too few of them for short segments.
 */
static __attribute__((noinline)) uint64_t
segment_len(const struct ccs_flow *f, uint32_t flags, uint64_t rest)
{
	const uint64_t segment = f->segments.split_len;
	int64_t left = (int64_t)(f->queue.seg_max - (f->seg_head - f->seg_tail));
	double space;
	uint64_t len;

	if ((flags & CCS_WR_READ) && f->reads.max - (int64_t)f->reads.outstanding < left)
		left = f->reads.max - (int64_t)f->reads.outstanding;
	if (left < 1)
		left = 1;
	space = wanted_bytes(f) - (double)f->inflight;
	if (space <= (double)left * (double)segment)
		return segment;
	len = ((uint64_t)space / (uint64_t)left + segment - 1) / segment * segment;
	return len < rest ? len : rest;
}

/* Timers of the algorithm may just have made segments longer than the rest. */
static inline uint64_t next_len(const struct ccs_flow *f, const struct head *h)
{
	if (!h->split || h->rest <= f->segments.split_len)
		return h->rest;
	if (measures_path(f) && f->segments.split_len > SMALL_BYTES)
		return SMALL_BYTES;
	return f->user.segment ? f->segments.split_len : segment_len(f, h->wr->flags, h->rest);
}

/* No completion would free the device's queue, although the application's queue is not full. */
static bool would_fill_unsignalled(const struct ccs_flow *f, const struct ccs_seg *seg)
{
	return f->unsignalled + 1 >= f->queue.seg_limit &&
	       (!seg->last || f->wr_next + 1 < f->wr_head || !ccs_flow_full(f));
}

/*
 * Whether a completion is needed to free entries. Most devices reuse the entry of an unsignalled
 * WQE when a later WQE has completed, so applications request completions themselves, and only
 * segments need more. Where entries are reused silently an application may never ask for a
 * completion.
 */
static __attribute__((noinline)) bool
needs_signal_for_entries(const struct ccs_flow *f, const struct ccs_seg *seg)
{
	return (f->reuses_silently && f->unsignalled + 1 >= (ccs_flow_depth(f) + 3) / 4) ||
	       (f->user.enforce && f->unsignalled + 1 >= ccs_flow_signal_distance(f)) ||
	       would_fill_unsignalled(f, seg);
}

/*
 * A segment is signalled if the application requested a completion, for the RTT of every segment's
 * worth of data, often enough to free entries, and always before the window closes: the completion
 * that opens it again must be on its way. While the flow is only observed, the device must get the
 * same WQEs as without the shim: then only the application's request and free entries count. full:
 * bytes of a full segment of its WR.
 */
static inline bool needs_signal(const struct ccs_flow *f, const struct ccs_seg *seg, uint32_t full)
{
	if (f->user.enforce && f->unsignalled_bytes + seg->len >= full)
		return true;
	if (f->state == CCS_FLOW_FLUSH || f->user.signals_all)
		return true;
	if (seg->last && (seg->flags & CCS_WR_SIGNALED))
		return true;
	if (!seg->last && seg->len < f->segments.split_len) /* it measures the path */
		return true;
	if (needs_signal_for_entries(f, seg))
		return true;
	/* The next READ waits for the completion of this READ. */
	if (f->user.enforce && (seg->flags & CCS_WR_READ) && f->reads.outstanding + 1 >= f->reads.max)
		return true;
	return f->user.enforce && !ccs_flow_window_open(f, seg->len + f->segments.len);
}

/* Without a signalled segment in flight, as after observing, no completion can be waited for. */
static bool may_read(const struct ccs_flow *f)
{
	return f->reads.outstanding < f->reads.max || f->state == CCS_FLOW_FLUSH || !f->user.enforce ||
	       f->skip_gate || f->unsignalled >= f->seg_head - f->seg_tail;
}

static inline bool has_entry(const struct ccs_flow *f, const struct head *h)
{
	return f->seg_head - f->seg_tail < f->queue.seg_limit &&
	       (!(h->wr->flags & CCS_WR_READ) || may_read(f));
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t release_due_ns(const struct ccs_flow *f, uint64_t now_ns)
{
	return ccs_flow_rate(f) == INFINITY ? now_ns : ccs_pacing_due_ns(&f->gate.pacing, now_ns);
}

/*
 * Whether the cap permits the next segment, of that length, to leave: then it will. It waits in the turn
 * that it reserved, even if it became shorter since; if it became longer, others wait for the difference.
 */
static __attribute__((noinline)) bool draw(struct ccs_flow *f, uint64_t len, uint64_t now_ns)
{
	struct ccs_flow_cap *c = f->gate.cap;

	if (!c->shared || !f->user.enforce || !len)
		return true;
	if (!c->bytes) {
		c->at_ns = ccs_cap_reserve(c->shared, c->rate, len, now_ns);
		c->bytes = len;
	}
	if (c->at_ns > now_ns)
		return false;
	if (len > c->bytes)
		ccs_cap_reserve(c->shared, c->rate, len - c->bytes, now_ns);
	c->bytes = 0;
	return true;
}

/* Sparsely timed WRs at line rate are paced only if the time is known anyway. */
static inline bool is_due(struct ccs_flow *f, uint64_t len, uint64_t now_ns)
{
	return now_ns == CCS_TIME_UNKNOWN ||
	       (release_due_ns(f, now_ns) <= now_ns && (!f->gate.cap || draw(f, len, now_ns)));
}

/* The release time of pacing or of the cap, whichever is later. The cap may change before. */
static uint64_t next_due_ns(const struct ccs_flow *f, uint64_t now_ns)
{
	const uint64_t due = release_due_ns(f, now_ns);

	if (!f->gate.cap || !f->gate.cap->bytes || f->gate.cap->at_ns <= due)
		return due;
	return least(f->gate.cap->at_ns, now_ns + CAP_CHECK_NS);
}

/*
 * A flow that is sampled sparsely times one in UNTIMED_MAX of its small segments, and one per
 * quarter of a segment's worth: more than its algorithm gets. The time for which the others
 * occupy the NIC counts as part of its RTT.
 */
static bool needs_time(const struct ccs_flow *f, const struct ccs_seg *seg)
{
	return seg->signal && (f->untimed + 1 >= UNTIMED_MAX ||
			       (uint32_t)f->sent - f->last_timed.sent + seg->len >= f->segments.len / 4);
}

/* The segment is in flight now. */
static inline void account_sent(struct ccs_flow *f, struct ccs_seg *seg)
{
	seg->internal = seg->signal && !(seg->last && (seg->flags & CCS_WR_SIGNALED));
	f->internal += seg->internal;
	f->unsignalled = seg->signal ? 0 : f->unsignalled + 1;
	f->unsignalled_bytes = seg->signal ? 0 : f->unsignalled_bytes + seg->len;
	f->sent += seg->len;
	if (seg->depart_ns) {
		f->timed++;
		f->untimed = 0;
		f->last_timed.sent = (uint32_t)f->sent;
	} else if (f->untimed < UNTIMED_MAX) {
		f->untimed++;
	}
	f->inflight += seg->len;
	if (seg->flags & CCS_WR_READ) {
		f->reads.outstanding++;
		f->reads.bytes += seg->len;
	}
	f->next_offset += seg->len;
	if (seg->last) {
		f->wr_next++;
		f->next_offset = 0;
	}
	f->seg_head++;
}

/* Bytes that took the fast path since a segment was charged to pacing. */
static uint32_t uncharged_bytes(const struct ccs_flow *f)
{
	return f->gate.uncharged + f->gate.granted - f->budget.bytes;
}

/* Bytes that pacing permits. At line rate, small WRs are not paced. A cap counts each segment. */
static double paced_bytes(const struct ccs_flow *f)
{
	return ccs_flow_at_line_rate(f) ? INFINITY : f->gate.cap && f->gate.cap->shared ? -1
		: ccs_pacing_credit(&f->gate.pacing, f->segments.len, f->last_timed.ns) -
		  uncharged_bytes(f);
}

/*
 * The budget holds until feedback or a WR outside of runs revokes it, as completions only free
 * entries. A time that has passed is sufficient for pacing: later it permits no less.
 */
__attribute__((noinline)) bool ccs_flow_grant(struct ccs_flow *f, uint64_t len)
{
	const uint32_t quarter = f->segments.len / 4, untimed = (uint32_t)f->sent - f->last_timed.sent;
	uint64_t entries;
	double bytes;

	if (f->wr_next != f->wr_head || f->state != CCS_FLOW_RUN || untimed + len >= quarter ||
	    f->untimed + 1 >= UNTIMED_MAX || f->cc.out.small_next || !ccs_rtt_may_skip_samples(f))
		return false;
	bytes = quarter - 1 - untimed;
	if (f->user.enforce) {
		bytes = ccs_min(bytes, ccs_flow_window(f) - (double)f->inflight);
		bytes = ccs_min(bytes, paced_bytes(f));
	}
	if (f->slow_start.ramping)
		bytes = ccs_min(bytes, (double)quarter - (double)f->inflight);
	if (bytes < 0)
		return false;
	entries = least(f->queue.wr_limit - (f->wr_next - f->wr_tail),
			f->queue.seg_limit - (f->seg_head - f->seg_tail));
	f->gate.uncharged = uncharged_bytes(f);
	f->budget.wrs = (uint8_t)least(UNTIMED_MAX - 1 - f->untimed, entries);
	f->budget.bytes = f->gate.granted = (uint16_t)ccs_min(bytes, UINT16_MAX);
	return f->budget.wrs;
}

static uint64_t time_of(uint64_t *now_ns, ccs_flow_clock *clock)
{
	if (*now_ns == CCS_TIME_UNKNOWN)
		*now_ns = clock();
	return *now_ns;
}

/*
 * Whether the segment measures the path, and the next is to leave at a random time. A flow that
 * begins with advice waits for its completion only: the advice, which comes at the same time, shows
 * whether other flows begin as well (ccs_flow_advise()).
 */
static bool is_charged_random(const struct ccs_flow *f, const struct ccs_seg *seg)
{
	return !seg->last && seg->len < f->segments.split_len &&
	       (f->sent || !(f->cc.ops->needs & CCS_NEEDS_ADVICE));
}

/*
 * The segment is timed: charge it to pacing, and report it to the algorithm. A flow may make up for
 * a burst at line rate, where its NIC bounds the burst, and where the host was late to release a
 * segment that waited for its release time alone. The window bounds both.
 */
static inline void time_segment(struct ccs_flow *f, struct ccs_seg *seg, uint32_t full,
				uint64_t now_ns)
{
	const bool at_line_rate = ccs_flow_at_line_rate(f), burst = at_line_rate || f->paced;
	const uint64_t before = at_line_rate ? 0 : uncharged_bytes(f);

	if (is_charged_random(f, seg))
		ccs_pacing_charge_random(&f->gate.pacing, f->segments.len, burst, now_ns);
	else
		ccs_pacing_charge(&f->gate.pacing, before + seg->len, full, burst, now_ns);
	f->last_timed.ns = now_ns;
	f->gate.uncharged = 0;
	f->gate.granted = f->budget.bytes;
	ccs_rtt_depart(f, seg, now_ns);
	ccs_flow_cc_on_send(f, seg->len, now_ns);
}

/* The WR's next `len` bytes as a segment, which is not in flight yet. */
static inline struct ccs_seg *fill_segment(struct ccs_flow *f, const struct head *h, uint64_t len,
					   uint32_t full)
{
	struct ccs_seg *seg = ccs_flow_next_entry(f);

	seg->wr = f->wr_next;
	seg->offset = f->next_offset;
	seg->len = len;
	seg->id = h->wr->id;
	seg->depart_ns = 0;
	seg->flags = h->wr->flags;
	seg->first = f->next_offset == 0;
	seg->last = len == h->rest;
	seg->signal = needs_signal(f, seg, full);
	return seg;
}

/* If it is not timed, its completion may be in a run (run.h). */
static bool is_whole(const struct ccs_seg *seg)
{
	return seg->first && seg->last && (seg->flags & CCS_WR_SIGNALED);
}

static inline bool is_gated(const struct ccs_flow *f)
{
	return f->state != CCS_FLOW_FLUSH && f->user.enforce && !f->skip_gate;
}

/* Hand over the next segment. The algorithm's timers need the time, and a segment that is timed. */
static inline __attribute__((always_inline)) bool
hand_over(struct ccs_flow *f, uint64_t *now_ns, ccs_flow_clock *clock)
{
	const bool timers = f->cc.out.timer_us != INFINITY;
	struct ccs_seg *seg;
	struct head h;
	uint32_t full;
	uint64_t len;

	if (f->wr_next == f->wr_head || f->state == CCS_FLOW_SQD)
		return false;
	h = head_of(f);
	if (!has_entry(f, &h))
		return false;
	if (timers)
		ccs_flow_cc_fire_due(f, time_of(now_ns, clock));
	len = next_len(f, &h);
	if (!(ccs_flow_window_open(f, len) && is_due(f, len, *now_ns)) && is_gated(f))
		return false;
	full = h.splits ? f->segments.split_len : f->segments.len;
	seg = fill_segment(f, &h, len, full);
	if (timers || needs_time(f, seg) || !ccs_rtt_may_skip_clock(f)) {
		if (*now_ns == CCS_TIME_UNKNOWN && !is_due(f, len, time_of(now_ns, clock)) &&
		    is_gated(f))
			return false;
		time_segment(f, seg, full, *now_ns);
	} else if (is_whole(seg)) {
		seg->flags |= CCS_WR_WHOLE;
	}
	if (f->cc.out.small_next)
		f->cc.out.small_next = false;
	f->skip_gate = false;
	account_sent(f, seg);
	return true;
}

unsigned ccs_flow_hand_over(struct ccs_flow *f, unsigned most, uint64_t *now_ns,
			    ccs_flow_clock *clock)
{
	unsigned n = 0;

	while (n < most && hand_over(f, now_ns, clock))
		n++;
	return n;
}

/* The limits of needs_signal() and may_read() for short WRs. */
unsigned ccs_flow_run_other_limit(const struct ccs_flow *f, enum ccs_flow_run_kind kind)
{
	uint64_t limit = f->queue.seg_limit;

	if (kind == CCS_RUN_READ)
		return !f->user.enforce ? f->budget.wrs
				   : (unsigned)least(f->budget.wrs,
						     f->reads.max - least(f->reads.outstanding, f->reads.max));
	if (f->user.enforce || f->growable)
		limit = least(limit, ccs_flow_signal_distance(f));
	if (f->reuses_silently)
		limit = least(limit, (ccs_flow_depth(f) + 3) / 4);
	return limit <= f->unsignalled + 1
		? 0 : (unsigned)least(limit - f->unsignalled - 1, f->budget.wrs);
}

bool ccs_flow_run_needs_no_signal(const struct ccs_flow *f, uint64_t bytes)
{
	return !f->user.enforce ||
	       (f->unsignalled_bytes + bytes < f->segments.split_len &&
		(double)(f->inflight + bytes + f->segments.len) <= ccs_flow_window(f));
}

/* No WR is waiting any more. */
static void end_gated_time(struct ccs_flow *f, uint64_t now_ns)
{
	uint64_t gated_ns;

	if (!f->gated_since_ns)
		return;
	/* Another thread may have read the clock before. */
	gated_ns = now_ns > f->gated_since_ns ? now_ns - f->gated_since_ns : 0;
	f->stats.gated_ns += gated_ns;
	f->gated_since_ns = 0;
	CCS_PROBE2(gate__open, f->stats.qp_num, gated_ns);
}

uint64_t ccs_flow_wait(struct ccs_flow *f, uint64_t now_ns)
{
	uint64_t due, timer;
	struct head h;

	f->paced = false;
	if (f->wr_next == f->wr_head) {
		end_gated_time(f, now_ns);
		return 0;
	}
	if (!f->gated_since_ns) {
		f->gated_since_ns = now_ns;
		CCS_PROBE3(gate__close, f->stats.qp_num, f->wr_head - f->wr_next, f->inflight);
	}
	h = head_of(f);
	if (f->state == CCS_FLOW_SQD || !has_entry(f, &h))
		return UINT64_MAX;
	if (f->state == CCS_FLOW_FLUSH || !f->user.enforce)
		return now_ns;
	ccs_flow_cc_fire_timers(f, now_ns);
	h = head_of(f);
	if (!ccs_flow_window_open(f, next_len(f, &h)))
		return f->cc.out.window > 0 ? ccs_flow_cc_next_timer(f, now_ns) : UINT64_MAX;
	due = next_due_ns(f, now_ns);
	if (due <= now_ns)
		return now_ns;
	f->paced = true;
	timer = ccs_flow_cc_next_timer(f, now_ns); /* it may raise the rate */
	return due < timer ? due : timer;
}
