/* SPDX-License-Identifier: BSD-2-Clause */
/* Translation of the device's completions of WQEs into completions of the application's WRs. */
#include "preload/datapath/complete.h"

#include <arpa/inet.h>

#include "base/probe.h"
#include "flow/run.h"
#include "observe/log.h"
#include "preload/control/qp_feedback.h"
#include "preload/cq/cq.h"
#include "preload/cq/notify.h"
#include "preload/cq/shadow_cq.h"
#include "preload/datapath/impair.h"
#include "preload/datapath/qp.h"
#include "preload/datapath/wr.h"
#include "preload/object/provider.h"
#include "preload/object/shim.h"
#include "preload/report/recorder.h"

/* WRs from `tail` on were retired, and the application has not polled their completion. */
static void withhold(struct qp *qp, uint64_t tail)
{
	if (!qp->ctx->provider->reuses_silently)
		ccs_flow_withhold(&qp->flow, qp->flow.wr_tail - tail);
}

/* As ibv_poll_cq() of libmlx5 reports a WR with these flags. Its extended readers do not. */
static inline void set_sent_imm(const struct qp *qp, uint32_t flags, struct ibv_wc *wc)
{
	if (__builtin_expect(flags & CCS_WR_IMM, 0) && qp->ctx->provider->hides_sent_imm &&
	    !wc->status)
		wc->wc_flags |= IBV_WC_WITH_IMM;
}

/*
 * Queue the device's completion under the application's wr_id. A provider that reports the length
 * reports the segment's, but the application expects the WR's. The copy is modified, not the
 * original: a copy of data that was just written would stall.
 */
static void push_completion(struct qp *qp, uint64_t number, uint64_t segment_len,
			    const struct shadow_batch *a, int i)
{
	const struct ccs_wr *wr = ccs_flow_wr(&qp->flow, number);
	struct ibv_wc *wc = ccs_cq_push(qp->cq, &a->wc[i], &a->more[i], qp);

	wc->wr_id = wr->id;
	if (wc->status == IBV_WC_SUCCESS && wc->byte_len && wc->byte_len == segment_len)
		wc->byte_len = (uint32_t)wr->len;
	set_sent_imm(qp, wr->flags, wc);
	ccs_notify_completion(qp->cq, wc->status);
	CCS_PROBE4(complete, qp->qp_num, wc->wr_id, wr->len, wc->status);
}

/*
 * A flow's time must not go back, but the mapping of the device's clock may improve between two
 * completions, by a few us.
 */
static void set_time(const struct qp *qp, const struct shadow_batch *a, int i,
		     const struct ccs_seg *seg, struct ccs_done *done)
{
	const struct ccs_flow *f = &qp->flow;
	const struct ccs_span when = ccs_shadow_completion_time(
		qp->cq, a, i, seg->depart_ns ? seg->post_ns : 0);

	done->earliest_ns = when.earliest_ns;
	done->latest_ns = when.latest_ns;
	if (done->latest_ns < f->rtt.base.window_ns)
		done->latest_ns = f->rtt.base.window_ns;
	if (done->latest_ns < f->rtt.updated_ns)
		done->latest_ns = f->rtt.updated_ns;
	if (done->earliest_ns > done->latest_ns)
		done->earliest_ns = done->latest_ns;
}

/* Whether the same poll returned a later completion of this QP whose time is needed. */
static bool has_later_timed(const struct qp *qp, const struct shadow_batch *a, int i)
{
	for (int j = i + 1; j < a->n && a->wc[j].wr_id >> 32 == qp->id; j++)
		if (a->wc[j].status == IBV_WC_SUCCESS &&
		    ccs_flow_is_timed(&qp->flow, ccs_token_segment(qp, a->wc[j].wr_id)))
			return true;
	return false;
}

/* At most `most` WRs; `reserved` entries are for others. */
static void flush_wrs(struct cq *cq, struct qp *qp, uint32_t reserved, uint64_t most)
{
	struct wc_more more;
	struct ibv_wc wc = { .qp_num = qp->qp_num, .status = IBV_WC_WR_FLUSH_ERR,
			     .vendor_err = qp->failure.vendor_err };
	struct ccs_flow *f = &qp->flow;

	ccs_shadow_now(cq, &more);
	while (f->wr_tail < f->wr_head && most-- && ccs_cq_ready_space(cq) > reserved) {
		const struct ccs_wr *wr = ccs_flow_wr(f, f->wr_tail++);

		withhold(qp, f->wr_tail - 1);
		if (wr->reported)
			continue;
		wc.wr_id = wr->id;
		if (qp->failure.impair)
			ccs_impair_status(qp, &wc);
		ccs_cq_push(cq, &wc, &more, qp);
		ccs_notify_completion(cq, wc.status);
	}
	f->wr_next = f->wr_tail;
	f->next_offset = 0;
}

