/* SPDX-License-Identifier: BSD-2-Clause */
/* Verbs on a QP other than posting: state changes, queries, destruction. */
#include <errno.h>
#include <string.h>

#include "base/address.h"
#include "flow/cc_events.h"
#include "observe/trace.h"
#include "preload/control/policy.h"
#include "preload/control/qp_feedback.h"
#include "preload/control/traffic_class.h"
#include "preload/cq/cq.h"
#include "preload/datapath/async.h"
#include "preload/datapath/drain.h"
#include "preload/datapath/emit.h"
#include "preload/datapath/impair.h"
#include "preload/datapath/linger.h"
#include "preload/datapath/pacer_thread.h"
#include "preload/datapath/qp.h"
#include "preload/object/clock.h"
#include "preload/object/parent_domain.h"
#include "preload/object/ptrmap.h"
#include "preload/object/real.h"
#include "preload/object/registry.h"
#include "preload/object/shim.h"
#include "preload/object/wr_batch.h"
#include "preload/report/publish.h"
#include "preload/report/recorder.h"
#include "preload/report/report.h"
#include "preload/settings/qp_config.h"
#include "preload/verbs/verbs.h"

/* Update the flow for the new state, after the device has accepted it. */
static void enter_state(struct qp *qp, const struct ibv_qp_attr *attr)
{
	const bool first = qp->state < IBV_QPS_RTS;
	const bool pending = first && qp->flow.seg_tail != qp->flow.seg_head;

	qp->state = attr->qp_state;
	qp->early = qp->early ? qp->state != IBV_QPS_RTS : qp->state == IBV_QPS_RESET;
	switch (attr->qp_state) {
	case IBV_QPS_RESET:
		qp->peer.subject = (struct ccs_match_subject){ 0 };
		ccs_qp_end_broken(qp);
		qp->failure.failed_ns = 0;
		ccs_flow_reset(&qp->flow);
		ccs_impair_reset(qp);
		break;
	case IBV_QPS_RTS:
		if (qp->flow.state == CCS_FLOW_SQD) {
			ccs_flow_set_state(&qp->flow, CCS_FLOW_RUN);
			qp->resumed = true;
		}
		qp->resumed |= pending; /* rxe begins the WQEs that it has when it gets the next one */
		ccs_flow_untime(&qp->flow);
		if (first)
			ccs_impair_connect(qp, ccs_now_ns());
		break;
	default:
		break;
	}
}

/* The payload's share of a full RoCE v2 packet, which has Ethernet, IP, UDP, BTH and ICRC; 0: unknown. */
static double payload_share(const struct qp *qp, enum ibv_mtu mtu)
{
	struct ccs_address peer;
	double header, payload;

	if (mtu < IBV_MTU_256 || mtu > IBV_MTU_4096)
		return 0;
	memcpy(peer.b, qp->peer.gid, sizeof(peer.b));
	header = 14 + (ccs_address_is_v4(&peer) ? 20 : 40) + 8 + 12 + 4;
	payload = 128 << mtu;
	return payload / (payload + header);
}

static void set_mtu(struct qp *qp, enum ibv_mtu mtu)
{
	struct ccs_cc_path path = qp->flow.cc.path;

	path.payload_share = payload_share(qp, mtu);
	ccs_flow_cc_repath(&qp->flow, &path);
}

