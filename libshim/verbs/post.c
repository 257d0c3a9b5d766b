/* SPDX-License-Identifier: BSD-2-Clause */
/* Posting: accept what the application hands over, emit what the gate lets through. */
#include <errno.h>

#include "base/probe.h"
#include "runtime/log.h"
#include "verbs/real.h"
#include "verbs/shim.h"
#include "verbs/wr.h"

enum { WATCH_MIN_NS = 50000, WATCH_MAX_NS = 1000000 };

/* One doorbell's worth of segments. */
struct batch {
	struct ibv_send_wr wr[CCS_BATCH];
	uint64_t first;                  /* number of its first segment */
	int n;
};

static const struct ccs_seg *next_segment(struct qp *qp, uint64_t *now_ns, uint64_t *number)
{
	const struct ccs_seg *seg = ccs_flow_next(&qp->flow, *now_ns, number);

	return seg == &ccs_flow_time ? ccs_flow_next(&qp->flow, ccs_now(now_ns), number) : seg;
}

static void fill(struct qp *qp, struct batch *b, uint64_t *now_ns)
{
	const struct ccs_seg *seg;
	uint64_t number;

	for (b->n = 0; b->n < CCS_BATCH && ccs_flow_waiting(&qp->flow); b->n++) {
		seg = next_segment(qp, now_ns, &number);
		if (!seg)
			break;
		if (!b->n)
			b->first = number;
		else
			b->wr[b->n - 1].next = &b->wr[b->n];
		ccs_wr_build(qp, seg, ccs_token(qp, number), &b->wr[b->n], (uint32_t)b->n);
	}
}

/* Where a doorbell is a system call, a thread may be cancelled in it: not with our locks. */
static __attribute__((noinline)) int post_uncancelled(const struct qp *qp, struct ibv_send_wr *wr,
						      struct ibv_send_wr **bad)
{
	int state, rc;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	rc = qp->ctx->real.post_send(qp->real, wr, bad);
	pthread_setcancelstate(state, NULL);
	return rc;
}

static inline int real_post(const struct qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	if (__builtin_expect(qp->syscalls, 0))
		return post_uncancelled(qp, wr, bad);
	return qp->ctx->real.post_send(qp->real, wr, bad);
}

static int real_bind(const struct qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	int state, rc;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	rc = qp->ctx->real.bind_mw(qp->real, mw, bind);
	pthread_setcancelstate(state, NULL);
	return rc;
}

/*
 * The device refused that WQE of a doorbell whose first one is segment `first`: it and all
 * behind it are waiting again. The number of its WR. Without a bad_wr (rxe, when the doorbell
 * fails) the device has kept the WQEs, so they count as in flight, and it is none of ours.
 */
static uint64_t take_back(struct qp *qp, uint64_t first, const struct ibv_send_wr *wqes,
			  const struct ibv_send_wr *bad)
{
	if (!bad)
		return UINT64_MAX;
	ccs_flow_unsend(&qp->flow, first + (uint64_t)(bad - wqes));
	return qp->flow.wr_next;
}

/* Emit until the gate closes. On a refusal by the device its code, and what it refused. */
static int emit(struct qp *qp, uint64_t *now_ns, uint64_t *refused)
{
	struct batch b;

	do {
		struct ibv_send_wr *bad = NULL;
		int rc;

		fill(qp, &b, now_ns);
		rc = b.n ? real_post(qp, b.wr, &bad) : 0;
		if (rc) {
			*refused = take_back(qp, b.first, b.wr, bad);
			return rc;
		}
	} while (b.n == CCS_BATCH);
	return 0;
}

/*
 * A WR that was accepted earlier cannot be refused any more. Validation makes
 * this unlikely; if it happens the QP is failed as the device would have done,
 * and what it does not take is completed by us.
 */
static void late_refusal(struct qp *qp, int rc)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	if (qp->dead)
		return; /* the application is resetting or destroying it */
	ccs_log_once(CCS_LOG_WARN, "QP %u: the device refused a deferred WR (%d); failing the QP",
		     qp->real->qp_num, rc);
	ccs_flow_fail(&qp->flow);
	qp->broken = true;
	qp->nudged = false;
	ccs_real()->ibv_modify_qp(qp->real, &attr, IBV_QP_STATE);
}

