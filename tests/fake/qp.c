/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs: creation, states, destruction. */
#include <errno.h>
#include <stdlib.h>

#include "priv.h"

#define qp_of(ib_) container(ib_, struct fake_qp, ib)
#define cq_of(ib_) container(ib_, struct fake_cq, ib)
#define srq_of(ib_) container(ib_, struct fake_srq, ib)

enum { FIRST_NUM = 0x11, WQE_BYTES = 64 };

static struct fake_qp *table[MAX_QPS];
static unsigned end;                     /* first entry of the free rest */

unsigned fake_qp_end(void)
{
	return end;
}

struct fake_qp *fake_qp_at(unsigned i)
{
	return i < MAX_QPS ? table[i] : NULL;
}

struct fake_qp *fake_qp_by_num(uint32_t num)
{
	return fake_qp_at(num - FIRST_NUM - fake_qp_base());
}

/* Choose the lowest free number, so that numbers are reused at once. */
static uint32_t pick_num(void)
{
	const uint32_t first = fake_qp_base() + FIRST_NUM, wanted = fake_wanted_qp_num();

	if (wanted - first < MAX_QPS && !fake_qp_by_num(wanted))
		return wanted;
	for (unsigned i = 0; i < MAX_QPS; i++)
		if (!table[i])
			return first + i;
	return 0;
}

/* The kernel looks a CQ up by its handle, among the objects of the PD's context. */
static bool is_foreign(const struct ibv_pd *pd, const struct ibv_cq *cq)
{
	return cq && cq->context != pd->context;
}

static bool acceptable(const struct ibv_pd *pd, const struct ibv_qp_init_attr *attr)
{
	const bool sends = attr->qp_type != IBV_QPT_XRC_RECV;
	const bool receives = sends && attr->qp_type != IBV_QPT_XRC_SEND;

	return !is_foreign(pd, attr->send_cq) && !is_foreign(pd, attr->recv_cq) &&
	       (attr->send_cq || !sends) && (attr->recv_cq || !receives) &&
	       attr->cap.max_send_wr <= MAX_WR && attr->cap.max_recv_wr <= MAX_WR &&
	       attr->cap.max_send_sge <= MAX_SGE && attr->cap.max_recv_sge <= MAX_SGE &&
	       attr->cap.max_inline_data <= MAX_INLINE &&
	       attr->cap.max_send_wr <= fake_depth_limit();
}

/* fake_lock is held. */
static void release(struct fake_qp *qp)
{
	fake_unpin(qp->pinned);
	fake_batch_close(qp);
	free(qp->sq);
	free(qp->own.ring);
	free(qp);
}

static struct fake_qp *allocate(const struct ibv_qp_init_attr *attr, const uint64_t *send_ops)
{
	struct fake_qp *qp = calloc(1, sizeof(*qp));
	struct ibv_qp_cap cap = attr->cap;

	if (!qp)
		return NULL;
	fake_round_up(&cap, attr->qp_type, send_ops);
	qp->init = *attr;
	qp->init.cap = cap;
	qp->depth = attr->cap.max_send_wr;
	qp->sq = calloc(cap.max_send_wr + 1, sizeof(*qp->sq));
	qp->own.ring = calloc(cap.max_recv_wr + 1, sizeof(*qp->own.ring));
	qp->own.size = cap.max_recv_wr;
	if (fake_pin(((uint64_t)cap.max_send_wr + cap.max_recv_wr) * WQE_BYTES))
		qp->pinned = ((uint64_t)cap.max_send_wr + cap.max_recv_wr) * WQE_BYTES;
	else
		goto fail;
	qp->rq = attr->srq ? &srq_of(attr->srq)->rq : &qp->own;
	if (qp->sq && qp->own.ring)
		return qp;
fail:
	release(qp);
	return NULL;
}

/* Add or remove a use of each part, which keeps them from being destroyed. */
static void use_objects(struct fake_qp *qp, int by)
{
	container(qp->ib.pd, struct fake_pd, ib)->qps += (unsigned)by;
	if (qp->init.send_cq)
		cq_of(qp->init.send_cq)->qps += (unsigned)by;
	if (qp->init.recv_cq)
		cq_of(qp->init.recv_cq)->qps += (unsigned)by;
	if (qp->init.srq)
		srq_of(qp->init.srq)->qps += (unsigned)by;
	fake_count.qps += (unsigned)by;
}

