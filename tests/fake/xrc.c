/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Extended reliable connections: a send WQE names the SRQ of its message, and the remote QP,
 * which has no receive queue, delivers it there.
 */
#include <errno.h>
#include <stdlib.h>

#include "priv.h"

static struct fake_srq *srqs;

bool fake_reliable(enum ibv_qp_type type)
{
	return type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND;
}

enum ibv_qp_type fake_peer_type(enum ibv_qp_type type)
{
	return type == IBV_QPT_XRC_SEND ? IBV_QPT_XRC_RECV : type;
}

static struct ibv_xrcd *open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr)
{
	struct fake_xrcd *x = calloc(1, sizeof(*x));

	(void)attr; /* as if it were not shared */
	if (!x)
		return NULL;
	x->ib.context = context;
	x->pd.ib.context = context;
	return &x->ib;
}

static int close_xrcd(struct ibv_xrcd *ib)
{
	struct fake_xrcd *x = container(ib, struct fake_xrcd, ib);
	bool busy;

	pthread_mutex_lock(&fake_lock);
	busy = x->srqs || x->pd.qps;
	pthread_mutex_unlock(&fake_lock);
	if (busy)
		return EBUSY;
	free(x);
	return 0;
}

struct ibv_srq *fake_xrc_srq_create(struct ibv_context *context, struct ibv_srq_init_attr_ex *init)
{
	const uint32_t needed = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE |
				IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
	struct ibv_srq *ib;
	struct fake_srq *srq;

	if (init->comp_mask != needed) {
		errno = EINVAL;
		return NULL;
	}
	ib = fake_srq_create(context, init->pd, init->srq_context, &init->attr);
	if (!ib)
		return NULL;
	srq = container(ib, struct fake_srq, ib);
	srq->cq = container(init->cq, struct fake_cq, ib);
	srq->xrcd = container(init->xrcd, struct fake_xrcd, ib);
	pthread_mutex_lock(&fake_lock);
	srq->xrcd->srqs++;
	srq->cq->qps++;
	srq->next = srqs;
	srqs = srq;
	pthread_mutex_unlock(&fake_lock);
	return ib;
}

void fake_xrc_srq_gone(struct fake_srq *srq)
{
	struct fake_srq **at = &srqs;

	while (*at != srq)
		at = &(*at)->next;
	*at = srq->next;
	srq->xrcd->srqs--;
	srq->cq->qps--;
}

bool fake_xrc_aim(struct fake_qp *qp, uint32_t srqn)
{
	struct fake_srq *srq = srqs;

	while (srq && srq->num != srqn)
		srq = srq->next;
	if (!srq)
		return false;
	qp->rq = &srq->rq;
	qp->rcq = srq->cq;
	return true;
}

void fake_xrc_table(struct fake_context *c)
{
	c->v.open_xrcd = open_xrcd;
	c->v.close_xrcd = close_xrcd;
}
