/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events of a shadow CQ are reported as events of the application's CQ, and acknowledgements are
 * passed to the CQ that raised the event.
 */
#include "preload/cq/cq.h"
#include "preload/datapath/async.h"
#include "preload/datapath/drain.h"
#include "preload/object/real.h"
#include "preload/object/shim.h"
#include "preload/report/recorder.h"

static struct shadow *shadow_of(struct cq *cq, const struct ibv_cq *ibcq)
{
	struct shadow *s = atomic_load_explicit(&cq->shadows, memory_order_acquire);

	while (s && s->cq != ibcq)
		s = s->next;
	return s;
}

HOOK int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **ibcq, void **cq_context)
{
	const int rc = ccs_real()->ibv_get_cq_event(channel, ibcq, cq_context);
	struct cq *cq = rc ? NULL : ccs_cq_find(*ibcq);
	struct shadow *s;

	if (!cq)
		return rc;
	s = shadow_of(cq, *ibcq);
	*ibcq = cq->app;
	if (s)
		*cq_context = cq->app->cq_context; /* the application may have changed it */
	if (ccs_forked())
		return rc; /* it has the parent's channel */
	atomic_fetch_add(s ? &s->unacked : &cq->events.unacked, 1);
	ccs_lock(&cq->lock);
	if (s) {
		cq->woken = true;
		cq->idle_polls = 0;
	}
	ccs_drain_take_event(cq, s);
	ccs_unlock(&cq->lock);
	return rc;
}

/* Subtract up to n from *unacked, and return how many. */
static unsigned int claim_unacked(atomic_uint *unacked, unsigned int n)
{
	unsigned int have = atomic_load(unacked), some;

	do
		some = have < n ? have : n;
	while (!atomic_compare_exchange_weak(unacked, &have, have - some));
	return some;
}

HOOK void ibv_ack_cq_events(struct ibv_cq *ibcq, unsigned int n)
{
	struct cq *cq = ccs_forked() ? NULL : ccs_cq_find(ibcq);
	struct shadow *s = cq ? atomic_load_explicit(&cq->shadows, memory_order_acquire) : NULL;

	for (; s && n; s = s->next) {
		const unsigned int some = claim_unacked(&s->unacked, n);

		n -= some;
		if (!some)
			continue;
		ccs_real()->ibv_ack_cq_events(s->cq, some);
		if (!n)
			return; /* a thread that waited to destroy the CQ may have done so by now */
	}
	if (cq)
		claim_unacked(&cq->events.unacked, n);
	if (n)
		ccs_real()->ibv_ack_cq_events(cq ? cq->app : ibcq, n);
}

/*
 * An error of a shadow CQ is reported as an error of the application's CQ. It is acknowledged to
 * the shadow CQ at once, and the application's own acknowledgement is dropped.
 */
HOOK int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	struct cq *cq;
	int rc;

	do
		rc = ccs_real()->ibv_get_async_event(context, event);
	while (!rc && !ccs_forked() && !ccs_async_translate(event));
	if (!rc && !ccs_forked())
		ccs_recorder_event(context, event);
	if (rc || event->event_type != IBV_EVENT_CQ_ERR || ccs_forked())
		return rc;
	cq = ccs_cq_find(event->element.cq);
	if (!cq || event->element.cq == cq->app)
		return rc;
	ccs_real()->ibv_ack_async_event(event);
	event->element.cq = cq->app;
	atomic_fetch_add(&cq->async_acked, 1);
	return rc;
}

HOOK void ibv_ack_async_event(struct ibv_async_event *event)
{
	struct cq *cq = event->event_type == IBV_EVENT_CQ_ERR && !ccs_forked()
		? ccs_cq_find(event->element.cq) : NULL;

	if (!ccs_forked() && ccs_async_is_acked(event))
		return;
	if (!cq || !claim_unacked(&cq->async_acked, 1))
		ccs_real()->ibv_ack_async_event(event);
}
