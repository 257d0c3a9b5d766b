/* SPDX-License-Identifier: BSD-2-Clause */
/* The software send queue: accept, segment, signal, retire, make visible. */
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "base/probe.h"
#include "cc/minmax.h"
#include "flow/flow.h"

enum { UNTIMED_MAX = 32 };

#define SMALL_BYTES 256      /* of a segment that measures the path: it adds no queue of its own */

static uint32_t pow2_at_least(uint32_t n)
{
	uint32_t p = 1;

	while (p < n)
		p <<= 1;
	return p;
}

static size_t rings_size(const struct ccs_flow *f)
{
	return ((size_t)f->wr_mask + 1) * sizeof(struct ccs_wr) +
	       ((size_t)f->seg_mask + 1) * sizeof(struct ccs_seg);
}

int ccs_flow_init(struct ccs_flow *f, const struct ccs_flow_config *conf,
		  const struct ccs_cc_spec *spec, uint32_t wr_limit, uint32_t seg_limit,
		  uint64_t now_ns)
{
	struct ccs_wr *wrs;

	f->wr_limit = wr_limit;
	f->wr_mask = pow2_at_least(wr_limit) - 1;
	f->seg_limit = seg_limit;
	f->seg_mask = pow2_at_least(seg_limit) - 1;
	f->max_reads = UINT16_MAX;
	f->random = conf->seed | 1;
	wrs = ccs_pool_calloc(1, rings_size(f));
	if (!wrs)
		return -1;
	f->seg = (struct ccs_seg *)(void *)(wrs + f->wr_mask + 1);
	ccs_rtt_init(f, conf, spec, now_ns);
	return 0;
}

void ccs_flow_destroy(struct ccs_flow *f)
{
	if (f->seg)
		ccs_pool_free((struct ccs_wr *)(void *)f->seg - (f->wr_mask + 1), 1, rings_size(f));
	free(f->rtt);
	f->seg = NULL;
	f->rtt = NULL;
}

void ccs_flow_reset(struct ccs_flow *f)
{
	f->wr_tail = f->wr_next = f->wr_head;
	f->seg_tail = f->seg_head;
	f->next_offset = 0;
	f->inflight = 0;
	f->reads = 0;
	f->timed = 0;
	f->unsignalled = 0;
	f->unsignalled_bytes = 0;
	f->gated_since_ns = 0;
	f->state = CCS_FLOW_RUN;
}

uint64_t ccs_flow_accept(struct ccs_flow *f, uint64_t len, uint32_t flags)
{
	if (f->wr_head == f->wr_tail)
		f->wr_base = (uint32_t)f->wr_head;
	*ccs_flow_wr(f, f->wr_head) = (struct ccs_wr){ .len = len, .flags = flags };
	return f->wr_head++;
}

/* Whether more of the waiting WR remains behind the next segment. */
static bool splits(const struct ccs_flow *f, const struct ccs_wr *wr)
{
	return wr->len - f->next_offset > f->segment && (wr->flags & CCS_WR_SPLIT) && f->split &&
	       f->enforce && f->state == CCS_FLOW_RUN;
}

/*
 * The first segment of a flow that RTTs control, and where the algorithm asks for one. Nothing
 * follows it at once.
 */
static bool measures_path(const struct ccs_flow *f)
{
	return ((!f->sent && (f->cc.ops->needs & CCS_NEEDS_RTT)) || f->cc.out.small_next) &&
	       !f->base_given;
}

static uint64_t next_len(const struct ccs_flow *f, const struct ccs_wr *wr)
{
	if (!splits(f, wr))
		return wr->len - f->next_offset;
	return measures_path(f) && f->segment > SMALL_BYTES ? SMALL_BYTES : f->segment;
}

/*
 * A WR may come that cannot wait, with a full queue before it: splitting leaves an
 * entry for each WR that is waiting by then. Where the device's queue is no deeper
 * than the application's it cannot, without giving up segments.
 */
static bool spare(const struct ccs_flow *f)
{
	const uint64_t used = f->seg_head + 1 - f->seg_tail, handed_over = f->wr_next - f->wr_tail;

	return f->seg_limit <= f->wr_limit ||
	       used + f->wr_limit <= f->seg_limit + handed_over;
}