/* The caller holds fake_lock. */
static struct fake_qp *create(struct ibv_pd *pd, const struct ibv_qp_init_attr *attr,
			      const uint64_t *send_ops)
{
	const uint32_t num = pick_num(), i = num - FIRST_NUM - fake_qp_base();
	struct fake_qp *qp;
	int error;

	if (!num || !acceptable(pd, attr)) {
		errno = EINVAL;
		return NULL;
	}
	qp = allocate(attr, send_ops);
	if (!qp)
		return NULL;
	qp->ib.context = pd->context;
	qp->ib.qp_context = attr->qp_context;
	qp->ib.pd = pd;
	qp->ib.send_cq = attr->send_cq;
	qp->ib.recv_cq = attr->recv_cq;
	qp->ib.srq = attr->srq;
	qp->ib.qp_type = attr->qp_type;
	qp->ib.qp_num = num;
	qp->ib.state = IBV_QPS_RESET;
	error = send_ops ? fake_batch_open(qp, *send_ops) : 0;
	if (error) {
		release(qp);
		errno = error;
		return NULL;
	}
	table[i] = qp;
	qp->place = i;
	if (end < i + 1)
		end = i + 1;
	qp->td = container(pd, struct fake_pd, ib)->td;
	if (!qp->td)
		qp->td = container(pd->context, struct fake_context, v.context)->single_thread;
	qp->rcq = attr->recv_cq ? cq_of(attr->recv_cq) : NULL;
	use_objects(qp, 1);
	return qp;
}

/* *attr gets the granted capabilities. */
static struct ibv_qp *create_locked(struct ibv_pd *pd, struct ibv_qp_init_attr *attr,
				    const uint64_t *send_ops)
{
	struct fake_qp *qp;

	pthread_mutex_lock(&fake_lock);
	qp = create(pd, attr, send_ops);
	if (qp)
		attr->cap = qp->init.cap;
	pthread_mutex_unlock(&fake_lock);
	return qp ? &qp->ib : NULL;
}

EXPORT struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	return create_locked(pd, attr, NULL);
}

struct ibv_qp *fake_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp_init_attr plain = {
		.qp_context = attr->qp_context, .send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq, .srq = attr->srq, .cap = attr->cap,
		.qp_type = attr->qp_type, .sq_sig_all = attr->sq_sig_all != 0,
	};
	const uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS |
			       IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	struct ibv_qp *qp;

	(void)context;
	if (attr->qp_type == IBV_QPT_XRC_RECV)
		plain.send_cq = plain.recv_cq = NULL; /* without a check, as libibverbs */
	if (attr->comp_mask == IBV_QP_INIT_ATTR_XRCD && attr->qp_type == IBV_QPT_XRC_RECV)
		return create_locked(&container(attr->xrcd, struct fake_xrcd, ib)->pd.ib, &plain,
				     NULL);
	if ((attr->comp_mask & ~known) || !(attr->comp_mask & IBV_QP_INIT_ATTR_PD) ||
	    attr->qp_type == IBV_QPT_XRC_RECV) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	qp = create_locked(attr->pd, &plain, /* not by the symbol, which is interposed */
			   attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS
			   ? &attr->send_ops_flags : NULL);
	attr->cap = plain.cap;
	return qp;
}

EXPORT struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *ib)
{
	struct fake_qp *qp = qp_of(ib);

	return qp->batch ? &qp->ex : NULL;
}

static bool may_go(enum ibv_qp_state from, enum ibv_qp_state to)
{
	switch (to) {
	case IBV_QPS_RESET:
	case IBV_QPS_ERR:
		return true;
	case IBV_QPS_INIT:
		return from == IBV_QPS_RESET || from == IBV_QPS_INIT;
	case IBV_QPS_RTR:
		return from == IBV_QPS_INIT;
	case IBV_QPS_RTS:
		return from == IBV_QPS_RTR || from == IBV_QPS_RTS || from == IBV_QPS_SQD;
	case IBV_QPS_SQD:
		return from == IBV_QPS_RTS || from == IBV_QPS_SQD;
	default:
		return false;
	}
}