/* When nobody drives progress by polling, look after this long. */
static uint64_t watch_ns(const struct qp *qp)
{
	const double ns = 1e3 * qp->flow.cc.path.base_rtt_us;

	return ns < WATCH_MIN_NS ? WATCH_MIN_NS : ns > WATCH_MAX_NS ? WATCH_MAX_NS : (uint64_t)ns;
}

/*
 * What a QP that we had to fail is owed, the application's next poll completes. If it
 * sleeps until then, a WQE that the device flushes wakes it; nobody knows its token.
 */
static void owe_broken(struct qp *qp)
{
	struct ibv_send_wr wr = { .wr_id = UINT64_MAX, .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;

	atomic_store(&qp->cq->broken, true);
	if (qp->cq->channel && !qp->nudged && ccs_flow_waiting(&qp->flow))
		qp->nudged = !real_post(qp, &wr, &bad);
}

/* The device counts its entries otherwise than we do: completions free some. */
static bool try_later(const struct qp *qp, int rc, uint64_t refused)
{
	return rc == ENOMEM && refused != UINT64_MAX && qp->flow.seg_tail != qp->flow.seg_head;
}

/*
 * The same for one that is just being posted: it waits if what fills the device's queue
 * are segments of ours, and it is fit. Else the device would have refused it without us.
 */
static bool post_later(struct qp *qp, int rc, uint64_t refused)
{
	const struct ccs_flow *f = &qp->flow;

	return try_later(qp, rc, refused) && f->seg_head - f->seg_tail > f->wr_next - f->wr_tail &&
	       !(ccs_flow_wr(f, refused)->flags & CCS_WR_URGENT) && !ccs_wr_keep(qp, refused);
}

/* An application that sleeps would never hear of what waits: nothing waits any more. */
static void let_go(struct qp *qp, uint64_t *now_ns)
{
	uint64_t refused;
	int rc;

	if (!qp->flow.enforce)
		return;
	qp->flow.enforce = false;
	ccs_shim_pass(CCS_PASS_NO_THREAD, qp->real);
	rc = emit(qp, now_ns, &refused);
	if (rc && !try_later(qp, rc, refused))
		late_refusal(qp, rc);
}

/* Nothing waits, nor did when it was last seen to. */
static bool is_idle(const struct qp *qp)
{
	return !ccs_flow_waiting(&qp->flow) && !qp->scheduled && !qp->flow.gated_since_ns;
}

/* Something waits, or the pacer has to hear that nothing does any more. */
static void see_to_waiting(struct qp *qp, uint64_t *now_ns)
{
	uint64_t due = ccs_flow_wait(&qp->flow, ccs_now(now_ns));

	if (qp->flow.state == CCS_FLOW_HOLD)
		due = 0; /* in SQD: it goes on when the application says so */
	if (qp->broken)
		owe_broken(qp);
	if (due && !qp->broken) {
		if (!ccs_helper_set(qp, due == UINT64_MAX ? *now_ns + watch_ns(qp) : due, *now_ns))
			let_go(qp, now_ns);
	} else if (qp->scheduled) {
		ccs_helper_cancel(qp);
	}
	qp->scheduled = due && !qp->broken;
}

static inline void schedule(struct qp *qp, uint64_t *now_ns)
{
	if (!is_idle(qp) || qp->broken)
		see_to_waiting(qp, now_ns);
}

static void pump(struct qp *qp, uint64_t *now_ns)
{
	uint64_t refused;
	const int rc = emit(qp, now_ns, &refused);

	if (try_later(qp, rc, refused)) {
		qp->scheduled = true;
		ccs_now(now_ns);
		if (!ccs_helper_set(qp, *now_ns + watch_ns(qp), *now_ns))
			let_go(qp, now_ns);
		return;
	}
	if (rc)
		late_refusal(qp, rc);
	schedule(qp, now_ns);
}

void ccs_post_pump(struct qp *qp, uint64_t *now_ns)
{
	int saved;

	ccs_signals_hear(qp, now_ns);
	ccs_publish_due(qp, *now_ns);
	if (is_idle(qp)) {
		ccs_publish_idle(qp);
		return;
	}
	if (qp->dead || qp->broken || qp->state < IBV_QPS_RTS)
		return;
	saved = errno;
	pump(qp, now_ns);
	errno = saved; /* nobody's call that a device refused */
}

static inline uint64_t list_length(const struct ibv_send_wr *wr, uint64_t most)
{
	uint64_t n = 0;

	for (; wr && n < most; wr = wr->next)
		n++;
	return n;
}

/* Completions that nobody polled hold entries: fetch them before refusing. */
static void make_room(struct qp *qp, uint64_t n)
{
	const struct ccs_flow *f = &qp->flow;

	if (f->wr_head - f->wr_tail + n <= f->wr_limit)
		return;
	ccs_unlock(&qp->lock);
	ccs_lock(&qp->cq->lock);
	ccs_cq_drain(qp->cq);
	ccs_unlock(&qp->cq->lock);
	ccs_lock(&qp->lock);
}

/* The flow has a number for it. */
static void identify(struct qp *qp, uint64_t number, const struct ibv_send_wr *wr)
{
	struct ccs_wr *w = ccs_flow_wr(&qp->flow, number);

	w->source = wr;
	w->id = wr->wr_id;
}

/* One WR; its CCS_WR_* flags. */
static uint32_t accept_one(struct qp *qp, const struct ibv_send_wr *wr)
{
	const uint32_t flags = ccs_wr_flags(qp, wr, qp->split_imm);

	identify(qp, ccs_flow_accept(&qp->flow, ccs_wr_len(qp, wr), flags), wr);
	return flags;
}

/*
 * Accept as many of the list as there is room for; the first left out. *flags has those
 * of all.
 */
static struct ibv_send_wr *accept_list(struct qp *qp, struct ibv_send_wr *wr, uint32_t *flags)
{
	for (*flags = 0; wr && !ccs_flow_full(&qp->flow); wr = wr->next)
		*flags |= accept_one(qp, wr);
	return wr;
}

/* The WR of this call that carries that number. */
static struct ibv_send_wr *nth(struct ibv_send_wr *wr, uint64_t n)
{
	while (n--)
		wr = wr->next;
	return wr;
}

/*
 * What waits must outlive the call. Returns the first that cannot be kept, or
 * wr_head; *rc is then why.
 */
static uint64_t keep_waiting(struct qp *qp, uint64_t first, int *rc)
{
	struct ccs_flow *f = &qp->flow;
	uint64_t n = first > f->wr_next ? first : f->wr_next;

	for (; n < f->wr_head; n++) {
		const int refusal = ccs_flow_wr(f, n)->flags & CCS_WR_URGENT ? ENOMEM
									     : ccs_wr_keep(qp, n);

		if (refusal) {
			*rc = refusal;
			return n;
		}
		f->stats.deferred++;
	}
	return n;
}

/*
 * Emit, but with a WR among those just posted that cannot wait, then ungated:
 * what is queued before it goes out with it, as far as the device has room. In
 * SQD, too: the device takes WQEs then, and begins none.
 */
static int emit_posted(struct qp *qp, uint32_t flags, uint64_t *now_ns, uint64_t *refused)
{
	struct ccs_flow *f = &qp->flow;
	const enum ccs_flow_state state = f->state;
	int rc;

	if (flags & CCS_WR_URGENT)
		f->state = CCS_FLOW_FLUSH;
	rc = emit(qp, now_ns, refused);
	f->state = state;
	return rc;
}

/* What became of a call's WRs, of which the first has that number. */
struct outcome {
	uint64_t first, refused;         /* refused: if device is not 0, as emit tells */
	struct ibv_send_wr *left;        /* the first that there was no room for; or NULL */
	int device;                      /* its code */
};

/* Native codes where the device was asked, its usual ones where it could not be. */
static int settle(struct qp *qp, const struct outcome *o, struct ibv_send_wr *wr,
		  struct ibv_send_wr **bad)
{
	struct ccs_flow *f = &qp->flow;
	const bool kept = o->device && o->refused == UINT64_MAX; /* by the device, despite its code */
	struct ibv_send_wr *left = o->left;
	int rc = left ? ENOMEM : 0;
	uint64_t n;

	if (o->device && !kept && o->refused >= o->first && f->next_offset == 0 &&
	    !post_later(qp, o->device, o->refused)) {
		left = nth(wr, o->refused - o->first);
		rc = o->device;
		ccs_flow_unaccept(f, o->refused);
	} else if (o->device && !kept && !try_later(qp, o->device, o->refused)) {
		late_refusal(qp, o->device);
	}
	n = keep_waiting(qp, o->first, &rc);
	if (n < f->wr_head) {
		left = nth(wr, n - o->first);
		ccs_flow_unaccept(f, n);
	}
	if (kept) {
		left = NULL;
		rc = o->device;
	}
	if (rc)
		*bad = left;
	return rc;
}

static int post_list(struct qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad,
		     uint64_t *now_ns)
{
	struct outcome o = { .first = qp->flow.wr_head };
	uint32_t flags;

	o.left = accept_list(qp, wr, &flags);
	o.device = emit_posted(qp, flags, now_ns, &o.refused);
	return settle(qp, &o, wr, bad);
}

/* One WR that nothing holds back. False: it is for post_list, and nothing has happened. */
static bool post_through(struct qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad, int *rc)
{
	const struct ccs_seg *seg;
	struct ibv_send_wr wqe, *refused = NULL;
	uint64_t number;

	if (!wr || wr->next)
		return false;
	seg = ccs_flow_through(&qp->flow, ccs_wr_len(qp, wr), ccs_wr_flags(qp, wr, qp->split_imm));
	if (!seg)
		return false;
	number = qp->flow.seg_head - 1;
	identify(qp, seg->wr, wr);
	ccs_wr_build(qp, seg, ccs_token(qp, number), &wqe, 0);
	*rc = real_post(qp, &wqe, &refused);
	if (__builtin_expect(*rc, 0)) {
		struct outcome o = { .first = seg->wr, .device = *rc };

		o.refused = take_back(qp, number, &wqe, refused);
		*rc = settle(qp, &o, wr, bad);
	}
	return true;
}

/* Into a QP that we had to fail: all is accepted and comes back flushed, by us. */
static int post_broken(struct qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	uint32_t flags;
	struct ibv_send_wr *left = accept_list(qp, wr, &flags);

	if (left)
		*bad = left;
	return left ? ENOMEM : 0;
}

/* The locks of whoever posts. */
static void enter(struct qp *qp)
{
	/* Among thousands of QPs all of this comes from far: at once, not line by line. */
#pragma GCC unroll 16
	for (unsigned at = 0; at < offsetof(struct qp, flow.cc.param); at += 64)
		__builtin_prefetch((char *)qp + at, 1);
	if (qp->session)
		ccs_session_lock(qp);
	ccs_lock(&qp->lock);
}

static void leave(struct qp *qp)
{
	ccs_session_room(qp);
	ccs_qp_leave(qp);
	if (qp->session)
		ccs_session_unlock(qp);
}

static int post(struct qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	uint64_t now_ns = CCS_TIME_UNKNOWN;
	int rc;

	if (qp->state < IBV_QPS_RTS)
		return real_post(qp, wr, bad);
	ccs_signals_hear(qp, &now_ns);
	if (!post_through(qp, wr, bad, &rc)) {
		make_room(qp, list_length(wr, qp->flow.wr_limit));
		rc = qp->broken ? post_broken(qp, wr, bad) : post_list(qp, wr, bad, &now_ns);
	}
	CCS_PROBE3(post, qp->qp_num, qp->flow.wr_head, qp->flow.wr_next);
	schedule(qp, &now_ns);
	ccs_publish_due(qp, now_ns);
	if (qp->stats)
		__builtin_prefetch(&qp->stats->live, 1);
	return rc;
}

int ccs_post(struct qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	const bool syscalls = qp->syscalls;
	const int saved = errno;
	int rc;

	if (ccs_forked())
		return qp->ctx->real.post_send(qp->real, wr, bad);
	enter(qp);
	rc = post(qp, wr, bad);
	leave(qp);
	if (__builtin_expect(syscalls, 0))
		pthread_testcancel(); /* here it may be */
	return ccs_done(saved, rc);
}

void ccs_post_make_room(struct qp *qp, uint32_t n)
{
	if (ccs_forked())
		return;
	ccs_lock(&qp->lock);
	make_room(qp, n);
	ccs_session_room(qp);
	ccs_qp_leave(qp);
}

/* In a child: as the staged WRs are, to the device. */
static int post_as_is(struct qp *qp, uint32_t n)
{
	struct ibv_send_wr *bad;

	for (uint32_t i = 0; i + 1 < n; i++)
		ccs_slot(qp, qp->flow.wr_head + i)->next = ccs_slot(qp, qp->flow.wr_head + i + 1);
	return n ? qp->ctx->real.post_send(qp->real, ccs_slot(qp, qp->flow.wr_head), &bad) : 0;
}

/*
 * All or nothing: if the device refuses the first one it gets, nothing is posted. One in
 * the middle was accepted with those before it, and is refused late, or waits for room.
 */
static int post_staged(struct qp *qp, uint32_t n, uint64_t *now_ns)
{
	struct ccs_flow *f = &qp->flow;
	const uint64_t first = f->wr_head;
	uint32_t flags = 0;
	uint64_t refused;
	int rc;

	for (uint32_t i = 0; i < n; i++)
		flags |= accept_one(qp, ccs_slot(qp, f->wr_head));
	rc = qp->broken ? 0 : emit_posted(qp, flags, now_ns, &refused);
	if (rc && refused == first && f->next_offset == 0 && !post_later(qp, rc, refused)) {
		ccs_flow_unaccept(f, first);
		return rc;
	}
	f->stats.deferred += f->wr_head - (first > f->wr_next ? first : f->wr_next);
	if (rc && refused == UINT64_MAX)
		return rc; /* and yet it has them */
	if (rc && !try_later(qp, rc, refused))
		late_refusal(qp, rc);
	return 0;
}

int ccs_post_staged(struct qp *qp, uint32_t n)
{
	const int saved = errno;
	int rc = EINVAL; /* before RTS, of mlx5, hns, ionic and the kernel alike */
	uint64_t now_ns = CCS_TIME_UNKNOWN;

	if (ccs_forked())
		return post_as_is(qp, n);
	ccs_lock(&qp->lock);
	if (qp->state >= IBV_QPS_RTS) {
		ccs_signals_hear(qp, &now_ns);
		rc = post_staged(qp, n, &now_ns);
		CCS_PROBE3(post, qp->qp_num, qp->flow.wr_head, qp->flow.wr_next);
		schedule(qp, &now_ns);
		ccs_publish_due(qp, now_ns);
	}
	ccs_session_room(qp);
	ccs_qp_leave(qp);
	return ccs_done(saved, rc);
}

/* A slot for it; its number. */
static uint64_t accept_bind(struct qp *qp, const struct ibv_mw_bind *bind)
{
	const bool visible = qp->sq_sig_all || (bind->send_flags & IBV_SEND_SIGNALED);
	const uint64_t wr = ccs_flow_accept(&qp->flow, 0, visible ? CCS_WR_VISIBLE : 0);

	ccs_flow_wr(&qp->flow, wr)->id = bind->wr_id;
	return wr;
}

/* The queue is empty: to the device. */
static int emit_bind(struct qp *qp, struct ibv_mw *mw, const struct ibv_mw_bind *bind,
		     uint64_t *now_ns)
{
	const uint64_t wr = accept_bind(qp, bind);
	struct ibv_mw_bind copy = *bind;
	uint64_t number;
	int rc;

	if (!next_segment(qp, now_ns, &number)) {
		ccs_flow_unaccept(&qp->flow, wr);
		return ENOMEM;
	}
	copy.wr_id = ccs_token(qp, number);
	copy.send_flags |= IBV_SEND_SIGNALED;
	rc = real_bind(qp, mw, &copy);
	if (rc) {
		ccs_flow_unsend(&qp->flow, number);
		ccs_flow_unaccept(&qp->flow, wr);
	}
	return rc;
}

/*
 * ibv_bind_mw changes mw->rkey before it returns, so it cannot wait: everything
 * queued before it goes out first, whatever the gate says. In the send queue drained
 * state too: it is the device then that holds them.
 */
static int post_bind(struct qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	const enum ccs_flow_state state = qp->flow.state;
	uint64_t now_ns = CCS_TIME_UNKNOWN, refused;
	int rc = ENOMEM, device = 0;

	qp->flow.state = CCS_FLOW_FLUSH;
	if (!qp->broken)
		device = emit(qp, &now_ns, &refused);
	if (!device && !qp->broken && !ccs_flow_waiting(&qp->flow) && !ccs_flow_full(&qp->flow))
		rc = emit_bind(qp, mw, bind, &now_ns);
	qp->flow.state = state;
	if (device && !try_later(qp, device, refused))
		late_refusal(qp, device);
	if (qp->broken && !ccs_flow_full(&qp->flow)) {
		accept_bind(qp, bind); /* comes back flushed, by us */
		rc = 0;
	}
	schedule(qp, &now_ns);
	return rc;
}

int ccs_post_bind_mw(struct qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	const int saved = errno;
	int rc;

	if (ccs_forked())
		return qp->ctx->real.bind_mw(qp->real, mw, bind);
	enter(qp);
	make_room(qp, 1);
	rc = qp->state < IBV_QPS_RTS ? real_bind(qp, mw, bind) : post_bind(qp, mw, bind);
	leave(qp);
	return ccs_done(saved, rc);
}
