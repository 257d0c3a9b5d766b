/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Polling of shadow CQs, and delivery of their completions.
 *
 * drain.c, emit.c and pacer_thread.c call each other, the only call circle in preload/: draining
 * completes segments, so deferred WRs are emitted (ccs_emit_pump); emission schedules WRs that must
 * wait; the pacer thread drains and emits when they are due. Calls do not nest further, because
 * ccs_emit_pump() never polls.
 */
#include "preload/datapath/drain.h"

#include <string.h>

#include "base/probe.h"
#include "flow/run.h"
#include "preload/cq/cq.h"
#include "preload/cq/notify.h"
#include "preload/cq/shadow_cq.h"
#include "preload/datapath/complete.h"
#include "preload/datapath/emit.h"
#include "preload/datapath/qp.h"
#include "preload/object/clock.h"
#include "preload/object/provider.h"
#include "preload/object/registry.h"

enum { REST_AFTER = 1024, REST_AFTER_QP = 64 };

/*
 * Completions are polled into the application's array, and changed there, if it has space for
 * several. Otherwise a batch of our own takes more at a time. Returns how many completions may be
 * polled: each yields at most one for the application.
 */
static inline int make_batch(const struct cq *cq, struct shadow_batch *a)
{
	const bool in_place = cq->out_space >= CCS_BATCH / 2;
	const uint32_t space = in_place ? (uint32_t)cq->out_space : ccs_cq_ready_space(cq);

	a->wc = in_place ? cq->out : a->own;
	return space < CCS_BATCH ? (int)space : CCS_BATCH;
}

/* A failure may yield more than one completion: they must not overwrite those not read yet. */
static __attribute__((noinline)) void copy_rest(struct shadow_batch *a, int i)
{
	if (a->wc != a->own)
		memcpy(&a->own[i], &a->wc[i], (size_t)(a->n - i) * sizeof(*a->wc));
	a->wc = a->own;
}

static inline uint32_t qp_id(const struct ibv_wc *wc)
{
	return (uint32_t)(wc->wr_id >> 32);
}

/*
 * Deliver completions in the application's array, up to the first that is not the success of a whole
 * WR of this QP. Only their wr_id changes. Returns how many.
 */
static inline __attribute__((always_inline)) int
deliver_run(struct qp *qp, uint32_t id, struct ibv_wc *wc, int n)
{
	struct ccs_flow_completed run;
	int done = 0;

	if (wc->status)
		return 0;
	ccs_flow_completed_begin(&qp->flow, (uint32_t)wc->wr_id, &run);
	do {
		const struct ccs_seg *seg = ccs_flow_completed_add(&qp->flow, &run,
								   (uint32_t)wc[done].wr_id);
		if (!seg)
			break;
		wc[done].wr_id = seg->id;
		CCS_PROBE4(complete, qp->qp_num, seg->id, seg->len, (uint32_t)IBV_WC_SUCCESS);
		done++;
	} while (done < n && qp_id(&wc[done]) == id && !wc[done].status);
	ccs_flow_end_completed(&qp->flow, &run);
	ccs_flow_free_all_polled(&qp->flow);
	return done;
}

/* Deliver the completions of a QP that begin with the i-th of n. Returns the index after them. */
static int deliver_to_qp(struct cq *cq, struct qp *qp, uint32_t id, struct shadow_batch *a, int i,
			 int n)
{
	bool timed = cq->polled_ns != CCS_TIME_UNKNOWN;

	do {
		const bool in_place = cq->out == &a->wc[i] && !a->has_timestamps &&
				      ccs_cq_kind(cq) != CCS_POLLS_ANY;
		const int run = in_place ? deliver_run(qp, id, &a->wc[i], n - i) : 0;

		if (run) {
			cq->out += run;
			cq->out_space -= run;
			i += run;
		} else if (!in_place && !a->wc[i].status && ccs_complete_whole(qp, a, i)) {
			i++;
		} else {
			if (__builtin_expect(a->wc[i].status, 0))
				copy_rest(a, i);
			ccs_complete(qp, a, i++);
			timed = true;
		}
	} while (i < n && qp_id(&a->wc[i]) == id);
	ccs_emit_leave(qp, timed);
	return i;
}

void ccs_drain_deliver(struct cq *cq, struct shadow_batch *a, int n)
{
	for (int i = 0; i < n;) {
		const uint32_t id = qp_id(&a->wc[i]);
		struct qp *qp = ccs_registry_lock(cq, id);

		if (qp)
			i = deliver_to_qp(cq, qp, id, a, i, n);
		else
			i++; /* it was destroyed */
	}
}

/*
 * Polls have been empty for a while: unless a QP has WQEs in flight, do not poll until one is
 * posted. A thread that posts takes the QP's lock after this thread and ends the rest, or its WQE
 * is seen here. The walk takes a small part of the time that the polls before it took.
 */
