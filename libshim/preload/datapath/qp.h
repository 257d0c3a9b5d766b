/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_QP_H
#define CCS_QP_H
/* Records of queue pairs. */
#include "preload/cq/notify.h"
#include "preload/cq/shadow_cq.h"
#include "preload/object/provider.h"
#include "preload/object/shim.h"

static inline struct qp *ccs_qp_find(const struct ibv_qp *qp)
{
	return ccs_ptrmap_get(&ccs_shim()->qps, qp);
}

/*
 * Allocate the memory for copies of deferred WRs, and for scatter lists of segments, if it is not.
 * Most QPs never need it: it is done when the first WR is deferred or split. 0 or -1.
 */
int ccs_qp_alloc_copies(struct qp *qp);
void ccs_qp_put(struct qp *qp);

/*
 * An uncontrolled QP was created. Its address may equal the address of a controlled QP that another
 * thread is destroying: the device has freed it, and its record can still be found.
 */
void ccs_qp_uncontrolled(const struct ibv_qp *real);

/* Set ibv_qp.send_cq to the application's CQ; or, where the provider reads it, to the shadow CQ. */
void ccs_qp_set_send_cq(struct qp *qp, bool app);

/* The depth to request of the device for `wanted` WRs: more, for segments, if QPs may split. */
uint32_t ccs_qp_device_depth(const struct ctx *ctx, uint32_t wanted);
/* The most that a device may grant for that depth. */
uint32_t ccs_qp_granted_max(const struct ctx *ctx, uint32_t depth);
/* The depth that the device would grant for `wanted` WRs alone; granted: with segments. */
uint32_t ccs_qp_bare_depth(const struct ctx *ctx, uint32_t wanted, uint32_t granted);

/*
 * The QP has failed. A device flushes what it has, but not necessarily what it gets afterwards
 * (irdma), so deferred WRs do not go there any more: ccs_complete_broken() completes them. WQEs
 * that were posted while the device was failing may be lost as well: the wait for them is limited.
 * With an SRQ no WQE of ours follows (emit.c), so no other flush is waited for.
 */
static inline void ccs_qp_fail(struct qp *qp)
{
	const struct ccs_provider *provider = qp->ctx->provider;

	ccs_flow_fail(&qp->flow);
	qp->broken |= qp->flow.user.enforce && qp->flow.wr_tail < qp->flow.wr_head;
	if (qp->failure.flush_seen)
		return;
	qp->failure.vendor_err = provider->has_mlx5_codes ? CCS_MLX5_FLUSHED : 0;
	/* The device's QP may have been destroyed: the last completions are taken then. */
	qp->failure.flush_seen = provider->ignores_in_error || qp->dead || qp->real->srq;
}

/* The QP was reset, or all WRs of the failed QP have completed. */
static inline void ccs_qp_end_broken(struct qp *qp)
{
	if (qp->failure.marker_posted)
		ccs_flow_settle(&qp->flow, false);
	qp->broken = qp->failure.marker_posted = qp->failure.flush_seen = false;
	qp->failure.deadline_ns = 0;
}

/* Double the WQEs that may be in flight, if the shadow CQ has space. qp->lock is held. */
bool ccs_qp_add_entries(struct qp *qp);

/* WQEs are about to be posted. qp->lock is held, as in the next. */
static inline void ccs_qp_wake_shadow(struct qp *qp)
{
	if (__builtin_expect(ccs_shadow_watch(qp->shadow), 0))
		ccs_shadow_wake(qp);
}

/* Release qp->lock after the flow was changed: polls read the clock while cq->timed is not 0. */
static inline void ccs_qp_leave(struct qp *qp)
{
	const bool timed = qp->flow.timed;

	if (__builtin_expect(qp->counted && !ccs_qp_is_busy(qp), 0))
		ccs_shadow_count(qp, false);
	if (timed != qp->timed)
		atomic_fetch_add_explicit(&qp->cq->timed, timed ? 1 : -1, memory_order_relaxed);
	qp->timed = timed;
	if (qp->events.enabled)
		ccs_notify_count(qp);
	ccs_unlock(&qp->lock);
}

#endif
