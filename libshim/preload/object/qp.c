/* SPDX-License-Identifier: BSD-2-Clause */
/* Records of queue pairs. */
#include "preload/object/qp.h"

#include <stdlib.h>

#include "base/pool.h"
#include "preload/control/policy.h"
#include "preload/datapath/wr.h"
#include "preload/object/cq.h"
#include "preload/object/provider.h"
#include "preload/object/wr_batch.h"

enum { EXTRA_SEGMENTS = 128 };   /* of the device's queue, for splitting */

int ccs_qp_alloc_copies(struct qp *qp)
{
	const size_t n = (size_t)qp->flow.wr_mask + 1, sges = ccs_max_sge(qp);

	qp->copy = ccs_pool_calloc(n, sizeof(*qp->copy));
	qp->copy_sge = ccs_pool_calloc(n * sges, sizeof(*qp->copy_sge));
	qp->copy_inline = ccs_pool_calloc(n, qp->cap.max_inline_data);
	qp->scratch = ccs_pool_calloc(CCS_BATCH * sges, sizeof(*qp->scratch));
	return qp->copy && qp->copy_sge && qp->copy_inline && qp->scratch ? 0 : -1;
}

static void free_copies(struct qp *qp)
{
	const size_t n = (size_t)qp->flow.wr_mask + 1, sges = ccs_max_sge(qp);

	ccs_pool_free(qp->copy, n, sizeof(*qp->copy));
	ccs_pool_free(qp->copy_sge, n * sges, sizeof(*qp->copy_sge));
	ccs_pool_free(qp->copy_inline, n, qp->cap.max_inline_data);
	ccs_pool_free(qp->scratch, CCS_BATCH * sges, sizeof(*qp->scratch));
}

void ccs_qp_put(struct qp *qp)
{
	if (atomic_fetch_sub(&qp->refs, 1) != 1)
		return;
	if (qp->cq)
		ccs_cq_put(qp->cq);
	ccs_flow_destroy(&qp->flow);
	ccs_wr_batch_free(qp);
	free_copies(qp);
	free(qp->feedback.telemetry);
	ccs_pool_free(qp, 1, sizeof(*qp));
}

void ccs_qp_set_send_cq(struct qp *qp, bool app)
{
	if (!qp->ctx->provider->reads_send_cq)
		qp->real->send_cq = app ? qp->cq->app : qp->shadow->cq;
}

uint32_t ccs_qp_device_depth(const struct ctx *ctx, uint32_t wanted)
{
	/* Above its limit let the device refuse with its own error; near it, use what is left. */
	if (wanted > ctx->max_qp_wr || !ccs_policy_may_split())
		return wanted;
	return ctx->max_qp_wr - wanted < EXTRA_SEGMENTS ? ctx->max_qp_wr : wanted + EXTRA_SEGMENTS;
}

uint32_t ccs_qp_granted_max(const struct ctx *ctx, uint32_t depth)
{
	const uint32_t most = ctx->max_cqe > depth ? ctx->max_cqe : depth;

	return !ctx->doubles_rings ? depth : depth < most - depth ? 2 * depth : most;
}

/*
 * These providers (mlx5, rxe) double a ring until it is large enough: mlx5 in bytes, of which a
 * WQE takes some, and rxe in entries, of which one stays free. So half of a ring holds half of what
 * was granted, rounded down. Others, and an rxe that says nothing of that, grant what they were
 * asked for.
 */
uint32_t ccs_qp_bare_depth(const struct ctx *ctx, uint32_t wanted, uint32_t granted)
{
	if (!ctx->doubles_rings || (ctx->syscalls && (granted & (granted + 1))))
		return wanted;
	while (granted / 2 >= wanted)
		granted /= 2;
	return granted;
}
