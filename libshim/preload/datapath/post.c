/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posting: accept the application's WRs into the flow's send queue, and emit the segments that
 * the gate allows. This file is part of a call circle: see poll.c.
 */
#include "preload/datapath/post.h"

#include <errno.h>
#include <time.h>

#include "base/probe.h"
#include "observe/log.h"
#include "preload/clock.h"
#include "preload/control/policy.h"
#include "preload/control/qp_feedback.h"
#include "preload/datapath/pacer_thread.h"
#include "preload/datapath/poll.h"
#include "preload/datapath/wr.h"
#include "preload/interpose/real.h"
#include "preload/object/mr.h"
#include "preload/object/qp.h"
#include "preload/object/wr_batch.h"
#include "preload/report/publish.h"
#include "preload/report/uncontrolled.h"
#include "preload/shim.h"

enum { LOOK_MIN_NS = 10000, LOOK_MAX_NS = 1000000, LOOKS_AT_ONCE = 16, FLUSH_NS = 100000000,
       LINGER_STEP_NS = 50000, NEVER_SPLIT = 256 /* bytes: no segment is shorter */ };

/* One doorbell's worth of segments. */
struct batch {
	struct ibv_send_wr wr[CCS_BATCH];
	uint64_t first;                  /* number of its first segment */
	int n;
};

static enum ccs_next next_segment(struct qp *qp, uint64_t *now_ns, const struct ccs_seg **seg)
{
	const enum ccs_next next = ccs_flow_next(&qp->flow, *now_ns, seg);

	return next == CCS_NEXT_NEED_TIME ? ccs_flow_next(&qp->flow, ccs_now(now_ns), seg) : next;
}

static void fill_batch(struct qp *qp, struct batch *b, uint64_t *now_ns)
{
	const struct ccs_seg *seg;
	uint64_t number;

	if (__builtin_expect(ccs_flow_wants_entries(&qp->flow, CCS_BATCH), 0))
		ccs_qp_add_entries(qp);
	for (b->n = 0; b->n < CCS_BATCH && ccs_flow_waiting(&qp->flow); b->n++) {
		if (next_segment(qp, now_ns, &seg) != CCS_NEXT_SEGMENT)
			break;
		number = ccs_flow_newest(&qp->flow);
		if (!b->n)
			b->first = number;
		else
			b->wr[b->n - 1].next = &b->wr[b->n];
		ccs_wr_build(qp, seg, ccs_token(qp, number), &b->wr[b->n], (uint32_t)b->n);
	}
}

/* Where a doorbell is a system call, a thread could be cancelled in it, with our locks held. */
static __attribute__((noinline)) int post_uncancelled(const struct qp *qp, struct ibv_send_wr *wr,
						      struct ibv_send_wr **bad)
{
	int state, rc;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	rc = qp->ctx->real.post_send(qp->real, wr, bad);
	pthread_setcancelstate(state, NULL);
	return rc;
}

static inline int post_to_device(struct qp *qp, struct ibv_send_wr *wr,
				 struct ibv_send_wr **bad)
{
	ccs_qp_wake_shadow(qp);
	if (__builtin_expect(qp->syscalls, 0))
		return post_uncancelled(qp, wr, bad);
	return qp->ctx->real.post_send(qp->real, wr, bad);
}

static int bind_on_device(struct qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	int state, rc;

	ccs_qp_wake_shadow(qp);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	rc = qp->ctx->real.bind_mw(qp->real, mw, bind);
	pthread_setcancelstate(state, NULL);
	return rc;
}

/*
 * The device refused WQE `bad` of a doorbell whose first one is segment `first`: return it and
 * those behind it to the queue. Returns the number of its WR. Without a bad_wr (rxe, when the
 * doorbell fails) the device has kept the WQEs, so they count as in flight, and no WR is refused.
 */
static uint64_t return_refused(struct qp *qp, uint64_t first, const struct ibv_send_wr *wqes,
			       const struct ibv_send_wr *bad)
{
	if (!bad)
		return UINT64_MAX;
	ccs_flow_unsend(&qp->flow, first + (uint64_t)(bad - wqes));
	return qp->flow.wr_next;
}

/* The newest segments were held back: ccs_post_linger() waits for them, too. */
static void note_held(struct qp *qp, uint64_t now_ns)
{
	const uint64_t since_ns = qp->flow.gated_since_ns;
	const uint64_t us = now_ns > since_ns ? (now_ns - since_ns) / 1000 : 0;

	qp->held_end = (uint32_t)qp->flow.seg_head;
	qp->held_us = us < UINT16_MAX ? (uint16_t)us : UINT16_MAX;
}

