/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Polling of completion queues: the application's CQ and its shadow CQs are merged.
 *
 * poll.c, emit.c and pacer_thread.c call each other, the only call circle in preload/: polling
 * completes segments, so deferred WRs are emitted (ccs_emit_pump); emission schedules WRs that must
 * wait; the pacer thread polls and emits when they are due. Calls do not nest further, because
 * ccs_emit_pump() never polls.
 */
#include "preload/datapath/poll.h"

#include <errno.h>
#include <string.h>

#include "base/probe.h"
#include "preload/clock.h"
#include "preload/datapath/complete.h"
#include "preload/datapath/emit.h"
#include "preload/datapath/pacer_thread.h"
#include "preload/object/cq.h"
#include "preload/object/cq_ex.h"
#include "preload/object/notify.h"
#include "preload/object/provider.h"
#include "preload/object/qp.h"
#include "preload/object/shadow_cq.h"
#include "preload/registry.h"
#include "preload/report/publish.h"

enum { SPINNING = 8, FAIR = 4, REST_AFTER = 1024, REST_AFTER_QP = 64 };

static int pop_ready(struct cq *cq, int n, struct ibv_wc *wc)
{
	int got = 0;

	while (got < n && ccs_cq_ready_count(cq))
		wc[got++] = cq->ready[cq->ready_tail++ & cq->ready_mask].wc;
	return got;
}

static void pump_and_unlock(struct qp *qp)
{
	ccs_emit_pump(qp, &qp->cq->polled_ns);
	ccs_qp_leave(qp);
}

/*
 * Completions are polled into the application's array, and changed there, if it has space for
 * several: else more than it has space for are taken at a time. Returns for how many there is
 * space: each yields at most one of ours.
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

/* For consecutive completions of one QP, lock it and check its gate once. */
static void deliver(struct cq *cq, struct shadow_batch *a, int n)
{
	struct qp *last = NULL;

	for (int i = 0; i < n; i++) {
		const uint32_t id = (uint32_t)(a->wc[i].wr_id >> 32);

		if (!last || last->id != id) {
			struct qp *qp = ccs_registry_find(cq, id);

			if (!qp)
				continue; /* it was destroyed */
			if (last)
				pump_and_unlock(last);
			ccs_lock(&qp->lock);
			last = qp;
		}
		if (__builtin_expect(a->wc[i].status, 0))
			copy_rest(a, i);
		else if (ccs_complete_whole(last, a, i))
			continue;
		ccs_complete(last, a, i);
	}
	if (last)
		pump_and_unlock(last);
}

/* Whether a poll has what the caller wants: its array is full, or without one, any completion. */
static bool has_enough(const struct cq *cq)
{
	return cq->out ? !cq->out_space : ccs_cq_ready_count(cq) > 0;
}

/*
 * Nothing was found for a while: unless a QP has WQEs in flight, do not poll until one is posted.
 * A thread that posts takes the QP's lock after this one and ends the rest, or its WQE is seen
 * here. The walk takes a small part of the time that the polls before it took.
 */
static __attribute__((noinline)) void try_to_rest(struct cq *cq, struct shadow *s)
{
	uint32_t qps = 0;
	bool busy = false;
	struct qp *qp;

	atomic_store(&s->resting, true);
	for (uint32_t slot = 0; !busy && (qp = ccs_registry_next(cq, &slot)); qps++) {
		ccs_lock(&qp->lock);
		busy = qp->shadow == s && ccs_qp_is_busy(qp);
		ccs_unlock(&qp->lock);
	}
	if (busy)
		atomic_store(&s->resting, false);
	s->empty = 0;
	s->rest_after = REST_AFTER + REST_AFTER_QP * qps;
}

/*
 * Returns a time after which the CQ was seen empty, if the clock was read: that before the last
 * poll, because this thread may have lost the CPU after it. If it was not, *emptied becomes false.
 */