/*
 * A completion is wanted when the application is owed one, for the RTT of every
 * segment's worth of data, often enough to learn of free entries, and always
 * before the window closes: what opens it again must be on its way. Observing
 * must not change what the device does: then only entries and debts count.
 */
static bool wants_signal(const struct ccs_flow *f, const struct ccs_seg *seg)
{
	if (f->state == CCS_FLOW_FLUSH)
		return true;
	if (seg->last && (seg->flags & CCS_WR_VISIBLE))
		return true;
	if (!seg->last && seg->len < f->segment) /* it measures the path */
		return true;
	if (f->unsignalled + 1 >= (f->seg_limit + 3) / 4)
		return true;
	/* The next READ waits for this one: it must hear of it. */
	if (f->enforce && (seg->flags & CCS_WR_READ) && f->reads + 1 >= f->max_reads)
		return true;
	return f->enforce && (f->unsignalled_bytes + seg->len >= f->segment ||
				   !ccs_gate_window_open(f, seg->len + f->segment));
}

/* Where no completion was asked for, as while the flow was only observed, none is waited for. */
static bool read_room(const struct ccs_flow *f)
{
	return f->reads < f->max_reads || f->state == CCS_FLOW_FLUSH || !f->enforce ||
	       f->unsignalled >= f->seg_head - f->seg_tail;
}

static bool room(const struct ccs_flow *f, const struct ccs_wr *wr)
{
	return f->seg_head - f->seg_tail < f->seg_limit &&
	       (!(wr->flags & CCS_WR_READ) || read_room(f)) &&
	       (!splits(f, wr) || spare(f));
}

/* Small WRs at line rate that are not timed are not paced. */
static bool gate_open(const struct ccs_flow *f, uint64_t len, bool calm, uint64_t now_ns)
{
	if (f->state == CCS_FLOW_FLUSH || !f->enforce)
		return true;
	return ccs_gate_window_open(f, len) &&
	       ((calm && now_ns == CCS_TIME_UNKNOWN) || ccs_gate_due(f, now_ns) <= now_ns);
}

const struct ccs_seg ccs_flow_time;

/*
 * Of small segments of a flow that nothing holds back one in so many is timed, and one
 * in a quarter of a segment's worth: more than its algorithm gets to hear of. What the
 * others keep the NIC busy for counts as its RTT.
 */
static bool wants_time(const struct ccs_flow *f, const struct ccs_seg *seg)
{
	return seg->signal && (f->untimed + 1 >= UNTIMED_MAX ||
			       (uint32_t)f->sent - f->timed_sent + seg->len >= f->segment / 4);
}

/* Into flight, with the time of its departure if that is known. */
static inline void take_off(struct ccs_flow *f, const struct ccs_seg *seg)
{
	const bool timed = seg->depart_ns && seg->signal;

	f->unsignalled = seg->signal ? 0 : f->unsignalled + 1;
	f->unsignalled_bytes = seg->signal ? 0 : f->unsignalled_bytes + seg->len;
	f->sent += seg->len;
	if (timed) {
		f->timed++;
		f->untimed = 0;
		f->timed_sent = (uint32_t)f->sent;
	} else if (f->untimed < UNTIMED_MAX) {
		f->untimed++;
	}
	f->inflight += seg->len;
	if (seg->flags & CCS_WR_READ) {
		f->reads++;
		f->read += seg->len;
	}
	f->next_offset += seg->len;
	if (seg->last) {
		f->wr_next++;
		f->next_offset = 0;
	}
	f->seg_head++;
}

/* No longer in flight. */
static void land(struct ccs_flow *f, const struct ccs_seg *seg)
{
	f->timed -= seg->depart_ns && seg->signal;
	f->inflight -= seg->len;
	f->reads -= !!(seg->flags & CCS_WR_READ);
}

