/* SPDX-License-Identifier: BSD-2-Clause */
/* The application's requests for events, and the events that it reads. */
#include "preload/datapath/arm.h"

#include "preload/cq/notify.h"
#include "preload/datapath/drain.h"
#include "preload/datapath/emit.h"
#include "preload/datapath/qp.h"
#include "preload/object/provider.h"
#include "preload/object/registry.h"

static bool watch_qp(struct qp *qp)
{
	bool busy;

	ccs_lock(&qp->lock);
	ccs_notify_count(qp);
	busy = qp->events.busy;
	if (busy)
		ccs_emit_pump(qp, &qp->cq->polled_ns);
	ccs_qp_leave(qp);
	return busy;
}

/*
 * The request waits until completions that only we get have come: let the pacer thread poll. A QP
 * that is busy stays so while the CQ's lock is held. In most cases only the QP of the last
 * completion is busy; otherwise this is a walk over all QPs of the process.
 */
static void watch(struct cq *cq)
{
	struct qp *const last = cq->last;
	unsigned watched = last && watch_qp(last);
	struct qp *qp;

	for (uint32_t slot = 0; watched < atomic_load(&cq->events.busy) &&
				(qp = ccs_registry_next(cq, &slot));)
		if (qp != last)
			watched += watch_qp(qp);
}

void ccs_cq_arm(struct cq *cq, bool solicited_only)
{
	/* Completions from before raise no event, unless the device counts those not polled yet. */
	if (atomic_load(&cq->events.has_internal) || atomic_load(&cq->events.all_unsignalled) ||
	    atomic_load(&cq->broken) ||
	    (atomic_load(&cq->events.busy) && !cq->ctx->provider->arms_by_index))
		ccs_drain(cq, true);
	ccs_notify_request(cq, solicited_only);
	if (cq->events.must_raise)
		ccs_notify_raise(cq);
	if (ccs_notify_waits(cq))
		watch(cq);
}

/* If a request stands, its event is still to be raised. */
static void await_event(struct cq *cq)
{
	ccs_drain_notify(cq);
	if (ccs_notify_waits(cq))
		watch(cq);
}

/* The application may have requested another event since this event was raised. */
void ccs_cq_take_event(struct cq *cq, const struct shadow *s)
{
	ccs_notify_event(cq, s);
	await_event(cq);
}

void ccs_cq_end_poll(struct cq *cq, bool found)
{
	if (!ccs_notify_is_undecided(cq))
		return;
	ccs_notify_decide(cq, found);
	await_event(cq);
}
