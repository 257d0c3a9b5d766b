/* SPDX-License-Identifier: BSD-2-Clause */
/* Posting of WRs that a batch of ibv_wr_* has staged in the QP's copies. */
#include "preload/datapath/post.h"

#include <errno.h>

#include "base/probe.h"
#include "preload/control/qp_feedback.h"
#include "preload/datapath/accept.h"
#include "preload/datapath/emit.h"
#include "preload/datapath/wr.h"
#include "preload/object/provider.h"
#include "preload/object/shim.h"
#include "preload/report/publish.h"

void ccs_post_reclaim(struct qp *qp, uint32_t n)
{
	if (ccs_forked())
		return;
	ccs_lock(&qp->lock);
	ccs_accept_reclaim(qp, n);
	ccs_wr_batch_update_space(qp);
	ccs_qp_leave(qp);
}

/* The staged WRs as a list. */
static struct ibv_send_wr *link_staged(struct qp *qp, uint32_t n)
{
	const uint64_t head = qp->flow.wr_head;

	for (uint32_t i = 0; i < n; i++)
		ccs_wr_copy(qp, head + i)->next = i + 1 < n ? ccs_wr_copy(qp, head + i + 1) : NULL;
	return n ? ccs_wr_copy(qp, head) : NULL;
}

/* In a child: pass the staged WRs to the device unchanged. */
static int post_staged_uncontrolled(struct qp *qp, uint32_t n)
{
	struct ibv_send_wr *bad;

	return n ? qp->ctx->real.post_send(qp->real, link_staged(qp, n), &bad) : 0;
}

/*
 * If the device refuses the first WR that it gets, the whole batch is refused. A later WR was
 * accepted with the WRs before it: it is deferred, or the QP is failed.
 */
static int post_staged(struct qp *qp, uint32_t n, uint64_t *now_ns)
{
	struct ccs_flow *f = &qp->flow;
	struct ibv_send_wr *wr = link_staged(qp, n);
	struct ccs_post_outcome o;

	if (ccs_emit_is_ours_to_flush(qp)) {
		for (; wr; wr = wr->next)
			ccs_accept(qp, wr, ccs_wr_flags(qp, wr));
		return 0;
	}
	if (!ccs_post_accept(qp, wr, true, &o, now_ns))
		return 0;
	if (o.device && o.refused == o.first && f->next_offset == 0 &&
	    !ccs_accept_can_defer(qp, o.device, o.refused)) {
		ccs_flow_unaccept(f, o.first);
		return o.device;
	}
	f->stats.deferred += f->wr_head - (o.first > f->wr_next ? o.first : f->wr_next);
	if (o.device && o.refused == UINT64_MAX)
		return o.device; /* the device has them nevertheless */
	if (o.device && !ccs_emit_is_full(qp, o.device, o.refused))
		ccs_emit_fail(qp, o.device);
	return 0;
}

/* Too early to post: mlx5, hns, ionic and the kernel report that whatever the batch contains. */
static bool is_too_early(const struct qp *qp)
{
	if (qp->syscalls)
		return false; /* librxe queues the WRs; only its doorbell fails */
	return qp->ctx->provider->remembers_rts ? qp->early : qp->state < IBV_QPS_RTS;
}

int ccs_post_staged(struct qp *qp, uint32_t n, int error)
{
	const int saved = errno;
	uint64_t now_ns = CCS_TIME_UNKNOWN;
	int rc;

	if (ccs_forked())
		return error ? error : post_staged_uncontrolled(qp, n);
	ccs_lock(&qp->lock);
	rc = is_too_early(qp) ? EINVAL : error;
	if (!rc) {
		ccs_qp_feedback_poll(qp, &now_ns);
		rc = post_staged(qp, n, &now_ns);
		CCS_PROBE3(post, qp->qp_num, qp->flow.wr_head, qp->flow.wr_next);
		ccs_emit_schedule(qp, &now_ns);
		ccs_publish_due(qp, now_ns);
	}
	ccs_wr_batch_update_space(qp);
	ccs_qp_leave(qp);
	return ccs_posted(saved, rc);
}
