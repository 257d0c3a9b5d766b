/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a WQE does. The peer is a QP of the same process; only peer_of() and
 * move() know that.
 */
#include <string.h>

#include "priv.h"

#define cq_of(ib_) container(ib_, struct fake_cq, ib)

static struct fake_qp *peer_of(const struct fake_qp *qp)
{
	struct fake_qp *peer = fake_qp_by_num(qp->attr.dest_qp_num);

	return peer && peer->ib.state >= IBV_QPS_RTR && peer->ib.state != IBV_QPS_ERR ? peer : NULL;
}

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

static void complete_recv(struct fake_qp *qp, const struct fake_wqe *from, uint64_t len,
			  enum ibv_wc_status status)
{
	const struct fake_rqe *rqe = &qp->rq[qp->rq_tail++ % qp->init.cap.max_recv_wr];
	struct fake_cqe cqe = { .wc = { .wr_id = rqe->wr_id, .status = status,
					.opcode = IBV_WC_RECV, .byte_len = (uint32_t)len,
					.qp_num = qp->ib.qp_num } };

	if (from && (from->wr.opcode == IBV_WR_SEND_WITH_IMM ||
		     from->wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM)) {
		cqe.wc.imm_data = from->wr.imm_data;
		cqe.wc.wc_flags = IBV_WC_WITH_IMM;
	}
	if (from && from->wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		cqe.wc.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
	fake_cq_add(cq_of(qp->init.recv_cq), &cqe,
		    from && (from->wr.send_flags & IBV_SEND_SOLICITED));
}

/* Everything that has not been carried out comes back, asked for or not. */
void fake_flush(struct fake_qp *qp)
{
	while (qp->sq_next < qp->sq_head)
		fake_complete_send(qp, &qp->sq[qp->sq_next % qp->init.cap.max_send_wr],
				   IBV_WC_WR_FLUSH_ERR);
	while (qp->rq_tail < qp->rq_head)
		complete_recv(qp, NULL, 0, IBV_WC_WR_FLUSH_ERR);
}

/* Between a scatter list and one place: false if a key does not cover it. */
static bool move(const struct ibv_sge *sge, int n, const unsigned char *inlined,
		 unsigned char *place, bool gather, uint64_t most)
{
	for (int i = 0; i < n && most; i++) {
		const uint64_t len = sge[i].length < most ? sge[i].length : most;
		unsigned char *local = inlined ? (unsigned char *)(uintptr_t)inlined
			: fake_translate(sge[i].lkey, sge[i].addr, len,
					 gather ? 0 : IBV_ACCESS_LOCAL_WRITE);

		if (!len)
			continue;
		if (!local)
			return false;
		if (gather)
			memcpy(place, local, len);
		else
			memcpy(local, place, len);
		place += len;
		most -= len;
		if (inlined)
			inlined += len;
	}
	return true;
}

static bool local_ok(const struct fake_wqe *wqe, bool write)
{
	for (int i = 0; i < wqe->wr.num_sge; i++)
		if (wqe->sge[i].length && !(wqe->wr.send_flags & IBV_SEND_INLINE) &&
		    !fake_translate(wqe->sge[i].lkey, wqe->sge[i].addr, wqe->sge[i].length,
				    write ? IBV_ACCESS_LOCAL_WRITE : 0))
			return false;
	return true;
}

static enum ibv_wc_status rdma(struct fake_wqe *wqe, bool read)
{
	const bool inlined = wqe->wr.send_flags & IBV_SEND_INLINE;
	unsigned char *remote;

	if (!local_ok(wqe, read))
		return IBV_WC_LOC_PROT_ERR;
	if (!wqe->length)
		return IBV_WC_SUCCESS;
	remote = fake_translate(wqe->wr.wr.rdma.rkey, wqe->wr.wr.rdma.remote_addr, wqe->length,
				read ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE);
	if (!remote)
		return IBV_WC_REM_ACCESS_ERR;
	move(wqe->sge, wqe->wr.num_sge, inlined ? wqe->data : NULL, remote, !read, wqe->length);
	return IBV_WC_SUCCESS;
}

static enum ibv_wc_status atomic(struct fake_wqe *wqe)
{
	const uint64_t at = wqe->wr.wr.atomic.remote_addr;
	uint64_t *remote = fake_translate(wqe->wr.wr.atomic.rkey, at, 8,
					  IBV_ACCESS_REMOTE_ATOMIC), old;

