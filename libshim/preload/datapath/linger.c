/* SPDX-License-Identifier: BSD-2-Clause */
/* What is held back when the application ends a QP leaves before that. */
#include "preload/datapath/linger.h"

#include <errno.h>
#include <time.h>

#include "preload/control/policy.h"
#include "preload/datapath/emit.h"
#include "preload/datapath/drain.h"

enum { LINGER_STEP_NS = 50000 };

/* For how long, ns, segments that are in flight have been held back before; 0: none is. */
static uint64_t held_in_flight_ns(const struct qp *qp)
{
	const int32_t left = (int32_t)(qp->held_end - (uint32_t)qp->flow.seg_tail);

	return left > 0 ? 1000ull * qp->held_us : 0;
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
	rc = ccs_emit(qp, &now_ns, &refused);
	f->state = CCS_FLOW_RUN;
	if (rc && !ccs_emit_is_full(qp, rc, refused))
		ccs_emit_fail(qp, rc);
	ccs_emit_schedule(qp, &now_ns);
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
void ccs_linger(struct qp *qp)
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
