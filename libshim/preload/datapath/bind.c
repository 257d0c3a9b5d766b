/* SPDX-License-Identifier: BSD-2-Clause */
/* Binding of memory windows. */
#include "preload/datapath/post.h"

#include <errno.h>
#include <pthread.h>

#include "preload/datapath/accept.h"
#include "preload/datapath/emit.h"
#include "preload/datapath/wr.h"
#include "preload/object/shim.h"

static int bind_on_device(struct qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	int state, rc;

	ccs_qp_wake_shadow(qp);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	rc = qp->ctx->real.bind_mw(qp->real, mw, bind);
	pthread_setcancelstate(state, NULL);
	return rc;
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
	uint64_t number;
	int rc;

	if (ccs_flow_wants_entries(&qp->flow, 1))
		ccs_qp_add_entries(qp);
	if (!ccs_flow_next(&qp->flow, now_ns, ccs_now_ns)) {
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
		ccs_notify_refused(qp);
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

	ccs_flow_set_state(&qp->flow, CCS_FLOW_FLUSH);
	if (!ccs_emit_is_ours_to_flush(qp))
		device = ccs_emit(qp, &now_ns, &refused);
	if (!device && !ccs_emit_is_ours_to_flush(qp) && !ccs_flow_waiting(&qp->flow) &&
	    !ccs_flow_full(&qp->flow))
		rc = emit_bind(qp, mw, bind, &now_ns);
	ccs_flow_set_state(&qp->flow, state);
	if (device && !ccs_emit_is_full(qp, device, refused))
		ccs_emit_fail(qp, device);
	if (ccs_emit_is_ours_to_flush(qp) && !ccs_flow_full(&qp->flow)) {
		accept_bind(qp, bind); /* completed by us as flushed */
		rc = 0;
	}
	ccs_emit_schedule(qp, &now_ns);
	return rc;
}

int ccs_post_bind_mw(struct qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	const int saved = errno;
	int rc;

	if (ccs_forked())
		return qp->ctx->real.bind_mw(qp->real, mw, bind);
	ccs_accept_prefetch(qp);
	ccs_accept_lock(qp);
	ccs_accept_reclaim(qp, 1);
	rc = post_bind(qp, mw, bind);
	ccs_accept_unlock(qp);
	return ccs_posted(saved, rc);
}
