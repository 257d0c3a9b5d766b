/* SPDX-License-Identifier: BSD-2-Clause */
/* Acceptance of WRs into a flow's send queue. */
#include "preload/datapath/accept.h"

#include "preload/datapath/drain.h"
#include "preload/datapath/emit.h"
#include "preload/datapath/impair.h"
#include "preload/datapath/wr.h"
#include "preload/object/mr.h"

enum { NEVER_SPLIT = 256 /* bytes: no segment is shorter */ };

/*
 * A WR that is just being posted waits if segments of ours fill the device's queue. Otherwise the
 * device would have refused it without us.
 */
bool ccs_accept_can_defer(struct qp *qp, int rc, uint64_t refused)
{
	const struct ccs_flow *f = &qp->flow;

	return ccs_emit_is_full(qp, rc, refused) &&
	       f->seg_head - f->seg_tail > f->wr_next - f->wr_tail && !ccs_wr_keep(qp, refused);
}

/* Completions that are not polled yet occupy entries: poll them before refusing a WR. */
void ccs_accept_reclaim(struct qp *qp, uint64_t n)
{
	const struct ccs_flow *f = &qp->flow;

	if (f->wr_head - f->wr_tail + n <= f->queue.wr_limit)
		return;
	ccs_unlock(&qp->lock);
	ccs_lock(&qp->cq->lock);
	ccs_drain(qp->cq, true);
	ccs_unlock(&qp->cq->lock);
	ccs_lock(&qp->lock);
}

/* The flow has assigned a number to this WR. */
static void set_source(struct qp *qp, uint64_t number, const struct ibv_send_wr *wr)
{
	struct ccs_wr *w = ccs_flow_wr(&qp->flow, number);

	w->source = wr;
	w->id = wr->wr_id;
}

/*
 * Whether a WRITE or READ may be handed over in segments. A WR that the device would refuse must
 * get there unsplit. The rest of a WR whose first segments are posted cannot be refused, and it
 * cannot wait without memory for a copy. An ibv_bind_mw() that follows needs an entry at once.
 */
static bool may_split(struct qp *qp, const struct ibv_send_wr *wr, uint64_t len)
{
	return qp->flow.user.enforce && qp->flow.user.split && !atomic_load(&qp->ctx->binds) &&
	       len <= qp->ctx->max_message && ccs_mr_covers(qp->ctx, wr) &&
	       (len <= qp->flow.segments.len || qp->copy || !ccs_qp_alloc_copies(qp));
}

uint32_t ccs_accept(struct qp *qp, const struct ibv_send_wr *wr, uint32_t flags)
{
	const uint64_t len = ccs_wr_len(qp, wr);

	if ((flags & CCS_WR_SPLIT) && len > NEVER_SPLIT && !may_split(qp, wr, len))
		flags &= ~(uint32_t)CCS_WR_SPLIT;
	set_source(qp, ccs_flow_accept(&qp->flow, len, flags), wr);
	if (__builtin_expect(qp->impaired, 0))
		ccs_impair_accept(qp, qp->flow.wr_head - 1);
	return flags;
}
