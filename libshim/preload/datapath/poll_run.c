/* SPDX-License-Identifier: BSD-2-Clause */
/* Polls of one shadow CQ, directly into the application's array: most completions need no change
 * there but of their wr_id. */
#include "preload/datapath/poll_run.h"

#include <string.h>

#include "preload/datapath/complete.h"
#include "preload/datapath/drain.h"
#include "preload/object/clock.h"

struct shadow *ccs_poll_only_active(struct shadow *s)
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

bool ccs_poll_is_another_active(struct cq *cq, const struct shadow *s)
{
	for (const struct shadow *o = atomic_load(&cq->shadows); o; o = o->next)
		if (o != s && o->size && ccs_shadow_is_active(o))
			return true;
	return false;
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
static inline __attribute__((always_inline)) int
deliver_run(struct qp *qp, uint32_t id, struct ibv_wc *wc, int n)
{
	struct ccs_flow_completed run;
	int done = 0;

	if (!n || (uint32_t)(wc->wr_id >> 32) != id || wc->status)
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
	} while (done < n && (uint32_t)(wc[done].wr_id >> 32) == id && !wc[done].status);
	ccs_flow_end_completed(&qp->flow, &run);
	if (done)
		ccs_flow_free_all_polled(&qp->flow);
	return done;
}

int ccs_poll_deliver(struct cq *cq, struct ibv_wc *wc, int n)
{
	int done = 0;

	while (done < n) {
		const uint32_t id = (uint32_t)(wc[done].wr_id >> 32);
		struct qp *qp = ccs_registry_lock(cq, id);
		int run;

		if (__builtin_expect(!qp, 0))
			break;
		run = deliver_run(qp, id, wc + done, n - done);
		ccs_poll_leave_qp(qp, false);
		if (!run)
			break;
		done += run;
	}
	return done;
}

/*
 * Completions in the application's array, up to *end. Most need no change but of their wr_id.
 * Internal completions are removed, and *end moved. Returns the first that
 * is a failure or stale, or *end. timed: cq->polled_ns is known.
 */
static struct ibv_wc *deliver_fast(struct cq *cq, struct ibv_wc *wc, struct ibv_wc **end,
				    bool timed)
{
	do {
		const uint32_t id = (uint32_t)(wc->wr_id >> 32);
		struct qp *qp = ccs_registry_lock(cq, id);
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
		ccs_poll_leave_qp(qp, timed);
		if (failed)
			return wc;
	} while (wc < *end);
	return wc;
}

/* Deliver the ready completions, then poll more directly into wc. */
static __attribute__((noinline)) int poll_shadows(struct cq *cq, int n, struct ibv_wc *wc)
{
	const int got = ccs_cq_pop_ready(cq, n, wc);
	int left;

	if (got == n)
		return n;
	cq->out = wc + got;
	cq->out_space = n - got;
	ccs_drain(cq, false);
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
	ccs_drain_deliver(cq, &a, got);
	if (cq->out_space)
		ccs_drain(cq, false);
	n -= cq->out_space;
	cq->out = NULL;
	cq->out_space = 0;
	return n;
}

/* A fast poll has returned fewer completions than it had space for. */
static inline void count_empty(struct cq *cq, struct shadow *s, uint64_t before_ns)
{
	if (before_ns != CCS_TIME_UNKNOWN)
		cq->empty_ns = before_ns;
	if (++s->empty > s->rest_after)
		ccs_drain_try_to_rest(cq, s);
}

static inline int poll_batch(struct cq *cq, struct shadow *s, int n, struct ibv_wc *wc)
{
	const int got = cq->ctx->real.poll_cq(s->cq, n < CCS_BATCH ? n : CCS_BATCH, wc);

	cq->polled_ns = atomic_load_explicit(&cq->timed, memory_order_relaxed)
		? ccs_now_ns() : CCS_TIME_UNKNOWN;
	return got;
}

int ccs_poll_batches(struct cq *cq, struct shadow *s, int n, struct ibv_wc *wc, int got,
		     uint64_t before_ns)
{
	struct ibv_wc *const first = wc, *const last = wc + n;
	bool full = true;

	for (;;) {
		struct ibv_wc *end = wc + got;

		if (got <= 0)
			break;
		s->empty = 0;
		full = got == CCS_BATCH || end == last;
		wc = deliver_fast(cq, wc, &end, cq->polled_ns != CCS_TIME_UNKNOWN);
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
int ccs_poll_first(struct cq *cq, int n, struct ibv_wc *wc)
{
	const bool timed = atomic_load_explicit(&cq->timed, memory_order_relaxed);
	struct shadow *s = timed && n < CCS_BATCH / 2 ? NULL : ccs_poll_fast_shadow(cq);
	uint64_t before_ns;

	if (!s || (timed && s->ex))
		return poll_shadows(cq, n, wc);
	before_ns = cq->polled_ns;
	if (ccs_shadow_is_active(s))
		return ccs_poll_batches(cq, s, n, wc, poll_batch(cq, s, n, wc), before_ns);
	cq->polled_ns = CCS_TIME_UNKNOWN;
	return 0;
}
