/* SPDX-License-Identifier: BSD-2-Clause */
/* Posting: accept what the application hands over, emit what the gate lets through. */
#include <errno.h>

#include "runtime/log.h"
#include "verbs/real.h"
#include "verbs/shim.h"
#include "verbs/wr.h"

enum { WATCH_MIN_NS = 50000, WATCH_MAX_NS = 1000000 };

/* One doorbell's worth of segments. */
struct batch {
	struct ibv_send_wr wr[CCS_BATCH];
	uint64_t first;                  /* number of its first segment */
	int n;
};

static void fill(struct qp *qp, struct batch *b, uint64_t now_ns)
{
	const uint32_t sges = qp->cap.max_send_sge ? qp->cap.max_send_sge : 1;
	const struct ccs_seg *seg;
	uint64_t number;

	for (b->n = 0; b->n < CCS_BATCH; b->n++) {
		seg = ccs_flow_next(&qp->flow, now_ns, &number);
		if (!seg)
			break;
		if (!b->n)
			b->first = number;
		else
			b->wr[b->n - 1].next = &b->wr[b->n];
		ccs_wr_build(qp, seg, ccs_token(qp, number), &b->wr[b->n],
			     &qp->scratch[(uint32_t)b->n * sges]);
	}
}

/*
 * Emit until the gate closes. On a refusal by the device its code is returned
 * and *refused is the WR that it did not take; that WR and all behind it are
 * waiting again. Without a bad_wr (rxe, when the doorbell fails) the device
 * has kept the WQEs, so they count as in flight and *refused is none of ours.
 */
static int emit(struct qp *qp, uint64_t now_ns, uint64_t *refused)
{
	struct batch b;

	do {
		struct ibv_send_wr *bad = NULL;
		int rc;

		fill(qp, &b, now_ns);
		rc = b.n ? qp->ctx->real.post_send(qp->real, b.wr, &bad) : 0;
		if (rc) {
			if (bad)
				ccs_flow_unsend(&qp->flow, b.first + (uint64_t)(bad - b.wr));
			*refused = bad ? qp->flow.wr_next : UINT64_MAX;
			return rc;
		}
	} while (b.n == CCS_BATCH);
	return 0;
}

/*
 * A WR that was accepted earlier cannot be refused any more. Validation makes
 * this unlikely; if it happens the QP is failed as the device would have done,
 * and what it does not take is completed by us.
 */
static void late_refusal(struct qp *qp, int rc)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	ccs_log_once(CCS_LOG_WARN, "QP %u: the device refused a deferred WR (%d); failing the QP",
		     qp->real->qp_num, rc);
	ccs_flow_fail(&qp->flow);
	qp->broken = true;
	atomic_store(&qp->cq->broken, true);
	ccs_real()->ibv_modify_qp(qp->real, &attr, IBV_QP_STATE);
}

/* When nobody drives progress by polling, look after this long. */
static uint64_t watch_ns(const struct qp *qp)
{
	const double ns = 1e3 * qp->flow.cc.path.base_rtt_us;

	return ns < WATCH_MIN_NS ? WATCH_MIN_NS : ns > WATCH_MAX_NS ? WATCH_MAX_NS : (uint64_t)ns;
}

static void schedule(struct qp *qp, uint64_t now_ns)
{
	const uint64_t due = ccs_flow_wait(&qp->flow, now_ns);

	if (due && !qp->broken)
		ccs_helper_set(qp, due == UINT64_MAX ? now_ns + watch_ns(qp) : due);
	else if (qp->scheduled)
		ccs_helper_cancel(qp);
	qp->scheduled = due && !qp->broken;
}

void ccs_post_pump(struct qp *qp, uint64_t now_ns)
{
	uint64_t refused;
	int rc;

	if (!ccs_flow_waiting(&qp->flow) && !qp->scheduled && !qp->flow.gated_since_ns)
		return;
	if (qp->dead || qp->broken || qp->state < IBV_QPS_RTS)
		return;
	rc = emit(qp, now_ns, &refused);
	if (rc == ENOMEM && refused != UINT64_MAX && qp->flow.seg_tail != qp->flow.seg_head) {
		/* The device counts its entries otherwise than we do: completions free some. */
		ccs_helper_set(qp, now_ns + watch_ns(qp));
		qp->scheduled = true;
		return;
	}
	if (rc)
		late_refusal(qp, rc);
	schedule(qp, now_ns);
}

static uint64_t list_length(const struct ibv_send_wr *wr, uint64_t most)
{
	uint64_t n = 0;

	for (; wr && n < most; wr = wr->next)
		n++;
	return n;
}

/* Completions that nobody polled hold entries: fetch them before refusing. */
static void make_room(struct qp *qp, const struct ibv_send_wr *wr)
{
	const uint64_t used = qp->flow.wr_head - qp->flow.wr_tail;
	const bool tight = used + list_length(wr, qp->flow.wr_limit) > qp->flow.wr_limit;

	if (!tight)
		return;
	pthread_mutex_unlock(&qp->lock);
	pthread_mutex_lock(&qp->cq->lock);
	ccs_cq_drain(qp->cq);
	pthread_mutex_unlock(&qp->cq->lock);
	pthread_mutex_lock(&qp->lock);
}

/* Accept as many of the list as there is room for; the first left out. */
static struct ibv_send_wr *accept_list(struct qp *qp, struct ibv_send_wr *wr)
{
	const bool split_imm = ccs_shim()->options.split_imm;

