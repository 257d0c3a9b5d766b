/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion queues. Send completions of controlled QPs arrive in shadow CQs of
 * ours; what the application is owed of them waits in `ready` until it polls.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/apart.h"
#include "runtime/log.h"
#include "verbs/real.h"
#include "verbs/shim.h"

enum { READY_MIN = 64, SPINNING = 8, FAIR = 4 };

void ccs_cq_not_followed(void)
{
	ccs_log_once(CCS_LOG_WARN, "no memory for a completion queue: what sends to it passes "
		     "uncontrolled");
}

struct cq *ccs_cq_new(struct ibv_cq *ibcq, struct ibv_comp_channel *channel, void *cq_context,
		      int comp_vector)
{
	struct ctx *ctx = ccs_forked() ? NULL : ccs_context_find(ibcq->context);
	struct cq *cq = ctx ? ccs_calloc_apart(1, sizeof(*cq)) : NULL;

	if (ctx && !cq)
		ccs_cq_not_followed();
	if (!cq)
		return NULL;
	cq->app = ibcq;
	cq->ctx = ctx;
	atomic_fetch_add(&ctx->refs, 1);
	cq->channel = channel;
	cq->cq_context = cq_context;
	cq->comp_vector = comp_vector;
	cq->clock = ctx->clock;
	atomic_store(&cq->refs, 1);
	return cq;
}

bool ccs_cq_track(struct cq *cq)
{
	if (!ccs_ptrmap_put(&ccs_shim()->cqs, cq->app, cq))
		return true;
	ccs_cq_put(cq);
	ccs_cq_not_followed();
	return false;
}

void ccs_cq_put(struct cq *cq)
{
	struct shadow *s, *next;

	if (atomic_fetch_sub(&cq->refs, 1) != 1)
		return;
	for (s = atomic_load(&cq->shadows); s; s = next) {
		next = s->next;
		free(s);
	}
	ccs_context_put(cq->ctx);
	ccs_cqex_free(cq->ex);
	free(cq->ready);
	free(cq->ready_more);
	free(cq);
}

/*
 * Also the shadows, for they hold the channel; an application without QPs cannot
 * miss them. The real call waits for acknowledgements, which find their way by
 * our records: those live on, and no lock is held.
 */
static int destroy_shadows(struct cq *cq)
{
	for (struct shadow *s = atomic_load(&cq->shadows); s; s = s->next) {
		const int rc = s->cq ? ccs_real()->ibv_destroy_cq(s->cq) : 0;

		if (rc)
			return rc;
		if (s->cq)
			ccs_ptrmap_del(&ccs_shim()->cqs, s->cq, cq);
		s->cq = NULL;
		s->ex = NULL;
		s->size = 0;
	}
	return 0;
}

/* From then on nobody looks into the shadows: neither a poll nor the helper. */
static bool set_closing(struct cq *cq, bool closing)
{
	bool busy;

	ccs_lock(&cq->lock);
	busy = cq->qps;
	cq->closing = closing && !busy;
	ccs_unlock(&cq->lock);
	return !busy;
}

int ccs_cq_destroy(struct cq *cq)
{
	int rc;

	if (ccs_forked())
		return ccs_real()->ibv_destroy_cq(cq->app);
	if (!set_closing(cq, true)) /* as the kernel would say of the QPs that it ties to the shadow */
		return errno = EBUSY;
	rc = destroy_shadows(cq);
	if (!rc)
		rc = ccs_real()->ibv_destroy_cq(cq->app);
	if (rc) {
		set_closing(cq, false);
		return rc;
	}
	ccs_ptrmap_del(&ccs_shim()->cqs, cq->app, cq);
	ccs_cq_put(cq);
	return 0;
}

static uint32_t ready_count(const struct cq *cq)
{
	return cq->ready_head - cq->ready_tail;
}

/*
 * Room for more than the application's own CQ has: what it need not be told of gets by if that
 * is full. cq->lock is held.
 */