	if (!local_ok(wqe, true) || wqe->length != 8)
		return IBV_WC_LOC_PROT_ERR;
	if (!remote || at % 8)
		return IBV_WC_REM_ACCESS_ERR;
	old = *remote;
	if (wqe->wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		*remote += wqe->wr.wr.atomic.compare_add;
	else if (old == wqe->wr.wr.atomic.compare_add)
		*remote = wqe->wr.wr.atomic.swap;
	move(wqe->sge, wqe->wr.num_sge, NULL, (unsigned char *)&old, false, 8);
	return IBV_WC_SUCCESS;
}

static enum ibv_wc_status send(struct fake_qp *peer, struct fake_wqe *wqe)
{
	static unsigned char bounce[1 << 20];
	const bool inlined = wqe->wr.send_flags & IBV_SEND_INLINE;
	const struct fake_rqe *rqe = &peer->rq[peer->rq_tail % peer->init.cap.max_recv_wr];
	uint64_t room = 0;

	for (int i = 0; i < rqe->num_sge; i++)
		room += rqe->sge[i].length;
	if (wqe->length > room || wqe->length > sizeof(bounce)) {
		complete_recv(peer, NULL, 0, IBV_WC_LOC_LEN_ERR);
		return IBV_WC_REM_INV_REQ_ERR;
	}
	if (!local_ok(wqe, false))
		return IBV_WC_LOC_PROT_ERR;
	move(wqe->sge, wqe->wr.num_sge, inlined ? wqe->data : NULL, bounce, true, wqe->length);
	if (!move(rqe->sge, rqe->num_sge, NULL, bounce, false, wqe->length)) {
		complete_recv(peer, NULL, 0, IBV_WC_LOC_PROT_ERR);
		return IBV_WC_REM_OP_ERR;
	}
	complete_recv(peer, wqe, wqe->length, IBV_WC_SUCCESS);
	return IBV_WC_SUCCESS;
}

static bool consumes_receive(enum ibv_wr_opcode op)
{
	return op == IBV_WR_SEND || op == IBV_WR_SEND_WITH_IMM || op == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static enum ibv_wc_status act(struct fake_qp *peer, struct fake_wqe *wqe)
{
	enum ibv_wc_status status;

	switch (wqe->wr.opcode) {
	case IBV_WR_RDMA_WRITE:
		return rdma(wqe, false);
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		status = rdma(wqe, false);
		if (!status)
			complete_recv(peer, wqe, wqe->length, IBV_WC_SUCCESS);
		return status;
	case IBV_WR_RDMA_READ:
		return rdma(wqe, true);
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return atomic(wqe);
	case IBV_WR_LOCAL_INV:
	case IBV_WR_BIND_MW:
		return IBV_WC_SUCCESS;
	default:
		return send(peer, wqe);
	}
}

bool fake_carry_out(struct fake_qp *qp, struct fake_wqe *wqe)
{
	struct fake_qp *peer = peer_of(qp);
	enum ibv_wc_status status;

	if (qp->ib.state == IBV_QPS_ERR) {
		fake_complete_send(qp, wqe, IBV_WC_WR_FLUSH_ERR);
		return true;
	}
	if (peer && consumes_receive(wqe->wr.opcode) && peer->rq_tail == peer->rq_head)
		return false; /* receiver not ready: retried for ever */
	status = (enum ibv_wc_status)fake_fault(FAULT_CQE);
	if (!status)
		status = peer ? act(peer, wqe) : IBV_WC_RETRY_EXC_ERR;
	fake_complete_send(qp, wqe, status);
	if (status)
		fake_qp_to_err(qp);
	return true;
}
