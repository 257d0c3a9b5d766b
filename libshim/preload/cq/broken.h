/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_BROKEN_H
#define CCS_BROKEN_H
/*
 * Stack of the failed QPs of a CQ whose last WRs the shim completes. Any thread adds a QP. Only a
 * thread that holds cq->lock removes QPs, and it removes all at once.
 */
#include "preload/object/qp_record.h"

static inline void ccs_broken_put(struct qp *qp)
{
	struct qp *first = atomic_load_explicit(&qp->cq->broken, memory_order_relaxed);

	do
		qp->failure.next = first;
	while (!atomic_compare_exchange_weak(&qp->cq->broken, &first, qp));
	atomic_store(&qp->cq->idle, false);
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
	return atomic_load_explicit(&cq->broken, memory_order_relaxed)
		? atomic_exchange(&cq->broken, NULL) : NULL;
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

#endif
