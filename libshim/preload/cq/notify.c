/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events of a CQ; see notify.h. A post counts its QP and then reads the requests; a request is
 * stored before the counts are read. So at least one of them arms the shadow CQs.
 */
#include "preload/cq/notify.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "observe/log.h"
#include "preload/cq/cq.h"
#include "preload/object/memlock.h"
#include "preload/object/ptrmap.h"
#include "preload/object/real.h"
#include "preload/object/shim.h"

enum {
	EVENT_QP_DEPTH = 4,
	EVENT_QP_PINNED = 192,           /* size of a CQ that pins as much as its CQ and QP */
};

struct ccs_event_qp {
	struct shadow shadow;            /* of size 0: its events are found by its CQ */
	struct ibv_pd *pd;
	struct ibv_qp *qp;
};

/* Arming may be a system call, in which a thread could be cancelled with our locks held. */
static void arm_device(struct cq *cq, struct ibv_cq *ibcq, bool solicited_only)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	cq->ctx->real.req_notify_cq(ibcq, solicited_only);
	pthread_setcancelstate(state, NULL);
}

static void arm_shadow_cqs(struct cq *cq)
{
	atomic_store(&cq->events.no_cqe_since_arm, true);
	for (struct shadow *s = atomic_load(&cq->shadows); s; s = s->next)
		if (s->size && s->cq)
			arm_device(cq, s->cq, atomic_load(&cq->events.solicited));
}

/*
 * Whether the next completion in the shadow CQs may be internal. all_unsignalled is read first: a
 * QP may lose it and get an internal WQE between the two reads.
 */
static bool may_be_internal(struct cq *cq)
{
	return atomic_load(&cq->events.shim_raises_events) && !atomic_load(&cq->events.solicited) &&
	       (ccs_notify_is_all_unsignalled(cq) || atomic_load(&cq->events.has_internal));
}

static void count(atomic_uint *qps, bool before, bool now)
{
	if (now != before)
		atomic_fetch_add(qps, now ? 1u : -1u);
}

void ccs_notify_set(struct qp *qp, struct ccs_notify_state now)
{
	struct cq *cq = qp->cq;

	count(&cq->events.failing, qp->events.failing, now.failing);
	count(&cq->events.has_internal, qp->events.has_internal, now.has_internal);
	count(&cq->events.all_unsignalled, qp->events.all_unsignalled, now.all_unsignalled);
	count(&cq->events.busy, qp->events.busy, now.busy);
	qp->events.failing = now.failing;
	qp->events.has_internal = now.has_internal;
	qp->events.all_unsignalled = now.all_unsignalled;
	qp->events.busy = now.busy;
}

/*
 * The shadow CQs are armed only if no other QP has WQEs in flight. Otherwise a completion may have
 * come before they were armed, so the pacer thread polls them. This QP may have failed at most:
 * the device flushes its next WQE then, which raises the event, unless it ignores such a WQE. If
 * the CQ's lock is taken, its holder or the pacer thread arms them.
 */
void ccs_notify_first_post(struct qp *qp)
{
	const bool may_fail = qp->events.all_unsignalled && qp->ctx->provider->ignores_in_error;
	struct cq *cq = qp->cq;

	ccs_notify_count(qp);
	if (!qp->events.busy || !ccs_notify_waits(cq) || may_be_internal(cq) ||
	    atomic_load(&cq->events.busy) != 1 || may_fail || !ccs_trylock(&cq->lock))
		return;
	if (ccs_notify_waits(cq)) {
		arm_shadow_cqs(cq);
		if (atomic_load(&cq->events.busy) == 1)
			atomic_store(&cq->events.source, CCS_EVENT_DEVICE);
	}
	ccs_unlock(&cq->lock);
}

/* Their flush does not raise the event of an earlier failure: the pacer thread must poll. */
void ccs_notify_refused(struct qp *qp)
{
	unsigned source = CCS_EVENT_DEVICE;

	if (!qp->events.enabled)
		return;
	ccs_notify_count(qp);
	if (qp->events.all_unsignalled)
		atomic_compare_exchange_strong(&qp->cq->events.source, &source, CCS_EVENT_NONE);
}

