/* SPDX-License-Identifier: BSD-2-Clause */
/* The application's polls: its CQ and the shadow CQs are merged. */
#include "preload/datapath/poll.h"

#include "preload/datapath/complete.h"
#include "preload/datapath/drain.h"
#include "preload/datapath/pacer_thread.h"
#include "preload/datapath/poll_run.h"

enum { FAIR = 4 };                       /* polls, of which the application's CQ is first in one */

static int poll_app(struct cq *cq, int n, struct ibv_wc *wc)
{
	const int got = cq->ctx->real.poll_cq(cq->app, n, wc);

	if (got > 0 && cq->channel)
		atomic_store_explicit(&cq->events.app_completed, true, memory_order_relaxed);
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

	ccs_complete_flushed_receives(cq, wc, got);
	ccs_drain(cq, true);
	/* A poll batch may read the rest later, and needs the extended fields. */
	if (!ccs_cq_ready_count(cq) || ccs_cq_ready_space(cq) < (uint32_t)got ||
	    (cq->ex && ccs_cq_ready_count(cq) + (uint32_t)got > (uint32_t)n))
		return got;
	for (int i = 0; i < got; i++)
		ccs_cq_push(cq, &wc[i], &none, NULL);
	return ccs_cq_pop_ready(cq, n, wc);
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
		return add_received(cq, ccs_poll_first(cq, n, wc), n, wc);
	cq->polls = 0;
	got = poll_app(cq, n, wc);
	if (got > 0)
		return queue_behind_pending(cq, got, n, wc);
	return got < 0 ? got : ccs_poll_first(cq, n, wc);
}

/* The end of a poll that returns `got`. */
static inline int unlock_after_poll(struct cq *cq, int got, uint64_t before_ns)
{
	const uint64_t now_ns = cq->polled_ns != before_ns ? cq->polled_ns : CCS_TIME_UNKNOWN;
	const bool spinning = ccs_poll_count_idle(cq, !got);

	ccs_unlock(&cq->lock);
	if (cq->ex)
		ccs_cq_ex_unlock(cq);
	ccs_mailbox_poll();
	ccs_pacer_thread_after_poll(cq, now_ns, spinning);
	return got;
}

