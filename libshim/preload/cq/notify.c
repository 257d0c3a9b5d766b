/* SPDX-License-Identifier: BSD-2-Clause */
/* See notify.h. What posting and arming share is atomic: each writes its part, then reads the
 * other's, so that at least one of them arms the shadow CQs. */
#include "preload/cq/notify.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "observe/log.h"
#include "preload/cq/cq.h"
#include "preload/object/memlock.h"
#include "preload/object/provider.h"
#include "preload/object/ptrmap.h"
#include "preload/object/real.h"
#include "preload/object/shim.h"

enum {
	BELL_DEPTH = 4,
	BELL_PINNED = 192,               /* its CQ and QP take as much as a CQ of that size */
};

struct ccs_bell {
	struct shadow shadow;            /* of size 0: events and acknowledgements are mapped */
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

static void arm_shadows(struct cq *cq)
{
	atomic_store(&cq->quiet, true);
	for (struct shadow *s = atomic_load(&cq->shadows); s; s = s->next)
		if (s->size && s->cq)
			arm_device(cq, s->cq, atomic_load(&cq->solicited));
}

/*
 * Whether the next completion in the shadow CQs may be one that only we get. A QP that is silent may
 * become mixed meanwhile.
 */
static bool is_mixed(struct cq *cq)
{
	return atomic_load(&cq->lazy) && !atomic_load(&cq->solicited) &&
	       (ccs_notify_is_silent(cq) || atomic_load(&cq->mixed));
}

static void count(atomic_uint *qps, bool before, bool now)
{
	if (now != before)
		atomic_fetch_add(qps, now ? 1u : -1u);
}

void ccs_notify_set(struct qp *qp, struct ccs_notify_state now)
{
	struct cq *cq = qp->cq;

	count(&cq->failing, qp->failing, now.failing);
	count(&cq->mixed, qp->mixed, now.mixed);
	count(&cq->silent, qp->silent, now.silent);
	count(&cq->busy, qp->busy, now.busy);
	qp->failing = now.failing;
	qp->mixed = now.mixed;
	qp->silent = now.silent;
	qp->busy = now.busy;
}

/*
 * If another QP has WQEs in flight as well, a completion may have come before the shadow CQs were
 * armed: then the pacer thread drains them. Of this one, only a failure may have come: the device
 * flushes what is posted then, which raises the event, unless it ignores that. If the CQ's lock is
 * taken, its holder or the pacer thread arms them.
 */
void ccs_notify_first_post(struct qp *qp)
{
	const bool may_fail = qp->silent && qp->ctx->provider->ignores_in_error;
	struct cq *cq = qp->cq;

	ccs_notify_count(qp);
	if (!qp->busy || !ccs_notify_waits(cq) || is_mixed(cq) || atomic_load(&cq->busy) != 1 ||
	    may_fail || !ccs_trylock(&cq->lock))
		return;
	if (ccs_notify_waits(cq)) {
		arm_shadows(cq);
		if (atomic_load(&cq->busy) == 1)
			atomic_store(&cq->cover, CCS_COVER_DEVICE);
	}
	ccs_unlock(&cq->lock);
}

/* So their flush will not raise the event of an earlier failure: let the pacer thread look. */
void ccs_notify_refused(struct qp *qp)
{
	unsigned cover = CCS_COVER_DEVICE;

	if (!qp->notifies)
		return;
	ccs_notify_count(qp);
	if (qp->silent)
		atomic_compare_exchange_strong(&qp->cq->cover, &cover, CCS_COVER_NONE);
}

void ccs_notify_forget(struct qp *qp)
{
	ccs_notify_set(qp, (struct ccs_notify_state){ 0 });
	qp->notifies = false;
}

void ccs_notify_eagerly(struct cq *cq)
{
	if (atomic_exchange(&cq->lazy, false))
		ccs_notify_cover(cq);
}

static void free_bell(struct ccs_bell *bell)
{
	if (bell->qp)
		ccs_real()->ibv_destroy_qp(bell->qp);
	if (bell->pd)
		ccs_real()->ibv_dealloc_pd(bell->pd);
	bell->qp = NULL;
	bell->pd = NULL;
}

static bool modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, enum ibv_qp_state state, int mask)
{
	attr->qp_state = state;
	return !ccs_real()->ibv_modify_qp(qp, attr, IBV_QP_STATE | mask);
}

/*
 * Nothing is ever sent, so any address will do. That of a multicast group needs no resolution,
 * which may take a second; if the device refuses it for a connection, the QP's peer is itself.
 */