void ccs_notify_forget(struct qp *qp)
{
	ccs_notify_set(qp, (struct ccs_notify_state){ 0 });
	qp->events.enabled = false;
}

void ccs_notify_always_arm(struct cq *cq)
{
	if (atomic_exchange(&cq->events.shim_raises_events, false))
		ccs_notify_arm_shadows(cq);
}

static void free_event_qp(struct ccs_event_qp *eq)
{
	if (eq->qp)
		ccs_real()->ibv_destroy_qp(eq->qp);
	if (eq->pd)
		ccs_real()->ibv_dealloc_pd(eq->pd);
	eq->qp = NULL;
	eq->pd = NULL;
}

static bool modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, enum ibv_qp_state state, int mask)
{
	attr->qp_state = state;
	return !ccs_real()->ibv_modify_qp(qp, attr, IBV_QP_STATE | mask);
}

/*
 * No packet is ever sent, so any address serves. The address of a multicast group needs no
 * resolution, which may take a second. If the device refuses it, the QP is connected to itself.
 */
static bool enter_rtr(struct ibv_qp *qp, struct ibv_qp_attr *attr)
{
	const int mask = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	union ibv_gid *dgid = &attr->ah_attr.grh.dgid;
	struct ibv_port_attr port;

	if (ccs_query_port(qp->context, 1, &port))
		return false;
	attr->ah_attr.dlid = port.lid;
	*dgid = (union ibv_gid){ .raw = { 0xff, 0x02, [15] = 1 } };
	return modify(qp, attr, IBV_QPS_RTR, mask) ||
	       (!ccs_real()->ibv_query_gid(qp->context, 1, 0, dgid) && modify(qp, attr, IBV_QPS_RTR, mask));
}

/* Through RTS: libmlx5 accepts no WQE of a QP that was never in RTS. */
bool ccs_notify_enter_error(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.port_num = 1,
		.path_mtu = IBV_MTU_256,
		.dest_qp_num = qp->qp_num,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh.hop_limit = 1 },
	};

	return modify(qp, &attr, IBV_QPS_INIT,
		      IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS) &&
	       enter_rtr(qp, &attr) &&
	       modify(qp, &attr, IBV_QPS_RTS,
		      IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
		      IBV_QP_MAX_QP_RD_ATOMIC) &&
	       modify(qp, &attr, IBV_QPS_ERR, 0);
}

static bool create_qp(struct ccs_event_qp *eq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = eq->shadow.cq,
		.recv_cq = eq->shadow.cq,
		.cap = { .max_send_wr = EVENT_QP_DEPTH, .max_send_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};

	eq->pd = ccs_real()->ibv_alloc_pd(eq->shadow.cq->context);
	eq->qp = eq->pd ? ccs_real()->ibv_create_qp(eq->pd, &init) : NULL;
	return eq->qp && ccs_notify_enter_error(eq->qp);
}

static bool create_event_qp(struct cq *cq, struct ccs_event_qp *eq)
{
	struct shadow *s = &eq->shadow;

	if (!s->cq)
		s->cq = ccs_real()->ibv_create_cq(cq->ctx->context, EVENT_QP_DEPTH, cq->cq_context,
						  cq->channel, cq->comp_vector);
	if (s->cq && create_qp(eq) && !ccs_ptrmap_put(&ccs_shim()->cqs, s->cq, cq))
		return true;
	free_event_qp(eq);
	if (s->cq)
		ccs_real()->ibv_destroy_cq(s->cq);
	s->cq = NULL;
	return false;
}

/* If an event QP was destroyed, its record is used again. */
static bool add_event_qp(struct cq *cq)
{
	struct ccs_event_qp *eq = cq->events.event_qp ? cq->events.event_qp : calloc(1, sizeof(*eq));

	if (!eq || !create_event_qp(cq, eq)) {
		if (!cq->events.event_qp)
			free(eq);
		ccs_log_once(CCS_LOG_WARN, "%s: no queue pair to raise events with: event-driven "
			     "applications may get events without a completion", cq->ctx->device);
		return false;
	}
	if (!cq->events.event_qp) {
		eq->shadow.next = atomic_load(&cq->shadows);
		atomic_store(&cq->shadows, &eq->shadow);
		cq->events.event_qp = eq;
	}
	atomic_store(&cq->events.shim_raises_events, true);
	return true;
}

