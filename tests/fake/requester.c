/* SPDX-License-Identifier: BSD-2-Clause */
/* Carrying out a WQE: one piece at a time is gathered, sent to the peer, and answered. */
#include <string.h>

#include "priv.h"

#define cq_of(ib_) container(ib_, struct fake_cq, ib)

enum { RNR_NS = 200000, NO_ROOM_NS = 50000, MAX_TIMEOUT_NS = 100000000 };

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

static bool has_imm(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
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
			.vendor_err = fake_vendor_err(status),
			.byte_len = (uint32_t)wqe->length,
			.wc_flags = !status && has_imm(wqe->wr.opcode) ? IBV_WC_WITH_IMM : 0,
			.qp_num = qp->ib.qp_num,
		},
		.qp = qp,
		.wqe = ++qp->sq_next,
	};

	if (status || qp->init.sq_sig_all || (wqe->wr.send_flags & IBV_SEND_SIGNALED))
		fake_cq_add(cq_of(qp->init.send_cq), &cqe, false);
	if (fake_profile()->reuses_silently)
		qp->sq_tail = qp->sq_next;
	fake_check_drained(qp);
}

/* Every WQE that has not been carried out is flushed, signalled or not. */
void fake_flush(struct fake_qp *qp)
{
	fake_remote_forget(qp);
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

	if (req.type == IBV_QPT_XRC_SEND)
		req.srqn = wr->qp_type.xrc.remote_srqn;
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

static void move_piece(struct fake_wqe *wqe, const struct fake_request *req, unsigned char *data,
		       bool out)
{
	if (brings_data_back(req->opcode) != out)
		fake_move(wqe->sge, wqe->wr.num_sge,
			  wqe->wr.send_flags & IBV_SEND_INLINE ? wqe->data : NULL, req->offset,
			  data, req->piece, out);
}

void fake_move_out(struct fake_wqe *wqe, const struct fake_request *req, unsigned char *data)
{
	move_piece(wqe, req, data, true);
}

/* The peer is a QP of this process. */
static int exchange(const struct fake_qp *qp, struct fake_wqe *wqe)
{
	static unsigned char data[PIECE];
	uint64_t offset = 0;

	do {
		const struct fake_request req = request(qp, wqe, offset);
		int answer;

		move_piece(wqe, &req, data, true);
		answer = fake_respond(&req, data);
		if (answer)
			return answer;
		move_piece(wqe, &req, data, false);
		offset += req.piece;
	} while (offset < wqe->length);
	return IBV_WC_SUCCESS;
}

static int ask(struct fake_qp *qp, struct fake_wqe *wqe)
{
	const struct fake_request req = request(qp, wqe, qp->offset);

	return fake_is_remote(req.dst_qp) ? fake_remote_ask(qp, wqe, &req) : exchange(qp, wqe);
}

static int perform(struct fake_qp *qp, struct fake_wqe *wqe)
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
	if (wqe->wr.opcode > IBV_WR_SEND_WITH_INV)
		return IBV_WC_LOC_QP_OP_ERR;
	if (wqe->length > MAX_MESSAGE) /* IBTA 11.6.2: a local length error */
		return IBV_WC_LOC_LEN_ERR;
	if (!local_ok(wqe))
		return IBV_WC_LOC_PROT_ERR;
	if (qp->ib.qp_type == IBV_QPT_UD && wqe->length > MAX_DATAGRAM)
		return IBV_WC_LOC_LEN_ERR;
	return ask(qp, wqe);
}

static void finish(struct fake_qp *qp, struct fake_wqe *wqe, int answer)
{
	qp->offset = 0;
	qp->retries = qp->rnr_retries = 0;
	if (answer == ANSWER_NO_PEER || answer == ANSWER_DEAD)
		answer = IBV_WC_RETRY_EXC_ERR;
	/* an unreliable QP gets no acknowledgement */
	if (!fake_reliable(qp->ib.qp_type) &&
	    (answer == IBV_WC_RETRY_EXC_ERR || answer == ANSWER_NOT_READY))
		answer = IBV_WC_SUCCESS;
	fake_complete_send(qp, wqe, (enum ibv_wc_status)answer);
	if (answer)
		fake_qp_to_err(qp);
}

/* The other process had no receive, or no such QP in the right state: retry if allowed. */
static bool put_off(struct fake_qp *qp, struct fake_wqe *wqe, int answer)
{
	const struct ibv_qp_attr *a = &qp->attr;

	if (answer == ANSWER_NOT_READY) {
		if (a->rnr_retry != 7 && qp->rnr_retries++ == a->rnr_retry)
			return false;
		fake_put_off(wqe, RNR_NS);
		return true;
	}
	if (a->timeout && qp->retries++ == a->retry_cnt)
		return false;
	fake_put_off(wqe, a->timeout && a->timeout < 16 ? 4096ull << a->timeout : MAX_TIMEOUT_NS);
	return true;
}

void fake_answered(struct fake_qp *qp, int answer, unsigned char *data)
{
	struct fake_wqe *wqe = &qp->sq[qp->sq_next % qp->init.cap.max_send_wr];
	const struct fake_request req = request(qp, wqe, qp->offset);

	if (fake_reliable(qp->ib.qp_type) &&
	    (answer == ANSWER_NOT_READY || answer == ANSWER_NO_PEER) && put_off(qp, wqe, answer))
		return;
	if (answer == ANSWER_NOT_READY && fake_reliable(qp->ib.qp_type))
		answer = IBV_WC_RNR_RETRY_EXC_ERR;
	if (!answer) {
		move_piece(wqe, &req, data, false);
		qp->offset += req.piece;
		qp->retries = qp->rnr_retries = 0;
	}
	if (answer || qp->offset == wqe->length)
		finish(qp, wqe, answer);
}

/* The status that a key was set to fail with, or success. */
static int key_fault(uint32_t key)
{
	return (key & ~0xffu) == FAKE_KEY_FAILS ? (int)(key & 0xff) : 0;
}

static int keys_fault(const struct fake_qp *qp, const struct fake_wqe *wqe)
{
	int status = key_fault(request(qp, wqe, 0).rkey);

	if (!(wqe->wr.send_flags & IBV_SEND_INLINE))
		for (int i = 0; i < wqe->wr.num_sge && !status; i++)
			status = wqe->sge[i].length ? key_fault(wqe->sge[i].lkey) : 0;
	return status;
}

bool fake_carry_out(struct fake_qp *qp, struct fake_wqe *wqe)
{
	int answer = 0;

	if (qp->ib.state == IBV_QPS_ERR) {
		fake_complete_send(qp, wqe, IBV_WC_WR_FLUSH_ERR);
		return true;
	}
	if (!wqe->begun) {
		wqe->begun = true;
		answer = fake_fault(FAULT_CQE);
		if (!answer)
			answer = keys_fault(qp, wqe);
	}
	if (!answer)
		answer = perform(qp, wqe);
	if (answer == ANSWER_NO_ROOM)
		fake_put_off(wqe, NO_ROOM_NS);
	else if (answer == ANSWER_NOT_READY && fake_reliable(qp->ib.qp_type))
		return false; /* retried forever */
	else if (answer != ANSWER_LATER)
		finish(qp, wqe, answer);
	return true;
}