static bool make_ready_ring(struct cq *cq)
{
	const uint32_t count = ready_count(cq);
	struct wc_more *more = NULL;
	uint32_t size = READY_MIN;
	struct ibv_wc *ready;

	while (size <= (uint32_t)cq->app->cqe)
		size *= 2;
	if (cq->ready && size <= cq->ready_mask + 1)
		return true;
	ready = ccs_calloc_apart(size, sizeof(*ready));
	if (cq->ex)
		more = ccs_calloc_apart(size, sizeof(*more));
	if (!ready || (cq->ex && !more)) {
		free(ready);
		free(more);
		return false;
	}
	for (uint32_t i = 0; i < count; i++) {
		ready[i] = cq->ready[(cq->ready_tail + i) & cq->ready_mask];
		if (more)
			more[i] = cq->ready_more[(cq->ready_tail + i) & cq->ready_mask];
	}
	free(cq->ready);
	free(cq->ready_more);
	cq->ready = ready;
	cq->ready_more = more;
	cq->ready_tail = 0;
	cq->ready_head = count;
	cq->ready_mask = size - 1;
	return true;
}

/* Every WQE may yield a completion, so a shadow promises an entry for each. */
struct shadow *ccs_cq_attach(struct cq *cq, uint32_t entries)
{
	struct shadow *s;

	ccs_lock(&cq->lock);
	for (s = atomic_load(&cq->shadows); s; s = s->next)
		if (s->size - s->used >= entries)
			break;
	if (!make_ready_ring(cq))
		s = NULL;
	else if (!s)
		s = ccs_shadow_new(cq, entries);
	if (s) {
		s->used += entries;
		cq->qps++;
	}
	ccs_unlock(&cq->lock);
	return s;
}

void ccs_cq_release(struct cq *cq, struct shadow *s, uint32_t entries)
{
	ccs_lock(&cq->lock);
	s->used -= entries;
	cq->qps--;
	ccs_unlock(&cq->lock);
}

uint32_t ccs_cq_room(const struct cq *cq)
{
	return cq->ready_mask + 1 - ready_count(cq);
}

struct ibv_wc *ccs_cq_push(struct cq *cq, const struct ibv_wc *wc, const struct wc_more *more)
{
	uint32_t at;

	if (cq->out_room) {
		cq->out_room--;
		*cq->out = *wc;
		return cq->out++;
	}
	at = cq->ready_head++ & cq->ready_mask;
	cq->ready[at] = *wc;
	if (cq->ready_more)
		cq->ready_more[at] = *more;
	return &cq->ready[at];
}

static int ready_pop(struct cq *cq, int n, struct ibv_wc *wc)
{
	int got = 0;

	while (got < n && ready_count(cq))
		wc[got++] = cq->ready[cq->ready_tail++ & cq->ready_mask];
	return got;
}

static void leave(struct qp *qp)
{
	ccs_post_pump(qp, &qp->cq->polled_ns);
	ccs_qp_leave(qp);
}

/* A run of completions of one QP takes its lock and opens its gate once. */
static void deliver(struct cq *cq, struct arrivals *a, int n)
{
	struct qp *last = NULL;

	for (int i = 0; i < n; i++) {
		struct qp *qp = ccs_registry_find(cq, (uint32_t)(a->wc[i].wr_id >> 32));

		if (!qp)
			continue; /* it was destroyed */
		if (qp != last) {
			if (last)
				leave(last);
			ccs_lock(&qp->lock);
			last = qp;
		}
		ccs_complete(qp, a, i);
	}
	if (last)
		leave(last);
}

/*
 * It was seen empty after that, if the clock was looked at: the time before that poll, for
 * after it this thread may have lost the CPU.
 */
static uint64_t drain_shadow(struct cq *cq, struct shadow *s)
{
	struct arrivals a;

	for (;;) {
		const uint32_t room = ccs_cq_room(cq); /* each gives at most one to deliver */
		const int want = room < CCS_BATCH ? (int)room : CCS_BATCH;
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
	}
}