/* Create the event QP with the first request of a CQ that has a shadow CQ. */
static void want_event_qp(struct cq *cq)
{
	struct ccs_saved saved;

	if (cq->events.event_qp_tried || !atomic_load(&cq->shadows) || cq->closing)
		return;
	cq->events.event_qp_tried = true;
	if (!cq->ctx->provider->flushes || !ccs_memlock_reserve(cq->ctx, EVENT_QP_PINNED))
		return;
	saved = ccs_save();
	if (!add_event_qp(cq))
		ccs_memlock_release(EVENT_QP_PINNED);
	ccs_done(saved, 0);
}

void ccs_notify_new_shadow(struct cq *cq, struct shadow *s)
{
	if (!atomic_load(&cq->events.requests))
		return;
	if (atomic_load(&cq->events.source) == CCS_EVENT_DEVICE)
		arm_device(cq, s->cq, atomic_load(&cq->events.solicited));
	want_event_qp(cq);
}

/* Whether the device has still to raise the previous event, and that serves both requests. */
static bool stands(struct cq *cq, unsigned requests, bool solicited_only)
{
	return requests && (solicited_only || !atomic_load(&cq->events.solicited)) &&
	       atomic_load(&cq->events.source) == CCS_EVENT_DEVICE &&
	       atomic_load(&cq->events.no_cqe_since_arm);
}

/*
 * Whether the application's own CQ may have raised an event since the previous request. Without a
 * shadow CQ the shim does not see polls. An event may come later than its completion.
 */
static bool may_have_raised(struct cq *cq)
{
	struct pollfd fd = { .fd = cq->channel->fd, .events = POLLIN };
	const struct ccs_saved saved = ccs_save();
	const bool raised = !atomic_load(&cq->shadows) || atomic_load(&cq->events.app_completed) ||
			    poll(&fd, 1, 0) != 0;

	ccs_done(saved, 0);
	return raised;
}

/* Whether the device would raise an event for one of the completions that are ready. Which receive
 * is solicited is not known. */
static bool counts_ready(const struct cq *cq, bool solicited_only)
{
	bool counts = false;

	for (uint32_t i = cq->ready.tail; i != cq->ready.head && !counts; i++) {
		const struct ibv_wc *wc = &cq->ready.entry[i & cq->ready.mask].wc;

		counts = !solicited_only || wc->status || wc->opcode & IBV_WC_RECV;
	}
	return counts && cq->ctx->provider->arms_by_index;
}

/*
 * If the previous request may have raised an event that the application has not read yet, both
 * count: reading that event does not end this request.
 */
void ccs_notify_request(struct cq *cq, bool solicited_only)
{
	/* This replaces an undecided request. */
	const unsigned requests = ccs_notify_is_undecided(cq) ? 0
							      : atomic_load(&cq->events.requests);
	/* Sends raise no event of a solicited request, unless they fail. */
	const bool completed = !atomic_load(&cq->events.solicited) || cq->events.shadow_completed;
	const bool solicited = solicited_only && (!requests || atomic_load(&cq->events.solicited));
	bool raised = requests && may_have_raised(cq);

	want_event_qp(cq);
	atomic_store(&cq->events.app_completed, false);
	/* Count completions that are not polled yet where the device counts them. */
	cq->events.shadow_completed = counts_ready(cq, solicited);
	if (stands(cq, requests, solicited_only)) {
		if (raised)
			atomic_store(&cq->events.requests, 2);
		return;
	}
	atomic_store(&cq->events.solicited, solicited);
	if (atomic_exchange(&cq->events.source, CCS_EVENT_NONE) != CCS_EVENT_NONE && completed)
		raised = requests;
	if (raised || !requests)
		atomic_store(&cq->events.requests, raised ? 2 : 1);
	if (cq->events.shadow_completed)
		cq->events.must_raise = true;
	else if (ccs_notify_must_arm(cq))
		ccs_notify_arm_shadows(cq);
}

