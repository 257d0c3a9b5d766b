/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion queues. Send completions of controlled QPs arrive in shadow CQs of
 * ours; what the application is owed of them waits in `ready` until it polls.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/apart.h"
#include "verbs/real.h"
#include "verbs/shim.h"

enum { READY_MIN = 64, SPINNING = 8 };

struct cq *ccs_cq_find(struct ibv_cq *cq)
{
	return ccs_ptrmap_get(&ccs_shim()->cqs, cq);
}

void ccs_cq_track(struct ibv_cq *ibcq, struct ibv_comp_channel *channel, void *cq_context,
		  int comp_vector)
{
	struct ctx *ctx = ccs_context_find(ibcq->context);
	struct cq *cq = ctx ? ccs_calloc_apart(1, sizeof(*cq)) : NULL;

	if (!cq)
		return;
	cq->app = ibcq;
	cq->ctx = ctx;
	atomic_fetch_add(&ctx->refs, 1);
	cq->channel = channel;
	cq->cq_context = cq_context;
	cq->comp_vector = comp_vector;
	cq->clock = ctx->clock;
	atomic_store(&cq->refs, 1);
	pthread_mutex_init(&cq->lock, NULL);
	if (ccs_ptrmap_put(&ccs_shim()->cqs, ibcq, cq))
		ccs_cq_put(cq);
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
	pthread_mutex_destroy(&cq->lock);
	free(cq->ready);
	free(cq);
}

/*
 * Also the shadows, for they hold the channel; an application without QPs cannot
 * miss them. The real call waits for acknowledgements, which find their way by
 * our records: those live on, and no lock is held.
 */
static int destroy_shadows(struct cq *cq)
{
	for (struct shadow *s = atomic_load(&cq->shadows); s; s = s->next) {
		const int rc = s->cq ? ccs_real()->ibv_destroy_cq(s->cq) : 0;

		if (rc)
			return rc;
		if (s->cq)
			ccs_ptrmap_del(&ccs_shim()->cqs, s->cq, cq);
		s->cq = NULL;
		s->ex = NULL;
		s->size = 0;
	}
	return 0;
}

/* From then on nobody looks into the shadows: neither a poll nor the helper. */
static bool set_closing(struct cq *cq, bool closing)
{
	bool busy;

	pthread_mutex_lock(&cq->lock);
	busy = cq->qps;
	cq->closing = closing && !busy;
	pthread_mutex_unlock(&cq->lock);
	return !busy;
}

int ccs_cq_destroy(struct cq *cq)
{
	int rc;

	if (!set_closing(cq, true))
		return EBUSY; /* as the kernel would say of the QPs that it ties to the shadow */
	rc = destroy_shadows(cq);
	if (!rc)
		rc = ccs_real()->ibv_destroy_cq(cq->app);
	if (rc) {
		set_closing(cq, false);
		return rc;
	}
	ccs_ptrmap_del(&ccs_shim()->cqs, cq->app, cq);
	ccs_cq_put(cq);
	return 0;
}

static bool make_ready_ring(struct cq *cq)
{
	uint32_t size = READY_MIN;

	if (cq->ready)
		return true;
	while (size < (uint32_t)cq->app->cqe)
		size *= 2;
	cq->ready = ccs_calloc_apart(size, sizeof(*cq->ready));
	cq->ready_mask = size - 1;
	return cq->ready;
}

/* Every WQE may yield a completion, so a shadow promises an entry for each. */
struct shadow *ccs_cq_attach(struct cq *cq, uint32_t entries)
{
	struct shadow *s;

	pthread_mutex_lock(&cq->lock);
	for (s = atomic_load(&cq->shadows); s; s = s->next)
		if (s->size - s->used >= entries)
			break;
	if (!make_ready_ring(cq))
		s = NULL;
	else if (!s)
		s = ccs_shadow_new(cq, entries);
	if (s) {
		s->used += entries;
		cq->qps++;
	}
	pthread_mutex_unlock(&cq->lock);
	return s;
}

void ccs_cq_release(struct cq *cq, struct shadow *s, uint32_t entries)
{
	pthread_mutex_lock(&cq->lock);
	s->used -= entries;
	cq->qps--;
	pthread_mutex_unlock(&cq->lock);
}

static uint32_t ready_count(const struct cq *cq)
{
	return cq->ready_head - cq->ready_tail;
}

uint32_t ccs_cq_room(const struct cq *cq)
{
	return cq->ready_mask + 1 - ready_count(cq);
}

void ccs_cq_push(struct cq *cq, const struct ibv_wc *wc)
{
	cq->ready[cq->ready_head++ & cq->ready_mask] = *wc;
}

