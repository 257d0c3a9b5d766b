/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CQ_H
#define CCS_CQ_H
/* Records of completion queues, and the ring of completions that are ready for delivery. */
#include "preload/cq/shadow_cq.h"
#include "preload/object/shim.h"

static inline struct cq *ccs_cq_find(struct ibv_cq *cq)
{
	return ccs_ptrmap_get(&ccs_shim()->cqs, cq);
}

/* NULL: no memory, or the device is not controlled. */
struct cq *ccs_cq_new(struct ibv_cq *cq, struct ibv_comp_channel *channel, void *cq_context,
		      int comp_vector);
/* Make it visible to ccs_cq_find(). False: no memory, and the record is freed. */
bool ccs_cq_track(struct cq *cq);
/* Warn once that QPs of a CQ without a record are left uncontrolled. */
void ccs_cq_warn_untracked(void);
void ccs_cq_put(struct cq *cq);

/*
 * Reserve entries in a shadow CQ for a QP, which may need up to `most` later. NULL: the device
 * refused, or no memory.
 */
struct shadow *ccs_cq_attach(struct cq *cq, uint32_t entries, uint32_t most);
/* Return all of the QP's entries, or a part. */
void ccs_cq_release(struct cq *cq, struct shadow *s, uint32_t entries, bool all);

/* cq->lock is held in the functions from here to ccs_cq_pop_ready(). */

/* Grow the ring of ready completions with the application's CQ. False: no memory. */
bool ccs_cq_resize_ready(struct cq *cq);

/* After a change of its shadow CQs, or of cq->closing. */
static inline void ccs_cq_update_fast(struct cq *cq)
{
	const bool fast = ccs_shadow_newest(cq) && !cq->channel && !cq->ex && !cq->closing;

	cq->recent = NULL;
	atomic_store(&cq->kind, fast ? CCS_POLLS_FAST : CCS_POLLS_ANY);
}

static inline enum ccs_cq_polls ccs_cq_kind(struct cq *cq)
{
	return atomic_load_explicit(&cq->kind, memory_order_relaxed);
}

/* A WQE is about to be posted, or a completion is ready. No lock is needed. */
static inline void ccs_cq_end_idle(struct cq *cq)
{
	enum ccs_cq_polls idle = CCS_POLLS_IDLE;

	if (atomic_load(&cq->kind) == idle)
		atomic_compare_exchange_strong(&cq->kind, &idle, CCS_POLLS_FAST);
}

static inline uint32_t ccs_cq_ready_count(const struct cq *cq)
{
	return cq->ready.head - cq->ready.tail;
}

static inline uint32_t ccs_cq_ready_space(const struct cq *cq)
{
	return cq->ready.mask + 1 - ccs_cq_ready_count(cq);
}

/*
 * Add a copy of *wc to the ready completions, which must have space. Returns its place. owner: its
 * QP, which is locked and has retired the WR; NULL: the completion is of the application's CQ.
 */
struct ibv_wc *ccs_cq_push(struct cq *cq, const struct ibv_wc *wc, const struct wc_more *more,
			   struct qp *owner);

/* Move the oldest completion to *wc. Returns its place in the ring. */
uint32_t ccs_cq_pop_one(struct cq *cq, struct ibv_wc *wc);
/* Move up to n completions, oldest first, to the application's array. Returns the number. */
int ccs_cq_pop_ready(struct cq *cq, int n, struct ibv_wc *wc);

/* Exclude poll batches of other threads, as providers do. For an extended CQ. */
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

/* Whether the CQ has no shadow CQ: calls go to the device. No lock is needed. */
static inline bool ccs_cq_is_plain(struct cq *cq)
{
	return !atomic_load_explicit(&cq->shadows, memory_order_acquire) || ccs_forked();
}

/*
 * Stack of the failed QPs of a CQ whose last WRs the shim completes. Any thread adds a QP. Only a
 * thread that holds cq->lock removes QPs, and it removes all at once.
 */
static inline void ccs_broken_put(struct qp *qp)
{
	struct qp *first = atomic_load_explicit(&qp->cq->broken, memory_order_relaxed);

	do
		qp->failure.next = first;
	while (!atomic_compare_exchange_weak(&qp->cq->broken, &first, qp));
	if (!first)
		atomic_fetch_add(&qp->cq->timed, 1);
	ccs_cq_end_idle(qp->cq);
}

/* qp->lock is held. */
static inline void ccs_broken_add(struct qp *qp)
{
	if (qp->failure.listed)
		return;
	qp->failure.listed = true;
	ccs_broken_put(qp);
}

/* Remove all. Returns the first QP, or NULL. cq->lock is held. */
static inline struct qp *ccs_broken_take(struct cq *cq)
{
	struct qp *first = atomic_load_explicit(&cq->broken, memory_order_relaxed);

	if (first && (first = atomic_exchange(&cq->broken, NULL)))
		atomic_fetch_sub(&cq->timed, 1);
	return first;
}

/* The QP is being destroyed: it is not added again. cq->lock and qp->lock are held. */
static inline void ccs_broken_forget(struct qp *qp)
{
	struct qp *next;

	for (struct qp *q = qp->failure.listed ? ccs_broken_take(qp->cq) : NULL; q; q = next) {
		next = q->failure.next;
		if (q != qp)
			ccs_broken_put(q);
	}
	qp->failure.listed = true;
}

/*
 * Some providers remove a QP's completions from its CQs when the QP is destroyed or reset. The shim
 * then also removes the completions that it has polled and not delivered yet.
 */
struct ccs_purge {
	struct cq *cq[2];                /* CQs of receives and sends; NULL: unknown, or the same */
	uint32_t head[2];                /* ready.head of each before the provider's call */
};

/* Before the provider's call; reset: it resets the QP, otherwise it destroys it. Takes locks. */
void ccs_purge_begin(struct ccs_purge *p, const struct ibv_qp *qp, bool reset);
/* After its success. owner: CCS_NO_OWNER if the QP is uncontrolled. */
void ccs_purge_end(struct ccs_purge *p, uint32_t qp_num, uint32_t owner);

/* The verbs on a QP without a record. */
int ccs_purge_modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
int ccs_purge_destroy(struct ibv_qp *qp);

#endif
