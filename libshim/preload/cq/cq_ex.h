/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CQ_EX_H
#define CCS_CQ_EX_H
/* Extended CQs: ibv_start_poll(), ibv_next_poll(), ibv_end_poll() and the readers. */
#include "preload/objects.h"

struct ibv_cq_ex *ccs_cq_ex_create(struct ctx *ctx, struct ibv_cq_init_attr_ex *attr);

/* Exclude poll batches of other threads, as providers do. cq is an extended one. */
static inline void ccs_cq_ex_lock(struct cq *cq)
{
	if (!cq->one_thread)
		pthread_mutex_lock(&cq->batch_lock);
}

static inline void ccs_cq_ex_unlock(struct cq *cq)
{
	if (!cq->one_thread)
		pthread_mutex_unlock(&cq->batch_lock);
}

#endif
