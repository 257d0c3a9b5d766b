/* SPDX-License-Identifier: BSD-2-Clause */
/* The application's polls: its CQ and the shadow CQs are merged. */
#include "preload/datapath/poll.h"

#include "base/probe.h"
#include "flow/run.h"
#include "preload/cq/cq.h"
#include "preload/cq/shadow_cq.h"
#include "preload/datapath/complete.h"
#include "preload/datapath/drain.h"
#include "preload/datapath/emit.h"
#include "preload/datapath/pacer_thread.h"
#include "preload/object/registry.h"

/* Every FAIR polls, one goes through all CQs, the application's own first. While that stays empty and
 * there is one shadow CQ only, the distance grows to FAIR_MOST. */
enum { FAIR = 4, FAIR_MOST = 16 };

static int poll_app(struct cq *cq, int n, struct ibv_wc *wc)
{
	const struct shadow *s = atomic_load_explicit(&cq->shadows, memory_order_acquire);
	const int got = cq->ctx->real.poll_cq(cq->app, n, wc);

	if (got > 0 || (s && s->next))
		cq->turn = FAIR;
	else if (cq->turn < FAIR_MOST)
		cq->turn += FAIR;
	cq->left = cq->turn;
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
	if (!ccs_cq_ready_count(cq))
		return got;
	for (int i = 0; i < got; i++) { /* each gets the entry that the oldest leaves */
		const struct ibv_wc received = wc[i];

		ccs_cq_pop_one(cq, &wc[i]);
		ccs_cq_push(cq, &received, &none, NULL);
	}
	return got + ccs_cq_pop_ready(cq, n - got, wc + got);
}

