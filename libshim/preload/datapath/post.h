/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_POST_H
#define CCS_POST_H
/* Posting of work requests. */
#include "preload/object/notify.h"

/* For completions, because the application sleeps and the device may not wake it. */
static inline bool ccs_post_must_look(const struct qp *qp)
{
	return qp->busy && ccs_notify_waits(qp->cq);
}

/* No WR is deferred, nor was any at the last pump. */
static inline bool ccs_post_is_idle(const struct qp *qp)
{
	return !ccs_flow_waiting(&qp->flow) && !qp->scheduled && !qp->flow.gated_since_ns &&
	       !ccs_post_must_look(qp);
}

/* ibv_post_send() of a QP with a record. */
int ccs_post(struct qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
/* Emit what the gate allows, and schedule the rest. qp->lock is held; the time may be unknown. */
void ccs_post_pump(struct qp *qp, uint64_t *now_ns);
/* The application is about to destroy the QP, or to move it to ERR. No lock is held. */
void ccs_post_linger(struct qp *qp);
/* The application has moved the QP to ERR. qp->lock is held. */
void ccs_post_flush(struct qp *qp, uint64_t *now_ns);
/* Post the n WRs that a batch has staged behind the head, all or none; the batch's lock is held. */
int ccs_post_staged(struct qp *qp, uint32_t n);
/* Poll for completions unless n more WRs can be queued; the batch's lock is held. */
void ccs_post_reclaim(struct qp *qp, uint32_t n);
int ccs_post_bind_mw(struct qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);

#endif