static void apply_attr(struct qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	if ((mask & IBV_QP_PORT) && attr->port_num != qp->attr.port) {
		qp->attr.port = attr->port_num;
		ccs_flow_set_line(&qp->flow, ccs_qp_line_rate(qp), ccs_now_ns());
	}
	if (mask & IBV_QP_DEST_QPN)
		qp->peer.qpn = attr->dest_qp_num;
	if ((mask & IBV_QP_AV) && attr->ah_attr.is_global) {
		memcpy(qp->peer.gid, attr->ah_attr.grh.dgid.raw, sizeof(qp->peer.gid));
		qp->attr.sgid_index = attr->ah_attr.grh.sgid_index;
		qp->attr.flow_label = attr->ah_attr.grh.flow_label;
		if (ccs_trace_on)
			ccs_trace_peer(qp->qp_num, qp->peer.gid);
	}
	if (mask & IBV_QP_PATH_MTU)
		set_mtu(qp, attr->path_mtu);
	/* READs above the peer's limit would stall the WQEs that follow them. */
	if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) && attr->max_rd_atomic)
		qp->flow.reads.max = attr->max_rd_atomic;
	if (mask & IBV_QP_RETRY_CNT)
		qp->attr.retry_cnt = attr->retry_cnt;
	if (mask & IBV_QP_TIMEOUT) {
		qp->attr.timeout = attr->timeout;
		qp->flow.rtt.loss_us = ccs_flow_loss_us(attr->timeout, ccs_tick_us());
	}
}

/* Change the flow's state if it is `from`. Returns whether it was. */
static bool change_flow(struct qp *qp, enum ccs_flow_state from, enum ccs_flow_state to)
{
	bool changed;

	ccs_lock(&qp->lock);
	changed = qp->flow.state == from;
	if (changed)
		ccs_flow_set_state(&qp->flow, to);
	ccs_unlock(&qp->lock);
	return changed;
}

/* Stop emitting, or continue. */
static void set_dead(struct qp *qp, bool dead)
{
	const int err = errno; /* the application gets the failed call's errno */
	uint64_t now_ns = CCS_TIME_UNKNOWN;
	bool scheduled;

	ccs_lock(&qp->lock);
	scheduled = qp->scheduled;
	qp->dead = dead;
	if (dead)
		ccs_pacer_thread_schedule(qp, 0, 0);
	else
		ccs_emit_pump(qp, &now_ns);
	if (dead)
		qp->scheduled = scheduled; /* if the call fails, the next pump sets the timer again */
	ccs_qp_leave(qp);
	errno = err;
}

/*
 * No deferred WR may be emitted between the device's reset and the shim's: the device would refuse
 * it, and the QP would fail. No lock of the shim is held during the real call: mlx5 locks the
 * receive CQ, which another thread may have locked in a poll batch that needs the shim's lock.
 * Completions that arrive during the call stay in the CQ if the provider leaves them there (rxe).
 * If it removes them (mlx5), ready completions are removed as well.
 */
static int modify_to_reset(struct qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct ccs_purge purge;
	int rc;

	set_dead(qp, true);
	ccs_async_await_ack(qp);
	ccs_purge_begin(&purge, qp->real, true);
	ccs_qp_set_send_cq(qp, false);
	rc = ccs_real()->ibv_modify_qp(qp->real, attr, mask);
	ccs_qp_set_send_cq(qp, true);
	ccs_qp_ex_install(qp);
	if (!rc) {
		ccs_lock(&qp->cq->lock);
		ccs_drain(qp->cq, true);
		ccs_lock(&qp->lock);
		apply_attr(qp, attr, mask);
		enter_state(qp, attr);
		ccs_publish(qp, ccs_now_ns());
		ccs_qp_leave(qp);
		ccs_unlock(&qp->cq->lock);
		ccs_purge_end(&purge, qp->qp_num, qp->id);
		ccs_qp_feedback_detach(qp);
	}
	set_dead(qp, false);
	return rc;
}

/* Take the peer from the attributes. Without a GRH the address is unknown. */
static struct ccs_match_subject subject_of(const struct qp *qp, const struct ibv_qp_attr *attr,
					   int mask)
{
	const struct ibv_ah_attr *ah = &attr->ah_attr;
	struct ccs_match_subject subject = {
		.known = CCS_MATCH_APP | CCS_MATCH_DEVICE | CCS_MATCH_PORT | CCS_MATCH_SL,
		.app = program_invocation_short_name,
		.device = qp->ctx->device,
		.port = mask & IBV_QP_PORT ? attr->port_num : qp->attr.port,
		.sl = ah->sl,
	};

	if (ah->is_global) {
		subject.known |= CCS_MATCH_PEER | CCS_MATCH_DSCP;
		memcpy(subject.peer, ah->grh.dgid.raw, sizeof(subject.peer));
		subject.dscp = ah->grh.traffic_class >> 2;
	}
	return subject;
}

