/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion queues: exactly as deep as asked for, and unusable after an overrun. */
#include <errno.h>
#include <stdlib.h>

#include "priv.h"

enum { CQE_BYTES = 64 };

#define cq_of(ib_) container(ib_, struct fake_cq, ib)

static struct fake_cq *create(struct ibv_context *context, int cqe, void *cq_context,
			      struct ibv_comp_channel *channel, int comp_vector)
{
	struct fake_cq *cq;
	int fault;

	pthread_mutex_lock(&fake_lock);
	fault = fake_refused_cqs();
	if (!fault)
		fault = fake_fault(FAULT_CREATE_CQ);
	pthread_mutex_unlock(&fake_lock);
	if (fault || cqe < 1 || cqe > MAX_CQE || comp_vector < 0 ||
	    comp_vector >= context->num_comp_vectors) {
		errno = fault ? fault : EINVAL;
		return NULL;
	}
	cq = calloc(1, sizeof(*cq));
	if (cq)
		cq->ring = calloc((size_t)cqe, sizeof(*cq->ring));
	if (!cq || !cq->ring) {
		free(cq);
		errno = ENOMEM;
		return NULL;
	}
	cq->size = (uint32_t)cqe;
	cq->pinned = (uint64_t)cqe * CQE_BYTES;
	cq->ib.context = context;
	cq->ib.channel = channel;
	cq->ib.cq_context = cq_context;
	cq->ib.cqe = cqe;
	pthread_mutex_init(&cq->batch, NULL);
	pthread_mutex_lock(&fake_lock);
	if (!fake_pin(cq->pinned)) {
		pthread_mutex_unlock(&fake_lock);
		pthread_mutex_destroy(&cq->batch);
		free(cq->ring);
		free(cq);
		return NULL;
	}
	if (channel)
		channel->refcnt++;
	fake_count.cqs++;
	pthread_mutex_unlock(&fake_lock);
	return cq;
}

EXPORT struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
				    struct ibv_comp_channel *channel, int comp_vector)
{
	struct fake_cq *cq = create(context, cqe, cq_context, channel, comp_vector);

	return cq ? &cq->ib : NULL;
}

/* A parent domain and the flags (single-threaded, ignore overrun) are accepted without a check. */
struct ibv_cq_ex *fake_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
	const uint32_t known = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;
	struct fake_cq *cq;

	if ((attr->comp_mask & ~known) || (attr->wc_flags & ~fake_cq_ex_flags())) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	cq = create(context, (int)attr->cqe, attr->cq_context, attr->channel,
		    (int)attr->comp_vector);
	if (cq)
		fake_cq_ex_start(cq, attr->wc_flags);
	return cq ? &cq->ex : NULL;
}

int fake_modify_cq(struct ibv_cq *ib, struct ibv_modify_cq_attr *attr)
{
	(void)ib;
	return attr->attr_mask & ~(uint32_t)IBV_CQ_ATTR_MODERATE ? EINVAL : 0;
}

EXPORT int ibv_resize_cq(struct ibv_cq *ib, int cqe)
{
	struct fake_cq *cq = cq_of(ib);
	const bool possible = cqe > 0 && cqe <= MAX_CQE;
	struct fake_cqe *ring = possible ? calloc((size_t)cqe, sizeof(*ring)) : NULL;
	int rc;

	pthread_mutex_lock(&fake_lock);
	rc = fake_fault(FAULT_RESIZE_CQ);
	if (!rc && (!ring || (uint32_t)cqe < cq->used)) {
		rc = EINVAL;
	} else if (!rc) {
		for (uint32_t i = 0; i < cq->used; i++)
			ring[i] = cq->ring[(cq->head + i) % cq->size];
		free(cq->ring);
		cq->ring = ring;
		cq->head = 0;
		cq->size = (uint32_t)cqe;
		ib->cqe = cqe;
		ring = NULL;
	}
	pthread_mutex_unlock(&fake_lock);
	free(ring);
	return rc;
}

/* As in libibverbs, wait until every event that was read is acknowledged. */
EXPORT int ibv_destroy_cq(struct ibv_cq *ib)
{
	struct fake_cq *cq = cq_of(ib);

	pthread_mutex_lock(&fake_lock);
	if (cq->qps) {
		pthread_mutex_unlock(&fake_lock);
		return errno = EBUSY; /* as the system call does, on each device */
	}
	if (ib->channel)
		fake_queue_drop(&container(ib->channel, struct fake_channel, ib)->events, cq);
	while (cq->comp_given != ib->comp_events_completed ||
	       cq->async_given != ib->async_events_completed)
		pthread_cond_wait(&fake_changed, &fake_lock);
	if (ib->channel)
		ib->channel->refcnt--;
	fake_count.cqs--;
	fake_unpin(cq->pinned);
	fake_count.stamped_cqs -= cq->stamped;
	pthread_mutex_unlock(&fake_lock);
	pthread_mutex_destroy(&cq->batch);
	free(cq->ring);
	free(cq);
	return 0;
}

