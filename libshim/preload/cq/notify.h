/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_NOTIFY_H
#define CCS_NOTIFY_H
/*
 * Events of a CQ with a channel: one for each request of the application, of a completion that it
 * can poll. A shadow CQ is armed ("covered") only while no WQE is in flight whose completion the
 * application does not get, because that would raise an event, too. Meanwhile the pacer thread
 * drains the CQ, and the shim raises the event itself: it posts a WQE to a QP of its own that is in
 * the error state, so the device completes it at once, without a packet (the "bell").
 *
 * The same holds while one QP alone has WQEs in flight, all unsignalled ("silent"): the next one
 * may be such a WQE. The shadow CQs are armed when it posts one whose completion the application gets,
 * or nothing for a second. With more QPs they are armed, because to poll for all of them costs more
 * than an event without a completion.
 *
 * Several device CQs may raise more events than were requested. An event ends a request only if a
 * completion came since that request from where the event is of: the application's own CQ, or
 * the shadow CQs. If none was seen yet, the next poll decides.
 */
#include "preload/object/qp_record.h"

/* ccs_cq.cover: who raises the event that the application has requested. */
enum ccs_cover {
	CCS_COVER_NONE,
	CCS_COVER_DEVICE,                /* its shadow CQs are armed */
	CCS_COVER_RAISED,                /* the bell has */
	CCS_COVER_READ,                  /* it was read, unless that was another event */
};

struct ccs_notify_state {
	bool busy, mixed, silent, failing;
};

void ccs_notify_set(struct qp *qp, struct ccs_notify_state now);
void ccs_notify_first_post(struct qp *qp);

/* Count the QP's WQEs in flight, and the WRs that we complete ourselves. qp->lock is held. */
static inline void ccs_notify_count(struct qp *qp)
{
	const struct ccs_flow *f = &qp->flow;
	const uint64_t inflight = f->seg_head - f->seg_tail;
	const bool failing = qp->broken && f->wr_tail != f->wr_head;
	const bool busy = failing || inflight;
	const bool mixed = f->internal || f->next_offset;
	const bool silent = inflight && f->unsignalled >= inflight && f->enforce && !qp->broken &&
			    !(qp->silent_long && qp->silent_end == (uint32_t)f->seg_head);

	if (busy != qp->busy || mixed != qp->mixed || silent != qp->silent || failing != qp->failing)
		ccs_notify_set(qp, (struct ccs_notify_state){ busy, mixed, silent, failing });
}

/* The flow's newest segments are about to be posted. */
static inline void ccs_notify_before_post(struct qp *qp)
{
	if (!qp->notifies)
		return;
	if (qp->busy && !qp->silent)
		ccs_notify_count(qp);
	else
		ccs_notify_first_post(qp);
}

/* The device has refused the newest segments. */
void ccs_notify_refused(struct qp *qp);

/* The QP is destroyed: its WQEs do not count any more. */
void ccs_notify_forget(struct qp *qp);

/* Whether a request waits for an event that the device will not raise. */
static inline bool ccs_notify_waits(struct cq *cq)
{
	const unsigned cover = atomic_load_explicit(&cq->cover, memory_order_relaxed);

	if (!atomic_load_explicit(&cq->armed, memory_order_relaxed) || cover >= CCS_COVER_RAISED)
		return false;
	if (cover == CCS_COVER_DEVICE)
		return atomic_load_explicit(&cq->failing, memory_order_relaxed);
	return atomic_load_explicit(&cq->busy, memory_order_relaxed);
}

/* Whether all that is in flight completes only if it fails. */
static inline bool ccs_notify_is_silent(struct cq *cq)
{
	return atomic_load(&cq->silent) && atomic_load(&cq->busy) == 1;
}

/* Without the pacer thread the shadow CQs must always be armed. */
void ccs_notify_eagerly(struct cq *cq);

/* cq->lock is held in all that follow. */

/* A completion of a shadow CQ, of that status, is ready for the application. */
static inline void ccs_notify_completion(struct cq *cq, enum ibv_wc_status status)
{
	if (!cq->channel || (status == IBV_WC_SUCCESS && atomic_load(&cq->solicited)))
		return;
	cq->completed = true;
	if (ccs_notify_waits(cq))
		cq->ring = true;
}

void ccs_notify_new_shadow(struct cq *cq, struct shadow *s);
/* A request of the application. */
void ccs_notify_arm(struct cq *cq, bool solicited_only);
/* The application reads an event of that shadow CQ; NULL: of its own CQ. */
void ccs_notify_event(struct cq *cq, const struct shadow *s);
/* It has polled since (CCS_COVER_READ), and found a completion or not: that event has ended the
 * request, or it stands. */
void ccs_notify_decide(struct cq *cq, bool found);
/* Whether the shadow CQs should be armed now. */
bool ccs_notify_is_due(struct cq *cq);
void ccs_notify_cover(struct cq *cq);
/* Raise an event. */
void ccs_notify_ring(struct cq *cq);
/* The device has refused to destroy the CQ, after ccs_notify_close(). */
void ccs_notify_reopen(struct cq *cq);
/* The CQ is being destroyed. Takes no lock. */
void ccs_notify_close(struct cq *cq);

#endif
