/* SPDX-License-Identifier: BSD-2-Clause */
/* Receive queues, of a QP and shared. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "priv.h"

#define qp_of(ib_) container(ib_, struct fake_qp, ib)
#define srq_of(ib_) container(ib_, struct fake_srq, ib)

static int add(struct fake_rq *rq, const struct ibv_recv_wr *wr, uint32_t max_sge)
{
	struct fake_rqe *rqe;

	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > max_sge)
		return EINVAL;
	if (rq->head - rq->tail >= rq->size)
		return ENOMEM;
	rqe = &rq->ring[rq->head++ % rq->size];
	rqe->wr_id = wr->wr_id;
	rqe->num_sge = wr->num_sge;
	if (wr->num_sge)
		memcpy(rqe->sge, wr->sg_list, (size_t)wr->num_sge * sizeof(rqe->sge[0]));
	return 0;
}

int fake_post_recv(struct ibv_qp *ib, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct fake_qp *qp = qp_of(ib);
	int rc = 0;

	pthread_mutex_lock(&fake_lock);
	for (; wr && !rc; wr = rc ? wr : wr->next)
		rc = ib->state == IBV_QPS_RESET || ib->srq
		   ? EINVAL : add(&qp->own, wr, qp->init.cap.max_recv_sge);
	if (rc)
		*bad = wr;
	if (ib->state == IBV_QPS_ERR)
		fake_flush(qp);
	fake_run();
	pthread_mutex_unlock(&fake_lock);
	return rc;
}

int fake_post_srq_recv(struct ibv_srq *ib, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct fake_srq *srq = srq_of(ib);
	int rc = 0;

	pthread_mutex_lock(&fake_lock);
	for (; wr && !rc; wr = rc ? wr : wr->next)
		rc = add(&srq->rq, wr, srq->max_sge);
	if (rc)
		*bad = wr;
	fake_run();
	pthread_mutex_unlock(&fake_lock);
	return rc;
}

/* An SRQ raises one event when it falls below its limit. */
static void check_limit(struct fake_srq *srq)
{
	const struct ibv_async_event event = { .element.srq = &srq->ib,
					       .event_type = IBV_EVENT_SRQ_LIMIT_REACHED };

	if (srq->rq.head - srq->rq.tail >= srq->limit)
		return;
	srq->limit = 0;
	fake_raise(srq->ib.context, &event);
}

bool fake_recv_take(struct fake_qp *qp)
{
	struct fake_rq *rq = qp->rq;

	if (qp->has_taken)
		return true;
	if (rq->tail == rq->head)
		return false;
	qp->taken = rq->ring[rq->tail++ % rq->size];
	qp->has_taken = true;
	if (qp->ib.srq)
		check_limit(srq_of(qp->ib.srq));
	return true;
}

struct ibv_srq *fake_srq_create(struct ibv_context *context, struct ibv_pd *pd, void *srq_context,
				const struct ibv_srq_attr *attr)
{
	static uint32_t numbers;
	struct fake_srq *srq;

	if (attr->max_wr < 1 || attr->max_wr > MAX_WR || attr->max_sge > MAX_SGE) {
		errno = EINVAL;
		return NULL;
	}
	srq = calloc(1, sizeof(*srq));
	if (srq)
		srq->rq.ring = calloc(attr->max_wr, sizeof(*srq->rq.ring));
	if (!srq || !srq->rq.ring) {
		free(srq);
		errno = ENOMEM;
		return NULL;
	}
	srq->rq.size = attr->max_wr;
	srq->max_sge = attr->max_sge;
	srq->ib.context = context;
	srq->ib.pd = pd;
	srq->ib.srq_context = srq_context;
	pthread_mutex_lock(&fake_lock);
	srq->num = ++numbers;
	pthread_mutex_unlock(&fake_lock);
	return &srq->ib;
}

EXPORT struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
	return fake_srq_create(pd->context, pd, init->srq_context, &init->attr);
}

static struct ibv_srq *create_srq_ex(struct ibv_context *context,
				     struct ibv_srq_init_attr_ex *init)
{
	const uint32_t known = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE;

	if ((init->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) && init->srq_type == IBV_SRQT_XRC)
		return fake_xrc_srq_create(context, init);
	if ((init->comp_mask & ~known) || !(init->comp_mask & IBV_SRQ_INIT_ATTR_PD) ||
	    ((init->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) && init->srq_type != IBV_SRQT_BASIC)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	return fake_srq_create(context, init->pd, init->srq_context, &init->attr);
}

EXPORT int ibv_modify_srq(struct ibv_srq *ib, struct ibv_srq_attr *attr, int mask)
{
	struct fake_srq *srq = srq_of(ib);

	if (mask & ~IBV_SRQ_LIMIT)
		return EOPNOTSUPP;
	if (attr->srq_limit > srq->rq.size)
		return EINVAL;
	pthread_mutex_lock(&fake_lock);
	srq->limit = attr->srq_limit;
	pthread_mutex_unlock(&fake_lock);
	return 0;
}

EXPORT int ibv_query_srq(struct ibv_srq *ib, struct ibv_srq_attr *attr)
{
	const struct fake_srq *srq = srq_of(ib);

	pthread_mutex_lock(&fake_lock);
	attr->max_wr = srq->rq.size;
	attr->max_sge = srq->max_sge;
	attr->srq_limit = srq->limit;
	pthread_mutex_unlock(&fake_lock);
	return 0;
}

static int get_srq_num(struct ibv_srq *ib, uint32_t *num)
{
	*num = srq_of(ib)->num;
	return 0;
}

EXPORT int ibv_destroy_srq(struct ibv_srq *ib)
{
	struct fake_srq *srq = srq_of(ib);

	pthread_mutex_lock(&fake_lock);
	if (srq->qps) {
		pthread_mutex_unlock(&fake_lock);
		return EBUSY;
	}
	while (srq->async_given != ib->events_completed)
		pthread_cond_wait(&fake_changed, &fake_lock);
	if (srq->xrcd)
		fake_xrc_srq_gone(srq);
	pthread_mutex_unlock(&fake_lock);
	free(srq->rq.ring);
	free(srq);
	return 0;
}

void fake_srq_table(struct fake_context *c)
{
	c->v.create_srq_ex = create_srq_ex;
	c->v.get_srq_num = get_srq_num;
	c->v.context.ops.post_srq_recv = fake_post_srq_recv;
}
