/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_WR_BATCH_H
#define CCS_WR_BATCH_H
/* The batch between ibv_wr_start() and ibv_wr_complete() of a QP that has these functions. */
#include "preload/object/qp_record.h"

struct wr_batch {
	struct ccs_lock lock;            /* taken before cq.lock; guards what follows */
	_Atomic(const void *) owner;     /* thread that used it last; NULL: not in use */
	unsigned modifying;              /* calls of ibv_modify_qp() by the owner */
	unsigned depth;                  /* nested locks of the owner */
	struct ibv_qp_ex *ex;
	uint32_t staged;                 /* WRs in the batch */
	uint32_t space;                  /* WRs that can be staged at least */
	int error;                       /* first error, returned by wr_complete */
	struct ibv_send_wr spill;        /* takes a WR that does not fit */
};

/*
 * A QP without ibv_wr_* has no batch and these functions return at once. The thread that unlocks
 * need not be the thread that locked: a Go program, for example, may continue in another thread.
 */
void ccs_wr_batch_lock(const struct qp *qp);
void ccs_wr_batch_unlock(const struct qp *qp);
/*
 * For ibv_modify_qp(): an application may call it within a batch of the same thread, and the
 * provider may post within it.
 */
void ccs_wr_batch_lock_to_modify(const struct qp *qp);
void ccs_wr_batch_unlock_modified(const struct qp *qp);
/* This thread continues a batch, and becomes its owner. */
void ccs_wr_batch_continue(struct wr_batch *b);
/* Update `space`. The locks of the batch and of qp are held. */
void ccs_wr_batch_update_space(const struct qp *qp);

#endif
