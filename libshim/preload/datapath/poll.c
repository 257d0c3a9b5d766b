/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Polling of completion queues: the application's CQ and its shadow CQs are merged.
 *
 * poll.c, post.c and pacer_thread.c call each other, the only call circle in preload/: polling
 * completes segments, so deferred WRs are emitted (ccs_post_pump); posting polls when the send
 * queue is full (ccs_cq_drain), and schedules WRs that must wait; the pacer thread polls and emits
 * when they are due. Calls do not nest further, because ccs_post_pump() never polls.
 */
#include "preload/datapath/poll.h"

#include <errno.h>

#include "preload/datapath/complete.h"
#include "preload/datapath/pacer_thread.h"
#include "preload/datapath/post.h"
#include "preload/object/cq.h"
#include "preload/object/cq_ex.h"
#include "preload/object/qp.h"
#include "preload/object/shadow_cq.h"
#include "preload/registry.h"

enum { SPINNING = 8, FAIR = 4 };

static int pop_ready(struct cq *cq, int n, struct ibv_wc *wc)
{
	int got = 0;

	while (got < n && ccs_cq_ready_count(cq))
		wc[got++] = cq->ready[cq->ready_tail++ & cq->ready_mask].wc;
	return got;
}

static void pump_and_unlock(struct qp *qp)
{
	ccs_post_pump(qp, &qp->cq->polled_ns);
	ccs_qp_leave(qp);
}

/* For consecutive completions of one QP, lock it and check its gate once. */
static void deliver(struct cq *cq, struct shadow_batch *a, int n)
{
	struct qp *last = NULL;

	for (int i = 0; i < n; i++) {
		struct qp *qp = ccs_registry_find(cq, (uint32_t)(a->wc[i].wr_id >> 32));

		if (!qp)
			continue; /* it was destroyed */
		if (qp != last) {
			if (last)
				pump_and_unlock(last);
			ccs_lock(&qp->lock);
			last = qp;
		}
		ccs_complete(qp, a, i);
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
 * Returns a time after which the CQ was seen empty, if the clock was read: that before the last
 * poll, because this thread may have lost the CPU after it.
 */
static uint64_t drain_shadow(struct cq *cq, struct shadow *s, bool all)
{
	struct shadow_batch a;

	for (;;) {
		const uint32_t space = ccs_cq_ready_space(cq); /* each yields at most one of ours */
		const int want = space < CCS_BATCH ? (int)space : CCS_BATCH;
		const uint64_t before_ns = cq->polled_ns;
		const int n = want ? ccs_shadow_poll(cq, s, want, &a) : 0;

		if (n > 0)
			deliver(cq, &a, n);
		if (n < 0)
			cq->failed = n;
		if (!want || n < 0)
			return CCS_TIME_UNKNOWN;
		if (n < want)
			return before_ns;
		if (!all && has_enough(cq))
			return CCS_TIME_UNKNOWN;
	}
}

/* Unless all completions are wanted, a batch of each shadow CQ may be enough. */
static void drain_shadows(struct cq *cq, bool all)
{
	uint64_t empty_ns = 0; /* of the first one */

	cq->failed = 0;
	for (struct shadow *s = atomic_load(&cq->shadows); s && !cq->closing; s = s->next) {
		const uint64_t before_ns = s->cq ? drain_shadow(cq, s, all) : 0;

		if (!empty_ns)
			empty_ns = before_ns;
	}
	ccs_complete_broken(cq);
	if (empty_ns && empty_ns != CCS_TIME_UNKNOWN)
		cq->empty_ns = empty_ns;
	cq->woken = false;
}

void ccs_cq_drain(struct cq *cq)
{
	drain_shadows(cq, true);
}

/* The ready completions, and then new ones, which go directly into wc. */
static int poll_shadows(struct cq *cq, int n, struct ibv_wc *wc)
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

static int poll_app(struct cq *cq, int n, struct ibv_wc *wc)
{
	return cq->ctx->real.poll_cq(cq->app, n, wc);
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

/*
 * Fewer than n are returned only when both sources are empty, as the verb promises, and the
 * application's own CQ was polled last. Every few polls it is first, if no completion is ready,
 * so that it need not wait until the shadow CQs are empty.
 */
static int merge(struct cq *cq, int n, struct ibv_wc *wc)
{
	const bool fair = ++cq->polls >= FAIR && !ccs_cq_ready_count(cq);
	const int first = fair ? 0 : poll_shadows(cq, n, wc);
	int second;

	if (first < 0 || first == n)
		return first;
	cq->polls = 0;
	second = poll_app(cq, n - first, wc + first);
	if (second > 0)
		return first + queue_behind_pending(cq, second, n - first, wc + first);
	if (second < 0)
		return first ? first : second;
	return fair ? poll_shadows(cq, n, wc) : first;
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

/* *now_ns: when the shadow CQs were polled; unknown if they were not, or the clock was not read. */
static int poll_locked(struct cq *cq, int n, struct ibv_wc *wc, bool *spinning, uint64_t *now_ns)
{
	uint64_t before_ns;
	int got;

	ccs_lock(&cq->lock);
	before_ns = cq->polled_ns;
	got = merge(cq, n, wc);
	*spinning = count_idle(cq, !got);
	*now_ns = cq->polled_ns != before_ns ? cq->polled_ns : CCS_TIME_UNKNOWN;
	ccs_unlock(&cq->lock);
	return got;
}

int ccs_cq_poll(struct cq *cq, int n, struct ibv_wc *wc)
{
	uint64_t now_ns;
	bool spinning;
	int got;

	if (ccs_cq_is_plain(cq) || n <= 0)
		return cq->ctx->real.poll_cq(cq->app, n, wc);
	if (cq->ex)
		ccs_cq_ex_lock(cq);
	got = poll_locked(cq, n, wc, &spinning, &now_ns);
	if (cq->ex)
		ccs_cq_ex_unlock(cq);
	ccs_pacer_thread_after_poll(cq, now_ns, spinning);
	return got;
}
