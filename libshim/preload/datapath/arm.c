/* SPDX-License-Identifier: BSD-2-Clause */
/* The application's requests for events, and the events that it reads. */
#include "preload/datapath/arm.h"

#include "preload/datapath/drain.h"
#include "preload/datapath/emit.h"
#include "preload/object/notify.h"
#include "preload/object/provider.h"
#include "preload/object/qp.h"
#include "preload/registry.h"

/* The request waits until completions that only we get have come: let the pacer thread look. */
static void watch(struct cq *cq)
{
	struct qp *qp;

	for (uint32_t slot = 0; (qp = ccs_registry_next(cq, &slot));) {
		ccs_lock(&qp->lock);
		if (qp->busy)
			ccs_emit_pump(qp, &cq->polled_ns);
		ccs_qp_leave(qp);
	}
}

void ccs_cq_arm(struct cq *cq, bool solicited_only)
{
	/* Completions from before raise no event, unless the device counts those not polled yet. */
	if (atomic_load(&cq->mixed) || atomic_load(&cq->broken) ||
	    (atomic_load(&cq->busy) && !cq->ctx->provider->arms_by_index))
		ccs_cq_drain(cq);
	ccs_notify_arm(cq, solicited_only);
	if (cq->ring)
		ccs_notify_ring(cq);
	if (ccs_notify_waits(cq))
		watch(cq);
}

/* A request may have followed the one that this event is of. */
void ccs_cq_take_event(struct cq *cq, const struct shadow *s)
{
	ccs_notify_event(cq, s);
	if (!ccs_notify_waits(cq))
		return;
	if (ccs_notify_is_due(cq))
		ccs_drain_cover(cq);
	if (cq->ring)
		ccs_notify_ring(cq);
	if (ccs_notify_waits(cq))
		watch(cq);
}
