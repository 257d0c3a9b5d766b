/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_POLL_RUN_H
#define CCS_POLL_RUN_H
/*
 * Fast polls: they need no event or extended field, and one shadow CQ has WQEs in flight. cq->lock
 * is held.
 */
#include "base/probe.h"
#include "flow/run.h"
#include "preload/cq/cq.h"
#include "preload/cq/shadow_cq.h"
#include "preload/datapath/emit.h"
#include "preload/datapath/qp.h"
#include "preload/object/registry.h"
#include "preload/report/publish.h"

/* The only active shadow CQ, or any if all are inactive. NULL: several are active. */
struct shadow *ccs_poll_only_active(struct shadow *s);
/* Deliver the first of n completions that are successes of whole WRs: returns how many. */
int ccs_poll_deliver(struct cq *cq, struct ibv_wc *wc, int n);
/* Whether a shadow CQ other than s is active. */
bool ccs_poll_is_another_active(struct cq *cq, const struct shadow *s);
/* Poll up to n completions of the application's QPs, fast or not. */
int ccs_poll_first(struct cq *cq, int n, struct ibv_wc *wc);
/* Finish a fast poll whose first batch was polled after before_ns with the result `got`. */
int ccs_poll_batches(struct cq *cq, struct shadow *s, int n, struct ibv_wc *wc, int got,
		     uint64_t before_ns);

/* The shadow CQ of a fast poll, or NULL. */
static inline struct shadow *ccs_poll_fast_shadow(struct cq *cq)
{
	struct shadow *s = atomic_load_explicit(&cq->shadows, memory_order_acquire);

	if (!atomic_load_explicit(&cq->fast, memory_order_relaxed) ||
	    atomic_load_explicit(&cq->broken, memory_order_relaxed) || ccs_cq_ready_count(cq))
		return NULL;
	return s && __builtin_expect(s->next != NULL, 0) ? ccs_poll_only_active(s) : s;
}

/* As ccs_emit_pump_and_unlock(). While the time is unknown, most QPs need no pump. */
static inline __attribute__((always_inline)) void ccs_poll_leave_qp(struct qp *qp, bool timed)
{
	if (__builtin_expect(timed || qp->has_feedback || qp->broken || qp->scheduled ||
			     ccs_flow_waiting(&qp->flow), 0)) {
		ccs_emit_pump_and_unlock(qp);
		return;
	}
	ccs_publish_idle(qp);
	if (__builtin_expect(qp->counted && !ccs_qp_is_busy(qp), 0))
		ccs_shadow_count(qp, false);
	ccs_unlock(&qp->lock);
}

/* Deliver a completion that was polled alone. Returns whether it is a whole WR's success. */
static inline __attribute__((always_inline)) bool
ccs_poll_deliver_one(struct cq *cq, struct ibv_wc *wc)
{
	const uint64_t token = wc->wr_id;
	struct qp *qp = ccs_registry_lock(cq, (uint32_t)(token >> 32));
	const struct ccs_seg *seg;

	if (__builtin_expect(!qp, 0))
		return false;
	seg = wc->status ? NULL : ccs_flow_complete_whole(&qp->flow, (uint32_t)token);
	if (__builtin_expect(seg != NULL, 1)) {
		wc->wr_id = seg->id;
		ccs_flow_free_all_polled(&qp->flow);
		CCS_PROBE4(complete, qp->qp_num, seg->id, seg->len, (uint32_t)IBV_WC_SUCCESS);
	}
	ccs_poll_leave_qp(qp, false);
	return seg;
}

#endif