/* Any poll. cq->lock is held, and released. */
static __attribute__((noinline)) int poll_and_unlock(struct cq *cq, int n, struct ibv_wc *wc)
{
	const uint64_t before_ns = cq->polled_ns;
	const int got = merge(cq, n, wc);

	ccs_drain_end_poll(cq, got > 0);
	return unlock_after_poll(cq, got, before_ns);
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

/* The array has `got` completions of the recent shadow CQ; < 0: an error. */
static int poll_others(struct cq *cq, int got, int n, struct ibv_wc *wc)
{
	const int first = got < 0 ? 0 : got, more = ccs_poll_first(cq, n - first, wc + first);

	cq->recent = NULL;
	return more > 0 ? first + more : got;
}

/*
 * The rest of a fast poll, which has polled `got` completions and delivered `done`. before_ns: time
 * of the poll before it.
 */
static __attribute__((noinline)) int
end_fast_poll(struct cq *cq, struct shadow *s, int got, int done, int n, struct ibv_wc *wc,
	      uint64_t before_ns)
{
	/* If there are several shadow CQs, only s is known to have been empty. */
	const bool single = !s->next && atomic_load(&cq->shadows) == s;
	const int more = ccs_poll_batches(cq, s, n - done, wc + done, got - done,
					  single ? before_ns : CCS_TIME_UNKNOWN);

	got = done && more < 0 ? done : done + more;
	if (!single && got < n && ccs_poll_is_another_active(cq, s))
		got = poll_others(cq, got, n, wc);
	/* With polls == 0 the application's own CQ was first. */
	return unlock_after_poll(cq, cq->polls ? add_received(cq, got, n, wc) : got,
				 CCS_TIME_UNKNOWN);
}

/* A fast poll has found `got` in the application's CQ first. */
static __attribute__((noinline)) int end_with_received(struct cq *cq, int got, int n,
						       struct ibv_wc *wc)
{
	if (got > 0)
		got = queue_behind_pending(cq, got, n, wc);
	return unlock_after_poll(cq, got, CCS_TIME_UNKNOWN);
}

/*
 * No WQE is in flight: until one is posted, or a completion is ready, polls are of the
 * application's CQ only. A thread that posts counts its WQE before it reads cq->idle.
 */
static bool become_idle(struct cq *cq)
{
	const struct shadow *s;

	atomic_store(&cq->idle, true);
	s = ccs_poll_fast_shadow(cq);
	if (!s || ccs_shadow_is_active(s)) {
		atomic_store(&cq->idle, false);
		return false;
	}
	cq->polled_ns = CCS_TIME_UNKNOWN;
	cq->polls = FAIR; /* the next poll is not fast */
	return true;
}

static __attribute__((noinline)) int poll_idle(struct cq *cq, int n, struct ibv_wc *wc)
{
	const int got = poll_app(cq, n, wc);
	bool spinning;

	if (__builtin_expect(got, 0))
		return end_with_received(cq, got, n, wc);
	spinning = ccs_poll_count_idle(cq, true);
	ccs_unlock(&cq->lock);
	ccs_mailbox_poll();
	ccs_pacer_thread_after_poll(cq, CCS_TIME_UNKNOWN, spinning);
	return 0;
}

/* A poll of s finds n completions in most cases, all of whole WRs, which takes few instructions. */
static inline __attribute__((always_inline)) int poll_fast(struct cq *cq, struct shadow *s, int n,
							    struct ibv_wc *wc, uint64_t before_ns)
{
	const int got = cq->ctx->real.poll_cq(s->cq, n, wc);
	int done = 0;

	if (got == n)
		done = n == 1 ? ccs_poll_deliver_one(cq, wc) : ccs_poll_deliver(cq, wc, n);
	if (__builtin_expect(done < n, 0))
		return end_fast_poll(cq, s, got, done, n, wc, before_ns);
	s->empty = 0;
	cq->idle_polls = 0;
	ccs_unlock(&cq->lock);
	ccs_pacer_thread_after_poll(cq, CCS_TIME_UNKNOWN, false);
	return n;
}

/*
 * Every few polls, or if a poll may not be fast: find out which shadow CQs are active, and perhaps
 * poll the application's own CQ first. cq->lock is held, and released.
 */
static __attribute__((noinline)) int poll_in_turn(struct cq *cq, int n, struct ibv_wc *wc)
{
	const uint64_t before_ns = cq->polled_ns;
	struct shadow *s;
	int got;

	s = cq->recent = ccs_poll_fast_shadow(cq);
	if (s && !ccs_shadow_is_active(s) && become_idle(cq))
		return poll_idle(cq, n, wc);
	if (!s)
		return poll_and_unlock(cq, n, wc);
	cq->polled_ns = CCS_TIME_UNKNOWN;
	if (++cq->polls >= FAIR) {
		cq->polls = 0;
		got = poll_app(cq, n, wc);
		if (__builtin_expect(got, 0))
			return end_with_received(cq, got, n, wc);
	}
	got = poll_fast(cq, s, n, wc, before_ns);
	ccs_mailbox_poll();
	return got;
}

/* Whether a poll of s may have to do more than deliver completions of whole WRs. */
static inline bool must_poll_slowly(struct cq *cq, const struct shadow *s)
{
	return !s || !ccs_shadow_is_active(s) || cq->polled_ns != CCS_TIME_UNKNOWN ||
	       atomic_load_explicit(&cq->timed, memory_order_relaxed) ||
	       atomic_load_explicit(&cq->broken, memory_order_relaxed);
}

/* Most polls find what they want in the shadow CQ of those before them. */
int ccs_cq_poll(struct cq *cq, int n, struct ibv_wc *wc)
{
	struct shadow *s;

	if (!atomic_load_explicit(&cq->fast, memory_order_relaxed) || n <= 0 || n > CCS_BATCH ||
	    ccs_forked())
		return poll_any(cq, n, wc);
	ccs_lock(&cq->lock);
	s = cq->recent;
	if (cq->polls + 1 >= FAIR || must_poll_slowly(cq, s)) {
		if (atomic_load_explicit(&cq->idle, memory_order_relaxed))
			return poll_idle(cq, n, wc);
		return atomic_load_explicit(&cq->timed, memory_order_relaxed)
			? poll_and_unlock(cq, n, wc) : poll_in_turn(cq, n, wc);
	}
	cq->polls++;
	return poll_fast(cq, s, n, wc, CCS_TIME_UNKNOWN);
}