/*
 * To keep the order, wait until the device has completed the WQEs in flight. It flushes each WQE,
 * signalled or not, but an unsignalled WQE succeeds without a completion. If the CQ was seen empty
 * after the deadline, unsignalled WQEs have succeeded; if any is signalled, the device got it when
 * the QP had failed already, and the WQEs count as flushed. Returns whether WRs are left.
 */
static __attribute__((noinline)) bool
complete_broken(struct cq *cq, struct qp *qp, uint32_t reserved, uint64_t empty_ns)
{
	struct ccs_flow *f = &qp->flow;

	if (qp->failure.impair && ccs_impair_has_status(qp))
		flush_wrs(cq, qp, reserved, 1); /* a device completes it before it flushes any */
	if (f->seg_tail < f->seg_head || !qp->failure.flush_seen) {
		if (!qp->failure.deadline_ns || empty_ns < qp->failure.deadline_ns)
			return true;
		ccs_flow_settle(f, f->seg_tail + f->unsignalled >= f->seg_head);
		qp->failure.marker_posted = false;
		qp->failure.flush_seen = true;
	}
	flush_wrs(cq, qp, reserved, UINT64_MAX);
	if (f->wr_tail < f->wr_head)
		return true;
	ccs_qp_end_broken(qp);
	return false;
}

static void note_flush(struct qp *qp, const struct ibv_wc *wc)
{
	qp->failure.flush_seen = true;
	qp->failure.vendor_err = wc->vendor_err;
}

/* WQEs before the marker that have no completion have succeeded. */
static __attribute__((noinline)) void complete_marker(struct qp *qp, const struct ibv_wc *wc)
{
	ccs_flow_settle(&qp->flow, true);
	qp->failure.marker_posted = false;
	note_flush(qp, wc);
}

static __attribute__((noinline)) void note_failure(struct qp *qp, const struct ibv_wc *wc)
{
	if (qp->flow.state != CCS_FLOW_FLUSH)
		return; /* it was a stale one */
	ccs_recorder_failed(qp, wc, 0);
	if (wc->status == IBV_WC_WR_FLUSH_ERR)
		note_flush(qp, wc);
	qp->failure.deadline_ns = 0; /* there may be more: wait again */
	ccs_qp_fail(qp);
}

/* The algorithm has no effect on the queue of its path. Warns once per process of each state. */
static void warn_of_control(const struct qp *qp)
{
	const struct ccs_flow *f = &qp->flow;
	const char *name = f->cc.ops->name;
	char peer[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, qp->peer.gid, peer, sizeof(peer));
	if (f->rtt.control.now == CCS_CONTROL_AT_FLOOR)
		ccs_log_once(CCS_LOG_WARN, "QP %u to %s: %s has no effect: at its lowest rate the RTT "
			     "is %.0f us, %.0f us without a queue; other traffic on the path is not "
			     "controlled, or min_rate is too high for its flows: run all senders under "
			     "ccshim, or separate their traffic by priority", qp->qp_num, peer, name,
			     (double)f->rtt.control.average_us, f->cc.path.base_rtt_us);
	else if (f->rtt.control.now == CCS_CONTROL_AT_LIMIT)
		ccs_log_once(CCS_LOG_WARN, "QP %u to %s: %s has no effect: its rate stays at its limit, "
			     "and the RTT is %.0f us, %.0f us without a queue; check base_rtt and the "
			     "parameters given to it ('ccshim info'), or use cc=auto", qp->qp_num, peer,
			     name, (double)f->rtt.control.average_us, f->cc.path.base_rtt_us);
}

