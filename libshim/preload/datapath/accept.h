/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_ACCEPT_H
#define CCS_ACCEPT_H
/* Acceptance of WRs. qp->lock is held, unless noted. */
#include "preload/datapath/qp.h"
#include "preload/object/wr_batch.h"

/* Accept one WR with those CCS_WR_* flags, for which there is space. Returns its flags. */
uint32_t ccs_accept(struct qp *qp, const struct ibv_send_wr *wr, uint32_t flags);
/* Poll for completions unless n more WRs can be queued. qp->lock is released during the poll. */
void ccs_accept_reclaim(struct qp *qp, uint64_t n);
/* Whether a WR that the device has refused, as its queue is full, may wait instead. */
bool ccs_accept_can_defer(struct qp *qp, int rc, uint64_t refused);

/* With thousands of QPs these lines are not cached: fetch them in parallel, not one by one. */
static inline __attribute__((always_inline)) void ccs_accept_prefetch(const struct qp *qp)
{
#pragma GCC unroll 16
	for (unsigned at = 0; at < offsetof(struct qp, flow.stats.samples); at += 64)
		__builtin_prefetch((const char *)qp + at, 1);
}

/* Take the locks for posting. */
static inline void ccs_accept_lock(struct qp *qp)
{
	if (qp->wr_batch)
		ccs_wr_batch_lock(qp);
	ccs_lock(&qp->lock);
}

static inline void ccs_accept_unlock(struct qp *qp)
{
	ccs_wr_batch_update_space(qp);
	ccs_qp_leave(qp);
	if (qp->wr_batch)
		ccs_wr_batch_unlock(qp);
}

#endif