/* Emit until the gate closes. Returns the device's error code, and in *refused the WR. */
static int emit(struct qp *qp, uint64_t *now_ns, uint64_t *refused)
{
	struct batch b;

	do {
		struct ibv_send_wr *bad = NULL;
		int rc;

		fill_batch(qp, &b, now_ns);
		if (b.n)
			ccs_notify_before_post(qp);
		if (b.n && qp->flow.gated_since_ns)
			note_held(qp, ccs_now(now_ns));
		rc = b.n ? post_to_device(qp, b.wr, &bad) : 0;
		if (rc) {
			*refused = return_refused(qp, b.first, b.wr, bad);
			return rc;
		}
	} while (b.n == CCS_BATCH);
	return 0;
}

/*
 * The device refused a WR that had been accepted, which cannot be reported as a refusal any more.
 * Validation makes this unlikely; if it happens, the QP is failed as the device would have done,
 * and the shim completes the WRs that the device did not accept.
 */
static void fail_qp(struct qp *qp, int rc)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	if (qp->dead)
		return; /* the application is resetting or destroying it */
	ccs_log_once(CCS_LOG_WARN, "QP %u: the device refused a deferred WR (error %d); the QP is "
		     "set to the error state",
		     qp->real->qp_num, rc);
	ccs_flow_fail(&qp->flow);
	qp->broken = true;
	ccs_real()->ibv_modify_qp(qp->real, &attr, IBV_QP_STATE);
}

/*
 * If the application does not poll, look for completions after this long: often enough that RTTs
 * are precise (rtt.c), but less often if many QPs wait, because one look serves all of a CQ.
 */
static uint64_t look_ns(const struct qp *qp)
{
	const unsigned waiting = ccs_pacer_thread_waiting();
	double ns = 500 * qp->flow.cc.path.base_rtt_us;

	if (ns < LOOK_MIN_NS)
		ns = LOOK_MIN_NS;
	if (waiting > LOOKS_AT_ONCE)
		ns *= (double)waiting / LOOKS_AT_ONCE;
	return ns > LOOK_MAX_NS ? LOOK_MAX_NS : (uint64_t)ns;
}

/*
 * A WQE behind all others of a failed QP. Where the device flushes it, its completion says that
 * unsignalled ones before it succeeded, how such a completion looks, and wakes an application
 * that sleeps.
 */