void ccs_cq_drain(struct cq *cq)
{
	uint64_t looked_ns = 0; /* at the first of them */

	cq->failed = 0;
	for (struct shadow *s = atomic_load(&cq->shadows); s && !cq->closing; s = s->next) {
		const uint64_t before_ns = s->cq ? drain_shadow(cq, s) : 0;

		if (!looked_ns)
			looked_ns = before_ns;
	}
	ccs_complete_broken(cq);
	if (looked_ns && looked_ns != CCS_TIME_UNKNOWN)
		cq->looked_ns = looked_ns;
	cq->woken = false;
}

/* What is owed, and then, straight from the device, what has come. */
static int take_shadow(struct cq *cq, int n, struct ibv_wc *wc)
{
	const int got = ready_pop(cq, n, wc);
	int left;

	if (got == n)
		return n;
	cq->out = wc + got;
	cq->out_room = n - got;
	ccs_cq_drain(cq);
	left = cq->out_room;
	cq->out_room = 0;
	return n > left ? n - left : cq->failed;
}

static int take_app(struct cq *cq, int n, struct ibv_wc *wc)
{
	return cq->ctx->real.poll_cq(cq->app, n, wc);
}

/*
 * The application's CQ has told of `got` just now. What a receive brings may be the answer to
 * a SEND that a shadow tells of: whatever those have told by now goes first. (What the
 * other end had sent before it got that SEND may come after it: nobody can have waited for that.)
 */
static int behind_owed(struct cq *cq, int got, int n, struct ibv_wc *wc)
{
	const struct wc_more none = { 0 };

	ccs_cq_drain(cq);
	if (!ready_count(cq) || ccs_cq_room(cq) < (uint32_t)got ||
	    (cq->ex && ready_count(cq) + (uint32_t)got > (uint32_t)n)) /* sessions read more */
		return got;
	for (int i = 0; i < got; i++)
		ccs_cq_push(cq, &wc[i], &none);
	return ready_pop(cq, n, wc);
}

/*
 * Fewer than n are returned only when both sources are empty, as the verb promises, and the
 * application's own was asked last. Now and then it is first, when none of its own is owed, so
 * that it does not wait for the shadows to run dry.
 */
static int merge(struct cq *cq, int n, struct ibv_wc *wc)
{
	const bool fair = ++cq->polls >= FAIR && !ready_count(cq);
	const int first = fair ? 0 : take_shadow(cq, n, wc);
	int second;

	if (first < 0 || first == n)
		return first;
	cq->polls = 0;
	second = take_app(cq, n - first, wc + first);
	if (second > 0)
		return first + behind_owed(cq, second, n - first, wc + first);
	if (second < 0)
		return first ? first : second;
	return fair ? take_shadow(cq, n, wc) : first;
}

static bool passes(struct cq *cq)
{
	return !atomic_load_explicit(&cq->shadows, memory_order_acquire) ||
	       ccs_forked();
}

/* Whether the application is spinning: it saw nothing, and again. */
static bool note_idle(struct cq *cq, bool idle)
{
	cq->idle_polls = idle ? cq->idle_polls + 1 : 0;
	return cq->idle_polls >= SPINNING;
}

bool ccs_cq_owes(struct cq *cq)
{
	bool owes;

	ccs_lock(&cq->lock);
	owes = ready_count(cq);
	ccs_unlock(&cq->lock);
	return owes;
}

bool ccs_cq_put_behind(struct cq *cq, struct ibv_cq_ex *ex)
{
	struct wc_more more;
	struct ibv_wc wc;
	bool owes;

	if (passes(cq))
		return false;
	ccs_lock(&cq->lock);
	ccs_cq_drain(cq);
	owes = ready_count(cq) && ccs_cq_room(cq);
	if (owes) {
		ccs_shadow_read(ex, &wc, &more);
		ccs_cq_push(cq, &wc, &more);
	}
	ccs_unlock(&cq->lock);
	return owes;
}

int ccs_cq_take(struct cq *cq, struct ibv_wc *wc, struct wc_more *more, bool *spinning,
		uint64_t *empty_ns)
{
	uint32_t at;
	int rc = 0;

	if (passes(cq))
		return ENOENT;
	ccs_lock(&cq->lock);
	if (!ready_count(cq))
		ccs_cq_drain(cq);
	if (ready_count(cq)) {
		at = cq->ready_tail++ & cq->ready_mask;
		*wc = cq->ready[at];
		*more = cq->ready_more[at];
	} else {
		rc = cq->failed ? EINVAL : ENOENT;
	}
	*spinning = note_idle(cq, rc);
	*empty_ns = rc ? cq->polled_ns : CCS_TIME_UNKNOWN;
	ccs_unlock(&cq->lock);
	return rc;
}