static bool enter_rtr(struct ibv_qp *qp, struct ibv_qp_attr *attr)
{
	const int mask = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	union ibv_gid *dgid = &attr->ah_attr.grh.dgid;
	struct ibv_port_attr port;

	if (ibv_query_port(qp->context, 1, &port))
		return false;
	attr->ah_attr.dlid = port.lid;
	*dgid = (union ibv_gid){ .raw = { 0xff, 0x02, [15] = 1 } };
	return modify(qp, attr, IBV_QPS_RTR, mask) ||
	       (!ibv_query_gid(qp->context, 1, 0, dgid) && modify(qp, attr, IBV_QPS_RTR, mask));
}

/* By way of RTS: libmlx5 accepts no WQE of a QP that was never there. */
static bool enter_error(struct ibv_qp *qp)
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

static bool make_bell_qp(struct ccs_bell *bell)
{
	struct ibv_qp_init_attr init = {
		.send_cq = bell->shadow.cq,
		.recv_cq = bell->shadow.cq,
		.cap = { .max_send_wr = BELL_DEPTH, .max_send_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};

	bell->pd = ibv_alloc_pd(bell->shadow.cq->context);
	bell->qp = bell->pd ? ccs_real()->ibv_create_qp(bell->pd, &init) : NULL;
	return bell->qp && enter_error(bell->qp);
}

static bool make_bell(struct cq *cq, struct ccs_bell *bell)
{
	struct shadow *s = &bell->shadow;

	if (!s->cq)
		s->cq = ccs_real()->ibv_create_cq(cq->ctx->context, BELL_DEPTH, cq->cq_context,
						  cq->channel, cq->comp_vector);
	if (s->cq && make_bell_qp(bell) && !ccs_ptrmap_put(&ccs_shim()->cqs, s->cq, cq))
		return true;
	free_bell(bell);
	if (s->cq)
		ccs_real()->ibv_destroy_cq(s->cq);
	s->cq = NULL;
	return false;
}

/* The record of one that was destroyed is used again. */
static bool add_bell(struct cq *cq)
{
	struct ccs_bell *bell = cq->bell ? cq->bell : calloc(1, sizeof(*bell));

	if (!bell || !make_bell(cq, bell)) {
		if (!cq->bell)
			free(bell);
		ccs_log_once(CCS_LOG_WARN, "%s: no queue pair to raise events with: event-driven "
			     "applications may get events without a completion", cq->ctx->device);
		return false;
	}
	if (!cq->bell) {
		bell->shadow.next = atomic_load(&cq->shadows);
		atomic_store(&cq->shadows, &bell->shadow);
		cq->bell = bell;
	}
	atomic_store(&cq->lazy, true);
	return true;
}

/* With the first request of a CQ that has a shadow. */
static void want_bell(struct cq *cq)
{
	struct ccs_saved saved;

	if (cq->bell_tried || !atomic_load(&cq->shadows) || cq->closing)
		return;
	cq->bell_tried = true;
	if (!cq->ctx->provider->flushes || !ccs_memlock_reserve(cq->ctx, BELL_PINNED))
		return;
	saved = ccs_save();
	if (!add_bell(cq))
		ccs_memlock_release(BELL_PINNED);
	ccs_done(saved, 0);
}

void ccs_notify_new_shadow(struct cq *cq, struct shadow *s)
{
	if (!atomic_load(&cq->armed))
		return;
	if (atomic_load(&cq->cover) == CCS_COVER_DEVICE)
		arm_device(cq, s->cq, atomic_load(&cq->solicited));
	want_bell(cq);
}

/* The one before asks for as much, and the device has not raised its event yet. */
static bool stands(struct cq *cq, unsigned armed, bool solicited_only)
{
	return armed && (solicited_only || !atomic_load(&cq->solicited)) &&
	       atomic_load(&cq->cover) == CCS_COVER_DEVICE && atomic_load(&cq->quiet);
}

/*
 * Whether the application's own CQ may have raised an event since the request before. Without a
 * shadow CQ we do not see what is polled. The event of a completion may come later than that.
 */
static bool may_have_raised(struct cq *cq)
{
	struct pollfd fd = { .fd = cq->channel->fd, .events = POLLIN };
	const struct ccs_saved saved = ccs_save();
	const bool raised = !atomic_load(&cq->shadows) || atomic_load(&cq->received) ||
			    poll(&fd, 1, 0) != 0;

	ccs_done(saved, 0);
	return raised;
}

/*
 * If the one before may have raised an event that the application has not read yet, both count:
 * reading that event does not end this request.
 */
void ccs_notify_arm(struct cq *cq, bool solicited_only)
{
	/* One whose event was read perhaps is replaced by this one. */
	const unsigned armed = atomic_load(&cq->cover) == CCS_COVER_READ ? 0
									 : atomic_load(&cq->armed);
	bool raised = armed && may_have_raised(cq);

	want_bell(cq);
	atomic_store(&cq->received, false);
	/* Where the device counts completions that are not polled yet, so do we. */
	cq->completed = ccs_cq_ready_count(cq) && cq->ctx->provider->arms_by_index;
	if (stands(cq, armed, solicited_only)) {
		if (raised)
			atomic_store(&cq->armed, 2);
		return;
	}
	atomic_store(&cq->solicited, solicited_only && (!armed || atomic_load(&cq->solicited)));
	if (atomic_exchange(&cq->cover, CCS_COVER_NONE) != CCS_COVER_NONE)
		raised = armed;
	if (raised || !armed)
		atomic_store(&cq->armed, raised ? 2 : 1);
	if (cq->completed)
		cq->ring = true;
	else if (ccs_notify_is_due(cq))
		ccs_notify_cover(cq);
}

/* Whether a completion came that the event is of. */
static bool has_ended(struct cq *cq)
{
	return cq->event_is_own ? atomic_load(&cq->received) : cq->completed;
}

void ccs_notify_event(struct cq *cq, const struct shadow *s)
{
	const unsigned armed = atomic_load(&cq->armed);

	cq->event_is_own = !s;
	if (armed == 1 && atomic_load(&cq->shadows) && !has_ended(cq)) {
		atomic_store(&cq->cover, CCS_COVER_READ);
		return;
	}
	if (armed)
		atomic_store(&cq->armed, armed - 1);
	if (s && atomic_load(&cq->cover) == (s->size ? CCS_COVER_DEVICE : CCS_COVER_RAISED))
		atomic_store(&cq->cover, CCS_COVER_NONE);
}

/* The pacer thread may have drained one that a poll batch did not find: that raises an event. */
void ccs_notify_decide(struct cq *cq, bool found)
{
	atomic_store(&cq->cover, CCS_COVER_NONE);
	if (found && has_ended(cq))
		atomic_store(&cq->armed, 0);
	else if (!found && ccs_cq_ready_count(cq))
		cq->ring = true;
}

bool ccs_notify_is_due(struct cq *cq)
{
	return ccs_notify_waits(cq) && !is_mixed(cq) && !cq->closing;
}

void ccs_notify_cover(struct cq *cq)
{
	arm_shadows(cq);
	atomic_store(&cq->cover, CCS_COVER_DEVICE);
}

/* If it has no free entry, the events of earlier ones are still to come. */
void ccs_notify_ring(struct cq *cq)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE }, *bad;
	const int saved = errno;
	struct ibv_wc wc[BELL_DEPTH];
	int state, rc;

	cq->ring = false;
	if (!cq->bell || !cq->bell->qp || cq->closing)
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	while (cq->ctx->real.poll_cq(cq->bell->shadow.cq, BELL_DEPTH, wc) > 0)
		;
	cq->ctx->real.req_notify_cq(cq->bell->shadow.cq, 0);
	rc = cq->ctx->real.post_send(cq->bell->qp, &wr, &bad);
	pthread_setcancelstate(state, NULL);
	if (rc && rc != ENOMEM) {
		ccs_log_once(CCS_LOG_WARN, "%s: cannot raise an event (error %d): an event-driven "
			     "application may have to poll once more", cq->ctx->device, rc);
		ccs_notify_eagerly(cq);
	} else {
		atomic_store(&cq->cover, CCS_COVER_RAISED);
	}
	errno = saved;
}

void ccs_notify_close(struct cq *cq)
{
	if (!cq->bell)
		return;
	atomic_store(&cq->lazy, false);
	if (cq->bell->qp)
		ccs_memlock_release(BELL_PINNED);
	free_bell(cq->bell);
}

/*
 * An event that is not read yet was lost with the queue that raised it. With the application's
 * request it is raised again, perhaps without a completion.
 */
void ccs_notify_reopen(struct cq *cq)
{
	const unsigned cover = atomic_load(&cq->cover);
	const bool raised = cover == CCS_COVER_RAISED ||
			    (cover == CCS_COVER_DEVICE && !atomic_load(&cq->quiet));

	cq->bell_tried = false;
	if (!atomic_load(&cq->armed) || !raised)
		return;
	want_bell(cq);
	ccs_notify_ring(cq);
}
