/* SPDX-License-Identifier: BSD-2-Clause */
/* The rings of a flow's send queue: accepts WRs, takes back segments, and retires those that completed. */

#include "base/pool.h"
#include "flow/cc_events.h"
#include "flow/rtt.h"
#include "flow/run.h"
#include "flow/send_queue.h"

static uint32_t pow2_at_least(uint32_t n)
{
	uint32_t p = 1;

	while (p < n)
		p <<= 1;
	return p;
}

static size_t rings_size(const struct ccs_flow *f)
{
	return ((size_t)f->queue.wr_mask + 1) * sizeof(struct ccs_wr) +
	       ((size_t)f->queue.ring_mask + 1) * sizeof(struct ccs_seg);
}

int ccs_send_queue_init(struct ccs_flow *f, uint32_t wr_limit, uint32_t seg_limit)
{
	struct ccs_wr *wrs;

	f->queue.wr_limit = wr_limit;
	f->queue.wr_mask = pow2_at_least(wr_limit) - 1;
	f->queue.seg_limit = f->queue.seg_max = seg_limit;
	f->queue.ring_mask = pow2_at_least(seg_limit) - 1;
	f->reads.max = UINT16_MAX;
	wrs = ccs_pool_calloc(1, rings_size(f));
	if (!wrs)
		return -1;
	f->queue.ring = (struct ccs_seg *)(void *)(wrs + f->queue.wr_mask + 1);
	ccs_flow_begin_ring(f);
	return 0;
}

void ccs_flow_set_entries(struct ccs_flow *f, uint32_t entries)
{
	f->queue.seg_limit = entries;
	f->growable = entries < f->queue.seg_max;
}

void ccs_send_queue_destroy(struct ccs_flow *f)
{
	if (f->queue.ring)
		ccs_pool_free((struct ccs_wr *)(void *)f->queue.ring - (f->queue.wr_mask + 1), 1, rings_size(f));
	f->queue.ring = NULL;
}

/* No segment is in flight any more. */
static void forget_segments(struct ccs_flow *f)
{
	f->seg_tail = f->seg_head;
	f->inflight = 0;
	f->reads.outstanding = 0;
	f->timed = 0;
	f->internal = 0;
	f->unsignalled = 0;
	f->unsignalled_bytes = 0;
}

void ccs_flow_reset(struct ccs_flow *f)
{
	if (f->gate.cap)
		f->gate.cap->bytes = 0;
	f->wr_tail = f->wr_next = f->wr_head;
	ccs_flow_set_withheld(f, 0);
	f->next_offset = 0;
	forget_segments(f);
	f->gated_since_ns = 0;
	f->state = CCS_FLOW_RUN;
	ccs_pacing_forget(&f->gate.pacing);
}

/* Rare, so that polls need fewer registers. */
__attribute__((noinline)) void ccs_flow_free_withheld(struct ccs_flow *f)
{
	ccs_flow_set_withheld(f, 0);
}

uint64_t ccs_flow_accept(struct ccs_flow *f, uint64_t len, uint32_t flags)
{
	if (f->wr_head == f->wr_tail)
		f->queue.wr_base = (uint32_t)f->wr_head;
	ccs_flow_fastpath_revoke(f);
	*ccs_flow_wr(f, f->wr_head) = (struct ccs_wr){ .len = len, .flags = flags };
	return f->wr_head++;
}

/* The segment is no longer in flight. */
static void account_done(struct ccs_flow *f, const struct ccs_seg *seg)
{
	f->timed -= seg->depart_ns != 0;
	f->internal -= seg->internal;
	f->inflight -= seg->len;
	if (seg->flags & CCS_WR_READ)
		f->reads.outstanding--;
}

/* Count again after the newest segments were taken back. */
static void recount_unsignalled(struct ccs_flow *f)
{
	f->unsignalled = 0;
	f->unsignalled_bytes = 0;
	for (uint64_t n = f->seg_head; n > f->seg_tail && !ccs_flow_seg(f, n - 1)->signal; n--) {
		f->unsignalled++;
		f->unsignalled_bytes += ccs_flow_seg(f, n - 1)->len;
	}
}