/* The next free entry of the ring. */
static struct ccs_seg *next_seg(struct ccs_flow *f)
{
	if (f->seg_head == f->seg_tail)
		f->seg_base = (uint32_t)f->seg_head;
	return ccs_flow_seg(f, f->seg_head);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * What may pass a calm flow in which nothing waits before one is to be timed: until something
 * is learnt (ccs_flow_revoke) nobody has to look again, for completions only make room.
 */
static void grant(struct ccs_flow *f)
{
	const uint64_t room = least(f->wr_limit - (f->wr_head - f->wr_tail),
				    f->seg_limit - (f->seg_head - f->seg_tail));
	const double quarter = f->segment / 4, inflight = (double)f->inflight;
	double bytes = quarter - 1 - ((uint32_t)f->sent - f->timed_sent);

	if (f->enforce)
		bytes = ccs_min(bytes, ccs_gate_window(f) - inflight);
	if (f->ramping)
		bytes = ccs_min(bytes, quarter - inflight);
	if (bytes < 0 || f->untimed + 1 >= UNTIMED_MAX)
		return;
	f->calm_wrs = (uint8_t)least(UNTIMED_MAX - 1 - f->untimed, room);
	f->calm_bytes = (uint16_t)ccs_min(bytes, UINT16_MAX);
}

/* No copy of a whole one: it would wait for what was just written. */
const struct ccs_seg *ccs_flow_through(struct ccs_flow *f, uint64_t len, uint32_t flags)
{
	struct ccs_seg *seg;

	if (!f->calm_wrs || len > f->calm_bytes || f->wr_next != f->wr_head ||
	    f->state != CCS_FLOW_RUN || (flags & (CCS_WR_READ | CCS_WR_URGENT)))
		return NULL;
	f->calm_wrs--;
	f->calm_bytes -= (uint16_t)len;
	seg = next_seg(f);
	seg->wr = ccs_flow_accept(f, len, flags);
	seg->offset = 0;
	seg->len = len;
	seg->post_ns = seg->depart_ns = 0;
	seg->flags = flags;
	seg->first = seg->last = true;
	seg->signal = (flags & CCS_WR_VISIBLE) || wants_signal(f, seg);
	take_off(f, seg);
	return seg;
}

const struct ccs_seg *ccs_flow_next(struct ccs_flow *f, uint64_t now_ns, uint64_t *number)
{
	const struct ccs_wr *wr = ccs_flow_wr(f, f->wr_next);
	struct ccs_seg *seg;
	uint64_t len;
	bool calm;

	if (f->wr_next == f->wr_head || f->state == CCS_FLOW_HOLD || !room(f, wr))
		return NULL;
	calm = ccs_rtt_calm(f);
	if (!calm && now_ns == CCS_TIME_UNKNOWN)
		return &ccs_flow_time;
	if (!calm)
		ccs_drive_advance(f, now_ns);
	len = next_len(f, wr);
	if (!gate_open(f, len, calm, now_ns))
		return NULL;

	seg = next_seg(f);
	*seg = (struct ccs_seg){
		.wr = f->wr_next,
		.offset = f->next_offset,
		.len = len,
		.flags = wr->flags,
		.first = f->next_offset == 0,
		.last = f->next_offset + len == wr->len,
	};
	seg->signal = wants_signal(f, seg);
	if (!calm || wants_time(f, seg)) {
		if (now_ns == CCS_TIME_UNKNOWN)
			return &ccs_flow_time;
		if (!seg->last && len < f->segment)
			ccs_gate_charge_small(f, now_ns);
		else
			ccs_gate_charge(f, len, now_ns);
		ccs_rtt_depart(f, seg, now_ns);
		ccs_drive_send(f, len, now_ns);
	}
	*number = f->seg_head;
	if (f->cc.out.small_next)
		f->cc.out.small_next = false;
	take_off(f, seg);
	ccs_flow_revoke(f);
	if (calm && f->wr_next == f->wr_head)
		grant(f);
	return seg;
}

/* After the newest segments were taken back. */
static void recount_unsignalled(struct ccs_flow *f)
{
	f->unsignalled = 0;
	f->unsignalled_bytes = 0;
	for (uint64_t n = f->seg_head; n > f->seg_tail && !ccs_flow_seg(f, n - 1)->signal; n--) {
		f->unsignalled++;
		f->unsignalled_bytes += ccs_flow_seg(f, n - 1)->len;
	}
}

void ccs_flow_unsend(struct ccs_flow *f, uint64_t from)
{
	ccs_flow_revoke(f);
	while (f->seg_head > from) {
		const struct ccs_seg *seg = ccs_flow_seg(f, --f->seg_head);

		land(f, seg);
		f->sent -= seg->len;
		f->read -= seg->flags & CCS_WR_READ ? seg->len : 0;
		f->wr_next = seg->wr;
		f->next_offset = seg->offset;
	}
	recount_unsignalled(f);
}

void ccs_flow_unaccept(struct ccs_flow *f, uint64_t from)
{
	f->wr_head = from;
	if (f->wr_next > from) {
		f->wr_next = from;
		f->next_offset = 0;
	}
}

/* Nothing waits any more. */
static void open_gate(struct ccs_flow *f, uint64_t now_ns)
{
	uint64_t gated_ns;

	if (!f->gated_since_ns)
		return;
	gated_ns = now_ns > f->gated_since_ns ? now_ns - f->gated_since_ns : 0; /* of another thread */
	f->stats.gated_ns += gated_ns;
	f->gated_since_ns = 0;
	CCS_PROBE2(gate__open, f->stats.qp_num, gated_ns);
}

uint64_t ccs_flow_wait(struct ccs_flow *f, uint64_t now_ns)
{
	const struct ccs_wr *wr = ccs_flow_wr(f, f->wr_next);
	uint64_t due, timer;

	f->paced = false;
	if (f->wr_next == f->wr_head) {
		open_gate(f, now_ns);
		return 0;
	}
	if (!f->gated_since_ns) {
		f->gated_since_ns = now_ns;
		CCS_PROBE3(gate__close, f->stats.qp_num, f->wr_head - f->wr_next, f->inflight);
	}
	if (f->state == CCS_FLOW_HOLD || !room(f, wr))
		return UINT64_MAX;
	if (f->state == CCS_FLOW_FLUSH || !f->enforce)
		return now_ns;
	ccs_drive_advance(f, now_ns);
	if (!ccs_gate_window_open(f, next_len(f, wr)))
		return f->cc.out.window > 0 ? ccs_drive_timer(f, now_ns) : UINT64_MAX;
	due = ccs_gate_due(f, now_ns);
	if (due <= now_ns)
		return now_ns;
	f->paced = true;
	timer = ccs_drive_timer(f, now_ns); /* may raise the rate */
	return due < timer ? due : timer;
}

/* The device is done with the oldest segment, in whatever way. */
static void retire(struct ccs_flow *f, const struct ccs_seg *seg)
{
	f->seg_tail++;
	land(f, seg);
	f->wr_tail = seg->wr + seg->last;
}

static void count_success(struct ccs_flow *f, const struct ccs_seg *seg)
{
	f->stats.segments++;
	f->stats.bytes += seg->len;
	f->stats.wrs += seg->last;
}

/*
 * The rest of a failed WR is never handed over, so its youngest segment in
 * flight, if there is one, becomes the last: the slot is free once that is back.
 */
static void truncate_failed(struct ccs_flow *f, uint64_t wr)
{
	if (f->wr_next != wr || wr == f->wr_head || f->next_offset == 0)
		return;
	f->wr_next++;
	f->next_offset = 0;
	if (f->seg_head > f->seg_tail)
		ccs_flow_seg(f, f->seg_head - 1)->last = true;
	else
		f->wr_tail = f->wr_next;
}

void ccs_flow_fail(struct ccs_flow *f)
{
	f->state = CCS_FLOW_FLUSH;
}

bool ccs_flow_complete(struct ccs_flow *f, const struct ccs_done *done, uint64_t *wr)
{
	const struct ccs_seg *seg = ccs_flow_seg(f, done->number);
	struct ccs_wr *owner;

	if (done->number < f->seg_tail || done->number >= f->seg_head)
		return false;
	/* A completion stands for all earlier WQEs of its queue: they succeeded. */
	while (f->seg_tail < done->number) {
		const struct ccs_seg *old = ccs_flow_seg(f, f->seg_tail);

		count_success(f, old);
		retire(f, old);
	}
	owner = ccs_flow_wr(f, seg->wr);
	retire(f, seg);
	*wr = seg->wr;
	if (done->ok) {
		count_success(f, seg);
		if (seg->depart_ns)
			ccs_rtt_sample(f, seg, done);
		else
			f->pending_bytes += (double)seg->len;
		if (seg->last && (seg->flags & CCS_WR_VISIBLE) && !owner->reported)
			return true;
		f->stats.hidden++;
		return false;
	}
	if (done->lost)
		ccs_drive_loss(f, done->latest_ns);
	ccs_flow_fail(f);
	truncate_failed(f, seg->wr);
	if (owner->reported)
		return false;
	owner->reported = true;
	return true;
}