/* Returns whether a completion of WR *wr is due to the application. */
static inline __attribute__((always_inline)) bool
retire(struct qp *qp, struct shadow_batch *a, int i, uint64_t *wr, uint64_t *len)
{
	const struct ibv_wc *wc = &a->wc[i];
	const enum ccs_control control = qp->flow.rtt.control.now;
	struct ccs_done done = {
		.ok = wc->status == IBV_WC_SUCCESS,
		.lost = wc->status == IBV_WC_RETRY_EXC_ERR,
	};
	uint64_t now_ns = CCS_TIME_UNKNOWN;
	const struct ccs_seg *seg;
	bool delivered;

	done.number = ccs_token_segment(qp, wc->wr_id);
	if (qp->failure.marker_posted && done.number == qp->flow.seg_head) {
		complete_marker(qp, wc);
		return false;
	}
	seg = ccs_flow_seg(&qp->flow, done.number);
	*len = seg->len;
	if (!done.ok || seg->depart_ns) {
		set_time(qp, a, i, seg, &done);
		done.more = ccs_flow_uses_rtts_only(&qp->flow) && !a->has_timestamps &&
			    has_later_timed(qp, a, i);
	}
	if (__builtin_expect(qp->has_feedback && qp->feedback.telemetry, 0))
		ccs_qp_telemetry_read(qp, &now_ns);
	delivered = ccs_flow_complete(&qp->flow, &done, wr);
	if (__builtin_expect(qp->flow.rtt.control.now != control, 0))
		warn_of_control(qp);
	return delivered;
}

bool ccs_complete_whole(struct qp *qp, const struct shadow_batch *a, int i)
{
	const uint64_t token = a->wc[i].wr_id, tail = qp->flow.wr_tail;
	const struct ccs_seg *seg = ccs_flow_complete_whole(&qp->flow, (uint32_t)token);
	struct ibv_wc *wc;

	if (!seg)
		return false;
	withhold(qp, tail);
	wc = ccs_cq_push(qp->cq, &a->wc[i], &a->more[i], qp);
	wc->wr_id = seg->id;
	set_sent_imm(qp, seg->flags, wc);
	ccs_notify_completion(qp->cq, wc->status);
	CCS_PROBE4(complete, qp->qp_num, wc->wr_id, seg->len, wc->status);
	return true;
}

/* Not inlined, so that its frame is not on the stack of an emission that follows. */
__attribute__((noinline)) void ccs_complete(struct qp *qp, struct shadow_batch *a, int i)
{
	const uint64_t tail = qp->flow.wr_tail;
	uint64_t wr, len;
	const bool delivered = retire(qp, a, i, &wr, &len);

	withhold(qp, tail);
	if (delivered)
		push_completion(qp, wr, len, a, i);
	if (__builtin_expect(a->wc[i].status, 0)) {
		note_failure(qp, &a->wc[i]);
		if (qp->broken) /* before the completions of other QPs that follow */
			complete_broken(qp->cq, qp, (uint32_t)(a->n - i - 1), 0);
	}
}

/* A thread that adds WRs to such a QP adds it to cq->broken after that, under the QP's lock. */
void ccs_complete_broken(struct cq *cq, uint64_t empty_ns)
{
	struct qp *next;

	for (struct qp *qp = ccs_broken_take(cq); qp; qp = next) {
		next = qp->failure.next;
		ccs_lock(&qp->lock);
		qp->failure.listed = false;
		if (qp->broken && complete_broken(cq, qp, 0, empty_ns))
			ccs_broken_add(qp);
		ccs_qp_leave(qp);
	}
}

static const struct ibv_wc *find_flushed(const struct qp *qp, const struct ibv_wc *wc, int n)
{
	for (int i = 0; i < n; i++)
		if (wc[i].status == IBV_WC_WR_FLUSH_ERR && wc[i].qp_num == qp->qp_num)
			return &wc[i];
	return NULL;
}

/*
 * A device with all WRs flushes the send queue before the receives. If no segment is in flight, and
 * only the marker is waited for, a flushed receive shows that the device flushes.
 */
void ccs_complete_flushed_receives(struct cq *cq, const struct ibv_wc *wc, int n)
{
	const struct ibv_wc *flushed;

	for (struct qp *qp = atomic_load(&cq->broken); qp; qp = qp->failure.next) {
		flushed = find_flushed(qp, wc, n);
		if (!flushed)
			continue;
		ccs_lock(&qp->lock);
		if (qp->broken && qp->flow.seg_tail == qp->flow.seg_head && !qp->failure.flush_seen)
			note_flush(qp, flushed);
		ccs_unlock(&qp->lock);
	}
}