static void post_marker(struct qp *qp)
{
	struct ibv_send_wr wr = { .wr_id = ccs_token(qp, qp->flow.seg_head),
				  .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;

	if (!qp->marker_posted)
		qp->marker_posted = !post_to_device(qp, &wr, &bad);
}

/* Polls complete the WRs of a failed QP, see ccs_complete_broken(). */
static void await_flush(struct qp *qp, uint64_t *now_ns)
{
	const struct ccs_flow *f = &qp->flow;
	const uint64_t inflight = f->seg_head - f->seg_tail;
	const bool wait = inflight || !qp->flush_seen;
	uint64_t due = 0;

	if (wait && f->unsignalled >= inflight && !qp->ctx->ignores_in_error)
		post_marker(qp);
	if (wait && !qp->flushed_ns)
		qp->flushed_ns = ccs_now(now_ns) + FLUSH_NS;
	if (wait)
		due = qp->flushed_ns;
	atomic_store(&qp->cq->broken, true);
	if (qp->notifies)
		ccs_notify_count(qp);
	if (ccs_post_must_look(qp) && (!due || due > ccs_now(now_ns) + look_ns(qp)))
		due = ccs_now(now_ns) + look_ns(qp);
	if (due)
		ccs_pacer_thread_schedule(qp, due, ccs_now(now_ns));
	else if (qp->scheduled)
		ccs_pacer_thread_cancel(qp);
	qp->scheduled = due;
}

/* The device counts its entries in another way than we do: completions will free some. */
static bool is_queue_full(const struct qp *qp, int rc, uint64_t refused)
{
	return rc == ENOMEM && refused != UINT64_MAX && qp->flow.seg_tail != qp->flow.seg_head;
}

/*
 * The same for one that is just being posted: it waits if what fills the device's queue
 * are segments of ours, and it is fit. Else the device would have refused it without us.
 */
static bool can_defer(struct qp *qp, int rc, uint64_t refused)
{
	const struct ccs_flow *f = &qp->flow;

	return is_queue_full(qp, rc, refused) &&
	       f->seg_head - f->seg_tail > f->wr_next - f->wr_tail &&
	       !(ccs_flow_wr(f, refused)->flags & CCS_WR_NO_DEFER) && !ccs_wr_keep(qp, refused);
}

/* Without a thread, WRs of an application that sleeps would stay deferred: defer none any more. */
static void disable_enforcement(struct qp *qp, uint64_t *now_ns)
{
	uint64_t refused;
	int rc;

	ccs_notify_eagerly(qp->cq);
	if (!qp->flow.enforce)
		return;
	qp->flow.enforce = false;
	ccs_uncontrolled_qp(CCS_PASS_NO_THREAD, qp->real);
	rc = emit(qp, now_ns, &refused);
	if (rc && !is_queue_full(qp, rc, refused))
		fail_qp(qp, rc);
}

/* As ccs_flow_wait(). Where a completion may open the gate, look for one meanwhile. */
static uint64_t due_ns(struct qp *qp, uint64_t now_ns)
{
	const uint64_t due = ccs_flow_wait(&qp->flow, now_ns), look = now_ns + look_ns(qp);

	return due > look && !qp->flow.paced ? look : due;
}

/* WRs are deferred, or none is any more and the timer must be cancelled. */
static void schedule_deferred(struct qp *qp, uint64_t *now_ns)
{
	uint64_t due = due_ns(qp, ccs_now(now_ns));

	if (qp->flow.state == CCS_FLOW_SQD)
		due = 0; /* in SQD: emission continues when the application leaves that state */
	if (ccs_post_must_look(qp) && (!due || due > *now_ns + look_ns(qp)))
		due = *now_ns + look_ns(qp);
	if (due) {
		if (!ccs_pacer_thread_schedule(qp, due, *now_ns))
			disable_enforcement(qp, now_ns);
	} else if (qp->scheduled) {
		ccs_pacer_thread_cancel(qp);
	}
	qp->scheduled = due;
}

static inline __attribute__((always_inline)) void schedule(struct qp *qp, uint64_t *now_ns)
{
	if (qp->broken)
		await_flush(qp, now_ns);
	else if (!ccs_post_is_idle(qp))
		schedule_deferred(qp, now_ns);
}

static void emit_and_schedule(struct qp *qp, uint64_t *now_ns)
{
	uint64_t refused;
	const int rc = emit(qp, now_ns, &refused);

	if (is_queue_full(qp, rc, refused)) {
		qp->scheduled = true;
		ccs_now(now_ns);
		if (!ccs_pacer_thread_schedule(qp, *now_ns + look_ns(qp), *now_ns))
			disable_enforcement(qp, now_ns);
		return;
	}
	if (rc)
		fail_qp(qp, rc);
	schedule(qp, now_ns);
}

void ccs_post_pump(struct qp *qp, uint64_t *now_ns)
{
	int saved;

	ccs_qp_feedback_poll(qp, now_ns);
	ccs_publish_due(qp, *now_ns);
	if (ccs_post_is_idle(qp) && !qp->broken) {
		ccs_publish_idle(qp);
		return;
	}
	if (qp->dead || qp->state < IBV_QPS_RTS)
		return;
	saved = errno;
	if (qp->broken)
		await_flush(qp, now_ns);
	else
		emit_and_schedule(qp, now_ns);
	errno = saved; /* no call of the application was refused */
}

void ccs_post_flush(struct qp *qp, uint64_t *now_ns)
{
	ccs_qp_fail(qp);
	if (qp->broken)
		await_flush(qp, now_ns);
}

/* For how long, ns, segments that are in flight have been held back before; 0: none is. */
static uint64_t held_in_flight_ns(const struct qp *qp)
{
	return (int32_t)(qp->held_end - (uint32_t)qp->flow.seg_tail) > 0 ? 1000ull * qp->held_us : 0;
}

/* Emit what is deferred, ungated. Returns for how long that, or what is in flight, has been. */
static uint64_t emit_last(struct qp *qp)
{
	struct ccs_flow *f = &qp->flow;
	uint64_t now_ns = CCS_TIME_UNKNOWN, since_ns = f->gated_since_ns, refused;
	int rc;

	if (qp->dead || qp->broken || f->state != CCS_FLOW_RUN || !qp->policy->options.linger)
		return 0;
	if (!ccs_flow_waiting(f))
		return held_in_flight_ns(qp);
	f->state = CCS_FLOW_FLUSH;
	rc = emit(qp, &now_ns, &refused);
	f->state = CCS_FLOW_RUN;
	if (rc && !is_queue_full(qp, rc, refused))
		fail_qp(qp, rc);
	schedule(qp, &now_ns);
	return since_ns && since_ns < ccs_now(&now_ns) ? now_ns - since_ns : 0;
}

static bool has_sent_all(struct qp *qp)
{
	bool done;

	ccs_lock(&qp->cq->lock);
	ccs_cq_drain(qp->cq);
	ccs_unlock(&qp->cq->lock);
	ccs_lock(&qp->lock);
	done = qp->flow.seg_tail == qp->flow.seg_head || qp->flow.state == CCS_FLOW_FLUSH;
	ccs_qp_leave(qp);
	return done;
}

/*
 * Without us, requests that the gate holds back would have been on their way for that long. A
 * program that ends its QP may rely on that, as far as one can.
 */
void ccs_post_linger(struct qp *qp)
{
	const struct timespec nap = { .tv_nsec = LINGER_STEP_NS };
	const int saved = errno;
	uint64_t left, most;

	ccs_lock(&qp->lock);
	left = emit_last(qp);
	most = (uint64_t)(1e3 * qp->policy->options.linger);
	ccs_qp_leave(qp);
	left = left < most ? left : most;
	for (; left && !has_sent_all(qp); left -= left < LINGER_STEP_NS ? left : LINGER_STEP_NS)
		nanosleep(&nap, NULL);
	errno = saved;
}

static inline uint64_t list_length(const struct ibv_send_wr *wr, uint64_t most)
{
	uint64_t n = 0;

	for (; wr && n < most; wr = wr->next)
		n++;
	return n;
}

/* Completions that are not polled yet occupy entries: poll them before refusing a WR. */
static void reclaim(struct qp *qp, uint64_t n)
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

/* The flow has assigned a number to this WR. */
static void set_source(struct qp *qp, uint64_t number, const struct ibv_send_wr *wr)
{
	struct ccs_wr *w = ccs_flow_wr(&qp->flow, number);

	w->source = wr;
	w->id = wr->wr_id;
}

/*
 * Whether a WRITE or READ may be handed over in segments. What the device would refuse as a whole
 * must get there as a whole; and without memory to keep it, the rest of a WR that is partly
 * carried out could neither wait nor be refused.
 */
static bool may_split(struct qp *qp, const struct ibv_send_wr *wr, uint64_t len)
{
	return qp->flow.enforce && qp->flow.split && len <= qp->ctx->max_message &&
	       ccs_mr_covers(qp->ctx, wr) &&
	       (len <= qp->flow.segment || qp->copy || !ccs_qp_alloc_copies(qp));
}

/* Accept one WR; returns its CCS_WR_* flags. */
static inline uint32_t accept_one(struct qp *qp, const struct ibv_send_wr *wr)
{
	const uint64_t len = ccs_wr_len(qp, wr);
	uint32_t flags = ccs_wr_flags(qp, wr);

	if ((flags & CCS_WR_SPLIT) && len > NEVER_SPLIT && !may_split(qp, wr, len))
		flags &= ~(uint32_t)CCS_WR_SPLIT;
	set_source(qp, ccs_flow_accept(&qp->flow, len, flags), wr);
	return flags;
}

/* Accept WRs while there is space; returns the first one left. *flags has the flags of all. */
static struct ibv_send_wr *accept_list(struct qp *qp, struct ibv_send_wr *wr, uint32_t *flags)
{
	for (*flags = 0; wr && !ccs_flow_full(&qp->flow); wr = wr->next)
		*flags |= accept_one(qp, wr);
	return wr;
}

/* The n-th WR of a list. */
static struct ibv_send_wr *nth_wr(struct ibv_send_wr *wr, uint64_t n)
{
	while (n--)
		wr = wr->next;
	return wr;
}

/*
 * Copy the WRs that are deferred, as they must outlive the call. Returns the first that cannot
 * be, and why in *rc; or wr_head.
 */
static uint64_t copy_deferred(struct qp *qp, uint64_t first, int *rc)
{
	struct ccs_flow *f = &qp->flow;
	uint64_t n = first > f->wr_next ? first : f->wr_next;

	for (; n < f->wr_head; n++) {
		const int refusal = ccs_flow_wr(f, n)->flags & CCS_WR_NO_DEFER ? ENOMEM
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
 * Emit; if one of the WRs just posted must not be deferred, regardless of the gate: WRs queued
 * before it are emitted too, as far as the device has space. Also in SQD: the device accepts WQEs
 * then, and begins none. Before RTS some devices do the same (mlx4, libmlx5 before rdma-core 40),
 * and all others refuse.
 */
static int emit_posted(struct qp *qp, uint32_t flags, uint64_t *now_ns, uint64_t *refused)
{
	struct ccs_flow *f = &qp->flow;
	const enum ccs_flow_state state = f->state;
	int rc;

	if ((flags & CCS_WR_NO_DEFER) || qp->state < IBV_QPS_RTS)
		f->state = CCS_FLOW_FLUSH;
	/* rxe continues after SQD when it gets a WQE. What is in flight would open the gate. */
	f->skip_gate = qp->resumed;
	qp->resumed = false;
	rc = emit(qp, now_ns, refused);
	f->skip_gate = false;
	f->state = state;
	return rc;
}

/* The outcome of a call whose first WR has the number `first`. */
struct outcome {
	uint64_t first, refused;         /* refused: if device is not 0, by emit() */
	struct ibv_send_wr *left;        /* the first that there was no space for; or NULL */
	int device;                      /* its error code */
};

/* The device's error codes, or its usual ones where the WR did not get there. */
static int resolve_post_result(struct qp *qp, const struct outcome *o, struct ibv_send_wr *wr,
			       struct ibv_send_wr **bad)
{
	struct ccs_flow *f = &qp->flow;
	/* The device has the WRs despite its error. */
	const bool kept = o->device && o->refused == UINT64_MAX;
	struct ibv_send_wr *left = o->left;
	int rc = left ? ENOMEM : 0;
	uint64_t n;

	if (o->device && !kept && o->refused >= o->first && f->next_offset == 0 &&
	    !can_defer(qp, o->device, o->refused)) {
		left = nth_wr(wr, o->refused - o->first);
		rc = o->device;
		ccs_flow_unaccept(f, o->refused);
	} else if (o->device && !kept && !is_queue_full(qp, o->device, o->refused)) {
		fail_qp(qp, o->device);
	}
	n = copy_deferred(qp, o->first, &rc);
	if (n < f->wr_head) {
		left = nth_wr(wr, n - o->first);
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

/* Accept a WR and build the WQE of its first segment, the n-th. False: it has to wait. */
static __attribute__((noinline)) bool
build_timed(struct qp *qp, const struct ibv_send_wr *wr, struct ibv_send_wr *wqe, int n,
	    uint64_t *now_ns)
{
	const struct ccs_seg *seg;

	if (ccs_flow_wants_entries(&qp->flow, CCS_BATCH))
		ccs_qp_add_entries(qp);
	accept_one(qp, wr);
	if (next_segment(qp, now_ns, &seg) != CCS_NEXT_SEGMENT)
		return false;
	ccs_wr_build(qp, seg, ccs_token(qp, ccs_flow_newest(&qp->flow)), wqe, (uint32_t)n);
	return true;
}

/*
 * The usual WR is signalled, has one SGE, and is no READ. If it is short, it needs no CCS_WR_SPLIT.
 * Its flags, or 0: it is another one.
 */
static inline uint32_t flags_of_usual(const struct qp *qp, const struct ibv_send_wr *wr)
{
	const uint32_t flags = ccs_opcode_flags(wr->opcode);

	if ((flags & (CCS_WR_READ | CCS_WR_NO_DEFER)) || wr->num_sge != 1 ||
	    !(qp->sq_sig_all || (wr->send_flags & IBV_SEND_SIGNALED)))
		return 0;
	return (flags & CCS_WR_RECV) | CCS_WR_SIGNALED;
}

/*
 * Accept usual WRs that may leave at once, at most `most`, and build their WQEs. Returns the first
 * that is another one, or may have to wait.
 */
static inline __attribute__((always_inline)) struct ibv_send_wr *
fill_usual(struct qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **wqe, unsigned most)
{
	struct ccs_flow *f = &qp->flow;
	const unsigned limit = ccs_flow_run_limit(f);
	struct ibv_send_wr *out = *wqe, *const end = out + (most < limit ? most : limit);
	struct ccs_flow_run run;

	ccs_flow_begin_run(f, &run);
	for (; wr && out < end; wr = wr->next) {
		const uint32_t flags = flags_of_usual(qp, wr);
		uint32_t len;

		if (!flags)
			break;
		len = wr->sg_list->length;
		if (!ccs_flow_run_fits(f, &run, len))
			break;
		ccs_wr_build_whole(wr, true, ccs_token(qp, run.seg), out);
		ccs_flow_run_add(f, &run, len, flags, wr->wr_id, wr);
		out->next = out + 1;
		out++;
	}
	if (out == *wqe)
		return wr;
	ccs_flow_end_run(f, &run);
	*wqe = out;
	return wr;
}

/* The same for one WR. False: it is another one, or may have to wait. */
static inline __attribute__((always_inline)) bool
build_usual(struct qp *qp, const struct ibv_send_wr *wr, struct ibv_send_wr *wqe)
{
	const uint32_t flags = flags_of_usual(qp, wr);
	struct ccs_flow *f = &qp->flow;
	struct ccs_flow_run run;

	if (!flags || !ccs_flow_run_limit(f) || wr->sg_list->length > f->fastpath_bytes)
		return false;
	ccs_flow_begin_run(f, &run);
	ccs_wr_build_whole(wr, true, ccs_token(qp, run.seg), wqe);
	wqe->next = NULL;
	ccs_flow_run_add(f, &run, wr->sg_list->length, flags, wr->wr_id, wr);
	ccs_flow_end_run(f, &run);
	return true;
}

/*
 * The segments of WRs that need not wait, in a batch. Returns the first WR that is not accepted;
 * the last one that is may have to wait for the gate, or for its other segments.
 */
static inline struct ibv_send_wr *fill_at_once(struct qp *qp, struct ibv_send_wr *wr,
					       struct batch *b, uint64_t *now_ns)
{
	struct ccs_flow *f = &qp->flow;
	struct ibv_send_wr *wqe = b->wr;

	b->first = f->seg_head;
	for (; wqe < b->wr + CCS_BATCH && !ccs_flow_waiting(f); wr = wr->next) {
		uint32_t flags;
		const struct ccs_seg *seg;

		wr = fill_usual(qp, wr, &wqe, (unsigned)(b->wr + CCS_BATCH - wqe));
		if (!wr || wqe == b->wr + CCS_BATCH)
			break;
		flags = ccs_wr_flags(qp, wr);
		seg = ccs_flow_post_fast(f, ccs_wr_len(qp, wr), flags, wr->wr_id);
		if (seg) {
			ccs_flow_wr(f, seg->wr)->source = wr;
			ccs_wr_build_whole(wr, seg->signal, ccs_token(qp, ccs_flow_newest(f)), wqe);
		} else if ((flags & CCS_WR_NO_DEFER) || ccs_flow_full(f)) {
			break;
		} else if (!build_timed(qp, wr, wqe, (int)(wqe - b->wr), now_ns)) {
			wr = wr->next;
			break;
		}
		wqe->next = wqe + 1;
		wqe++;
	}
	b->n = (int)(wqe - b->wr);
	if (b->n)
		wqe[-1].next = NULL;
	return wr;
}

/* Post WRs as they are accepted, while none must wait. As emit(); o->left: as fill_at_once(). */
static inline int post_at_once(struct qp *qp, struct outcome *o, uint64_t *now_ns)
{
	struct batch b;

	if (qp->flow.state != CCS_FLOW_RUN || qp->state < IBV_QPS_RTS || qp->resumed)
		return 0;
	do {
		struct ibv_send_wr *bad = NULL;
		int rc;

		o->left = fill_at_once(qp, o->left, &b, now_ns);
		if (!b.n)
			return 0;
		ccs_notify_before_post(qp);
		rc = post_to_device(qp, b.wr, &bad);
		if (__builtin_expect(rc, 0)) {
			o->refused = return_refused(qp, b.first, b.wr, bad);
			return rc;
		}
	} while (o->left && b.n == CCS_BATCH);
	return 0;
}

static int post_list(struct qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad,
		     uint64_t *now_ns)
{
	struct outcome o = { .first = qp->flow.wr_head, .left = wr };
	uint32_t flags;

	o.device = post_at_once(qp, &o, now_ns);
	if (!o.device && !o.left && !ccs_flow_waiting(&qp->flow))
		return 0;
	o.left = accept_list(qp, o.left, &flags);
	if (!o.device)
		o.device = emit_posted(qp, flags, now_ns, &o.refused);
	/* Without memory for what would have to wait, the gate does not count. */
	if (!o.device && ccs_flow_waiting(&qp->flow) && ccs_qp_alloc_copies(qp))
		o.device = emit_posted(qp, CCS_WR_NO_DEFER, now_ns, &o.refused);
	return resolve_post_result(qp, &o, wr, bad);
}

/*
 * Of a failed QP: the WRs that the device has will complete first, and then ours. As long as there
 * are none of ours, further WRs go to the device.
 */
static bool is_ours_to_flush(const struct qp *qp)
{
	return qp->broken && (ccs_flow_waiting(&qp->flow) || qp->marker_posted);
}

/* All valid WRs are accepted, and completed by us as flushed. */
static int post_broken(struct qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	int rc = 0;

	for (; wr && !rc; wr = rc ? wr : wr->next) {
		rc = ccs_wr_check(qp, wr);
		if (!rc && ccs_flow_full(&qp->flow))
			rc = ENOMEM;
		if (!rc)
			accept_one(qp, wr);
	}
	if (rc)
		*bad = wr;
	return rc;
}

/* With thousands of QPs none of this is cached: fetch all lines at once, not one by one. */
static inline void prefetch(const struct qp *qp)
{
#pragma GCC unroll 16
	for (unsigned at = 0; at < offsetof(struct qp, flow.cc.param); at += 64)
		__builtin_prefetch((const char *)qp + at, 1);
}

/* Take the locks for posting. */
static void lock_for_post(struct qp *qp)
{
	if (qp->wr_batch)
		ccs_wr_batch_lock(qp);
	ccs_lock(&qp->lock);
}

static void unlock_after_post(struct qp *qp)
{
	ccs_wr_batch_update_space(qp);
	ccs_qp_leave(qp);
	if (qp->wr_batch)
		ccs_wr_batch_unlock(qp);
}

static int post_wrs(struct qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	uint64_t now_ns = CCS_TIME_UNKNOWN;
	int rc;

	ccs_qp_feedback_poll(qp, &now_ns);
	if (wr && (wr->next || ccs_flow_full(&qp->flow)))
		reclaim(qp, list_length(wr, qp->flow.wr_limit));
	rc = is_ours_to_flush(qp) ? post_broken(qp, wr, bad) : post_list(qp, wr, bad, &now_ns);
	CCS_PROBE3(post, qp->qp_num, qp->flow.wr_head, qp->flow.wr_next);
	schedule(qp, &now_ns);
	ccs_publish_due(qp, now_ns);
	if (qp->stats)
		__builtin_prefetch(&qp->stats->live, 1);
	return rc;
}

static __attribute__((noinline)) int post_any(struct qp *qp, struct ibv_send_wr *wr,
					      struct ibv_send_wr **bad)
{
	const bool syscalls = qp->syscalls;
	const int saved = errno;
	int rc;

	if (ccs_forked())
		return qp->ctx->real.post_send(qp->real, wr, bad);
	lock_for_post(qp);
	rc = post_wrs(qp, wr, bad);
	unlock_after_post(qp);
	if (__builtin_expect(syscalls, 0))
		pthread_testcancel(); /* no lock is held here */
	return ccs_done(saved, rc);
}

/* The device has answered with rc to the WQE of the usual WR. */
static __attribute__((noinline)) int end_usual(struct qp *qp, struct ibv_send_wr *wr, int rc,
					       const struct ibv_send_wr *wqe,
					       const struct ibv_send_wr *bad_wqe,
					       struct ibv_send_wr **bad)
{
	struct outcome o = { .first = qp->flow.wr_head - 1, .device = rc };
	uint64_t now_ns = CCS_TIME_UNKNOWN;

	if (rc) {
		o.refused = return_refused(qp, ccs_flow_newest(&qp->flow), wqe, bad_wqe);
		rc = resolve_post_result(qp, &o, wr, bad);
	}
	schedule(qp, &now_ns);
	ccs_qp_leave(qp);
	return rc;
}

/*
 * Most calls post one WR to an open gate, which takes few instructions here. New feedback is
 * processed with the next completion, or the next WR that is timed.
 */
int ccs_post(struct qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct ibv_send_wr wqe, *bad_wqe = NULL;
	const int saved = errno;
	int rc;

	prefetch(qp);
	if (qp->syscalls || qp->wr_batch || !wr || wr->next || ccs_forked())
		return post_any(qp, wr, bad);
	ccs_lock(&qp->lock);
	if (qp->state < IBV_QPS_RTS || qp->resumed || !build_usual(qp, wr, &wqe)) {
		ccs_unlock(&qp->lock);
		return post_any(qp, wr, bad);
	}
	ccs_notify_before_post(qp);
	ccs_qp_wake_shadow(qp);
	rc = qp->ctx->real.post_send(qp->real, &wqe, &bad_wqe);
	CCS_PROBE3(post, qp->qp_num, qp->flow.wr_head, qp->flow.wr_next);
	if (__builtin_expect(rc || !ccs_post_is_idle(qp), 0))
		return ccs_done(saved, end_usual(qp, wr, rc, &wqe, bad_wqe, bad));
	ccs_unlock(&qp->lock);
	return 0;
}

void ccs_post_reclaim(struct qp *qp, uint32_t n)
{
	if (ccs_forked())
		return;
	ccs_lock(&qp->lock);
	reclaim(qp, n);
	ccs_wr_batch_update_space(qp);
	ccs_qp_leave(qp);
}

/* In a child: pass the staged WRs to the device unchanged. */
static int post_staged_uncontrolled(struct qp *qp, uint32_t n)
{
	struct ibv_send_wr *bad;

	for (uint32_t i = 0; i + 1 < n; i++)
		ccs_wr_copy(qp, qp->flow.wr_head + i)->next =
			ccs_wr_copy(qp, qp->flow.wr_head + i + 1);
	return n ? qp->ctx->real.post_send(qp->real, ccs_wr_copy(qp, qp->flow.wr_head), &bad) : 0;
}

/*
 * All or none: if the device refuses the first one that it gets, none is posted. One in the middle
 * was accepted with those before it: it is deferred, or the QP is failed.
 */
static int post_staged(struct qp *qp, uint32_t n, uint64_t *now_ns)
{
	struct ccs_flow *f = &qp->flow;
	const uint64_t first = f->wr_head;
	uint32_t flags = 0;
	uint64_t refused;
	int rc;

	for (uint32_t i = 0; i < n; i++)
		flags |= accept_one(qp, ccs_wr_copy(qp, f->wr_head));
	rc = is_ours_to_flush(qp) ? 0 : emit_posted(qp, flags, now_ns, &refused);
	if (rc && refused == first && f->next_offset == 0 && !can_defer(qp, rc, refused)) {
		ccs_flow_unaccept(f, first);
		return rc;
	}
	f->stats.deferred += f->wr_head - (first > f->wr_next ? first : f->wr_next);
	if (rc && refused == UINT64_MAX)
		return rc; /* the device has them nevertheless */
	if (rc && !is_queue_full(qp, rc, refused))
		fail_qp(qp, rc);
	return 0;
}

int ccs_post_staged(struct qp *qp, uint32_t n)
{
	const int saved = errno;
	int rc = EINVAL; /* before RTS, of mlx5, hns, ionic and the kernel alike */
	uint64_t now_ns = CCS_TIME_UNKNOWN;

	if (ccs_forked())
		return post_staged_uncontrolled(qp, n);
	ccs_lock(&qp->lock);
	if (qp->state >= IBV_QPS_RTS) {
		ccs_qp_feedback_poll(qp, &now_ns);
		rc = post_staged(qp, n, &now_ns);
		CCS_PROBE3(post, qp->qp_num, qp->flow.wr_head, qp->flow.wr_next);
		schedule(qp, &now_ns);
		ccs_publish_due(qp, now_ns);
	}
	ccs_wr_batch_update_space(qp);
	ccs_qp_leave(qp);
	return ccs_done(saved, rc);
}

/* Accept a bind; returns its number. */
static uint64_t accept_bind(struct qp *qp, const struct ibv_mw_bind *bind)
{
	const bool visible = qp->sq_sig_all || (bind->send_flags & IBV_SEND_SIGNALED);
	const uint64_t wr = ccs_flow_accept(&qp->flow, 0, visible ? CCS_WR_SIGNALED : 0);

	ccs_flow_wr(&qp->flow, wr)->id = bind->wr_id;
	return wr;
}

/* The queue is empty: pass the bind to the device. */
static int emit_bind(struct qp *qp, struct ibv_mw *mw, const struct ibv_mw_bind *bind,
		     uint64_t *now_ns)
{
	const uint64_t wr = accept_bind(qp, bind);
	struct ibv_mw_bind copy = *bind;
	const struct ccs_seg *seg;
	uint64_t number;
	int rc;

	if (ccs_flow_wants_entries(&qp->flow, 1))
		ccs_qp_add_entries(qp);
	if (next_segment(qp, now_ns, &seg) != CCS_NEXT_SEGMENT) {
		ccs_flow_unaccept(&qp->flow, wr);
		return ENOMEM;
	}
	number = ccs_flow_newest(&qp->flow);
	copy.wr_id = ccs_token(qp, number);
	copy.send_flags |= IBV_SEND_SIGNALED;
	ccs_notify_before_post(qp);
	rc = bind_on_device(qp, mw, &copy);
	if (rc) {
		ccs_flow_unsend(&qp->flow, number);
		ccs_flow_unaccept(&qp->flow, wr);
	}
	return rc;
}

/*
 * ibv_bind_mw changes mw->rkey before it returns, so it cannot be deferred: all WRs queued before
 * it are emitted first, regardless of the gate. Also in the SQD state, where the device holds
 * them back.
 */
static int post_bind(struct qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	const enum ccs_flow_state state = qp->flow.state;
	uint64_t now_ns = CCS_TIME_UNKNOWN, refused;
	int rc = ENOMEM, device = 0;

	qp->flow.state = CCS_FLOW_FLUSH;
	if (!is_ours_to_flush(qp))
		device = emit(qp, &now_ns, &refused);
	if (!device && !is_ours_to_flush(qp) && !ccs_flow_waiting(&qp->flow) &&
	    !ccs_flow_full(&qp->flow))
		rc = emit_bind(qp, mw, bind, &now_ns);
	qp->flow.state = state;
	if (device && !is_queue_full(qp, device, refused))
		fail_qp(qp, device);
	if (is_ours_to_flush(qp) && !ccs_flow_full(&qp->flow)) {
		accept_bind(qp, bind); /* completed by us as flushed */
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
	prefetch(qp);
	lock_for_post(qp);
	reclaim(qp, 1);
	rc = post_bind(qp, mw, bind);
	unlock_after_post(qp);
	return ccs_done(saved, rc);
}
