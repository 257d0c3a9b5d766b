/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_WR_BATCH_H
#define CCS_WR_BATCH_H
/* The batch between ibv_wr_start() and ibv_wr_complete() of a QP that has these functions. */
#include "preload/object/qp_record.h"

struct wr_batch {
	struct ccs_lock lock;            /* taken before cq.lock; guards what follows */
	_Atomic(const void *) owner;     /* the thread that used it last; NULL: none */
	unsigned modifying;              /* calls of ibv_modify_qp() by the owner */
	unsigned depth;                  /* times that the owner has it, less one */
	struct ibv_qp_ex *ex;
	uint32_t staged, space;          /* space: at least so many WRs can be staged */
	int error;                       /* the first one, returned by wr_complete */
	struct ibv_send_wr spill;        /* takes a WR that there is no space for */
};

/*
 * A QP without ibv_wr_* has no batch: these do nothing then. Another thread may unlock than locked:
 * with a provider's lock, a batch may continue in another thread (of a Go program, for example).
 */
void ccs_wr_batch_lock(const struct qp *qp);
void ccs_wr_batch_unlock(const struct qp *qp);
/*
 * For ibv_modify_qp(): an application may call it within a batch of the same thread, and the
 * provider may post within it.
 */
void ccs_wr_batch_lock_to_modify(const struct qp *qp);
void ccs_wr_batch_unlock_modified(const struct qp *qp);
/* Within a batch: it is this thread's from now on. */
void ccs_wr_batch_continue(struct wr_batch *b);
/* Update `space`; the locks of the batch and of qp are held. */
void ccs_wr_batch_update_space(const struct qp *qp);
void ccs_wr_batch_free(struct qp *qp);

#endif
