/* SPDX-License-Identifier: BSD-2-Clause */
/* The batch between ibv_wr_start() and ibv_wr_complete(): its lock and its space. */
#include "preload/object/wr_batch.h"

#include <stdlib.h>

#include "preload/shim.h"

void ccs_wr_batch_lock(const struct qp *qp)
{
	if (qp->wr_batch && !ccs_forked())
		pthread_mutex_lock(&qp->wr_batch->lock);
}

void ccs_wr_batch_unlock(const struct qp *qp)
{
	if (qp->wr_batch && !ccs_forked())
		pthread_mutex_unlock(&qp->wr_batch->lock);
}

void ccs_wr_batch_update_space(const struct qp *qp)
{
	if (qp->wr_batch)
		qp->wr_batch->space = qp->flow.wr_limit -
				    (uint32_t)(qp->flow.wr_head - qp->flow.wr_tail);
}

void ccs_wr_batch_free(struct qp *qp)
{
	if (qp->wr_batch)
		pthread_mutex_destroy(&qp->wr_batch->lock);
	free(qp->wr_batch);
}
