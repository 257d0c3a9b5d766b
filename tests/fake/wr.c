/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The extended posting interface: wr_start, builders and setters, wr_complete. A batch is
 * posted completely or not at all. As on mlx5, a QP has all builders of its type, whichever
 * were asked for, and modify_qp to RESET and to RTS installs another wr_complete, unless that
 * is turned off.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "priv.h"

#define qp_of(ex_) container(ex_, struct fake_qp, ex)

static void start(struct ibv_qp_ex *ex)
{
	struct fake_batch *s = qp_of(ex)->batch;

	while (sem_wait(&s->lock)) /* a signal */
		continue;
	s->used = 0;
	s->error = 0;
}

static void leave(struct ibv_qp_ex *ex)
{
	sem_post(&qp_of(ex)->batch->lock);
}

/* Begin a WQE. One WQE too many is overwritten, and wr_complete reports it. */
static struct ibv_send_wr *build(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode)
{
	const struct fake_qp *qp = qp_of(ex);
	struct fake_batch *s = qp->batch;
	struct fake_wqe *wqe;

	if (s->used >= qp->init.cap.max_send_wr) {
		s->error = fake_profile()->batch_too_large;
		s->used = qp->init.cap.max_send_wr;
	}
	wqe = &s->wqe[s->used++];
	memset(wqe, 0, sizeof(*wqe));
	wqe->wr.wr_id = ex->wr_id;
	wqe->wr.send_flags = ex->wr_flags & ~(unsigned)IBV_SEND_INLINE;
	wqe->wr.opcode = opcode;
	wqe->wr.sg_list = wqe->sge;
	return &wqe->wr;
}

static struct fake_wqe *last(struct ibv_qp_ex *ex)
{
	struct fake_batch *s = qp_of(ex)->batch;

	return s->used ? &s->wqe[s->used - 1] : NULL;
}

static void build_rdma(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode, uint32_t rkey,
		       uint64_t addr, __be32 imm)
{
	struct ibv_send_wr *wr = build(ex, opcode);

	wr->wr.rdma.rkey = rkey;
	wr->wr.rdma.remote_addr = addr;
	wr->imm_data = imm;
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr)
{
	build_rdma(ex, IBV_WR_RDMA_WRITE, rkey, addr, 0);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, __be32 imm)
{
	build_rdma(ex, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, addr, imm);
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr)
{
	build_rdma(ex, IBV_WR_RDMA_READ, rkey, addr, 0);
}

static void build_atomic(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode, uint32_t rkey,
			 uint64_t addr, uint64_t compare_add, uint64_t swap)
{
	struct ibv_send_wr *wr = build(ex, opcode);

	wr->wr.atomic.rkey = rkey;
	wr->wr.atomic.remote_addr = addr;
	wr->wr.atomic.compare_add = compare_add;
	wr->wr.atomic.swap = swap;
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr,
			      uint64_t compare, uint64_t swap)
{
	build_atomic(ex, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, addr, compare, swap);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, uint64_t add)
{
	build_atomic(ex, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, addr, add, 0);
}

static void wr_send(struct ibv_qp_ex *ex)
{
	build(ex, IBV_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm)
{
	build(ex, IBV_WR_SEND_WITH_IMM)->imm_data = imm;
}

static void wr_send_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	build(ex, IBV_WR_SEND_WITH_INV)->invalidate_rkey = rkey;
}

static void wr_local_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	build(ex, IBV_WR_LOCAL_INV)->invalidate_rkey = rkey;
}

static void wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	struct ibv_send_wr *wr = build(ex, IBV_WR_BIND_MW);

	wr->bind_mw.mw = mw;
	wr->bind_mw.rkey = rkey;
	wr->bind_mw.bind_info = *info;
}

static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	struct fake_wqe *wqe = last(ex);

	if (!wqe)
		return;
	wqe->wr.wr.ud.ah = ah;
	wqe->wr.wr.ud.remote_qpn = qpn;
	wqe->wr.wr.ud.remote_qkey = qkey;
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *ex, uint32_t remote_srqn)
{
	struct fake_wqe *wqe = last(ex);

	if (wqe)
		wqe->wr.qp_type.xrc.remote_srqn = remote_srqn;
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t n, const struct ibv_sge *list)
{
	struct fake_wqe *wqe = last(ex);

	if (!wqe)
		return;
	if (n > qp_of(ex)->init.cap.max_send_sge) {
		qp_of(ex)->batch->error = fake_profile()->batch_too_large;
		return;
	}
	memcpy(wqe->sge, list, n * sizeof(*list));
	wqe->wr.num_sge = (int)n;
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	const struct ibv_sge sge = { .addr = addr, .length = length, .lkey = lkey };

	wr_set_sge_list(ex, 1, &sge);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t n, const struct ibv_data_buf *buf)
{
	struct fake_wqe *wqe = last(ex);
	size_t len = 0;

	if (!wqe)
		return;
	for (size_t i = 0; i < n; i++) {
		if (buf[i].length > qp_of(ex)->init.cap.max_inline_data - len) {
			qp_of(ex)->batch->error = fake_profile()->batch_too_large;
			return;
		}
		memcpy(wqe->data + len, buf[i].addr, buf[i].length);
		len += buf[i].length;
	}
	wqe->sge[0] = (struct ibv_sge){ .addr = (uintptr_t)wqe->data, .length = (uint32_t)len };
	wqe->wr.num_sge = 1;
	wqe->wr.send_flags |= IBV_SEND_INLINE;
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	const struct ibv_data_buf buf = { .addr = addr, .length = length };

	wr_set_inline_data_list(ex, 1, &buf);
}

