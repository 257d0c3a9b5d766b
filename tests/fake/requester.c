/* SPDX-License-Identifier: BSD-2-Clause */
/* What a WQE does: a piece at a time is gathered, brought to the peer, and answered. */
#include <string.h>

#include "priv.h"

#define cq_of(ib_) container(ib_, struct fake_cq, ib)

static enum ibv_wc_opcode wc_opcode(enum ibv_wr_opcode op)
{
	switch (op) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return IBV_WC_RDMA_WRITE;
	case IBV_WR_RDMA_READ:
		return IBV_WC_RDMA_READ;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return IBV_WC_COMP_SWAP;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return IBV_WC_FETCH_ADD;
	case IBV_WR_BIND_MW:
		return IBV_WC_BIND_MW;
	case IBV_WR_LOCAL_INV:
		return IBV_WC_LOCAL_INV;
	default:
		return IBV_WC_SEND;
	}
}

void fake_complete_send(struct fake_qp *qp, const struct fake_wqe *wqe, enum ibv_wc_status status)
{
	const uint64_t now = fake_now_ns();
	struct fake_cqe cqe = {
		.made_ns = wqe->due_ns && wqe->due_ns < now ? wqe->due_ns : now,
		.wc = {
			.wr_id = wqe->wr.wr_id,
			.status = status,
			.opcode = wc_opcode(wqe->wr.opcode),
			.vendor_err = status ? 0x99 : 0,
			.byte_len = (uint32_t)wqe->length,
			.qp_num = qp->ib.qp_num,
		},
		.qp = qp,
		.wqe = ++qp->sq_next,
	};

	if (status || qp->init.sq_sig_all || (wqe->wr.send_flags & IBV_SEND_SIGNALED))
		fake_cq_add(cq_of(qp->init.send_cq), &cqe, false);
}

/* Everything that has not been carried out comes back, asked for or not. */
void fake_flush(struct fake_qp *qp)
{
	while (qp->sq_next < qp->sq_head)
		fake_complete_send(qp, &qp->sq[qp->sq_next % qp->init.cap.max_send_wr],
				   IBV_WC_WR_FLUSH_ERR);
	fake_flush_receives(qp);
}

static bool is_atomic(enum ibv_wr_opcode op)
{
	return op == IBV_WR_ATOMIC_CMP_AND_SWP || op == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static bool brings_data_back(enum ibv_wr_opcode op)
{
	return op == IBV_WR_RDMA_READ || is_atomic(op);
}

static bool local_ok(const struct fake_wqe *wqe)
{
	const int access = brings_data_back(wqe->wr.opcode) ? IBV_ACCESS_LOCAL_WRITE : 0;

	if (is_atomic(wqe->wr.opcode) && wqe->length != 8)
		return false;
	for (int i = 0; i < wqe->wr.num_sge; i++)
		if (wqe->sge[i].length && !(wqe->wr.send_flags & IBV_SEND_INLINE) &&
		    !fake_translate(wqe->sge[i].lkey, wqe->sge[i].addr, wqe->sge[i].length,
				    access))
			return false;
	return true;
}

static struct fake_request request(const struct fake_qp *qp, const struct fake_wqe *wqe,
				   uint64_t offset)
{
	const struct ibv_send_wr *wr = &wqe->wr;
	const uint64_t left = wqe->length - offset;
	struct fake_request req = {
		.src_qp = qp->ib.qp_num,
		.dst_qp = qp->attr.dest_qp_num,
		.opcode = wr->opcode,
		.type = qp->ib.qp_type,
		.solicited = wr->send_flags & IBV_SEND_SOLICITED,
		.imm = wr->imm_data,
		.length = wqe->length,
		.offset = offset,
		.piece = left < PIECE ? (uint32_t)left : PIECE,
	};

	if (req.type == IBV_QPT_UD) {
		req.dst_qp = wr->wr.ud.remote_qpn;
		req.qkey = wr->wr.ud.remote_qkey;
		ibv_query_gid(qp->ib.context, 1, wqe->av.grh.sgid_index & 1, &req.sgid);
	} else if (is_atomic(wr->opcode)) {
		req.addr = wr->wr.atomic.remote_addr;
		req.rkey = wr->wr.atomic.rkey;
		req.compare_add = wr->wr.atomic.compare_add;
		req.swap = wr->wr.atomic.swap;
	} else if (wr->opcode == IBV_WR_RDMA_READ || wr->opcode == IBV_WR_RDMA_WRITE ||
		   wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
		req.addr = wr->wr.rdma.remote_addr;
		req.rkey = wr->wr.rdma.rkey;
	}
	return req;
}

/* Between a WQE's own memory and a piece. */
static void move_piece(struct fake_wqe *wqe, const struct fake_request *req, unsigned char *data)
{
	const bool back = brings_data_back(req->opcode);

	fake_move(wqe->sge, wqe->wr.num_sge,
		  wqe->wr.send_flags & IBV_SEND_INLINE ? wqe->data : NULL, req->offset, data,
		  req->piece, !back);
}

/* The peer is a QP of this process. */
static int exchange(const struct fake_qp *qp, struct fake_wqe *wqe)
{
	static unsigned char data[PIECE];
	uint64_t offset = 0;

	do {
		const struct fake_request req = request(qp, wqe, offset);
		int answer;

		if (!brings_data_back(req.opcode))
			move_piece(wqe, &req, data);
		answer = fake_respond(&req, data);
		if (answer)
			return answer;
		if (brings_data_back(req.opcode))
			move_piece(wqe, &req, data);
		offset += req.piece;
	} while (offset < wqe->length);
	return IBV_WC_SUCCESS;
}

/* Nobody tells the sender of an unreliable QP what became of it. */
static int answer_for(const struct fake_qp *qp, int answer)
{
	if (qp->ib.qp_type != IBV_QPT_RC)
		return IBV_WC_SUCCESS;
	return answer == ANSWER_NO_PEER ? IBV_WC_RETRY_EXC_ERR : answer;
}

static int perform(const struct fake_qp *qp, struct fake_wqe *wqe)
{
	switch (wqe->wr.opcode) {
	case IBV_WR_LOCAL_INV:
		fake_window_invalidate(wqe->wr.invalidate_rkey);
		return IBV_WC_SUCCESS;
	case IBV_WR_BIND_MW:
		fake_window_bind(wqe);
		return IBV_WC_SUCCESS;
	default:
		break;
	}
	if (!local_ok(wqe))
		return IBV_WC_LOC_PROT_ERR;
	if (qp->ib.qp_type == IBV_QPT_UD && wqe->length > MAX_DATAGRAM)
		return IBV_WC_LOC_LEN_ERR;
	return answer_for(qp, exchange(qp, wqe));
}

bool fake_carry_out(struct fake_qp *qp, struct fake_wqe *wqe)
{
	int status = 0;

	if (qp->ib.state == IBV_QPS_ERR) {
		fake_complete_send(qp, wqe, IBV_WC_WR_FLUSH_ERR);
		return true;
	}
	if (!wqe->begun) {
		wqe->begun = true;
		status = fake_fault(FAULT_CQE);
	}
	if (!status)
		status = perform(qp, wqe);
	if (status == ANSWER_NOT_READY)
		return false; /* retried for ever */
	fake_complete_send(qp, wqe, (enum ibv_wc_status)status);
	if (status)
		fake_qp_to_err(qp);
	return true;
}