static uint64_t drain_shadow(struct cq *cq, struct shadow *s, bool all, bool *emptied)
{
	struct shadow_batch a;

	for (;;) {
		const int want = make_batch(cq, &a);
		const uint64_t before_ns = cq->polled_ns;
		const int n = want ? ccs_shadow_poll(cq, s, want, &a) : 0;

		if (n > 0) {
			atomic_store_explicit(&cq->quiet, false, memory_order_relaxed);
			deliver(cq, &a, n);
		}
		if (n < 0) {
			cq->failed = n;
			return CCS_TIME_UNKNOWN;
		}
		if (!want)
			break;
		s->empty = n ? 0 : s->empty + 1;
		if (__builtin_expect(s->empty > s->rest_after, 0))
			try_to_rest(cq, s);
		if (n < want)
			return before_ns;
		if (!all && has_enough(cq))
			break;
	}
	*emptied = false;
	return CCS_TIME_UNKNOWN;
}

/* Unless all completions are wanted, a batch of each shadow CQ may be enough. */
static void drain_once(struct cq *cq, bool all)
{
	uint64_t empty_ns = 0; /* of the first one */
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
	ccs_complete_broken(cq, emptied);
	if (!polled)
		cq->polled_ns = CCS_TIME_UNKNOWN;
	if (empty_ns && empty_ns != CCS_TIME_UNKNOWN)
		cq->empty_ns = empty_ns;
	cq->woken = false;
}

/*
 * Arm the shadow CQs. Where a completion that came before that raises no event, what is found then
 * counts as such; if it came later, there is a second event.
 */
static void cover(struct cq *cq)
{
	ccs_notify_cover(cq);
	if (cq->ctx->provider->arms_by_index)
		return;
	atomic_store(&cq->cover, CCS_COVER_NONE);
	drain_once(cq, true);
	atomic_store(&cq->cover, CCS_COVER_DEVICE);
}

static void drain_shadows(struct cq *cq, bool all)
{
	drain_once(cq, all);
	if (!cq->channel)
		return;
	if (ccs_notify_is_due(cq) && !cq->ring)
		cover(cq);
	if (cq->ring)
		ccs_notify_ring(cq);
}

void ccs_cq_drain(struct cq *cq)
{
	drain_shadows(cq, true);
}

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
		cover(cq);
	if (cq->ring)
		ccs_notify_ring(cq);
	if (ccs_notify_waits(cq))
		watch(cq);
}

/* The only one that may have completions; any, if none has; NULL: there are several. */
static __attribute__((noinline)) struct shadow *only_active(struct shadow *s)
{
	struct shadow *active = NULL, *any = s;

	for (; s; s = s->next) {
		if (!s->size || !ccs_shadow_is_active(s))
			continue;
		if (active)
			return NULL;
		active = s;
	}
	return active ? active : any;
}

/*
 * The shadow CQ of a usual poll, or NULL. A usual poll needs no event or extended field, and one
 * shadow CQ has WQEs in flight.
 */
static inline struct shadow *usual_shadow(struct cq *cq)
{
	struct shadow *s = atomic_load_explicit(&cq->shadows, memory_order_acquire);

	if (!atomic_load_explicit(&cq->usual, memory_order_relaxed) ||
	    atomic_load_explicit(&cq->broken, memory_order_relaxed) || ccs_cq_ready_count(cq))
		return NULL;
	return __builtin_expect(s->next != NULL, 0) ? only_active(s) : s;
}

/* The QP that a completion is of, locked. NULL: it was destroyed. */
static inline struct qp *lock_qp(struct cq *cq, uint32_t id)
{
	struct qp *qp = cq->last;

	if (!qp || qp->id != id)
		qp = cq->last = ccs_registry_find(cq, id);
	if (qp)
		ccs_lock(&qp->lock);
	return qp;
}

/* As pump_and_unlock(). While the time is unknown, most QPs need no pump. */
static inline void leave_usual(struct qp *qp, bool timed)
{
	if (__builtin_expect(timed || qp->has_feedback || qp->broken || qp->scheduled ||
			     ccs_flow_waiting(&qp->flow) || qp->flow.gated_since_ns, 0)) {
		pump_and_unlock(qp);
		return;
	}
	ccs_publish_idle(qp);
	if (__builtin_expect(qp->counted && !ccs_qp_is_busy(qp), 0))
		ccs_shadow_count(qp, false);
	ccs_unlock(&qp->lock);
}