/* The device has accepted the path to that peer. If a request changes the rules during the choice,
 * it may not have seen this QP: choose again. */
static void apply_connection(struct qp *qp, const struct ccs_match_subject *subject)
{
	unsigned generation;

	do {
		const struct ccs_policy *policy;

		generation = ccs_policy_generation();
		policy = ccs_policy_lookup(subject);
		ccs_lock(&qp->lock);
		qp->peer.subject = *subject;
		if (policy != qp->policy)
			ccs_qp_apply_policy(qp, policy, ccs_now_ns());
		qp->feedback.feedback_needs = (uint16_t)policy->feedback_needs;
		ccs_qp_leave(qp);
	} while (generation != ccs_policy_generation());
}

static int modify_state(struct qp *qp, struct ibv_qp_attr *attr, int mask)
{
	const struct ccs_match_subject subject = subject_of(qp, attr, mask & IBV_QP_AV ? mask : 0);
	const struct ccs_policy *policy = mask & IBV_QP_AV ? ccs_policy_lookup(&subject) : NULL;
	/* Deferred WRs count as not started, so stop before the device reports SQ drained. */
	const bool held = (mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_SQD &&
			  change_flow(qp, CCS_FLOW_RUN, CCS_FLOW_SQD);
	const int rc = ccs_traffic_class_modify(qp, policy, attr, mask);
	uint64_t now_ns = CCS_TIME_UNKNOWN;
	bool may_wait;

	ccs_qp_ex_install(qp);
	if (rc) {
		const int err = errno;

		if (held)
			change_flow(qp, CCS_FLOW_SQD, CCS_FLOW_RUN);
		errno = err;
		return rc;
	}
	if (mask & IBV_QP_AV)
		apply_connection(qp, &subject);
	ccs_qp_feedback_attach(qp, attr, mask);
	ccs_lock(&qp->lock);
	apply_attr(qp, attr, mask);
	if (mask & IBV_QP_STATE)
		enter_state(qp, attr);
	if (qp->state == IBV_QPS_ERR)
		ccs_qp_fail(qp);
	if (qp->state == IBV_QPS_SQD)
		ccs_emit_in_sqd(qp, &now_ns);
	ccs_emit_pump(qp, &now_ns);
	ccs_publish_state(qp, ccs_now(&now_ns));
	may_wait = qp->state == IBV_QPS_RTS && qp->flow.user.enforce;
	ccs_qp_leave(qp);
	if (may_wait)
		ccs_pacer_thread_prepare();
	return 0;
}

/* The flushes that follow are no failures. The QP's state changes only after the real call. */
static void end_qp(struct qp *qp, const char *how)
{
	ccs_recorder_ended(qp, how);
	ccs_lock(&qp->lock);
	qp->failure.ending = true;
	ccs_unlock(&qp->lock);
}

/*
 * A provider may set its wr_complete during this call (mlx5, to RESET and to RTS). A batch of ours
 * that called it would release a lock that it never took. So no batch is open during the call: only
 * threads that post to this QP wait, not polls, the pacer thread or other QPs. The provider may
 * call back. mlx5, to RESET, waits for a poll batch of the receive CQ: it would deadlock if that
 * batch's thread began to post to this QP. No application does, as it could not know whether the
 * WR is sent.
 */
static int modify_qp(struct qp *qp, struct ibv_qp_attr *attr, int mask)
{
	const bool to_reset = (mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_RESET;
	const bool writes = to_reset || ((mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_RTS);
	const bool to_error = (mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_ERR;
	int rc;

	if (ccs_forked()) {
		ccs_qp_set_send_cq(qp, false);
		return ccs_real()->ibv_modify_qp(qp->real, attr, mask);
	}
	if (to_error || to_reset) {
		ccs_linger(qp);
		end_qp(qp, to_reset ? "reset" : "error");
	}
	if (writes)
		ccs_wr_batch_lock_to_modify(qp);
	rc = to_reset ? modify_to_reset(qp, attr, mask) : modify_state(qp, attr, mask);
	if (rc || !to_error)
		qp->failure.ending = false;
	if (writes)
		ccs_wr_batch_unlock_modified(qp);
	return rc;
}

HOOK int ibv_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask)
{
	const struct ccs_saved saved = ccs_save();
	struct qp *qp = ccs_qp_find(ibqp);

	return ccs_done(saved, qp ? modify_qp(qp, attr, mask) : ccs_purge_modify(ibqp, attr, mask));
}

HOOK int ibv_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask,
		      struct ibv_qp_init_attr *init)
{
	struct qp *qp = ccs_qp_find(ibqp);
	const int rc = ccs_real()->ibv_query_qp(ibqp, attr, mask, init);

	if (rc || !qp)
		return rc;
	ccs_traffic_class_restore(qp, attr);
	init->send_cq = qp->cq->app;
	init->sq_sig_all = qp->sq_sig_all;
	init->cap.max_send_wr = qp->attr.cap.max_send_wr;
	attr->cap.max_send_wr = qp->attr.cap.max_send_wr;
	return 0;
}

void ccs_qp_abandon(struct qp *qp)
{
	set_dead(qp, true);
	ccs_qp_feedback_detach(qp);
	ccs_lock(&qp->cq->lock);
	qp->cq->closing = true;
	ccs_cq_update_fast(qp->cq);
	ccs_unlock(&qp->cq->lock);
}

/*
 * The real call waits until events of the QP are acknowledged, by a thread that may poll first. So
 * no lock of ours is held, and the QP stays in the registry, which lets completions that arrive
 * be delivered. WRs that are still deferred are dropped, as a device drops WRs that it has not
 * begun.
 */
static int destroy_qp(struct qp *qp)
{
	struct cq *cq = qp->cq;
	struct ccs_purge purge;
	int rc;

	if (ccs_forked()) {
		ccs_qp_set_send_cq(qp, false);
		return ccs_real()->ibv_destroy_qp(qp->real);
	}
	ccs_linger(qp);
	ccs_recorder_ended(qp, "destroyed");
	set_dead(qp, true);
	ccs_async_await_ack(qp);
	ccs_purge_begin(&purge, qp->real, false);
	ccs_parent_domain_set_pd(qp, false);
	ccs_qp_set_send_cq(qp, false);
	rc = ccs_real()->ibv_destroy_qp(qp->real);
	if (rc) {
		ccs_qp_set_send_cq(qp, true);
		ccs_parent_domain_set_pd(qp, true);
		set_dead(qp, false);
		return rc;
	}
	ccs_ptrmap_del(&ccs_shim()->qps, qp->real, qp);
	ccs_lock(&cq->lock);
	ccs_drain(cq, true);
	ccs_registry_remove(qp);
	ccs_lock(&qp->lock);
	ccs_report_remove(qp);
	ccs_publish_end(qp);
	qp->flow.timed = 0;
	ccs_notify_forget(qp);
	ccs_broken_forget(qp);
	if (qp->counted)
		ccs_shadow_count(qp, false);
	ccs_qp_leave(qp);
	ccs_unlock(&cq->lock);
	ccs_purge_end(&purge, qp->qp_num, qp->id);
	ccs_qp_feedback_detach(qp);
	ccs_cq_release(cq, qp->shadow, qp->reserved, true);
	ccs_parent_domain_leave(qp);
	ccs_qp_put(qp);
	return 0;
}

HOOK int ibv_destroy_qp(struct ibv_qp *ibqp)
{
	const struct ccs_saved saved = ccs_save();
	struct qp *qp = ccs_qp_find(ibqp);

	return ccs_done(saved, qp ? destroy_qp(qp) : ccs_purge_destroy(ibqp));
}