/* The caller holds fake_lock. Returns 0 if the whole batch can be posted. */
static int acceptable(const struct fake_qp *qp, int *doorbell)
{
	const struct fake_batch *s = qp->batch;
	const bool early = !fake_may_send(qp), keeps = fake_profile()->keeps_early;
	int rc = early && !keeps ? EINVAL : s->error;

	if (early)
		*doorbell = EINVAL;
	if (!rc && qp->sq_head - qp->sq_tail + s->used > qp->init.cap.max_send_wr)
		rc = fake_profile()->batch_too_large;
	for (uint32_t i = 0; i < s->used && !rc; i++) {
		rc = fake_fault(FAULT_POST);
		if (rc && fake_fault_bad() == FAKE_BAD_NULL) {
			*doorbell = rc;
			rc = 0;
		}
		if (!rc)
			rc = fake_check_send(qp, &s->wqe[i].wr, UINT32_MAX); /* setters check */
	}
	return rc;
}

static int complete(struct ibv_qp_ex *ex)
{
	struct fake_qp *qp = qp_of(ex);
	struct fake_batch *s = qp->batch;
	int doorbell = 0, rc;

	pthread_mutex_lock(&fake_lock);
	fake_ring();
	rc = acceptable(qp, &doorbell);
	for (uint32_t i = 0; i < s->used && !rc; i++)
		fake_enqueue(qp, &s->wqe[i].wr);
	fake_posted(qp);
	pthread_mutex_unlock(&fake_lock);
	leave(ex);
	return rc ? rc : doorbell;
}

/* Installed before RTS. */
static int complete_error(struct ibv_qp_ex *ex)
{
	leave(ex);
	return EINVAL;
}

void fake_batch_state(struct fake_qp *qp)
{
	if (!qp->batch || !fake_rewrites_wr_complete())
		return;
	if (qp->ib.state == IBV_QPS_RESET)
		qp->ex.wr_complete = complete_error;
	else if (qp->ib.state == IBV_QPS_RTS)
		qp->ex.wr_complete = complete;
}

static uint64_t known(enum ibv_qp_type type)
{
	const uint64_t datagram = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
	const uint64_t write = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
	const uint64_t local = IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW |
			       IBV_QP_EX_WITH_SEND_WITH_INV;

	switch (type) {
	case IBV_QPT_RC:
	case IBV_QPT_XRC_SEND:
		return datagram | write | local | IBV_QP_EX_WITH_RDMA_READ |
		       IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
	case IBV_QPT_UC:
		return datagram | write | local;
	case IBV_QPT_UD:
		return datagram;
	default:
		return 0;
	}
}

static void install(struct ibv_qp_ex *ex, uint64_t ops)
{
#define GIVE(flag, name) \
	if (ops & IBV_QP_EX_WITH_##flag) \
		ex->name = name
	GIVE(RDMA_WRITE, wr_rdma_write);
	GIVE(RDMA_WRITE_WITH_IMM, wr_rdma_write_imm);
	GIVE(RDMA_READ, wr_rdma_read);
	GIVE(ATOMIC_CMP_AND_SWP, wr_atomic_cmp_swp);
	GIVE(ATOMIC_FETCH_AND_ADD, wr_atomic_fetch_add);
	GIVE(SEND, wr_send);
	GIVE(SEND_WITH_IMM, wr_send_imm);
	GIVE(SEND_WITH_INV, wr_send_inv);
	GIVE(LOCAL_INV, wr_local_inv);
	GIVE(BIND_MW, wr_bind_mw);
#undef GIVE
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	ex->wr_start = start;
	ex->wr_complete = complete_error;
	ex->wr_abort = leave;
}

int fake_batch_open(struct fake_qp *qp, uint64_t send_ops)
{
	const uint64_t ops = known(qp->ib.qp_type);
	struct fake_batch *s;

	if (send_ops & ~ops)
		return EOPNOTSUPP;
	s = calloc(1, sizeof(*s));
	if (s)
		s->wqe = calloc(qp->init.cap.max_send_wr + 1, sizeof(*s->wqe));
	if (!s || !s->wqe) {
		free(s);
		return ENOMEM;
	}
	sem_init(&s->lock, 0, 1);
	qp->batch = s;
	install(&qp->ex, ops);
	if (qp->ib.qp_type == IBV_QPT_UD)
		qp->ex.wr_set_ud_addr = wr_set_ud_addr;
	if (qp->ib.qp_type == IBV_QPT_XRC_SEND)
		qp->ex.wr_set_xrc_srqn = wr_set_xrc_srqn;
	if (!fake_rewrites_wr_complete())
		qp->ex.wr_complete = complete;
	return 0;
}

void fake_batch_close(struct fake_qp *qp)
{
	if (!qp->batch)
		return;
	sem_destroy(&qp->batch->lock);
	free(qp->batch->wqe);
	free(qp->batch);
}