/* As ccs_complete() of the first of n completions, without a copy. Returns whether the application
 * gets it. */
static __attribute__((noinline)) bool complete_in_place(struct qp *qp, struct ibv_wc *wc, int n)
{
	struct cq *cq = qp->cq;
	struct shadow_batch a;
	bool got;

	a.wc = wc;
	a.n = n;
	a.has_timestamps = false;
	a.empty_ns = cq->empty_ns;
	cq->out = wc;
	cq->out_space = 1;
	ccs_complete(qp, &a, 0);
	got = !cq->out_space;
	cq->out = NULL;
	cq->out_space = 0;
	return got;
}

/*
 * Completions in the application's array, up to the first that is not the success of a whole WR of
 * this QP: they need no change but of their wr_id. Returns how many.
 */
static inline __attribute__((always_inline)) int deliver_run(struct qp *qp, uint32_t id,
							     struct ibv_wc *wc, int n)
{
	struct ccs_flow_completed run = { qp->flow.seg_tail, 0 };
	int done = 0;

	while (done < n && (uint32_t)(wc[done].wr_id >> 32) == id && !wc[done].status) {
		const struct ccs_seg *seg = ccs_flow_completed_add(&qp->flow, &run,
								   (uint32_t)wc[done].wr_id);
		if (!seg)
			break;
		wc[done].wr_id = seg->id;
		CCS_PROBE4(complete, qp->qp_num, seg->id, seg->len, (uint32_t)IBV_WC_SUCCESS);
		done++;
	}
	ccs_flow_end_completed(&qp->flow, &run);
	return done;
}

/*
 * Completions in the application's array, up to *end, of which most need no change but of their
 * wr_id. What the application does not get is removed, and *end moved. Returns the first that
 * is a failure or stale, or *end. timed: cq->polled_ns is known.
 */
static struct ibv_wc *deliver_usual(struct cq *cq, struct ibv_wc *wc, struct ibv_wc **end,
				    bool timed)
{
	do {
		const uint32_t id = (uint32_t)(wc->wr_id >> 32);
		struct qp *qp = lock_qp(cq, id);
		bool failed = false;

		if (__builtin_expect(!qp, 0))
			return wc;
		for (;;) {
			wc += deliver_run(qp, id, wc, (int)(*end - wc));
			if (wc == *end || (uint32_t)(wc->wr_id >> 32) != id)
				break;
			failed = wc->status;
			if (failed)
				break;
			timed = true;
			if (complete_in_place(qp, wc, (int)(*end - wc))) {
				wc++;
				continue;
			}
			--*end;
			memmove(wc, wc + 1, (size_t)(*end - wc) * sizeof(*wc));
		}
		leave_usual(qp, timed);
		if (failed)
			return wc;
	} while (wc < *end);
	return wc;
}

/* The ready completions, and then new ones, which go directly into wc. */
static __attribute__((noinline)) int poll_shadows(struct cq *cq, int n, struct ibv_wc *wc)
{
	const int got = pop_ready(cq, n, wc);
	int left;

	if (got == n)
		return n;
	cq->out = wc + got;
	cq->out_space = n - got;
	drain_shadows(cq, false);
	left = cq->out_space;
	cq->out = NULL;
	cq->out_space = 0;
	return n > left ? n - left : cq->failed;
}

/* `got` completions in the array may be removed, or become more; it has space for n. */
static __attribute__((noinline)) int poll_rest(struct cq *cq, int got, int n, struct ibv_wc *wc)
{
	struct shadow_batch a;

	a.wc = a.own;
	a.n = got;
	a.has_timestamps = false;
	a.empty_ns = cq->empty_ns;
	memcpy(a.own, wc, (size_t)got * sizeof(*wc));
	cq->out = wc;
	cq->out_space = n;
	deliver(cq, &a, got);
	if (cq->out_space)
		drain_shadows(cq, false);
	n -= cq->out_space;
	cq->out = NULL;
	cq->out_space = 0;
	return n;
}