static int ready_pop(struct cq *cq, int n, struct ibv_wc *wc)
{
	int got = 0;

	while (got < n && ready_count(cq))
		wc[got++] = cq->ready[cq->ready_tail++ & cq->ready_mask];
	return got;
}

static void leave(struct qp *qp, uint64_t now_ns)
{
	ccs_post_pump(qp, now_ns);
	pthread_mutex_unlock(&qp->lock);
}

/* A run of completions of one QP takes its lock and opens its gate once. */
static void deliver(struct cq *cq, struct ibv_wc *wc, const struct ccs_span *when, int n)
{
	struct qp *last = NULL;

	for (int i = 0; i < n; i++) {
		struct qp *qp = ccs_registry_find((uint32_t)(wc[i].wr_id >> 32));

		if (!qp || qp->cq != cq)
			continue; /* it was destroyed */
		if (qp != last) {
			if (last)
				leave(last, cq->polled_ns);
			pthread_mutex_lock(&qp->lock);
			last = qp;
		}
		ccs_complete(qp, &wc[i], &when[i]);
	}
	if (last)
		leave(last, cq->polled_ns);
}

static void drain_shadow(struct cq *cq, struct shadow *s)
{
	struct ibv_wc wc[CCS_BATCH];
	struct ccs_span when[CCS_BATCH];

	for (;;) {
		const uint32_t room = ccs_cq_room(cq); /* each gives at most one to deliver */
		const int want = room < CCS_BATCH ? (int)room : CCS_BATCH;
		const int n = want ? ccs_shadow_poll(cq, s, want, wc, when) : 0;

		if (n > 0)
			deliver(cq, wc, when, n);
		if (n < CCS_BATCH)
			return;
	}
}

void ccs_cq_drain(struct cq *cq)
{
	uint64_t looked_ns = 0;

	for (struct shadow *s = atomic_load(&cq->shadows); s && !cq->closing; s = s->next) {
		if (!s->cq)
			continue;
		drain_shadow(cq, s);
		if (!looked_ns)
			looked_ns = cq->polled_ns;
	}
	if (atomic_load_explicit(&cq->broken, memory_order_relaxed))
		ccs_complete_broken(cq);
	if (looked_ns)
		cq->looked_ns = looked_ns;
	cq->woken = false;
}

static int take_shadow(struct cq *cq, int n, struct ibv_wc *wc)
{
	int got = ready_pop(cq, n, wc);

	while (got < n) {
		bool more;

		ccs_cq_drain(cq);
		more = !ccs_cq_room(cq); /* it stopped there */
		got += ready_pop(cq, n - got, wc + got);
		if (!more)
			break;
	}
	return got;
}

static int take_app(struct cq *cq, int n, struct ibv_wc *wc)
{
	return n > 0 ? cq->ctx->real.poll_cq(cq->app, n, wc) : 0;
}

/* Fewer than n are returned only when both sources are empty, as the verb promises. */
static int merge(struct cq *cq, int n, struct ibv_wc *wc)
{
	int first, second;

	cq->turn = !cq->turn;
	if (cq->turn) {
		first = take_shadow(cq, n, wc);
		second = take_app(cq, n - first, wc + first);
		return second < 0 && !first ? second : first + (second > 0 ? second : 0);
	}
	first = take_app(cq, n, wc);
	if (first < 0)
		return first;
	return first + take_shadow(cq, n - first, wc + first);
}

int ccs_cq_poll(struct cq *cq, int n, struct ibv_wc *wc)
{
	int got;
	bool spinning;
	uint64_t now;

	if (!atomic_load_explicit(&cq->shadows, memory_order_acquire) || n <= 0 ||
	    atomic_load_explicit(&ccs_shim()->forked, memory_order_relaxed))
		return cq->ctx->real.poll_cq(cq->app, n, wc);
	pthread_mutex_lock(&cq->lock);
	got = merge(cq, n, wc);
	cq->idle_polls = got ? 0 : cq->idle_polls + 1;
	spinning = cq->idle_polls >= SPINNING;
	now = cq->looked_ns;
	pthread_mutex_unlock(&cq->lock);
	if (spinning)
		ccs_helper_spinning(now);
	ccs_helper_run_due(now);
	return got;
}

int ccs_cq_notify(struct cq *cq, int solicited_only)
{
	int rc = cq->ctx->real.req_notify_cq(cq->app, solicited_only);

	atomic_store(&cq->armed, 1 + !!solicited_only);
	for (struct shadow *s = atomic_load(&cq->shadows); s && !rc; s = s->next)
		if (s->cq)
			rc = cq->ctx->real.req_notify_cq(s->cq, solicited_only);
	return rc;
}