/* Whether a completion has come since the request, from the CQ that an event is of. */
static bool has_completed(struct cq *cq, bool shadow)
{
	return shadow ? cq->events.shadow_completed : atomic_load(&cq->events.app_completed);
}

void ccs_notify_event(struct cq *cq, const struct shadow *s)
{
	const unsigned requests = atomic_load(&cq->events.requests);

	if (requests == 1 && atomic_load(&cq->shadows) && !has_completed(cq, s)) {
		atomic_store(&cq->events.source,
			     s ? CCS_EVENT_UNDECIDED_SHADOW : CCS_EVENT_UNDECIDED_APP);
		return;
	}
	if (requests)
		atomic_store(&cq->events.requests, requests - 1);
	if (s && atomic_load(&cq->events.source) == (s->size ? CCS_EVENT_DEVICE : CCS_EVENT_SHIM))
		atomic_store(&cq->events.source, CCS_EVENT_NONE);
}

/* The pacer thread may have polled a completion that a poll batch did not find: raise an event. */
void ccs_notify_decide(struct cq *cq, bool found)
{
	const bool shadow = ccs_notify_source(cq) == CCS_EVENT_UNDECIDED_SHADOW;

	atomic_store(&cq->events.source, CCS_EVENT_NONE);
	if (found && has_completed(cq, shadow))
		atomic_store(&cq->events.requests, 0);
	else if (!found && ccs_cq_ready_count(cq))
		cq->events.must_raise = true;
}

bool ccs_notify_must_arm(struct cq *cq)
{
	return ccs_notify_waits(cq) && !may_be_internal(cq) && !cq->closing;
}

void ccs_notify_arm_shadows(struct cq *cq)
{
	arm_shadow_cqs(cq);
	atomic_store(&cq->events.source, CCS_EVENT_DEVICE);
}

/* ENOMEM: its send queue is full, so events of earlier WQEs are still to come. */
void ccs_notify_raise(struct cq *cq)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE }, *bad;
	const int saved = errno;
	struct ibv_wc wc[EVENT_QP_DEPTH];
	int state, rc;

	cq->events.must_raise = false;
	if (!cq->events.event_qp || !cq->events.event_qp->qp || cq->closing)
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	while (cq->ctx->real.poll_cq(cq->events.event_qp->shadow.cq, EVENT_QP_DEPTH, wc) > 0)
		;
	cq->ctx->real.req_notify_cq(cq->events.event_qp->shadow.cq, 0);
	rc = cq->ctx->real.post_send(cq->events.event_qp->qp, &wr, &bad);
	pthread_setcancelstate(state, NULL);
	if (rc && rc != ENOMEM) {
		ccs_log_once(CCS_LOG_WARN, "%s: cannot raise an event (error %d): an event-driven "
			     "application may have to poll once more", cq->ctx->device, rc);
		ccs_notify_always_arm(cq);
	} else {
		atomic_store(&cq->events.source, CCS_EVENT_SHIM);
	}
	errno = saved;
}

void ccs_notify_close(struct cq *cq)
{
	if (!cq->events.event_qp)
		return;
	atomic_store(&cq->events.shim_raises_events, false);
	if (cq->events.event_qp->qp)
		ccs_memlock_release(EVENT_QP_PINNED);
	free_event_qp(cq->events.event_qp);
}

/*
 * An event that was not read is lost with the queue that raised it. While a request waits, it is
 * raised again, perhaps without a completion.
 */
void ccs_notify_reopen(struct cq *cq)
{
	const unsigned source = atomic_load(&cq->events.source);
	const bool raised = source == CCS_EVENT_SHIM ||
			    (source == CCS_EVENT_DEVICE && !atomic_load(&cq->events.no_cqe_since_arm));

	cq->events.event_qp_tried = false;
	if (!atomic_load(&cq->events.requests) || !raised)
		return;
	want_event_qp(cq);
	ccs_notify_raise(cq);
}
