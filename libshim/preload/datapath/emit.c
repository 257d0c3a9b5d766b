/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Emission: hand the segments that the gate allows to the device, and schedule the rest. This file
 * is part of a call circle: see drain.c.
 */
#include "preload/datapath/emit.h"

#include <math.h>

#include "cc/minmax.h"
#include "observe/log.h"
#include "preload/control/qp_feedback.h"
#include "preload/cq/cq.h"
#include "preload/datapath/impair.h"
#include "preload/datapath/pacer_thread.h"
#include "preload/datapath/wr.h"
#include "preload/object/real.h"
#include "preload/object/shim.h"
#include "preload/report/recorder.h"
#include "preload/report/report.h"

/* WQEs per doorbell: fewer than of a post, because a poll on a small stack also emits. */
enum { EMIT_BATCH = CCS_BATCH / 2 };
enum { POLL_MIN_NS = 8192, POLL_IDLE_NS = 1000000, POLL_MAX_NS = 10000000, POLLS_AT_ONCE = 16,
       POLL_SEGMENTS = 2, FLUSH_NS = 100000000, UNSIGNALLED_NS = 1000000000 };

unsigned ccs_emit_build(struct qp *qp, struct ibv_send_wr *wqe, unsigned at, unsigned most,
			uint64_t *now_ns)
{
	const uint64_t first = qp->flow.seg_head;
	unsigned n;

	if (__builtin_expect(ccs_flow_wants_entries(&qp->flow, CCS_BATCH), 0))
		ccs_qp_add_entries(qp);
	n = ccs_flow_hand_over(&qp->flow, most, now_ns, ccs_now_ns);
	for (unsigned i = 0; i < n; i++) {
		ccs_wr_build(qp, first + i, &wqe[i], at + i);
		wqe[i].next = &wqe[i + 1];
	}
	return n;
}

/* Where a doorbell is a system call, a thread could be cancelled in it, with our locks held. */
__attribute__((noinline)) int ccs_emit_uncancelled(const struct qp *qp, struct ibv_send_wr *wr,
						   struct ibv_send_wr **bad)
{
	int state, rc;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	rc = qp->ctx->real.post_send(qp->real, wr, bad);
	pthread_setcancelstate(state, NULL);
	return rc;
}

/*
 * The device refused WQE `bad` of a doorbell that begins with segment `first`: return it and the
 * WQEs after it to the queue. Returns the number of its WR. Without a bad_wr (rxe, when the
 * doorbell fails) the device has kept the WQEs, so they count as in flight, and no WR is refused.
 */
uint64_t ccs_emit_return(struct qp *qp, uint64_t first, const struct ibv_send_wr *wqes,
			 const struct ibv_send_wr *bad)
{
	if (!bad)
		return UINT64_MAX;
	ccs_flow_unsend(&qp->flow, first + (uint64_t)(bad - wqes));
	ccs_notify_refused(qp);
	return qp->flow.wr_next;
}

/* The newest segments were held back: ccs_linger() waits for them as well. */
static void note_held(struct qp *qp, uint64_t now_ns)
{
	const uint64_t since_ns = qp->flow.gated_since_ns;
	const uint64_t us = now_ns > since_ns ? (now_ns - since_ns) / 1000 : 0;

	qp->held.end = (uint32_t)qp->flow.seg_head;
	qp->held.us = us < UINT16_MAX ? (uint16_t)us : UINT16_MAX;
}

int ccs_emit(struct qp *qp, uint64_t *now_ns, uint64_t *refused)
{
	const unsigned most = qp->impaired ? 1 : EMIT_BATCH;
	struct ibv_send_wr wqe[EMIT_BATCH];
	unsigned n;
	int rc;

	do {
		const uint64_t first = qp->flow.seg_head;

		if (!ccs_flow_waiting(&qp->flow) || (qp->impaired && ccs_impair_holds(qp, now_ns)))
			return 0;
		n = ccs_emit_build(qp, wqe, 0, most, now_ns);
		if (!n)
			return 0;
		if (qp->flow.gated_since_ns)
			note_held(qp, ccs_now(now_ns));
		wqe[n - 1].next = NULL;
		rc = ccs_emit_doorbell(qp, first, wqe, refused);
	} while (!rc && n == most);
	return rc;
}

