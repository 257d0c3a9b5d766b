/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records of completion queues. Send completions of controlled QPs arrive in shadow CQs. Those for
 * the application are kept in cq->ready until it polls.
 */
#include "preload/cq/cq.h"

#include <stdlib.h>

#include "base/pool.h"
#include "observe/log.h"
#include "preload/object/ptrmap.h"
#include "preload/object/registry.h"

enum { READY_MIN = 64 };

void ccs_cq_warn_untracked(void)
{
	ccs_log_once(CCS_LOG_WARN, "no memory to track a completion queue: QPs that send to it are "
		     "uncontrolled");
}

struct cq *ccs_cq_new(struct ibv_cq *ibcq, struct ibv_comp_channel *channel, void *cq_context,
		      int comp_vector)
{
	struct ctx *ctx = ccs_forked() ? NULL : ccs_context_find(ibcq->context);
	struct cq *cq = ctx ? ccs_calloc_padded(1, sizeof(*cq)) : NULL;

	if (ctx && !cq)
		ccs_cq_warn_untracked();
	if (!cq)
		return NULL;
	cq->app = ibcq;
	cq->ctx = ctx;
	atomic_fetch_add(&ctx->refs, 1);
	cq->channel = channel;
	cq->cq_context = cq_context;
	cq->comp_vector = comp_vector;
	atomic_store(&cq->cqe, ibcq->cqe);
	cq->clock = ctx->clock;
	cq->batch_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	atomic_store(&cq->refs, 1);
	return cq;
}

bool ccs_cq_track(struct cq *cq)
{
	if (!ccs_ptrmap_put(&ccs_shim()->cqs, cq->app, cq))
		return true;
	ccs_cq_put(cq);
	ccs_cq_warn_untracked();
	return false;
}

void ccs_cq_put(struct cq *cq)
{
	struct shadow *s, *next;

	if (atomic_fetch_sub(&cq->refs, 1) != 1)
		return;
	for (s = atomic_load(&cq->shadows); s; s = next) {
		next = s->next;
		free(s);
	}
	ccs_context_put(cq->ctx);
	pthread_mutex_destroy(&cq->batch_lock);
	free(cq->ex);
	free(cq->ready.entry);
	free(cq->ready.more);
	free(cq);
}

/* More entries than the application's CQ: internal completions pass through while that is full. */
bool ccs_cq_resize_ready(struct cq *cq)
{
	const uint32_t count = ccs_cq_ready_count(cq);
	struct wc_more *more = NULL;
	uint32_t size = READY_MIN;
	struct ready *ready;

	while (size <= (uint32_t)atomic_load(&cq->cqe))
		size *= 2;
	if (cq->ready.entry && size <= cq->ready.mask + 1)
		return true;
	ready = ccs_calloc_padded(size, sizeof(*ready));
	if (cq->ex)
		more = ccs_calloc_padded(size, sizeof(*more));
	if (!ready || (cq->ex && !more)) {
		free(ready);
		free(more);
		return false;
	}
	for (uint32_t i = 0; i < count; i++) {
		ready[i] = cq->ready.entry[(cq->ready.tail + i) & cq->ready.mask];
		if (more)
			more[i] = cq->ready.more[(cq->ready.tail + i) & cq->ready.mask];
	}
	free(cq->ready.entry);
	free(cq->ready.more);
	cq->ready.entry = ready;
	cq->ready.more = more;
	cq->ready.tail = 0;
	cq->ready.head = count;
	cq->ready.mask = size - 1;
	return true;
}

struct shadow *ccs_cq_attach(struct cq *cq, uint32_t entries, uint32_t most)
{
	struct shadow *s;

	ccs_lock(&cq->lock);
	if (!ccs_cq_resize_ready(cq)) {
		ccs_unlock(&cq->lock);
		return NULL;
	}
	for (s = atomic_load(&cq->shadows); s; s = s->next)
		if (ccs_shadow_reserve(s, entries))
			break;
	if (!s)
		s = ccs_shadow_new(cq, entries, most);
	cq->qps += !!s;
	ccs_unlock(&cq->lock);
	return s;
}

void ccs_cq_release(struct cq *cq, struct shadow *s, uint32_t entries, bool all)
{
	ccs_lock(&cq->lock);
	atomic_fetch_sub(&s->used, entries);
	cq->qps -= all;
	ccs_unlock(&cq->lock);
}

static __attribute__((noinline)) void free_polled(const struct cq *cq, const struct ready *r)
{
	struct qp *qp = ccs_registry_find(cq, r->owner);

	if (!qp)
		return; /* it was destroyed */
	ccs_lock(&qp->lock);
	ccs_flow_free_polled(&qp->flow, r->wr_end);
	ccs_unlock(&qp->lock);
}

struct ibv_wc *ccs_cq_push(struct cq *cq, const struct ibv_wc *wc, const struct wc_more *more,
			   struct qp *owner)
{
	uint32_t at;

	if (cq->out_space) {
		if (owner)
			ccs_flow_free_all_polled(&owner->flow);
		cq->out_space--;
		if (cq->out != wc)
			*cq->out = *wc;
		return cq->out++;
	}
	cq->recent = NULL;
	ccs_cq_end_idle(cq);
	at = cq->ready.head++ & cq->ready.mask;
	cq->ready.entry[at].wc = *wc;
	cq->ready.entry[at].owner = owner ? owner->id : CCS_NO_OWNER;
	cq->ready.entry[at].wr_end = owner ? (uint32_t)owner->flow.wr_tail : 0;
	if (cq->ready.more)
		cq->ready.more[at] = *more;
	return &cq->ready.entry[at].wc;
}

uint32_t ccs_cq_pop_one(struct cq *cq, struct ibv_wc *wc)
{
	const uint32_t at = cq->ready.tail++ & cq->ready.mask;

	*wc = cq->ready.entry[at].wc;
	if (!cq->ctx->provider->reuses_silently && cq->ready.entry[at].owner != CCS_NO_OWNER)
		free_polled(cq, &cq->ready.entry[at]);
	return at;
}

int ccs_cq_pop_ready(struct cq *cq, int n, struct ibv_wc *wc)
{
	int got = 0;

	while (got < n && ccs_cq_ready_count(cq))
		ccs_cq_pop_one(cq, &wc[got++]);
	return got;
}