/* A usual poll did not return as many as it could have. */
static inline void count_empty(struct cq *cq, struct shadow *s, uint64_t before_ns)
{
	if (before_ns != CCS_TIME_UNKNOWN)
		cq->empty_ns = before_ns;
	if (++s->empty > s->rest_after)
		try_to_rest(cq, s);
}

static inline int poll_batch(struct cq *cq, struct shadow *s, int n, struct ibv_wc *wc)
{
	const int got = cq->ctx->real.poll_cq(s->cq, n < CCS_BATCH ? n : CCS_BATCH, wc);

	cq->polled_ns = atomic_load_explicit(&cq->timed, memory_order_relaxed)
		? ccs_now_ns() : CCS_TIME_UNKNOWN;
	return got;
}

/* As poll_shadows(). The first batch has been polled, after before_ns, with the result `got`. */
static __attribute__((noinline)) int poll_batches(struct cq *cq, struct shadow *s, int n,
						  struct ibv_wc *wc, int got, uint64_t before_ns)
{
	struct ibv_wc *const first = wc, *const last = wc + n;
	bool full = true;

	for (;;) {
		struct ibv_wc *end = wc + got;

		if (got <= 0)
			break;
		s->empty = 0;
		full = got == CCS_BATCH || end == last;
		wc = deliver_usual(cq, wc, &end, cq->polled_ns != CCS_TIME_UNKNOWN);
		if (wc != end)
			return (int)(wc - first) + poll_rest(cq, (int)(end - wc), (int)(last - wc),
							     wc);
		if (!full || wc == last)
			break;
		before_ns = cq->polled_ns;
		got = poll_batch(cq, s, (int)(last - wc), wc);
	}
	if (got < 0)
		ccs_shadow_note_error(s, got);
	else if (!got || !full)
		count_empty(cq, s, before_ns);
	return wc == first && got < 0 ? got : (int)(wc - first);
}

/* A batch must be polled for an RTT, even if the application wants few. */
static inline int poll_first(struct cq *cq, int n, struct ibv_wc *wc)
{
	struct shadow *s = usual_shadow(cq);
	uint64_t before_ns;

	if (!s || (atomic_load_explicit(&cq->timed, memory_order_relaxed) &&
		   (s->ex || n < CCS_BATCH / 2)))
		return poll_shadows(cq, n, wc);
	before_ns = cq->polled_ns;
	if (ccs_shadow_is_active(s))
		return poll_batches(cq, s, n, wc, poll_batch(cq, s, n, wc), before_ns);
	cq->polled_ns = CCS_TIME_UNKNOWN;
	return 0;
}

static int poll_app(struct cq *cq, int n, struct ibv_wc *wc)
{
	const int got = cq->ctx->real.poll_cq(cq->app, n, wc);

	if (got > 0 && cq->channel)
		atomic_store_explicit(&cq->received, true, memory_order_relaxed);
	return got;
}

/*
 * A poll of the application's CQ has just returned `got` completions. A receive may be the
 * response to a SEND whose completion is in a shadow CQ, so completions that are in the shadow
 * CQs by now go first. (What the peer sent before it got that SEND may be reported after it; no
 * application can rely on the opposite.)
 */
static int queue_behind_pending(struct cq *cq, int got, int n, struct ibv_wc *wc)
{
	const struct wc_more none = { 0 };

	ccs_cq_drain(cq);
	/* What is left over may be read by a poll batch, which needs the extended fields. */
	if (!ccs_cq_ready_count(cq) || ccs_cq_ready_space(cq) < (uint32_t)got ||
	    (cq->ex && ccs_cq_ready_count(cq) + (uint32_t)got > (uint32_t)n))
		return got;
	for (int i = 0; i < got; i++)
		ccs_cq_push(cq, &wc[i], &none, CCS_NO_OWNER);
	return pop_ready(cq, n, wc);
}

/* The shadow CQs' completions are in the array, `first` of n. */
static int add_received(struct cq *cq, int first, int n, struct ibv_wc *wc)
{
	int second;

	if (first < 0 || first == n)
		return first;
	cq->polls = 0;
	second = poll_app(cq, n - first, wc + first);
	if (second > 0)
		return first + queue_behind_pending(cq, second, n - first, wc + first);
	return second < 0 && !first ? second : first;
}