static void notify(struct fake_cq *cq, const struct fake_cqe *cqe)
{
	const struct fake_event e = { .cq = cq };

	if (cq->armed == NOT_ARMED)
		return;
	if (cq->armed == ARMED_SOLICITED && !cqe->solicited)
		return;
	cq->armed = NOT_ARMED;
	if (cq->ib.channel)
		fake_queue_add(&container(cq->ib.channel, struct fake_channel, ib)->events, &e);
}

void fake_cq_add(struct fake_cq *cq, const struct fake_cqe *cqe, bool solicited)
{
	struct ibv_async_event event = { .element.cq = &cq->ib, .event_type = IBV_EVENT_CQ_ERR };
	struct fake_cqe *at;

	if (cq->overrun)
		return;
	if (cq->used == cq->size) {
		cq->overrun = true;
		fake_count.overruns++;
		fake_raise(cq->ib.context, &event);
		return;
	}
	at = &cq->ring[(cq->head + cq->used++) % cq->size];
	*at = *cqe;
	at->solicited = solicited || cqe->wc.status != IBV_WC_SUCCESS;
	notify(cq, at);
}

/* A CQE outlives its QP. */
void fake_cq_forget(const struct fake_qp *qp)
{
	struct fake_cq *cq = cq_of(qp->init.send_cq);

	for (uint32_t i = 0; qp->init.send_cq && i < cq->used; i++)
		if (cq->ring[(cq->head + i) % cq->size].qp == qp)
			cq->ring[(cq->head + i) % cq->size].qp = NULL;
}

static void clean(struct fake_cq *cq, uint32_t qp_num)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < cq->used; i++) {
		const struct fake_cqe *cqe = &cq->ring[(cq->head + i) % cq->size];

		if (cqe->wc.qp_num != qp_num)
			cq->ring[(cq->head + kept++) % cq->size] = *cqe;
	}
	cq->used = kept;
}

void fake_cq_clean(const struct fake_qp *qp)
{
	if (qp->ib.send_cq) /* libmlx5 also finds it there */
		clean(cq_of(qp->ib.send_cq), qp->ib.qp_num);
	if (qp->rcq)
		clean(qp->rcq, qp->ib.qp_num);
}

bool fake_cq_take(struct fake_cq *cq, struct fake_cqe *out)
{
	if (!cq->used)
		return false;
	*out = cq->ring[cq->head];
	if (out->qp && out->wqe > out->qp->sq_tail)
		out->qp->sq_tail = out->wqe;
	cq->head = (cq->head + 1) % cq->size;
	cq->used--;
	return true;
}

int fake_poll_cq(struct ibv_cq *ib, int n, struct ibv_wc *wc)
{
	struct fake_cq *cq = cq_of(ib);
	struct fake_cqe cqe;
	int got = 0;

	pthread_mutex_lock(&cq->batch);
	pthread_mutex_lock(&fake_lock);
	cq->polls++;
	fake_run();
	while (got < n && fake_cq_take(cq, &cqe))
		wc[got++] = cqe.wc;
	if (cq->overrun && !got)
		got = -1;
	pthread_mutex_unlock(&fake_lock);
	pthread_mutex_unlock(&cq->batch);
	if (!got)
		fake_idle();
	return got;
}

int fake_req_notify_cq(struct ibv_cq *ib, int solicited_only)
{
	struct fake_cq *cq = cq_of(ib);

	pthread_mutex_lock(&fake_lock);
	if (!solicited_only)
		cq->armed = ARMED;
	else if (cq->armed == NOT_ARMED)
		cq->armed = ARMED_SOLICITED;
	/* The first disarms it. */
	for (uint32_t i = 0; fake_profile()->arms_by_index && i < cq->used; i++)
		notify(cq, &cq->ring[(cq->head + i) % cq->size]);
	pthread_mutex_unlock(&fake_lock);
	return 0;
}

void fake_break_cq(struct ibv_cq *ib)
{
	pthread_mutex_lock(&fake_lock);
	cq_of(ib)->overrun = true;
	pthread_mutex_unlock(&fake_lock);
}

unsigned fake_polls(const struct ibv_cq *ib)
{
	unsigned n;

	pthread_mutex_lock(&fake_lock);
	n = container(ib, const struct fake_cq, ib)->polls;
	pthread_mutex_unlock(&fake_lock);
	return n;
}

uint32_t fake_cqes(const struct ibv_cq *ib)
{
	uint32_t n;

	pthread_mutex_lock(&fake_lock);
	n = container(ib, const struct fake_cq, ib)->used;
	pthread_mutex_unlock(&fake_lock);
	return n;
}
