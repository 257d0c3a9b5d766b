/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_EMIT_H
#define CCS_EMIT_H
/* Emission of segments, for posting and polling. qp->lock is held. */
#include <errno.h>

#include "preload/cq/notify.h"
#include "preload/datapath/qp.h"
#include "preload/object/clock.h"
#include "preload/report/publish.h"

/* For completions, because the application sleeps and the device may not wake it. */
static inline bool ccs_emit_must_poll(const struct qp *qp)
{
	return qp->events.busy && ccs_notify_waits(qp->cq);
}

/* No WR is deferred now or was deferred at the last pump. */
static inline bool ccs_emit_is_idle(const struct qp *qp)
{
	return !ccs_flow_waiting(&qp->flow) && !qp->scheduled && !qp->flow.gated_since_ns &&
	       !ccs_emit_must_poll(qp);
}

/* All WQEs in flight are unsignalled, and the pacer thread polls for them already. */
static inline bool ccs_emit_is_watched(const struct qp *qp)
{
	return qp->events.all_unsignalled && qp->events.polls_soon && qp->scheduled &&
	       !ccs_flow_waiting(&qp->flow) && !qp->flow.gated_since_ns &&
	       ccs_emit_must_poll(qp) && ccs_notify_is_all_unsignalled(qp->cq);
}

/* Hand over the segments that may leave, at most `most`, and build their WQEs, each linked to the
 * place after it. The first is the `at`-th of its doorbell. Returns their number. */
unsigned ccs_emit_build(struct qp *qp, struct ibv_send_wr *wqe, unsigned at, unsigned most,
			uint64_t *now_ns);
/* Emit until the gate closes. Returns the device's error code, and in *refused the WR. */
int ccs_emit(struct qp *qp, uint64_t *now_ns, uint64_t *refused);
/* The same for WRs that were just posted, of these flags: regardless of the gate if need be. */
int ccs_emit_posted(struct qp *qp, uint32_t flags, uint64_t *now_ns, uint64_t *refused);
/* The device has entered SQD. Where it must have a WQE that waits, it gets one. */
void ccs_emit_in_sqd(struct qp *qp, uint64_t *now_ns);
/* Where a doorbell is a system call. */
int ccs_emit_uncancelled(const struct qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
/* The device has refused a WQE of a doorbell. Returns the number of its WR. */
uint64_t ccs_emit_return(struct qp *qp, uint64_t first, const struct ibv_send_wr *wqes,
			 const struct ibv_send_wr *bad);
/* The device has refused a WR that had been accepted. */
void ccs_emit_fail(struct qp *qp, int rc);
/* Private to ccs_emit_schedule(). */
void ccs_emit_await_flush(struct qp *qp, uint64_t *now_ns);
void ccs_emit_schedule_deferred(struct qp *qp, uint64_t *now_ns);
/* Emit what the gate allows, and schedule the rest; the time may be unknown. */
void ccs_emit_pump(struct qp *qp, uint64_t *now_ns);
/*
 * Release the lock after completions. timed: the time is known, or is wanted; otherwise most QPs need
 * no pump. A QP with WRs that wait is scheduled, except in SQD.
 */
static inline __attribute__((always_inline)) void ccs_emit_leave(struct qp *qp, bool timed)
{
	if (__builtin_expect(timed || qp->has_feedback || qp->broken || qp->scheduled, 0)) {
		ccs_emit_pump(qp, &qp->cq->polled_ns);
		ccs_qp_leave(qp);
		return;
	}
	ccs_publish_idle(qp);
	if (__builtin_expect(qp->counted && !ccs_qp_is_busy(qp), 0))
		ccs_shadow_count(qp, false);
	ccs_unlock(&qp->lock);
}

static inline int ccs_emit_to_device(struct qp *qp, struct ibv_send_wr *wr,
				     struct ibv_send_wr **bad)
{
	ccs_qp_wake_shadow(qp);
	if (__builtin_expect(qp->syscalls, 0))
		return ccs_emit_uncancelled(qp, wr, bad);
	return qp->ctx->real.post_send(qp->real, wr, bad);
}

/* Post WQEs, of segments from that number on. Returns as ccs_emit(). */
static inline int ccs_emit_doorbell(struct qp *qp, uint64_t first, struct ibv_send_wr *wqes,
				    uint64_t *refused)
{
	struct ibv_send_wr *bad = NULL;
	int rc;

	ccs_notify_before_post(qp);
	rc = ccs_emit_to_device(qp, wqes, &bad);
	if (__builtin_expect(rc, 0))
		*refused = ccs_emit_return(qp, first, wqes, bad);
	return rc;
}

/* The device counts its entries in another way than we do: completions will free some. */
static inline bool ccs_emit_is_full(const struct qp *qp, int rc, uint64_t refused)
{
	return rc == ENOMEM && refused != UINT64_MAX && qp->flow.seg_tail != qp->flow.seg_head;
}

static inline __attribute__((always_inline)) void ccs_emit_schedule(struct qp *qp, uint64_t *now_ns)
{
	if (qp->broken)
		ccs_emit_await_flush(qp, now_ns);
	else if (!ccs_emit_is_idle(qp))
		ccs_emit_schedule_deferred(qp, now_ns);
}

/*
 * Whether the shim flushes new WRs of a failed QP. The device's WRs complete first, then the WRs
 * that wait here. Until a WR waits here, new WRs go to the device.
 */
static inline bool ccs_emit_is_ours_to_flush(const struct qp *qp)
{
	return qp->broken && (ccs_flow_waiting(&qp->flow) || qp->failure.marker_posted);
}

#endif