/* *now_ns: when the shadows were looked at; unknown if they were not, nor the clock. */
static int poll_locked(struct cq *cq, int n, struct ibv_wc *wc, bool *spinning, uint64_t *now_ns)
{
	uint64_t before_ns;
	int got;

	ccs_lock(&cq->lock);
	before_ns = cq->polled_ns;
	got = merge(cq, n, wc);
	*spinning = note_idle(cq, !got);
	*now_ns = cq->polled_ns != before_ns ? cq->polled_ns : CCS_TIME_UNKNOWN;
	ccs_unlock(&cq->lock);
	return got;
}

int ccs_cq_poll(struct cq *cq, int n, struct ibv_wc *wc)
{
	uint64_t now_ns;
	bool spinning;
	int got;

	if (passes(cq) || n <= 0)
		return cq->ctx->real.poll_cq(cq->app, n, wc);
	if (cq->ex)
		ccs_cqex_enter(cq->ex);
	got = poll_locked(cq, n, wc, &spinning, &now_ns);
	if (cq->ex)
		ccs_cqex_leave(cq->ex);
	ccs_helper_polled(cq, now_ns, spinning);
	return got;
}

int ccs_cq_notify(struct cq *cq, int solicited_only)
{
	int rc = cq->ctx->real.req_notify_cq(cq->app, solicited_only);

	atomic_store(&cq->armed, 1 + !!solicited_only);
	for (struct shadow *s = atomic_load(&cq->shadows); s && !rc; s = s->next)
		if (s->cq)
			rc = cq->ctx->real.req_notify_cq(s->cq, solicited_only);
	return rc;
}

/* Whether more is owed than it would hold. */
static bool too_small(struct cq *cq, int cqe)
{
	bool small;

	if (passes(cq) || cqe <= 0)
		return false;
	ccs_lock(&cq->lock);
	ccs_cq_drain(cq);
	small = (uint32_t)cqe < ready_count(cq);
	ccs_unlock(&cq->lock);
	return small;
}

/*
 * What is owed counts as if it were in the application's CQ, which cannot get smaller than
 * that: then the device is asked for the size that it has, and what a device that resizes
 * none has to say is said.
 *
 * The one thing that differs: what is owed and what is in the CQ may be more than it will
 * hold only if both are, for how much is in there can only be found out by taking it out, or
 * by making the CQ so small that it overflows if it is more. So a size that a device would
 * refuse may be granted. None is lost by that, nor comes otherwise: what is owed stays ours,
 * and leaves more of the CQ to what is to come than there would be without us. Shadows keep
 * what they promised to their QPs.
 */
int ccs_cq_resize(struct cq *cq, int cqe)
{
	const bool small = too_small(cq, cqe);
	const int rc = ccs_real()->ibv_resize_cq(cq->app, small ? cq->app->cqe : cqe);

	if (small && !rc)
		return EINVAL;
	if (!rc && !passes(cq)) {
		ccs_lock(&cq->lock);
		make_ready_ring(cq); /* or they wait in the shadows */
		ccs_unlock(&cq->lock);
	}
	return rc;
}

int ccs_cq_modify(struct cq *cq, struct ibv_modify_cq_attr *attr)
{
	const int rc = cq->ctx->modify_cq(cq->app, attr);

	if (rc || !(attr->attr_mask & IBV_CQ_ATTR_MODERATE) ||
	    ccs_forked())
		return rc;
	ccs_lock(&cq->lock);
	cq->moderation = *attr;
	for (struct shadow *s = atomic_load(&cq->shadows); s && !cq->closing; s = s->next)
		ccs_shadow_moderate(cq, s->cq);
	if (atomic_load(&cq->shadows))
		ccs_shadow_moderate(cq, cq->app);
	ccs_unlock(&cq->lock);
	return 0;
}
