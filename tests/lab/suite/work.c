/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests and completions of the verbs suite. */
#include "suite.h"

#include <errno.h>
#include <poll.h>

/* An hour only ends a hang: a busy machine may take any time. */
enum { POLL_US = 100, WAIT_S = 3600 };

static bool is_atomic(const struct op *op)
{
	return op->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	       op->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static void aim(struct ibv_send_wr *wr, const struct end *from, const struct end *to,
		const struct op *op)
{
	uint64_t address = (uintptr_t)to->host->mem + TARGET + op->to;

	if (from->shape.type == IBV_QPT_UD) {
		wr->wr.ud.ah = from->ah;
		wr->wr.ud.remote_qpn = to->qp->qp_num;
		wr->wr.ud.remote_qkey = QKEY;
	} else if (is_atomic(op)) {
		wr->wr.atomic.remote_addr = address;
		wr->wr.atomic.rkey = to->host->mr->rkey;
		wr->wr.atomic.compare_add = op->compare_add;
		wr->wr.atomic.swap = op->swap;
	} else {
		wr->wr.rdma.remote_addr = address;
		wr->wr.rdma.rkey = to->host->mr->rkey;
	}
}

void build(struct request *r, const struct end *from, const struct end *to, const struct op *op)
{
	uint32_t pieces = op->pieces ? op->pieces : 1, len = is_atomic(op) ? 8 : op->len;
	bool inbound = op->opcode == IBV_WR_RDMA_READ || is_atomic(op);
	uint8_t *at = from->host->mem + (inbound ? LOCAL : SOURCE) + op->at;
	uint32_t i, part = len / pieces;

	memset(r, 0, sizeof(*r));
	for (i = 0; i < pieces && i < SGES; i++, at += part)
		r->sge[i] = (struct ibv_sge){
			.addr = (uintptr_t)at, .lkey = from->host->mr->lkey,
			.length = i + 1 < pieces ? part : len - part * (pieces - 1),
		};
	r->wr.wr_id = op->id;
	r->wr.sg_list = r->sge;
	r->wr.num_sge = len ? (int)i : 0;
	r->wr.opcode = op->opcode;
	r->wr.send_flags = op->flags;
	r->wr.imm_data = htobe32(op->imm);
	aim(&r->wr, from, to, op);
}

int post(struct end *from, const struct end *to, const struct op *op)
{
	struct ibv_send_wr *bad;
	struct request r;

	build(&r, from, to, op);
	return ibv_post_send(from->qp, &r.wr, &bad);
}

void post_ok(struct end *from, const struct end *to, const struct op *op)
{
	int error = post(from, to, op);

	require(!error, "posting WR %lu: %s", (unsigned long)op->id, strerror(error));
}

int try_recv(struct end *e, uint64_t id, uint32_t at, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)e->host->mem + INBOX + at, len, e->host->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 }, *bad;

	return e->shape.srq ? ibv_post_srq_recv(e->shape.srq, &wr, &bad) :
			      ibv_post_recv(e->qp, &wr, &bad);
}

void recv_ok(struct end *e, uint64_t id, uint32_t at, uint32_t len)
{
	int error = try_recv(e, id, at, len);

	require(!error, "posting receive %lu: %s", (unsigned long)id, strerror(error));
}

/* -- completions ------------------------------------------------------------------------------- */

void next_wc(struct end *e, struct ibv_wc *wc)
{
	const uint64_t start = now_ns();
	uint64_t waited = 0;
	int n;

	while (!(n = ibv_poll_cq(e->cq, 1, wc)) && waited < WAIT_S * 1000000000ull) {
		nap_us(POLL_US + (unsigned)(waited / 50000)); /* a fiftieth of the time waited */
		waited = now_ns() - start;
	}
	require(n == 1, "no completion: %d", n);
}

static void next_of_qp(struct end *e, struct ibv_wc *wc, uint64_t id, enum ibv_wc_status status)
{
	next_wc(e, wc);
	require(wc->status == status, "WR %lu, expected %lu: %s, expected %s",
		(unsigned long)wc->wr_id, (unsigned long)id, ibv_wc_status_str(wc->status),
		ibv_wc_status_str(status));
	require(wc->wr_id == id, "WR %lu, expected %lu", (unsigned long)wc->wr_id,
		(unsigned long)id);
	require(wc->qp_num == e->qp->qp_num, "WR %lu: QP %u, expected %u", (unsigned long)id,
		wc->qp_num, e->qp->qp_num);
}

void done(struct end *e, uint64_t id, enum ibv_wc_opcode opcode)
{
	struct ibv_wc wc;

	next_of_qp(e, &wc, id, IBV_WC_SUCCESS);
	require(wc.opcode == opcode, "WR %lu: opcode %d, expected %d", (unsigned long)id, wc.opcode,
		opcode);
}

struct ibv_wc received(struct end *e, uint64_t id, uint32_t len)
{
	struct ibv_wc wc;

	next_of_qp(e, &wc, id, IBV_WC_SUCCESS);
	require(wc.opcode & IBV_WC_RECV, "WR %lu: opcode %d", (unsigned long)id, wc.opcode);
	require(wc.byte_len == len, "WR %lu: %u bytes, expected %u", (unsigned long)id, wc.byte_len,
		len);
	return wc;
}

void failed(struct end *e, uint64_t id, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	next_of_qp(e, &wc, id, status);
}

int count_wcs(struct end *e, unsigned ms)
{
	struct ibv_wc wc[8];
	unsigned slept;
	int n, sum = 0;

	for (slept = 0; slept <= ms; slept++) {
		while ((n = ibv_poll_cq(e->cq, 8, wc)) > 0)
			sum += n;
		require(!n, "polling fails: %d", n);
		nap_us(1000);
	}
	return sum;
}

int left_wcs(struct end *e, unsigned ms, struct ibv_wc *wc, int n)
{
	int sum = 0, got;

	nap_us(ms * 1000);
	while (sum < n && (got = ibv_poll_cq(e->cq, n - sum, wc + sum)) > 0)
		sum += got;
	return sum;
}

/* -- events ------------------------------------------------------------------------------------ */

void arm(struct end *e, bool solicited_only)
{
	require(!ibv_req_notify_cq(e->cq, solicited_only), "arming");
}

bool is_event(struct end *e, unsigned ms)
{
	struct pollfd fd = { .fd = e->channel->fd, .events = POLLIN };
	void *context;
	struct ibv_cq *cq;

	if (poll(&fd, 1, (int)ms) != 1)
		return false;
	require(!ibv_get_cq_event(e->channel, &cq, &context), "no event: %s", strerror(errno));
	require(cq == e->cq && context == e, "an event of another CQ");
	ibv_ack_cq_events(cq, 1);
	return true;
}
