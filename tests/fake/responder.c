/* SPDX-License-Identifier: BSD-2-Clause */
/* The remote end of a request: checks keys and moves data. */
#include <string.h>

#include "priv.h"

bool fake_consumes_receive(enum ibv_wr_opcode op)
{
	return op == IBV_WR_SEND || op == IBV_WR_SEND_WITH_IMM || op == IBV_WR_SEND_WITH_INV ||
	       op == IBV_WR_RDMA_WRITE_WITH_IMM;
}

bool fake_move(const struct ibv_sge *sge, int n, const unsigned char *inlined, uint64_t skip,
	       unsigned char *place, uint64_t len, bool gather)
{
	for (int i = 0; i < n && len; i++) {
		const uint64_t from = sge[i].length < skip ? sge[i].length : skip;
		const uint64_t some = sge[i].length - from < len ? sge[i].length - from : len;
		unsigned char *local = inlined ? (unsigned char *)(uintptr_t)inlined + from
			: fake_translate(sge[i].lkey, sge[i].addr + from, some,
					 gather ? 0 : IBV_ACCESS_LOCAL_WRITE);

		skip -= from;
		if (inlined)
			inlined += sge[i].length;
		if (!some)
			continue;
		if (!local)
			return false;
		if (gather)
			memcpy(place, local, some);
		else
			memcpy(local, place, some);
		place += some;
		len -= some;
	}
	return true;
}

/* Complete the receive in qp->taken; req is NULL when it is flushed. */
static void complete_recv(struct fake_qp *qp, const struct fake_request *req, uint64_t len,
			  enum ibv_wc_status status)
{
	struct fake_cqe cqe = {
		.made_ns = fake_now_ns(),
		.wc = { .wr_id = qp->taken.wr_id, .status = status, .opcode = IBV_WC_RECV,
			.byte_len = (uint32_t)len, .qp_num = qp->ib.qp_num },
	};
	const bool ok = req && !status;

	qp->has_taken = false;
	if (ok && (req->opcode == IBV_WR_SEND_WITH_IMM ||
		   req->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)) {
		cqe.wc.imm_data = req->imm;
		cqe.wc.wc_flags = IBV_WC_WITH_IMM;
	} else if (ok && req->opcode == IBV_WR_SEND_WITH_INV) {
		cqe.wc.invalidated_rkey = req->imm;
		cqe.wc.wc_flags = IBV_WC_WITH_INV;
	}
	if (ok && req->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		cqe.wc.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
	if (ok && req->type == IBV_QPT_UD) {
		cqe.wc.src_qp = req->src_qp;
		cqe.wc.wc_flags |= IBV_WC_GRH;
	}
	fake_cq_add(qp->rcq, &cqe, ok && req->solicited);
}

/* Receives in an SRQ stay there. */
void fake_flush_receives(struct fake_qp *qp)
{
	while (qp->has_taken || (qp->rq == &qp->own && fake_recv_take(qp)))
		complete_recv(qp, NULL, 0, IBV_WC_WR_FLUSH_ERR);
}

static bool last_piece(const struct fake_request *req)
{
	return req->offset + req->piece == req->length;
}

static int rdma(struct fake_qp *qp, const struct fake_request *req, unsigned char *data)
{
	const bool read = req->opcode == IBV_WR_RDMA_READ;
	unsigned char *at;

	if (req->length) {
		at = fake_translate(req->rkey, req->addr, req->length,
				    read ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE);
		if (!at)
			return IBV_WC_REM_ACCESS_ERR;
		if (read)
			memcpy(data, at + req->offset, req->piece);
		else
			memcpy(at + req->offset, data, req->piece);
	}
	if (req->opcode == IBV_WR_RDMA_WRITE_WITH_IMM && last_piece(req))
		complete_recv(qp, req, req->length, IBV_WC_SUCCESS);
	return IBV_WC_SUCCESS;
}

static int atomic(const struct fake_request *req, unsigned char *data)
{
	uint64_t *at = fake_translate(req->rkey, req->addr, 8, IBV_ACCESS_REMOTE_ATOMIC);

	if (!at || req->addr % 8)
		return IBV_WC_REM_ACCESS_ERR;
	memcpy(data, at, 8);
	if (req->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		*at += req->compare_add;
	else if (*at == req->compare_add)
		*at = req->swap;
	return IBV_WC_SUCCESS;
}

static uint64_t receive_space(const struct fake_rqe *rqe)
{
	uint64_t n = 0;

	for (int i = 0; i < rqe->num_sge; i++)
		n += rqe->sge[i].length;
	return n;
}

static int send(struct fake_qp *qp, const struct fake_request *req, unsigned char *data)
{
	const struct fake_rqe *rqe = &qp->taken;

	if (req->length > receive_space(rqe)) {
		complete_recv(qp, req, 0, IBV_WC_LOC_LEN_ERR);
		return IBV_WC_REM_INV_REQ_ERR;
	}
	if (!fake_move(rqe->sge, rqe->num_sge, NULL, req->offset, data, req->piece, false)) {
		complete_recv(qp, req, 0, IBV_WC_LOC_PROT_ERR);
		return IBV_WC_REM_OP_ERR;
	}
	if (!last_piece(req))
		return IBV_WC_SUCCESS;
	if (req->opcode == IBV_WR_SEND_WITH_INV)
		fake_window_invalidate(req->imm);
	complete_recv(qp, req, req->length, IBV_WC_SUCCESS);
	return IBV_WC_SUCCESS;
}

/* A datagram that does not fit is dropped silently. */
static void datagram(struct fake_qp *qp, const struct fake_request *req, unsigned char *data)
{
	struct ibv_grh grh = { .sgid = req->sgid };
	const struct fake_rqe *rqe = &qp->taken;

	if (req->qkey != qp->attr.qkey || !fake_recv_take(qp))
		return;
	if (req->length + GRH > receive_space(rqe) ||
	    !fake_move(rqe->sge, rqe->num_sge, NULL, 0, (unsigned char *)&grh, GRH, false) ||
	    !fake_move(rqe->sge, rqe->num_sge, NULL, GRH, data, req->length, false))
		return;
	complete_recv(qp, req, req->length + GRH, IBV_WC_SUCCESS);
}

int fake_respond(const struct fake_request *req, unsigned char *data)
{
	struct fake_qp *qp = fake_qp_by_num(req->dst_qp);

	if (!qp || qp->ib.qp_type != fake_peer_type(req->type) || qp->ib.state < IBV_QPS_RTR ||
	    qp->ib.state == IBV_QPS_ERR)
		return ANSWER_NO_PEER;
	if (req->type == IBV_QPT_UD) {
		datagram(qp, req, data);
		return IBV_WC_SUCCESS;
	}
	if (req->type == IBV_QPT_XRC_SEND && fake_consumes_receive(req->opcode) &&
	    !fake_xrc_aim(qp, req->srqn))
		return IBV_WC_REM_INV_REQ_ERR;
	if (fake_consumes_receive(req->opcode) &&
	    (fake_fault(FAULT_NOT_READY) || !fake_recv_take(qp)))
		return ANSWER_NOT_READY;
	switch (req->opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_RDMA_READ:
		return rdma(qp, req, data);
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return atomic(req, data);
	default:
		return send(qp, req, data);
	}
}
