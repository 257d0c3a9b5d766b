/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_WR_BATCH_H
#define CCS_WR_BATCH_H
/* The batch between ibv_wr_start() and ibv_wr_complete() of a QP that has these functions. */
#include "preload/objects.h"

struct wr_batch {
	pthread_mutex_t lock;            /* taken before cq.lock; guards what follows */
	struct ibv_qp_ex *ex;
	uint32_t staged, space;          /* space: at least so many WRs can be staged */
	int error;                       /* the first one, returned by wr_complete */
	struct ibv_send_wr spill;        /* takes a WR that there is no space for */
};

/* A QP without ibv_wr_* has no batch: these do nothing then. */
void ccs_wr_batch_lock(const struct qp *qp);
void ccs_wr_batch_unlock(const struct qp *qp);
/* Update `space`; the locks of the batch and of qp are held. */
void ccs_wr_batch_update_space(const struct qp *qp);
void ccs_wr_batch_free(struct qp *qp);

#endif
