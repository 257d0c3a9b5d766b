/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_QP_H
#define CCS_QP_H
/* Records of queue pairs. */
#include "preload/shim.h"

static inline struct qp *ccs_qp_find(const struct ibv_qp *qp)
{
	return ccs_ptrmap_get(&ccs_shim()->qps, qp);
}

/* Allocate the memory for copies of deferred WRs, after the flow's initialisation. 0 or -1. */
int ccs_qp_alloc_copies(struct qp *qp);
void ccs_qp_put(struct qp *qp);

/* Set ibv_qp.send_cq to the application's CQ; or, where the provider reads it, to the shadow CQ. */
void ccs_qp_set_send_cq(struct qp *qp, bool app);

/* The send queue's depth on the device for one of `wanted` WRs: more, for segments. */
uint32_t ccs_qp_device_depth(const struct ctx *ctx, uint32_t wanted);

/* Release qp->lock after the flow was changed: polls read the clock while cq->timed is not 0. */
static inline void ccs_qp_leave(struct qp *qp)
{
	const bool timed = qp->flow.timed;

	if (timed != qp->timed)
		atomic_fetch_add_explicit(&qp->cq->timed, timed ? 1 : -1, memory_order_relaxed);
	qp->timed = timed;
	ccs_unlock(&qp->lock);
}

#endif