	for (; wr && !ccs_flow_full(&qp->flow); wr = wr->next) {
		const uint64_t number = ccs_flow_accept(&qp->flow, ccs_wr_len(qp, wr),
							ccs_wr_flags(qp, wr, split_imm));
		struct wr_slot *slot = ccs_slot(qp, number);

		slot->src = wr;
		slot->wr_id = wr->wr_id;
	}
	return wr;
}

/* The WR of this call that carries that number. */
static struct ibv_send_wr *nth(struct ibv_send_wr *wr, uint64_t n)
{
	while (n--)
		wr = wr->next;
	return wr;
}

/*
 * What waits must outlive the call. Returns the first that cannot be kept, or
 * wr_head; *rc is then why. Held back by SQD anything waits.
 */
static uint64_t keep_waiting(struct qp *qp, uint64_t first, int *rc)
{
	struct ccs_flow *f = &qp->flow;
	uint64_t n = first > f->wr_next ? first : f->wr_next;

	for (; n < f->wr_head; n++) {
		const bool may = f->state == CCS_FLOW_HOLD || ccs_wr_deferrable(ccs_slot(qp, n)->src);
		const int refusal = may ? ccs_wr_keep(qp, n) : ENOMEM;

		if (refusal) {
			*rc = refusal;
			return n;
		}
		f->stats.deferred++;
	}
	return n;
}

/*
 * Emit, but with a WR among those from `first` that cannot wait, then ungated:
 * what is queued before it goes out with it, as far as the device has room.
 */
static int emit_posted(struct qp *qp, uint64_t first, uint64_t now_ns, uint64_t *refused)
{
	struct ccs_flow *f = &qp->flow;
	const enum ccs_flow_state state = f->state;
	int rc;

	for (uint64_t n = first; n < f->wr_head && f->state == CCS_FLOW_RUN; n++)
		if (!ccs_wr_deferrable(ccs_slot(qp, n)->src))
			f->state = CCS_FLOW_FLUSH;
	rc = emit(qp, now_ns, refused);
	f->state = state;
	return rc;
}

/* Native codes where the device was asked, its usual ones where it could not be. */
static int post_locked(struct qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad,
		       uint64_t now_ns)
{
	struct ccs_flow *f = &qp->flow;
	const uint64_t first = f->wr_head;
	struct ibv_send_wr *left = accept_list(qp, wr);
	int rc = left ? ENOMEM : 0;
	uint64_t refused;
	const int device = emit_posted(qp, first, now_ns, &refused);
	const bool kept = device && refused == UINT64_MAX; /* by the device, despite its code */

	if (device && !kept && refused >= first && f->next_offset == 0) {
		left = nth(wr, refused - first);
		rc = device;
		ccs_flow_unaccept(f, refused);
	} else if (device && !kept) {
		late_refusal(qp, device);
	}
	refused = keep_waiting(qp, first, &rc);
	if (refused < f->wr_head) {
		left = nth(wr, refused - first);
		ccs_flow_unaccept(f, refused);
	}
	if (kept) {
		left = NULL;
		rc = device;
	}
	if (rc)
		*bad = left;
	return rc;
}

/* Into a QP that we had to fail: all is accepted and comes back flushed, by us. */
static int post_broken(struct qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct ibv_send_wr *left = accept_list(qp, wr);

	if (left)
		*bad = left;
	return left ? ENOMEM : 0;
}

int ccs_post(struct qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	uint64_t now;
	int rc;

	if (atomic_load_explicit(&ccs_shim()->forked, memory_order_relaxed))
		return qp->ctx->real.post_send(qp->real, wr, bad);
	pthread_mutex_lock(&qp->lock);
	if (qp->state < IBV_QPS_RTS) {
		pthread_mutex_unlock(&qp->lock);
		return qp->ctx->real.post_send(qp->real, wr, bad);
	}
	make_room(qp, wr);
	now = ccs_now_ns();
	rc = qp->broken ? post_broken(qp, wr, bad) : post_locked(qp, wr, bad, now);
	schedule(qp, now);
	pthread_mutex_unlock(&qp->lock);
	return rc;
}

/*
 * ibv_bind_mw changes mw->rkey before it returns, so it cannot wait: everything
 * queued before it goes out first, whatever the gate says.
 */
int ccs_post_bind_mw(struct qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	struct ibv_mw_bind copy = *bind;
	struct ccs_flow *f = &qp->flow;
	const struct ccs_seg *seg = NULL;
	enum ccs_flow_state state;
	uint64_t refused, number, wr;
	int rc = ENOMEM;

	pthread_mutex_lock(&qp->lock);
	state = f->state;
	f->state = CCS_FLOW_FLUSH;
	if (!emit(qp, ccs_now_ns(), &refused) && !ccs_flow_waiting(f) && !ccs_flow_full(f)) {
		wr = ccs_flow_accept(f, 0, qp->sq_sig_all || (bind->send_flags & IBV_SEND_SIGNALED)
					   ? CCS_WR_VISIBLE : 0);
		ccs_slot(qp, wr)->wr_id = bind->wr_id;
		seg = ccs_flow_next(f, ccs_now_ns(), &number);
		if (!seg)
			ccs_flow_unaccept(f, wr);
	}
	if (seg) {
		copy.wr_id = ccs_token(qp, number);
		copy.send_flags |= IBV_SEND_SIGNALED;
		rc = qp->ctx->real.bind_mw(qp->real, mw, &copy);
		if (rc) {
			ccs_flow_unsend(f, number);
			ccs_flow_unaccept(f, wr);
		}
	}
	if (f->state == CCS_FLOW_FLUSH)
		f->state = state;
	pthread_mutex_unlock(&qp->lock);
	return rc;
}