/* Not inlined: its frame would be on the stack of the verdict. */
static __attribute__((noinline)) void set_error_state(struct qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	const struct ccs_saved saved = ccs_save();

	ccs_real()->ibv_modify_qp(qp->real, &attr, IBV_QP_STATE);
	ccs_done(saved, 0);
}

/*
 * The device refused a WR that had been accepted, which cannot be reported as a refusal any more.
 * Validation makes this unlikely; if it happens, the QP is failed as the device would have done,
 * and the shim completes the WRs that the device did not accept.
 */
void ccs_emit_fail(struct qp *qp, int rc)
{
	static const struct ibv_wc refused = { .status = IBV_WC_LOC_QP_OP_ERR };

	if (qp->dead)
		return; /* the application is resetting or destroying it */
	ccs_log_once(CCS_LOG_WARN, "QP %u: the device refused a deferred WR (error %d); the QP is "
		     "set to the error state",
		     qp->qp_num, rc);
	ccs_recorder_failed(qp, &refused, 0);
	ccs_flow_fail(&qp->flow);
	qp->broken = true;
	set_error_state(qp);
}

/*
 * Without timestamps an RTT is too long by up to the time between two polls. On a long path even a
 * quarter of the base RTT is more than the queue that algorithms aim at, which is a few segments.
 */
static double idle_poll_ns(const struct qp *qp)
{
	const struct ccs_cc *cc = &qp->flow.cc;
	const bool timestamps = qp->ctx->has_timestamps && ccs_shim()->options.hw_timestamps;
	const double segments_ns = POLL_SEGMENTS * 8e9 * cc->path.segment / cc->path.line_rate;

	return (cc->ops->needs & CCS_NEEDS_RTT) && !timestamps ? ccs_min(segments_ns, POLL_IDLE_NS)
							       : POLL_IDLE_NS;
}

/*
 * When to poll for completions if the application does not: soon enough that RTTs are precise, but
 * later if many QPs wait, because one poll serves all of a CQ. QPs with like intervals are due at
 * the same times, multiples of a power of two, so that the thread wakes up once for all of them.
 */
static uint64_t poll_ns(const struct qp *qp, uint64_t now_ns)
{
	const unsigned waiting = ccs_pacer_thread_waiting();
	double ns = ccs_max(ccs_flow_poll_ns(&qp->flow, idle_poll_ns(qp), now_ns), POLL_MIN_NS);
	uint64_t after_ns;

	if (waiting > POLLS_AT_ONCE)
		ns *= (double)waiting / POLLS_AT_ONCE;
	after_ns = (uint64_t)ccs_min(ns, POLL_MAX_NS);
	return (now_ns + after_ns) & -(1ull << (63 - __builtin_clzll(after_ns)));
}

/*
 * Only this QP has segments in flight, all unsignalled, which complete only if they fail. The
 * interval grows with their age, so that a failure is noticed after 1.5 times its time. After
 * UNSIGNALLED_NS the next poll arms the shadow CQ.
 */
static uint64_t unsignalled_poll_ns(struct qp *qp, uint64_t now_ns)
{
	const uint32_t end = (uint32_t)qp->flow.seg_head;
	uint64_t ns;

	if (qp->unsignalled.end != end) {
		qp->unsignalled.end = end;
		qp->unsignalled.since_ns = now_ns;
	}
	ns = now_ns > qp->unsignalled.since_ns ? now_ns - qp->unsignalled.since_ns : 0;
	qp->events.unsignalled_long = ns > UNSIGNALLED_NS;
	qp->events.polls_soon = ns / 2 <= POLL_IDLE_NS;
	if (qp->events.unsignalled_long)
		return poll_ns(qp, now_ns);
	return now_ns + (qp->events.polls_soon ? POLL_IDLE_NS : ns / 2);
}