static void keep_attr(struct fake_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	if (mask & IBV_QP_PORT)
		qp->attr.port_num = attr->port_num;
	if (mask & IBV_QP_AV)
		qp->attr.ah_attr = attr->ah_attr;
	if (mask & IBV_QP_PATH_MTU)
		qp->attr.path_mtu = attr->path_mtu;
	if (mask & IBV_QP_QKEY)
		qp->attr.qkey = attr->qkey;
	if (mask & IBV_QP_PKEY_INDEX)
		qp->attr.pkey_index = attr->pkey_index;
	if (mask & IBV_QP_DEST_QPN)
		qp->attr.dest_qp_num = attr->dest_qp_num;
	if (mask & IBV_QP_ACCESS_FLAGS)
		qp->attr.qp_access_flags = attr->qp_access_flags;
	if (mask & IBV_QP_TIMEOUT)
		qp->attr.timeout = attr->timeout;
	if (mask & IBV_QP_RETRY_CNT)
		qp->attr.retry_cnt = attr->retry_cnt;
	if (mask & IBV_QP_RNR_RETRY)
		qp->attr.rnr_retry = attr->rnr_retry;
	if (mask & IBV_QP_MIN_RNR_TIMER)
		qp->attr.min_rnr_timer = attr->min_rnr_timer;
	if (mask & IBV_QP_RQ_PSN)
		qp->attr.rq_psn = attr->rq_psn;
	if (mask & IBV_QP_SQ_PSN)
		qp->attr.sq_psn = attr->sq_psn;
	if (mask & IBV_QP_RATE_LIMIT)
		qp->attr.rate_limit = attr->rate_limit;
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC)
		qp->attr.max_rd_atomic = attr->max_rd_atomic;
	if (mask & IBV_QP_MAX_DEST_RD_ATOMIC)
		qp->attr.max_dest_rd_atomic = attr->max_dest_rd_atomic;
}

static void raise_event(struct fake_qp *qp, enum ibv_event_type type)
{
	const struct ibv_async_event event = { .element.qp = &qp->ib, .event_type = type };

	fake_raise(qp->ib.context, &event);
}

void fake_check_drained(struct fake_qp *qp)
{
	if (qp->ib.state == IBV_QPS_SQD && qp->sq_next == qp->sq_stop)
		raise_event(qp, IBV_EVENT_SQ_DRAINED);
}

void fake_qp_to_err(struct fake_qp *qp)
{
	qp->ib.state = IBV_QPS_ERR;
	fake_flush(qp);
	if (qp->ib.srq)
		raise_event(qp, IBV_EVENT_QP_LAST_WQE_REACHED);
}

/* Held or not. Soft-RoCE's rxe_qp_error() raises the event again for each flushed WQE. */
void fake_flush_posted(struct fake_qp *qp)
{
	fake_flush(qp);
	if (qp->ib.srq && fake_profile()->repeats_last_wqe)
		raise_event(qp, IBV_EVENT_QP_LAST_WQE_REACHED);
}

static void enter(struct fake_qp *qp, enum ibv_qp_state state)
{
	const enum ibv_qp_state old = qp->ib.state;

	qp->ib.state = state;
	qp->dozes = state == IBV_QPS_RTS && old != IBV_QPS_RTS &&
		    (fake_resumes_by_post() ||
		     (fake_profile()->keeps_early && old == IBV_QPS_RTR));
	qp->was_rts = state == IBV_QPS_RTS || (qp->was_rts && state != IBV_QPS_RESET);
	fake_batch_state(qp);
	if (state == IBV_QPS_RESET) {
		qp->sq_tail = qp->sq_next = qp->sq_head;
		qp->own.tail = qp->own.head;
		qp->has_taken = false;
		fake_remote_forget(qp);
		if (fake_profile()->cleans_cqs)
			fake_cq_clean(qp);
		fake_cq_forget(qp);
	} else if (state == IBV_QPS_ERR && old != IBV_QPS_ERR) {
		fake_qp_to_err(qp);
	} else if (state == IBV_QPS_SQD && old == IBV_QPS_RTS) {
		qp->sq_stop = qp->sq_head;
		fake_check_drained(qp);
	}
}