void ccs_drain_try_to_rest(struct cq *cq, struct shadow *s)
{
	uint32_t qps = 0;
	bool busy = false;
	struct qp *qp;

	atomic_fetch_or(&s->watch, CCS_SHADOW_RESTS);
	for (uint32_t slot = 0; !busy && (qp = ccs_registry_next(cq, &slot)); qps++) {
		ccs_lock(&qp->lock);
		busy = qp->shadow == s && ccs_qp_is_busy(qp);
		ccs_unlock(&qp->lock);
	}
	if (busy)
		atomic_fetch_and(&s->watch, ~(unsigned)CCS_SHADOW_RESTS);
	s->empty = 0;
	s->rest_after = REST_AFTER + REST_AFTER_QP * qps;
}

/*
 * Returns a time after which the CQ was seen empty, if the clock was read: the time before the last
 * poll, because this thread may have lost the CPU after it. If it was not, *emptied becomes false.
 */
static inline __attribute__((always_inline)) uint64_t
drain_shadow(struct cq *cq, struct shadow *s, bool all, bool *emptied)
{
	struct shadow_batch a;

	for (;;) {
		const int want = make_batch(cq, &a);
		const uint64_t before_ns = cq->polled_ns;
		const int n = want ? ccs_shadow_poll(cq, s, want, &a) : 0;

		if (n > 0) {
			atomic_store_explicit(&cq->events.no_cqe_since_arm, false, memory_order_relaxed);
			ccs_drain_deliver(cq, &a, n);
		}
		if (n < 0) {
			cq->failed = n;
			return CCS_TIME_UNKNOWN;
		}
		if (!want)
			break;
		s->empty = n ? 0 : s->empty + 1;
		if (__builtin_expect(s->empty > s->rest_after, 0))
			ccs_drain_try_to_rest(cq, s);
		if (n < want)
			return before_ns;
		/* The caller's array is full, or without one, there is any completion. */
		if (!all && (cq->out ? !cq->out_space : ccs_cq_ready_count(cq) > 0))
			break;
	}
	*emptied = false;
	return CCS_TIME_UNKNOWN;
}

/*
 * Unless all completions are wanted, a batch of each shadow CQ may be enough. A QP may fail, and
 * its WQEs be flushed, after its shadow CQ was polled: the clock is read before the polls.
 */
static void drain_once(struct cq *cq, bool all)
{
	const uint64_t begun_ns = atomic_load(&cq->broken) ? ccs_now_ns() : 0;
	uint64_t empty_ns = 0; /* when the first shadow CQ was empty */
	bool polled = false, emptied = true;

	cq->failed = 0;
	for (struct shadow *s = atomic_load(&cq->shadows); s && !cq->closing; s = s->next) {
		uint64_t before_ns;

		if (!s->size || !ccs_shadow_is_active(s))
			continue;
		polled = true;
		before_ns = drain_shadow(cq, s, all, &emptied);
		if (!empty_ns)
			empty_ns = before_ns;
	}
	ccs_complete_broken(cq, emptied ? begun_ns : 0);
	if (!polled)
		cq->polled_ns = CCS_TIME_UNKNOWN;
	if (empty_ns && empty_ns != CCS_TIME_UNKNOWN)
		cq->empty_ns = empty_ns;
	cq->woken = false;
}

/*
 * Arm the shadow CQs. Where earlier completions raise no event, a completion that is found after
 * the arming counts as an event; if it came later, there is a second event.
 */
static void arm(struct cq *cq)
{
	ccs_notify_arm_shadows(cq);
	if (cq->ctx->provider->arms_by_index)
		return;
	atomic_store(&cq->events.source, CCS_EVENT_NONE);
	drain_once(cq, true);
	atomic_store(&cq->events.source, CCS_EVENT_DEVICE);
}

void ccs_drain_notify(struct cq *cq)
{
	if (ccs_notify_must_arm(cq) && !cq->events.must_raise)
		arm(cq);
	if (cq->events.must_raise)
		ccs_notify_raise(cq);
}

void ccs_drain(struct cq *cq, bool all)
{
	drain_once(cq, all);
	if (cq->channel)
		ccs_drain_notify(cq);
}

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

void ccs_drain_arm(struct cq *cq, bool solicited_only)
{
	/* Completions from before raise no event, unless the device counts those not polled yet. */
	if (atomic_load(&cq->events.has_internal) || atomic_load(&cq->events.all_unsignalled) ||
	    atomic_load(&cq->broken) ||
	    (atomic_load(&cq->events.solicited) && !solicited_only) ||
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
void ccs_drain_take_event(struct cq *cq, const struct shadow *s)
{
	ccs_notify_event(cq, s);
	await_event(cq);
}

void ccs_drain_end_poll(struct cq *cq, bool found)
{
	if (!ccs_notify_is_undecided(cq))
		return;
	ccs_notify_decide(cq, found);
	await_event(cq);
}
