/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CQ_H
#define CCS_CQ_H
/* Records of completion queues, and the ring of completions that are ready for delivery. */
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
 * Reserve so many entries in a shadow CQ for a QP that may need up to `most`. NULL: the device
 * refused, or no memory.
 */
struct shadow *ccs_cq_attach(struct cq *cq, uint32_t entries, uint32_t most);
void ccs_cq_release(struct cq *cq, struct shadow *s, uint32_t entries);
/* The QP needs so many entries less than it has reserved. */
void ccs_cq_release_some(struct cq *cq, struct shadow *s, uint32_t entries);

/* Grow the ring of ready completions with the application's CQ. False: no memory. cq->lock is
 * held for this and all that follow. */
bool ccs_cq_resize_ready(struct cq *cq);

/* After a change of its shadow CQs, or of cq->closing. cq->lock is held. */
static inline void ccs_cq_update_fast(struct cq *cq)
{
	const struct shadow *s = atomic_load(&cq->shadows);

	cq->recent = NULL;
	atomic_store(&cq->idle, false);
	while (s && !s->size)
		s = s->next; /* it is destroyed */
	atomic_store(&cq->fast, s && !cq->channel && !cq->ex && !cq->closing);
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
 * Add a copy of *wc to the ready completions and return where it is. There must be space. owner:
 * its QP, locked, whose oldest WRs have been retired; NULL: from the application's CQ.
 */
struct ibv_wc *ccs_cq_push(struct cq *cq, const struct ibv_wc *wc, const struct wc_more *more,
			   struct qp *owner);

/* Move the oldest one, and return its place in the ring. */
uint32_t ccs_cq_pop_one(struct cq *cq, struct ibv_wc *wc);
/* Move up to n of them, oldest first, to the application's array. Returns how many. */
int ccs_cq_pop_ready(struct cq *cq, int n, struct ibv_wc *wc);

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

/* Whether there is nothing of ours to poll: calls go to the device. No lock is needed. */
static inline bool ccs_cq_is_plain(struct cq *cq)
{
	return !atomic_load_explicit(&cq->shadows, memory_order_acquire) || ccs_forked();
}

#endif
