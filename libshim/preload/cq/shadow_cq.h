/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_SHADOW_CQ_H
#define CCS_SHADOW_CQ_H
/* Shadow CQs. cq->lock is held in all functions after ccs_shadow_is_active(). */
#include "preload/object/qp_record.h"

/* Count a QP in shadow->busy, or stop counting it. qp->lock is held. */
void ccs_shadow_count(struct qp *qp, bool busy);

/* WQEs of the QP are about to be posted. qp->lock is held. */
void ccs_shadow_wake(struct qp *qp);

static inline unsigned ccs_shadow_watch(const struct shadow *s)
{
	return atomic_load_explicit(&s->watch, memory_order_relaxed);
}

/* Whether one of its QPs may have WQEs in flight. */
static inline bool ccs_shadow_is_active(const struct shadow *s)
{
	const unsigned watch = atomic_load(&s->watch);

	return !watch || (!(watch & CCS_SHADOW_RESTS) && atomic_load(&s->busy));
}

/* The newest, without the CQ of the event QP and those that are destroyed; or NULL. */
static inline const struct shadow *ccs_shadow_newest(const struct cq *cq)
{
	const struct shadow *s = atomic_load(&cq->shadows);

	while (s && !s->size)
		s = s->next;
	return s;
}

/*
 * Create a shadow CQ, add it to the CQ's list, and reserve entries of it; a QP may need up to
 * `most`. NULL: the device refused.
 */
struct shadow *ccs_shadow_new(struct cq *cq, uint32_t entries, uint32_t most);
/* Reserve entries if enough are free. No lock is needed. */
bool ccs_shadow_reserve(struct shadow *s, uint32_t entries);
/* Poll at most n <= CCS_BATCH completions. < 0: an error. */
int ccs_shadow_poll(struct cq *cq, struct shadow *s, int n, struct shadow_batch *a);
/* A poll of it returned this error. Reports the first error of each shadow CQ. */
void ccs_shadow_note_error(struct shadow *s, int error);
/* Bounds of the time at which the i-th completion was created. post_ns: when its segment was
 * posted; 0: unknown. */
struct ccs_span ccs_shadow_completion_time(struct cq *cq, const struct shadow_batch *a, int i,
					   uint64_t post_ns);
/* The extended fields of a completion that the shim creates now. */
void ccs_shadow_now(struct cq *cq, struct wc_more *more);
/* Apply the application's moderation to that CQ. */
int ccs_shadow_moderate(const struct cq *cq, struct ibv_cq *ibcq);

/* Whether the shadow CQ has or will get completions of this QP. */
static inline bool ccs_qp_is_busy(const struct qp *qp)
{
	return qp->flow.seg_tail != qp->flow.seg_head || qp->broken;
}

#endif