/*
 * Fewer than n are returned only when both sources are empty, as the verb promises, and the
 * application's own CQ was polled last. Every few polls it is first, if no completion is ready,
 * so that it need not wait until the shadow CQs are empty.
 */
static int merge(struct cq *cq, int n, struct ibv_wc *wc)
{
	const bool fair = ++cq->polls >= FAIR && !ccs_cq_ready_count(cq);
	int got;

	if (!fair)
		return add_received(cq, poll_first(cq, n, wc), n, wc);
	cq->polls = 0;
	got = poll_app(cq, n, wc);
	if (got > 0)
		return queue_behind_pending(cq, got, n, wc);
	return got < 0 ? got : poll_first(cq, n, wc);
}

/* Whether the application spins: several polls in a row were empty. */
static bool count_idle(struct cq *cq, bool idle)
{
	cq->idle_polls = idle ? cq->idle_polls + 1 : 0;
	return cq->idle_polls >= SPINNING;
}

bool ccs_cq_has_ready(struct cq *cq)
{
	bool ready;

	ccs_lock(&cq->lock);
	ready = ccs_cq_ready_count(cq);
	ccs_unlock(&cq->lock);
	return ready;
}

bool ccs_cq_queue_current(struct cq *cq, struct ibv_cq_ex *ex)
{
	struct wc_more more;
	struct ibv_wc wc;
	bool ready;

	if (ccs_cq_is_plain(cq))
		return false;
	ccs_lock(&cq->lock);
	ccs_cq_drain(cq);
	ready = ccs_cq_ready_count(cq) && ccs_cq_ready_space(cq);
	if (ready) {
		ccs_shadow_read(ex, &wc, &more);
		ccs_cq_push(cq, &wc, &more, CCS_NO_OWNER);
	}
	ccs_unlock(&cq->lock);
	return ready;
}

int ccs_cq_pop(struct cq *cq, struct ibv_wc *wc, struct wc_more *more, bool *spinning,
	       uint64_t *empty_ns)
{
	uint32_t at;
	int rc = 0;

	if (ccs_cq_is_plain(cq))
		return ENOENT;
	ccs_lock(&cq->lock);
	if (!ccs_cq_ready_count(cq))
		drain_shadows(cq, false);
	if (ccs_cq_ready_count(cq)) {
		at = cq->ready_tail++ & cq->ready_mask;
		*wc = cq->ready[at].wc;
		*more = cq->ready_more[at];
	} else {
		rc = cq->failed ? EINVAL : ENOENT;
	}
	*spinning = count_idle(cq, rc);
	*empty_ns = rc ? cq->polled_ns : CCS_TIME_UNKNOWN;
	ccs_unlock(&cq->lock);
	return rc;
}

/* The end of a poll that returns `got`. */
static inline int unlock_after_poll(struct cq *cq, int got, uint64_t before_ns)
{
	const uint64_t now_ns = cq->polled_ns != before_ns ? cq->polled_ns : CCS_TIME_UNKNOWN;
	const bool spinning = count_idle(cq, !got);

	ccs_unlock(&cq->lock);
	if (cq->ex)
		ccs_cq_ex_unlock(cq);
	ccs_pacer_thread_after_poll(cq, now_ns, spinning);
	return got;
}

/* Any poll. cq->lock is held, and released. */
static __attribute__((noinline)) int poll_and_unlock(struct cq *cq, int n, struct ibv_wc *wc)
{
	const uint64_t before_ns = cq->polled_ns;

	return unlock_after_poll(cq, merge(cq, n, wc), before_ns);
}

/* The same while no WQE is in flight. */
static __attribute__((noinline)) int poll_idle(struct cq *cq, int n, struct ibv_wc *wc)
{
	cq->polled_ns = CCS_TIME_UNKNOWN;
	return unlock_after_poll(cq, add_received(cq, 0, n, wc), CCS_TIME_UNKNOWN);
}