/* The shadow CQs' completions are in the array, `first` of n. */
static int add_received(struct cq *cq, int first, int n, struct ibv_wc *wc)
{
	int second;

	if (first < 0 || first == n)
		return first;
	second = poll_app(cq, n - first, wc + first);
	if (second > 0)
		return first + queue_behind_pending(cq, second, n - first, wc + first);
	return second < 0 && !first ? second : first;
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

/*
 * Fewer than n are returned only when both sources are empty, as the verb promises, and the
 * application's own CQ was polled last. Every few polls it is first, if no completion is ready,
 * so that it need not wait until the shadow CQs are empty.
 */
static int merge(struct cq *cq, int n, struct ibv_wc *wc)
{
	int got;

	if (--cq->left > 0 || ccs_cq_ready_count(cq))
		return add_received(cq, poll_shadows(cq, n, wc), n, wc);
	got = poll_app(cq, n, wc);
	if (got > 0)
		return queue_behind_pending(cq, got, n, wc);
	return got < 0 ? got : poll_shadows(cq, n, wc);
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

/* Any poll. cq->lock is held, and released, as in the next two functions. */
static __attribute__((noinline)) int poll_and_unlock(struct cq *cq, int n, struct ibv_wc *wc)
{
	const uint64_t before_ns = cq->polled_ns;
	const int got = merge(cq, n, wc);

	ccs_drain_end_poll(cq, got > 0);
	return unlock_after_poll(cq, got, before_ns);
}

/* The only active shadow CQ, or any if all are inactive. NULL: several are active. */
static __attribute__((noinline)) struct shadow *find_only_active(struct shadow *s)
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

/* The shadow CQ of a fast poll, or NULL. */
static struct shadow *fast_shadow(struct cq *cq)
{
	struct shadow *s = atomic_load_explicit(&cq->shadows, memory_order_acquire);

	if (ccs_cq_kind(cq) == CCS_POLLS_ANY ||
	    atomic_load_explicit(&cq->broken, memory_order_relaxed) || ccs_cq_ready_count(cq))
		return NULL;
	return s && __builtin_expect(s->next != NULL, 0) ? find_only_active(s) : s;
}

static bool is_another_active(struct cq *cq, const struct shadow *s)
{
	for (const struct shadow *o = atomic_load(&cq->shadows); o; o = o->next)
		if (o != s && o->size && ccs_shadow_is_active(o))
			return true;
	return false;
}

static inline int batch_size(int n)
{
	return n < CCS_BATCH ? n : CCS_BATCH;
}

/* A fast poll has returned fewer completions than it had space for. */
static void count_empty(struct cq *cq, struct shadow *s, uint64_t before_ns)
{
	if (before_ns != CCS_TIME_UNKNOWN)
		cq->empty_ns = before_ns;
	if (++s->empty > s->rest_after)
		ccs_drain_try_to_rest(cq, s);
}

/*
 * Deliver the rest of a batch of a fast poll, which has polled `got` completions and delivered
 * `done`. While batches are full and the array has space, poll and deliver more. Returns the last
 * poll's result.
 */
static int deliver_batches(struct cq *cq, struct shadow *s, int got, int done, int n)
{
	struct shadow_batch a;
	int size = batch_size(n);

	a.has_timestamps = false;
	a.empty_ns = cq->empty_ns;
	cq->out += done;
	cq->out_space = n - done;
	for (;;) {
		a.wc = cq->out;
		a.n = got - done;
		if (got > 0)
			s->empty = 0;
		if (got > done)
			ccs_drain_deliver(cq, &a, a.n);
		if (got < size || !cq->out_space)
			return got < size ? got : 0;
		done = 0;
		size = batch_size(cq->out_space);
		got = cq->ctx->real.poll_cq(s->cq, size, cq->out);
	}
}

/*
 * The rest of a fast poll, which has polled `got` completions and delivered `done`. before_ns: time
 * of the poll before it.
 */
static __attribute__((noinline)) int
end_fast_poll(struct cq *cq, int got, int done, int n, struct ibv_wc *wc, uint64_t before_ns)
{
	struct shadow *s = cq->recent;
	/* If there are several shadow CQs, only s is known to have been empty. */
	const bool single = !s->next && atomic_load(&cq->shadows) == s;

	cq->out = wc;
	got = deliver_batches(cq, s, got, done, n);
	if (got < 0)
		ccs_shadow_note_error(s, got);
	else if (cq->out_space)
		count_empty(cq, s, single ? before_ns : CCS_TIME_UNKNOWN);
	if (cq->out_space && !single && is_another_active(cq, s)) {
		ccs_drain(cq, false);
		cq->recent = NULL;
	}
	done = n - cq->out_space;
	cq->out = NULL;
	cq->out_space = 0;
	if (!done && got < 0)
		done = got;
	/* The application's own CQ may have been first. */
	return unlock_after_poll(cq, cq->left < cq->turn ? add_received(cq, done, n, wc) : done,
				 CCS_TIME_UNKNOWN);
}

/* A poll has found `got` in the application's CQ first. cq->lock is held. */
static __attribute__((noinline)) int end_with_received(struct cq *cq, int got, int n,
						       struct ibv_wc *wc)
{
	if (got > 0)
		got = queue_behind_pending(cq, got, n, wc);
	return unlock_after_poll(cq, got, CCS_TIME_UNKNOWN);
}

/*
 * No WQE is in flight: until one is posted, or a completion is ready, polls are of the
 * application's CQ only. A thread that posts counts its WQE before it reads cq->kind.
 */
static bool become_idle(struct cq *cq)
{
	const struct shadow *s;

	atomic_store(&cq->kind, CCS_POLLS_IDLE);
	s = fast_shadow(cq);
	if (!s || ccs_shadow_is_active(s)) {
		ccs_cq_end_idle(cq);
		return false;
	}
	cq->polled_ns = CCS_TIME_UNKNOWN;
	cq->left = 0; /* the next poll is not fast */
	return true;
}

static __attribute__((noinline)) int end_idle_poll(struct cq *cq, int got)
{
	return end_with_received(cq, got, cq->idle.n, cq->idle.wc);
}

/*
 * No WQE is in flight. cq->lock is held, and released. An idle CQ has no channel. Most such polls
 * are empty and take few instructions: no call follows the real one, so no register is saved.
 */
static inline int poll_app_only(struct cq *cq, int n, struct ibv_wc *wc)
{
	int got;

	cq->idle.n = n;
	cq->idle.wc = wc;
	got = cq->ctx->real.poll_cq(cq->app, n, wc);
	if (__builtin_expect(got || ccs_mailbox_request() & 1 || ccs_pacer_thread_is_waiting() ||
			     ccs_lock_has_sleepers(&cq->lock), 0))
		return end_idle_poll(cq, got);
	cq->idle_polls++;
	ccs_unlock_quietly(&cq->lock);
	return 0;
}

/* Deliver a completion that was polled alone. Returns whether it is a whole WR's success. */
static inline __attribute__((always_inline)) bool deliver_single(struct cq *cq, struct ibv_wc *wc)
{
	struct qp *qp = ccs_registry_lock(cq, (uint32_t)(wc->wr_id >> 32));
	const struct ccs_seg *seg;

	if (__builtin_expect(!qp, 0))
		return false;
	CCS_READ_AGAIN(qp);
	seg = wc->status ? NULL : ccs_flow_complete_whole(&qp->flow, (uint32_t)wc->wr_id);
	if (__builtin_expect(!seg, 0)) {
		ccs_unlock(&qp->lock);
		return false;
	}
	wc->wr_id = seg->id;
	CCS_PROBE4(complete, qp->qp_num, seg->id, seg->len, (uint32_t)IBV_WC_SUCCESS);
	CCS_READ_AGAIN(qp);
	ccs_flow_free_all_polled(&qp->flow);
	ccs_emit_leave(qp, false);
	return true;
}

/*
 * Poll cq->recent for `size` completions first. Most polls are for one completion, which is of a
 * whole WR and takes few instructions.
 */
static inline __attribute__((always_inline)) int
poll_fast(struct cq *cq, int size, int n, struct ibv_wc *wc, uint64_t before_ns)
{
	const int got = cq->ctx->real.poll_cq(cq->recent->cq, size, wc);

	if (__builtin_expect(got != 1, 0))
		return end_fast_poll(cq, got, 0, n, wc, before_ns);
	if (__builtin_expect(!deliver_single(cq, wc), 0))
		return end_fast_poll(cq, 1, 0, n, wc, before_ns);
	if (__builtin_expect(n != 1, 0))
		return end_fast_poll(cq, 1, 1, n, wc, before_ns);
	cq->recent->empty = 0;
	cq->idle_polls = 0;
	ccs_unlock(&cq->lock);
	ccs_pacer_thread_after_poll(cq, CCS_TIME_UNKNOWN, false);
	return 1;
}

/*
 * Every few polls, or if a poll may not be fast: find out which shadow CQs are active, and perhaps
 * poll the application's own CQ first.
 */
static __attribute__((noinline)) int poll_in_turn(struct cq *cq, int n, struct ibv_wc *wc)
{
	const uint64_t before_ns = cq->polled_ns;
	struct shadow *s;
	int got;

	s = cq->recent = fast_shadow(cq);
	if (s && !ccs_shadow_is_active(s) && become_idle(cq))
		return poll_app_only(cq, n, wc);
	if (!s)
		return poll_and_unlock(cq, n, wc);
	cq->polled_ns = CCS_TIME_UNKNOWN;
	if (--cq->left <= 0) {
		got = poll_app(cq, n, wc);
		if (__builtin_expect(got, 0))
			return end_with_received(cq, got, n, wc);
	}
	got = poll_fast(cq, batch_size(n), n, wc, before_ns);
	ccs_mailbox_poll();
	return got;
}

/* A batch must be polled for an RTT, even if the application wants few. */
static inline int poll_slowly(struct cq *cq, int n, struct ibv_wc *wc)
{
	CCS_READ_AGAIN(cq);
	return atomic_load_explicit(&cq->timed, memory_order_relaxed) ? poll_and_unlock(cq, n, wc)
								      : poll_in_turn(cq, n, wc);
}

static int poll_any(struct cq *cq, int n, struct ibv_wc *wc)
{
	if (n <= 0 || ccs_cq_is_plain(cq))
		return cq->ctx->real.poll_cq(cq->app, n, wc);
	if (cq->poll_batch)
		return cq->poll_batch(cq, n, wc);
	if (cq->ex)
		ccs_cq_ex_lock(cq);
	ccs_lock(&cq->lock);
	return poll_slowly(cq, n, wc);
}

/*
 * The lock is held although no WQE is in flight: exit() in a signal handler must find that this
 * thread may hold locks of the provider.
 */
static int poll_idle(struct cq *cq, int n, struct ibv_wc *wc)
{
	if (!ccs_trylock(&cq->lock))
		return poll_any(cq, n, wc);
	return poll_app_only(cq, n, wc);
}

/* Whether a poll of s may have to do more than deliver completions of whole WRs. */
static inline bool must_poll_slowly(struct cq *cq)
{
	return !cq->recent || !ccs_shadow_is_active(cq->recent) ||
	       cq->polled_ns != CCS_TIME_UNKNOWN ||
	       atomic_load_explicit(&cq->timed, memory_order_relaxed);
}

/* Most polls find what they want in the shadow CQ of those before them. */
static int poll_recent(struct cq *cq, int n, struct ibv_wc *wc)
{
	if (n <= 0 || n > CCS_BATCH || !ccs_trylock(&cq->lock))
		return poll_any(cq, n, wc);
	CCS_READ_AGAIN(cq);
	if (must_poll_slowly(cq) || --cq->left <= 0)
		return poll_slowly(cq, n, wc);
	return poll_fast(cq, n, n, wc, CCS_TIME_UNKNOWN);
}

int ccs_cq_poll(struct cq *cq, int n, struct ibv_wc *wc)
{
	static int (*const poll[])(struct cq *cq, int n, struct ibv_wc *wc) = {
		[CCS_POLLS_ANY] = poll_any,
		[CCS_POLLS_FAST] = poll_recent,
		[CCS_POLLS_IDLE] = poll_idle,
	};

	return poll[ccs_cq_kind(cq)](cq, n, wc);
}