/* The entry of a segment's WR is needed: ccs_flow_run_add() has not filled it. */
static void fill_entry(struct ccs_flow *f, struct ccs_seg *seg)
{
	if (!(seg->flags & CCS_WR_IN_RUN))
		return;
	seg->flags &= ~(uint32_t)CCS_WR_IN_RUN;
	*ccs_flow_wr(f, seg->wr) = (struct ccs_wr){
		.len = seg->len, .flags = seg->flags & ~(uint32_t)CCS_WR_WHOLE, .id = seg->id,
	};
}

void ccs_flow_unsend(struct ccs_flow *f, uint64_t from)
{
	ccs_flow_fastpath_revoke(f);
	while (f->seg_head > from) {
		struct ccs_seg *seg = ccs_flow_seg(f, --f->seg_head);

		fill_entry(f, seg);
		account_done(f, seg);
		f->sent -= seg->len;
		f->reads.bytes -= seg->flags & CCS_WR_READ ? seg->len : 0;
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

/* The device has finished the oldest segment, with success or not. */
static void retire(struct ccs_flow *f, const struct ccs_seg *seg)
{
	f->seg_tail++;
	account_done(f, seg);
	f->wr_tail = seg->wr + seg->last;
}

static void count_success(struct ccs_flow *f, const struct ccs_seg *seg)
{
	f->stats.segments++;
	f->stats.bytes += seg->len;
	f->stats.wrs += seg->last;
}

/*
 * The rest of a failed WR is never handed over, so its newest segment in flight, if any, becomes
 * its last: the WR's entry is free when that segment has completed.
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

void ccs_flow_untime(struct ccs_flow *f)
{
	for (uint64_t n = f->seg_tail; n < f->seg_head; n++)
		ccs_flow_seg(f, n)->depart_ns = 0;
	f->timed = 0;
}

void ccs_flow_fail(struct ccs_flow *f)
{
	ccs_flow_set_state(f, CCS_FLOW_FLUSH);
}

void ccs_flow_settle(struct ccs_flow *f, bool succeeded)
{
	while (succeeded && f->seg_tail < f->seg_head) {
		const struct ccs_seg *seg = ccs_flow_seg(f, f->seg_tail);

		count_success(f, seg);
		retire(f, seg);
	}
	for (uint64_t n = f->seg_tail; n < f->seg_head; n++)
		fill_entry(f, ccs_flow_seg(f, n));
	f->seg_head++;
	forget_segments(f);
}

void ccs_flow_retire_unsignalled(struct ccs_flow *f, uint32_t number)
{
	struct ccs_flow_completed run = { .seg = f->seg_tail };

	for (; (uint32_t)run.seg != number; run.seg++) {
		const struct ccs_seg *seg = ccs_flow_seg(f, run.seg);

		if (run.seg == f->seg_head || !(seg->flags & CCS_WR_IN_RUN) || seg->signal)
			return;
		run.bytes += seg->len;
	}
	if (run.seg != f->seg_head)
		ccs_flow_end_completed(f, &run);
}

bool ccs_flow_complete(struct ccs_flow *f, const struct ccs_done *done, uint64_t *wr)
{
	struct ccs_seg *seg = ccs_flow_seg(f, done->number);
	bool reported;

	if (done->number < f->seg_tail || done->number >= f->seg_head)
		return false;
	/* A completion implies that all earlier WQEs of its queue succeeded. */
	while (f->seg_tail < done->number) {
		const struct ccs_seg *old = ccs_flow_seg(f, f->seg_tail);

		count_success(f, old);
		retire(f, old);
	}
	fill_entry(f, seg);
	retire(f, seg);
	*wr = seg->wr;
	if (done->ok) {
		count_success(f, seg);
		if (seg->depart_ns) {
			f->last_timed.ns = done->latest_ns;
			ccs_rtt_sample(f, seg, done);
		} else {
			f->pending_bytes += seg->len;
		}
		if (seg->last && (seg->flags & CCS_WR_SIGNALED) &&
		    !ccs_flow_wr(f, seg->wr)->reported)
			return true;
		f->stats.internal_completions++;
		return false;
	}
	if (done->lost)
		ccs_flow_cc_on_loss(f, done->latest_ns);
	ccs_flow_fail(f);
	truncate_failed(f, seg->wr);
	reported = ccs_flow_wr(f, seg->wr)->reported;
	ccs_flow_wr(f, seg->wr)->reported = true;
	return !reported;
}
