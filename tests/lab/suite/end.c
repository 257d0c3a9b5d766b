/* SPDX-License-Identifier: BSD-2-Clause */
/* The queue pairs of the verbs suite: how they are created, connected and destroyed. */
#include "suite.h"

enum { RNR_TIMER_640_US = 14, TIMEOUT_17_MS = 12 };

static void set_defaults(struct shape *s)
{
	if (!s->type)
		s->type = IBV_QPT_RC;
	if (!s->sends)
		s->sends = 32;
	if (!s->recvs && !s->srq)
		s->recvs = 32;
	if (!s->sges)
		s->sges = 4;
	if (!s->inline_len)
		s->inline_len = 64;
	if (!s->cqe)
		s->cqe = 512;
	if (!s->rnr_retry)
		s->rnr_retry = 7;
	if (!s->rd_atomic)
		s->rd_atomic = 8;
	if (!s->timeout)
		s->timeout = TIMEOUT_17_MS;
}

void end_make_cq(struct end *e, struct host *h, const struct shape *shape)
{
	struct ibv_cq_init_attr_ex attr = { .cq_context = e };

	memset(e, 0, sizeof(*e));
	e->host = h;
	e->shape = *shape;
	set_defaults(&e->shape);
	if (shape->cq) {
		e->cq = shape->cq;
		return;
	}
	e->channel = ibv_create_comp_channel(h->ctx);
	require(e->channel, "no completion channel");
	if (shape->wc_flags || shape->single_threaded) {
		attr.cqe = (uint32_t)e->shape.cqe;
		attr.channel = e->channel;
		attr.wc_flags = shape->wc_flags;
		if (shape->single_threaded) {
			attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
			attr.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
		}
		e->cqx = ibv_create_cq_ex(h->ctx, &attr);
		e->cq = e->cqx ? ibv_cq_ex_to_cq(e->cqx) : NULL;
	} else {
		e->cq = ibv_create_cq(h->ctx, e->shape.cqe, e, e->channel, 0);
	}
	require(e->cq, "no completion queue");
}

static void make_qp(struct end *e)
{
	const struct shape *s = &e->shape;
	struct ibv_qp_init_attr attr = {
		.qp_context = e, .send_cq = s->send_cq ? s->send_cq : e->cq, .recv_cq = e->cq,
		.srq = s->srq, .qp_type = s->type, .sq_sig_all = s->sig_all,
		.cap = {
			.max_send_wr = s->sends, .max_recv_wr = s->srq ? 0 : s->recvs,
			.max_send_sge = s->sges, .max_recv_sge = s->srq ? 0 : s->sges,
			.max_inline_data = s->inline_len,
		},
	};
	struct ibv_pd *pd = s->pd ? s->pd : e->host->pd;
	struct ibv_qp_init_attr_ex ex;

	if (!s->ops) {
		e->qp = ibv_create_qp(pd, &attr);
		e->cap = attr.cap;
		return;
	}
	memset(&ex, 0, sizeof(ex));
	memcpy(&ex, &attr, sizeof(attr)); /* ex begins with the same members */
	ex.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	ex.pd = pd;
	ex.send_ops_flags = s->ops;
	e->qp = ibv_create_qp_ex(e->host->ctx, &ex);
	e->qpx = e->qp ? ibv_qp_to_qp_ex(e->qp) : NULL;
	e->cap = ex.cap;
}

void end_make(struct end *e, struct host *h, const struct shape *shape)
{
	end_make_cq(e, h, shape);
	make_qp(e);
	require(e->qp, "no queue pair");
}

static void to_init(struct end *e)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = PORT, .qkey = QKEY,
		.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_ATOMIC,
	};
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	mask |= e->shape.type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
	require(!ibv_modify_qp(e->qp, &attr, mask), "to INIT");
}

static void to_rtr(struct end *e, const union ibv_gid *gid, uint32_t qpn)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = qpn, .rq_psn = 7,
		.max_dest_rd_atomic = 16, .min_rnr_timer = RNR_TIMER_640_US,
		.ah_attr = {
			.is_global = 1, .port_num = PORT,
			.grh = { .dgid = *gid, .sgid_index = gid_index, .hop_limit = 64 },
		},
	};
	int mask = IBV_QP_STATE;

	if (e->shape.type != IBV_QPT_UD)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (e->shape.type == IBV_QPT_RC)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	require(!ibv_modify_qp(e->qp, &attr, mask), "to RTR");
	if (e->shape.type != IBV_QPT_UD || e->ah)
		return;
	e->ah = ibv_create_ah(e->host->pd, &attr.ah_attr);
	require(e->ah, "no address handle");
}

static void to_rts(struct end *e)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS, .sq_psn = 7, .timeout = e->shape.timeout, .retry_cnt = 3,
		.rnr_retry = (uint8_t)(e->shape.rnr_retry % NO_RNR_RETRY),
		.max_rd_atomic = (uint8_t)e->shape.rd_atomic,
	};
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (e->shape.type == IBV_QPT_RC)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	require(!ibv_modify_qp(e->qp, &attr, mask), "to RTS");
}

void end_connect_to(struct end *e, const union ibv_gid *gid, uint32_t qpn)
{
	to_init(e);
	to_rtr(e, gid, qpn);
	to_rts(e);
}

void end_connect(struct end *e, const struct end *peer)
{
	end_connect_to(e, &peer->host->gid, peer->qp->qp_num);
}

int end_modify(struct end *e, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return ibv_modify_qp(e->qp, &attr, IBV_QP_STATE);
}

enum ibv_qp_state end_state(struct end *e)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	require(!ibv_query_qp(e->qp, &attr, IBV_QP_STATE, &init), "query");
	return attr.qp_state;
}

void end_drop(struct end *e)
{
	if (e->qp)
		require(!ibv_destroy_qp(e->qp), "destroying a queue pair");
	if (e->ah)
		require(!ibv_destroy_ah(e->ah), "destroying an address handle");
	if (e->channel) {
		require(!ibv_destroy_cq(e->cq), "destroying a completion queue");
		require(!ibv_destroy_comp_channel(e->channel), "destroying a channel");
	}
	memset(e, 0, sizeof(*e));
}

void pair_make(struct pair *p, const struct shape *shape)
{
	end_make(&p->a, &hosts[0], shape);
	end_make(&p->b, &hosts[1], shape);
	pair_connect(p);
}

void pair_make_beside(struct pair *q, const struct pair *p)
{
	end_make(&q->a, &hosts[0], &(struct shape){ .cq = p->a.cq });
	end_make(&q->b, &hosts[1], &(struct shape){ .cq = p->b.cq });
	pair_connect(q);
}

void pair_connect(struct pair *p)
{
	end_connect(&p->a, &p->b);
	end_connect(&p->b, &p->a);
}

void pair_drop(struct pair *p)
{
	end_drop(&p->a);
	end_drop(&p->b);
}

struct ibv_srq *srq_make(struct host *h, uint32_t wrs)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = wrs, .max_sge = 2 } };
	struct ibv_srq *srq = ibv_create_srq(h->pd, &attr);

	require(srq, "no shared receive queue");
	return srq;
}