static uint64_t next_poll_ns(struct qp *qp, uint64_t now_ns)
{
	const bool alone = qp->events.all_unsignalled && ccs_notify_is_all_unsignalled(qp->cq);

	return alone ? unsignalled_poll_ns(qp, now_ns) : poll_ns(qp, now_ns);
}

/*
 * Post the last WQE of a failed QP, before WRs that the shim has to flush. If the device flushes it,
 * its completion shows that unsignalled WQEs before it have succeeded, has the vendor's code of a
 * flush, and wakes an application that sleeps. Otherwise the wait ends at the deadline, as it does
 * with an SRQ: a WQE that Soft-RoCE flushes raises IBV_EVENT_QP_LAST_WQE_REACHED again.
 */
static void post_marker(struct qp *qp)
{
	struct ibv_send_wr wr = { .wr_id = ccs_token(qp, qp->flow.seg_head),
				  .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;

	if (!qp->failure.marker_posted)
		qp->failure.marker_posted = !ccs_emit_to_device(qp, &wr, &bad);
}

/* Polls complete the WRs of a failed QP, see ccs_complete_broken(). */
void ccs_emit_await_flush(struct qp *qp, uint64_t *now_ns)
{
	const struct ccs_flow *f = &qp->flow;
	const uint64_t inflight = f->seg_head - f->seg_tail;
	const bool wait = inflight || !qp->failure.flush_seen;
	uint64_t due = 0, poll;

	if (wait && ccs_flow_waiting(f) && f->unsignalled >= inflight && !qp->real->srq &&
	    !qp->ctx->provider->ignores_in_error)
		post_marker(qp);
	if (wait && !qp->failure.deadline_ns)
		qp->failure.deadline_ns = ccs_now(now_ns) + FLUSH_NS;
	if (wait)
		due = qp->failure.deadline_ns;
	ccs_broken_add(qp);
	if (qp->events.enabled)
		ccs_notify_count(qp);
	poll = poll_ns(qp, ccs_now(now_ns));
	if (ccs_emit_must_poll(qp) && (!due || due > poll))
		due = poll;
	ccs_pacer_thread_schedule(qp, due, due ? ccs_now(now_ns) : 0);
}

/* Without a thread, WRs of an application that sleeps would stay deferred: do not defer any
 * more. */
static void disable_enforcement(struct qp *qp, uint64_t *now_ns)
{
	uint64_t refused;
	int rc;

	ccs_notify_always_arm(qp->cq);
	if (!qp->flow.user.enforce)
		return;
	qp->flow.user.enforce = false;
	ccs_uncontrolled_qp(CCS_UNCONTROLLED_NO_THREAD, qp->real);
	rc = ccs_emit(qp, now_ns, &refused);
	if (rc && !ccs_emit_is_full(qp, rc, refused))
		ccs_emit_fail(qp, rc);
}

/* As ccs_flow_wait(). Where a completion may open the gate, poll for it as well. */
static uint64_t due_ns(struct qp *qp, uint64_t now_ns)
{
	const uint64_t due = ccs_flow_wait(&qp->flow, now_ns), next_poll = poll_ns(qp, now_ns);

	if (qp->impaired)
		return ccs_impair_due(qp, now_ns, due, next_poll);
	return due > next_poll && !qp->flow.paced ? next_poll : due;
}

/* WRs are deferred; or no longer, and the timer must be cancelled. */
void ccs_emit_schedule_deferred(struct qp *qp, uint64_t *now_ns)
{
	uint64_t due;

	if (qp->impaired && ccs_impair_fail(qp, ccs_now(now_ns))) {
		ccs_emit_await_flush(qp, now_ns);
		return;
	}
	due = due_ns(qp, ccs_now(now_ns));
	if (qp->flow.state == CCS_FLOW_SQD)
		due = 0; /* in SQD: emission continues when the application leaves that state */
	if (ccs_emit_must_poll(qp)) {
		const uint64_t next_poll = next_poll_ns(qp, *now_ns);

		due = !due || due > next_poll ? next_poll : due;
	}
	if (!ccs_pacer_thread_schedule(qp, due, *now_ns))
		disable_enforcement(qp, now_ns);
}

static void emit_and_schedule(struct qp *qp, uint64_t *now_ns)
{
	uint64_t refused;
	const int rc = ccs_emit(qp, now_ns, &refused);

	if (ccs_emit_is_full(qp, rc, refused)) {
		ccs_now(now_ns);
		if (!ccs_pacer_thread_schedule(qp, poll_ns(qp, *now_ns), *now_ns))
			disable_enforcement(qp, now_ns);
		return;
	}
	if (rc)
		ccs_emit_fail(qp, rc);
	ccs_emit_schedule(qp, now_ns);
}

/* librxe rings the doorbell also if it refuses the WR, as an atomic of no length. */
static void ring_doorbell(const struct qp *qp)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD }, *bad;
	const int saved = errno;

	if (qp->syscalls)
		ccs_emit_uncancelled(qp, &wr, &bad);
	errno = saved;
}