static __attribute__((noinline)) int poll_any(struct cq *cq, int n, struct ibv_wc *wc)
{
	if (ccs_cq_is_plain(cq) || n <= 0)
		return cq->ctx->real.poll_cq(cq->app, n, wc);
	if (cq->ex)
		ccs_cq_ex_lock(cq);
	ccs_lock(&cq->lock);
	return poll_and_unlock(cq, n, wc);
}

/*
 * The rest of a usual poll, which has polled `got` completions, and of those `done` are delivered.
 * before_ns: the time of the poll before.
 */
static __attribute__((noinline)) int end_usual(struct cq *cq, struct shadow *s, int got, int done,
					       int n, struct ibv_wc *wc, uint64_t before_ns)
{
	const int more = poll_batches(cq, s, n - done, wc + done, got - done, before_ns);

	got = done && more < 0 ? done : done + more;
	/* With polls == 0 the application's own CQ was first. */
	return unlock_after_poll(cq, cq->polls ? add_received(cq, got, n, wc) : got,
				 CCS_TIME_UNKNOWN);
}

/* A usual poll has found `got` in the application's CQ first. */
static __attribute__((noinline)) int end_with_received(struct cq *cq, int got, int n,
						       struct ibv_wc *wc)
{
	if (got > 0)
		got = queue_behind_pending(cq, got, n, wc);
	return unlock_after_poll(cq, got, CCS_TIME_UNKNOWN);
}

/*
 * As deliver_run(), for several QPs; few instructions if there is one completion. The time is
 * unknown.
 */
static inline __attribute__((always_inline)) int deliver_whole(struct cq *cq, struct ibv_wc *wc,
							       int n)
{
	int done = 0;

	do {
		const uint64_t token = wc[done].wr_id;
		const uint32_t id = (uint32_t)(token >> 32);
		struct qp *qp = lock_qp(cq, id);
		const struct ccs_seg *seg;

		if (__builtin_expect(!qp, 0))
			return done;
		seg = wc[done].status ? NULL : ccs_flow_complete_whole(&qp->flow, (uint32_t)token);
		if (__builtin_expect(seg != NULL, 1)) {
			wc[done].wr_id = seg->id;
			CCS_PROBE4(complete, qp->qp_num, seg->id, seg->len, (uint32_t)IBV_WC_SUCCESS);
			if (++done < n)
				done += deliver_run(qp, id, wc + done, n - done);
		}
		leave_usual(qp, false);
		if (__builtin_expect(!seg, 0))
			return done;
	} while (done < n);
	return done;
}

/*
 * Most polls that find something fill the array with completions of whole WRs, which takes few
 * instructions here.
 */
int ccs_cq_poll(struct cq *cq, int n, struct ibv_wc *wc)
{
	uint64_t before_ns;
	struct shadow *s;
	int got, done;

	if (!atomic_load_explicit(&cq->usual, memory_order_relaxed) || n <= 0 || n > CCS_BATCH ||
	    ccs_forked())
		return poll_any(cq, n, wc);
	ccs_lock(&cq->lock);
	s = usual_shadow(cq);
	if (s && !ccs_shadow_is_active(s))
		return poll_idle(cq, n, wc);
	if (!s || atomic_load_explicit(&cq->timed, memory_order_relaxed))
		return poll_and_unlock(cq, n, wc);
	before_ns = cq->polled_ns;
	cq->polled_ns = CCS_TIME_UNKNOWN;
	if (++cq->polls >= FAIR) {
		cq->polls = 0;
		got = poll_app(cq, n, wc);
		if (__builtin_expect(got, 0))
			return end_with_received(cq, got, n, wc);
	}
	got = cq->ctx->real.poll_cq(s->cq, n, wc);
	done = got == n ? deliver_whole(cq, wc, n) : 0;
	if (done < n)
		return end_usual(cq, s, got, done, n, wc, before_ns);
	s->empty = 0;
	cq->idle_polls = 0;
	ccs_unlock(&cq->lock);
	ccs_pacer_thread_after_poll(cq, CCS_TIME_UNKNOWN, false);
	return n;
}
