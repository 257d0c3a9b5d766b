/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Removal of ready completions of a destroyed or reset QP. A completion of a shadow CQ names its
 * QP's record. A receive has only the QP number, which another QP may get as soon as the provider's
 * call returns. Receives become ready only in the application's polls, so a receive with this
 * number that was ready before the call belongs to this QP.
 */

#include "preload/cq/cq.h"
#include "preload/object/real.h"

static bool is_purged(const struct cq *cq, bool reset)
{
	const struct ccs_provider *provider = cq->ctx->provider;

	return reset ? provider->purges_on_reset : provider->purges_on_destroy;
}

void ccs_purge_begin(struct ccs_purge *p, const struct ibv_qp *qp, bool reset)
{
	p->cq[0] = qp->recv_cq ? ccs_cq_find(qp->recv_cq) : NULL;
	p->cq[1] = qp->send_cq ? ccs_cq_find(qp->send_cq) : NULL;
	if (p->cq[1] == p->cq[0])
		p->cq[1] = NULL;
	for (int i = 0; i < 2; i++) {
		struct cq *cq = p->cq[i];

		if (!cq || ccs_cq_is_plain(cq) || !is_purged(cq, reset)) {
			p->cq[i] = NULL;
			continue;
		}
		ccs_lock(&cq->lock);
		p->head[i] = cq->ready.head;
		ccs_unlock(&cq->lock);
	}
}

static void copy_ready(struct cq *cq, uint32_t to, uint32_t from)
{
	cq->ready.entry[to & cq->ready.mask] = cq->ready.entry[from & cq->ready.mask];
	if (cq->ready.more)
		cq->ready.more[to & cq->ready.mask] = cq->ready.more[from & cq->ready.mask];
}

static void remove_ready(struct cq *cq, uint32_t head, uint32_t qp_num, uint32_t owner)
{
	uint32_t kept = cq->ready.tail;

	for (uint32_t i = cq->ready.tail; i != cq->ready.head; i++) {
		const struct ready *r = &cq->ready.entry[i & cq->ready.mask];
		const bool its = r->owner != CCS_NO_OWNER
			? r->owner == owner : r->wc.qp_num == qp_num && (int32_t)(i - head) < 0;

		if (!its)
			copy_ready(cq, kept++, i);
	}
	cq->ready.head = kept;
}

void ccs_purge_end(struct ccs_purge *p, uint32_t qp_num, uint32_t owner)
{
	for (int i = 0; i < 2; i++) {
		struct cq *cq = p->cq[i];

		if (!cq)
			continue;
		ccs_lock(&cq->lock);
		remove_ready(cq, p->head[i], qp_num, owner);
		ccs_unlock(&cq->lock);
	}
}

int ccs_purge_modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	const bool reset = (mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_RESET &&
			   !ccs_forked();
	struct ccs_purge purge;
	int rc;

	if (reset)
		ccs_purge_begin(&purge, qp, true);
	rc = ccs_real()->ibv_modify_qp(qp, attr, mask);
	if (reset && !rc)
		ccs_purge_end(&purge, qp->qp_num, CCS_NO_OWNER);
	return rc;
}

int ccs_purge_destroy(struct ibv_qp *qp)
{
	const uint32_t qp_num = qp->qp_num;
	struct ccs_purge purge;
	int rc;

	if (ccs_forked())
		return ccs_real()->ibv_destroy_qp(qp);
	ccs_purge_begin(&purge, qp, false);
	rc = ccs_real()->ibv_destroy_qp(qp);
	if (!rc)
		ccs_purge_end(&purge, qp_num, CCS_NO_OWNER);
	return rc;
}
