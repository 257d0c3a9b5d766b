/* SPDX-License-Identifier: BSD-2-Clause */
/* Records of queue pairs. */
#include "preload/datapath/qp.h"

#include <stdlib.h>

#include "base/pool.h"
#include "preload/control/policy.h"
#include "preload/cq/cq.h"
#include "preload/cq/shadow_cq.h"
#include "preload/datapath/wr.h"
#include "preload/object/memlock.h"
#include "preload/object/provider.h"

/*
 * Entries of the device's queue that a shallow one has at least, for segments: as many as fit in a
 * ring of 16 entries, where a device (rxe) may keep one free. Deeper queues have entries enough, as
 * segments become longer where entries are few, and more would double their memory.
 */
enum { DEPTH_LEAST = 15 };

/* Size of the block that wr.h describes. */
static size_t copies_size(const struct qp *qp)
{
	const size_t n = (size_t)qp->flow.queue.wr_mask + 1;

	return n * (sizeof(*qp->copy) + qp->attr.cap.max_inline_data) +
	       (n + CCS_BATCH) * ccs_max_sge(qp) * sizeof(struct ibv_sge);
}

int ccs_qp_alloc_copies(struct qp *qp)
{
	if (!qp->copy)
		qp->copy = ccs_pool_calloc(1, copies_size(qp));
	return qp->copy ? 0 : -1;
}

void ccs_qp_put(struct qp *qp)
{
	if (atomic_fetch_sub(&qp->refs, 1) != 1)
		return;
	if (qp->cq)
		ccs_cq_put(qp->cq);
	ccs_flow_destroy(&qp->flow);
	free(qp->wr_batch);
	free(qp->failure.impair);
	ccs_pool_free(qp->copy, 1, copies_size(qp));
	free(qp->feedback.telemetry);
	ccs_pool_free(qp, 1, sizeof(*qp));
}

void ccs_qp_uncontrolled(const struct ibv_qp *real)
{
	const struct qp *stale = ccs_qp_find(real);

	if (stale)
		ccs_ptrmap_del(&ccs_shim()->qps, real, stale);
}

void ccs_qp_set_send_cq(struct qp *qp, bool app)
{
	if (!qp->ctx->provider->reads_send_cq)
		qp->real->send_cq = app ? qp->cq->app : qp->shadow->cq;
}

bool ccs_qp_add_entries(struct qp *qp)
{
	struct ccs_flow *f = &qp->flow;
	const uint32_t left = f->queue.seg_max - f->queue.seg_limit;
	const uint32_t more = left < f->queue.seg_limit ? left : f->queue.seg_limit;

	if (!ccs_shadow_reserve(qp->shadow, more))
		return false;
	qp->reserved += more;
	ccs_flow_set_entries(f, f->queue.seg_limit + more);
	return true;
}

uint32_t ccs_qp_device_depth(const struct ctx *ctx, uint32_t wanted)
{
	const uint32_t least = ctx->max_qp_wr < DEPTH_LEAST ? ctx->max_qp_wr : DEPTH_LEAST;

	/* Above its limit let the device refuse with its error. */
	if (wanted >= least || !ccs_policy_may_split() || ccs_memlock_limited(ctx))
		return wanted;
	return least;
}

uint32_t ccs_qp_granted_max(const struct ctx *ctx, uint32_t depth)
{
	const uint32_t most = ctx->max_cqe > depth ? ctx->max_cqe : depth;

	return !ctx->provider->doubles_rings ? depth : depth < most - depth ? 2 * depth : most;
}

/*
 * These providers (mlx5, rxe) double a ring until it is large enough: mlx5 in bytes, rxe
 * in entries, and rxe keeps one entry free. So half of a ring holds half of
 * the granted depth, rounded down. Others, and an rxe that reports no ring size, grant the depth
 * that was requested.
 */
uint32_t ccs_qp_bare_depth(const struct ctx *ctx, uint32_t wanted, uint32_t granted)
{
	if (!ctx->provider->doubles_rings || (ctx->provider->syscalls && (granted & (granted + 1))))
		return wanted;
	while (granted / 2 >= wanted)
		granted /= 2;
	return granted;
}
