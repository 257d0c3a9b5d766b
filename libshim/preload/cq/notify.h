/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_NOTIFY_H
#define CCS_NOTIFY_H
/*
 * Events of a CQ with a channel. The application requests an event (ibv_req_notify_cq) and gets it
 * when a completion has come that it can poll. Its sends complete in shadow CQs, so the device
 * raises an event for them only while these are armed (CCS_EVENT_DEVICE). They stay unarmed
 * (CCS_EVENT_NONE) in two cases, because the device would raise events without a completion:
 *  - A WQE is in flight whose completion the shim keeps ("internal").
 *  - One QP alone has WQEs in flight, and all are unsignalled: its next WQE may be internal. After
 *    a second without a post the shadow CQs are armed. With more QPs they are armed at once: to
 *    poll for many QPs costs more than an event without a completion.
 * The pacer thread polls the unarmed shadow CQs. When it finds a completion for the application,
 * the shim raises the event (CCS_EVENT_SHIM): it posts a WQE to the event QP, a QP in the error
 * state. The device completes that at once and sends no packet.
 *
 * Each device CQ raises events, so there may be more events than requests. An event ends a request
 * only if a completion of the same CQ has come since the request. If the shim has not seen such a
 * completion when the application reads the event, the state is CCS_EVENT_UNDECIDED_*: the next
 * poll decides. Transitions of cq->events.source:
 *  to DEVICE     ccs_notify_arm_shadows(), ccs_notify_first_post()
 *  to SHIM       ccs_notify_raise()
 *  to UNDECIDED  ccs_notify_event()
 *  to NONE       ccs_notify_request(), ccs_notify_event(), _refused(), _decide()
 */
#include "preload/object/qp_record.h"

/* A QP's part in struct cq_events. */
struct ccs_notify_state {
	bool busy, has_internal, all_unsignalled, failing;
};

void ccs_notify_set(struct qp *qp, struct ccs_notify_state now);
void ccs_notify_first_post(struct qp *qp);

/* Update the counts in cq->events after a change of the QP. qp->lock is held. */
static inline void ccs_notify_count(struct qp *qp)
{
	const struct ccs_flow *f = &qp->flow;
	const struct qp_events *e = &qp->events;
	const uint64_t inflight = f->seg_head - f->seg_tail;
	const bool failing = qp->broken && f->wr_tail != f->wr_head;
	const bool busy = failing || inflight;
	const bool internal = f->internal || f->next_offset;
	const bool unsignalled = inflight && f->unsignalled >= inflight && f->user.enforce &&
				 !qp->broken && !(e->unsignalled_long &&
						  qp->unsignalled.end == (uint32_t)f->seg_head);

	if (busy != e->busy || internal != e->has_internal || unsignalled != e->all_unsignalled ||
	    failing != e->failing)
		ccs_notify_set(qp, (struct ccs_notify_state){ busy, internal, unsignalled, failing });
}

/* The flow's newest segments are about to be posted. */
static inline void ccs_notify_before_post(struct qp *qp)
{
	if (!qp->events.enabled)
		return;
	if (qp->events.busy && !qp->events.all_unsignalled)
		ccs_notify_count(qp);
	else
		ccs_notify_first_post(qp);
}

/* The device has refused the newest segments. */
void ccs_notify_refused(struct qp *qp);

/* The QP is destroyed: its WQEs do not count any more. */
void ccs_notify_forget(struct qp *qp);

static inline unsigned ccs_notify_source(struct cq *cq)
{
	return atomic_load_explicit(&cq->events.source, memory_order_relaxed);
}

/* Whether the next poll decides about an event that was read. */
static inline bool ccs_notify_is_undecided(struct cq *cq)
{
	return ccs_notify_source(cq) >= CCS_EVENT_UNDECIDED_APP;
}

/* Whether a request waits for an event that the device will not raise. */
static inline bool ccs_notify_waits(struct cq *cq)
{
	const unsigned source = ccs_notify_source(cq);

	if (!atomic_load_explicit(&cq->events.requests, memory_order_relaxed) ||
	    source >= CCS_EVENT_SHIM)
		return false;
	if (source == CCS_EVENT_DEVICE)
		return atomic_load_explicit(&cq->events.failing, memory_order_relaxed);
	return atomic_load_explicit(&cq->events.busy, memory_order_relaxed);
}

/* Whether one QP alone has WQEs in flight, and they complete only if one fails. */
static inline bool ccs_notify_is_all_unsignalled(struct cq *cq)
{
	return atomic_load(&cq->events.all_unsignalled) && atomic_load(&cq->events.busy) == 1;
}

/* Move a QP of the shim's from RESET to ERR, through RTS. False: the device refuses. */
bool ccs_notify_enter_error(struct ibv_qp *qp);

/* Without the pacer thread, keep the shadow CQs armed. */
void ccs_notify_always_arm(struct cq *cq);

/* cq->lock is held in the rest, except in ccs_notify_close(). */

/* A completion of a shadow CQ, with that status, is ready for the application. */
static inline void ccs_notify_completion(struct cq *cq, enum ibv_wc_status status)
{
	if (!cq->channel || (status == IBV_WC_SUCCESS && atomic_load(&cq->events.solicited)))
		return;
	cq->events.shadow_completed = true;
	if (ccs_notify_waits(cq))
		cq->events.must_raise = true;
}

void ccs_notify_new_shadow(struct cq *cq, struct shadow *s);
/* The application requests an event. */
void ccs_notify_request(struct cq *cq, bool solicited_only);
/* The application reads an event of shadow CQ s; NULL: of the application's CQ. */
void ccs_notify_event(struct cq *cq, const struct shadow *s);
/* The application has polled while undecided; found: it got a completion. */
void ccs_notify_decide(struct cq *cq, bool found);
/* Whether the shadow CQs must be armed now. */
bool ccs_notify_must_arm(struct cq *cq);
void ccs_notify_arm_shadows(struct cq *cq);
/* Raise an event with the event QP. */
void ccs_notify_raise(struct cq *cq);
/* The CQ is about to be destroyed. */
void ccs_notify_close(struct cq *cq);
/* The device has refused to destroy the CQ, after ccs_notify_close(). */
void ccs_notify_reopen(struct cq *cq);

#endif