/*
 * Emit; if one of the WRs just posted must not be deferred, regardless of the gate: WRs queued
 * before it are also emitted while the device has space. The same holds in SQD: the device accepts
 * WQEs then, but does not begin them. Before RTS some devices do the same (mlx4, libmlx5 before
 * rdma-core 40), and all others refuse.
 */
int ccs_emit_posted(struct qp *qp, uint32_t flags, uint64_t *now_ns, uint64_t *refused)
{
	struct ccs_flow *f = &qp->flow;
	const enum ccs_flow_state state = f->state;
	const bool sqd = state == CCS_FLOW_SQD && qp->syscalls;
	const uint64_t head = f->seg_head;
	int rc;

	if ((flags & CCS_WR_NO_DEFER) || qp->state < IBV_QPS_RTS)
		ccs_flow_set_state(f, CCS_FLOW_FLUSH);
	else if (sqd)
		ccs_flow_set_state(f, CCS_FLOW_RUN);
	/* rxe begins, or continues after SQD, when it gets a WQE, and in SQD its queue may count as
	 * drained only then. Completions of segments in flight would open the gate. */
	f->skip_gate = qp->resumed || sqd;
	qp->resumed = false;
	rc = ccs_emit(qp, now_ns, refused);
	if (f->skip_gate && f->seg_head == head)
		ring_doorbell(qp); /* the queue is full: librxe would have refused the WRs */
	f->skip_gate = false;
	ccs_flow_set_state(f, state);
	return rc;
}

void ccs_emit_in_sqd(struct qp *qp, uint64_t *now_ns)
{
	uint64_t refused;
	int rc;

	if (!qp->syscalls || !ccs_flow_waiting(&qp->flow))
		return;
	rc = ccs_emit_posted(qp, 0, now_ns, &refused);
	if (rc && !ccs_emit_is_full(qp, rc, refused))
		ccs_emit_fail(qp, rc);
}

void ccs_emit_pump(struct qp *qp, uint64_t *now_ns)
{
	int saved;

	ccs_qp_feedback_poll(qp, now_ns);
	ccs_publish_due(qp, *now_ns);
	if (ccs_emit_is_idle(qp) && !qp->broken) {
		ccs_publish_idle(qp);
		return;
	}
	if (qp->dead || qp->state < IBV_QPS_RTS)
		return;
	saved = errno;
	if (qp->broken)
		ccs_emit_await_flush(qp, now_ns);
	else
		emit_and_schedule(qp, now_ns);
	errno = saved; /* no call of the application was refused */
}
