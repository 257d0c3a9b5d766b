/* SPDX-License-Identifier: BSD-2-Clause */
/* From a completion of the device to the one that the application is owed. */
#include "base/probe.h"
#include "verbs/shim.h"
#include "verbs/wr.h"

/*
 * Owed: the device's completion with the application's identity. A provider that reports a
 * WQE's length reports the segment's: the whole WR's is due. Changed only where it is copied
 * to: a copy of what was written just now would wait for that.
 */
static void owe(struct qp *qp, uint64_t number, uint64_t segment_len, const struct arrivals *a,
		int i)
{
	const struct ccs_wr *wr = ccs_flow_wr(&qp->flow, number);
	struct ibv_wc *wc = ccs_cq_push(qp->cq, &a->wc[i], &a->more[i]);

	wc->wr_id = wr->id;
	if (wc->status == IBV_WC_SUCCESS && wc->byte_len && wc->byte_len == segment_len)
		wc->byte_len = (uint32_t)wr->len;
	CCS_PROBE4(complete, qp->qp_num, wc->wr_id, wr->len, wc->status);
}

/*
 * A flow's clock does not go back, but what is known of the device's may get
 * better between two completions, by some us.
 */
static void date(const struct qp *qp, const struct arrivals *a, int i, struct ccs_done *done)
{
	const struct ccs_span when = ccs_shadow_date(qp->cq, a, i);
	const struct ccs_flow *f = &qp->flow;

	done->earliest_ns = when.earliest_ns;
	done->latest_ns = when.latest_ns;
	if (done->latest_ns < f->base_window_ns)
		done->latest_ns = f->base_window_ns;
	if (done->latest_ns < f->updated_ns)
		done->latest_ns = f->updated_ns;
	if (done->earliest_ns > done->latest_ns)
		done->earliest_ns = done->latest_ns;
}

/* Whether the same look has told of a later one of this QP whose time is wanted. */
static bool more_timed(const struct qp *qp, const struct arrivals *a, int i)
{
	for (int j = i + 1; j < a->n && a->wc[j].wr_id >> 32 == qp->id; j++)
		if (a->wc[j].status == IBV_WC_SUCCESS &&
		    ccs_flow_is_timed(&qp->flow, ccs_token_segment(qp, a->wc[j].wr_id)))
			return true;
	return false;
}

void ccs_complete(struct qp *qp, struct arrivals *a, int i)
{
	const struct ibv_wc *wc = &a->wc[i];
	struct ccs_done done = {
		.ok = wc->status == IBV_WC_SUCCESS,
		.lost = wc->status == IBV_WC_RETRY_EXC_ERR,
	};
	uint64_t wr, len;

	done.number = ccs_token_segment(qp, wc->wr_id);
	if (!done.ok || ccs_flow_is_timed(&qp->flow, done.number)) {
		date(qp, a, i, &done);
		done.more = !a->stamped && more_timed(qp, a, i);
	}
	len = ccs_flow_seg(&qp->flow, done.number)->len;
	ccs_links_look(qp);
	if (ccs_flow_complete(&qp->flow, &done, &wr))
		owe(qp, wr, len, a, i);
}

/*
 * In order: only once the device has told of all that it was asked to tell of.
 * What it took unasked after that may have succeeded in silence; it counts as
 * flushed too, for nobody will ever know. Returns whether some are still to come.
 */
static bool complete_refused(struct cq *cq, struct qp *qp)
{
	struct wc_more more;
	struct ibv_wc wc = { .qp_num = qp->qp_num, .status = IBV_WC_WR_FLUSH_ERR };
	struct ccs_flow *f = &qp->flow;

	if (f->seg_tail + f->unsignalled < f->seg_head)
		return true;
	f->seg_tail = f->seg_head;
	f->inflight = 0;
	f->timed = 0;
	qp->nudged = false;
	ccs_shadow_now(cq, &more);
	for (; f->wr_tail < f->wr_head && ccs_cq_room(cq); f->wr_tail++) {
		if (ccs_flow_wr(f, f->wr_tail)->reported)
			continue;
		wc.wr_id = ccs_flow_wr(f, f->wr_tail)->id;
		ccs_cq_push(cq, &wc, &more);
	}
	f->wr_next = f->wr_tail;
	f->next_offset = 0;
	return f->wr_tail < f->wr_head;
}

/* Whoever adds to what such a QP is owed sets the mark after that, under its lock. */
void ccs_complete_broken(struct cq *cq)
{
	bool more = false;
	struct qp *qp;

	if (!atomic_load_explicit(&cq->broken, memory_order_relaxed))
		return;
	atomic_store(&cq->broken, false);
	for (uint32_t slot = 0; (qp = ccs_registry_next(cq, &slot));) {
		ccs_lock(&qp->lock);
		if (qp->broken && complete_refused(cq, qp))
			more = true;
		ccs_qp_leave(qp);
	}
	if (more)
		atomic_store(&cq->broken, true);
}
