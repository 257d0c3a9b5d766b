/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_POST_H
#define CCS_POST_H
/* Posting of work requests. qp->lock is held for ccs_post_accept(). */
#include "preload/object/qp_record.h"

/* The outcome of accepting a list whose first WR has the number `first`. */
struct ccs_post_outcome {
	uint64_t first;
	int device;                      /* the device's error code, or 0 */
	uint64_t refused;                /* with an error: result of ccs_emit_return() */
	struct ibv_send_wr *left;        /* first WR without space, or NULL */
};

/*
 * Accept a list, and post the WRs that need not wait. False: the device has the whole list. runs: a
 * WR may be in a run (flow/run.h).
 */
bool ccs_post_accept(struct qp *qp, struct ibv_send_wr *wr, bool runs, struct ccs_post_outcome *o,
		     uint64_t *now_ns);

/* ibv_post_send() of a QP with a record. */
int ccs_post(struct qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
/* Post the n WRs that a batch has staged from the head on, or refuse them together; the batch's
 * lock is held. error: the builders' error code, or 0. */
int ccs_post_staged(struct qp *qp, uint32_t n, int error);
/* Poll for completions unless n more WRs can be queued; the batch's lock is held. */
void ccs_post_reclaim(struct qp *qp, uint32_t n);
int ccs_post_bind_mw(struct qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);

#endif