int fake_modify_qp(struct ibv_qp *ib, struct ibv_qp_attr *attr, int mask)
{
	struct fake_qp *qp = qp_of(ib);
	int rc = 0;

	pthread_mutex_lock(&fake_lock);
	if ((mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_RESET)
		fake_carry_out_now((unsigned)fake_fault(FAULT_LATE));
	rc = fake_fault(FAULT_MODIFY);
	if (!rc && (mask & IBV_QP_STATE) && !may_go(ib->state, attr->qp_state))
		rc = EINVAL;
	if (!rc) {
		keep_attr(qp, attr, mask);
		if (mask & IBV_QP_STATE)
			enter(qp, attr->qp_state);
		fake_run();
	}
	pthread_mutex_unlock(&fake_lock);
	return rc;
}

/* A reset removes receives from the CQ under the lock that batches hold, as on mlx5. */
EXPORT int ibv_modify_qp(struct ibv_qp *ib, struct ibv_qp_attr *attr, int mask)
{
	const bool cleans = (mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_RESET &&
			    ib->recv_cq;
	struct fake_cq *cq = cq_of(ib->recv_cq);
	int rc;

	if (cleans)
		pthread_mutex_lock(&cq->batch);
	rc = fake_modify_qp(ib, attr, mask);
	if (cleans)
		pthread_mutex_unlock(&cq->batch);
	fake_modifying();
	return rc;
}

EXPORT int ibv_query_qp(struct ibv_qp *ib, struct ibv_qp_attr *attr, int mask,
			struct ibv_qp_init_attr *init)
{
	struct fake_qp *qp = qp_of(ib);

	(void)mask;
	pthread_mutex_lock(&fake_lock);
	*attr = qp->attr;
	attr->qp_state = attr->cur_qp_state = ib->state;
	attr->cap = qp->init.cap;
	*init = qp->init;
	pthread_mutex_unlock(&fake_lock);
	return 0;
}

/* Simulate a late completion of the last WQE. */
static void leave_stale(const struct fake_qp *qp)
{
	const uint32_t depth = qp->init.cap.max_send_wr;
	struct fake_cqe cqe = { .made_ns = fake_now_ns() };

	if (!qp->sq_head || !fake_fault(FAULT_STALE))
		return;
	cqe.wc.wr_id = qp->sq[(qp->sq_head - 1) % depth].wr.wr_id;
	cqe.wc.qp_num = qp->ib.qp_num;
	fake_cq_add(cq_of(qp->init.send_cq), &cqe, false);
}

EXPORT int ibv_destroy_qp(struct ibv_qp *ib)
{
	struct fake_qp *qp = qp_of(ib);
	int rc;

	pthread_mutex_lock(&fake_lock);
	rc = fake_fault(FAULT_DESTROY);
	if (rc) {
		pthread_mutex_unlock(&fake_lock);
		return rc;
	}
	while (qp->async_given != ib->events_completed)
		pthread_cond_wait(&fake_changed, &fake_lock);
	fake_carry_out_now((unsigned)fake_fault(FAULT_LATE));
	if (fake_profile()->cleans_cqs)
		fake_cq_clean(qp);
	else
		fake_flush(qp); /* into CQs that may outlive the QP */
	fake_remote_forget(qp);
	fake_queue_drop(&container(ib->context, struct fake_context, v.context)->async, ib);
	leave_stale(qp);
	fake_cq_forget(qp);
	use_objects(qp, -1);
	table[qp->place] = NULL;
	while (end && !table[end - 1])
		end--;
	release(qp);
	pthread_mutex_unlock(&fake_lock);
	fake_destroyed();
	return 0;
}

void fake_fail_qp(struct ibv_qp *ib)
{
	pthread_mutex_lock(&fake_lock);
	fake_qp_to_err(qp_of(ib));
	pthread_mutex_unlock(&fake_lock);
}

uint32_t fake_depth(const struct ibv_qp *ib)
{
	return container(ib, const struct fake_qp, ib)->depth;
}

struct ibv_cq *fake_send_cq(const struct ibv_qp *ib)
{
	return container(ib, const struct fake_qp, ib)->init.send_cq;
}

uint8_t fake_tclass(const struct ibv_qp *ib)
{
	return container(ib, const struct fake_qp, ib)->attr.ah_attr.grh.traffic_class;
}

struct fake_counts fake_counts(void)
{
	struct fake_counts c;

	pthread_mutex_lock(&fake_lock);
	c = fake_count;
	pthread_mutex_unlock(&fake_lock);
	return c;
}
