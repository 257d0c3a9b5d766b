/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posting by ibv_wr_*. The builders and setters of a controlled QP are the shim's. They stage WRs
 * in the ring of copies that also holds deferred WRs, from the send queue's head on. The provider's
 * batch is never opened: at wr_complete, its post_send gets the WRs.
 *
 * From wr_start to wr_complete the batch's lock excludes other posting threads, as a provider's
 * does. No other lock is held, because the application may poll during a batch.
 */
#include "preload/verbs/verbs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "preload/datapath/post.h"
#include "preload/datapath/qp.h"
#include "preload/datapath/wr.h"
#include "preload/object/ptrmap.h"
#include "preload/object/real.h"
#include "preload/object/shim.h"
#include "preload/object/wr_batch.h"

const uint64_t ccs_qp_ex_send_ops =
	IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |
	IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |
	IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |
	IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_SEND_WITH_INV;

static struct qp *qp_of(struct ibv_qp_ex *ex)
{
	return ccs_ptrmap_get(&ccs_shim()->qps, &ex->qp_base);
}

static void set_error(struct wr_batch *batch, int error)
{
	if (!batch->error)
		batch->error = error;
}

static void wr_start(struct ibv_qp_ex *ex)
{
	const struct qp *qp = qp_of(ex);

	ccs_wr_batch_lock(qp);
	qp->wr_batch->staged = 0;
	qp->wr_batch->error = 0;
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	struct qp *qp = qp_of(ex);
	const int rc = ccs_post_staged(qp, qp->wr_batch->staged, qp->wr_batch->error);
	const bool syscalls = qp->syscalls;

	ccs_wr_batch_unlock(qp);
	if (syscalls)
		pthread_testcancel();
	return rc;
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	ccs_wr_batch_unlock(qp_of(ex));
}

/* Stage a WR. The caller sets the members that depend on the opcode. */
static struct ibv_send_wr *stage_wr(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode)
{
	struct qp *qp = qp_of(ex);
	struct wr_batch *batch = qp->wr_batch;
	struct ibv_send_wr *wr;
	uint64_t number;

	ccs_wr_batch_continue(batch);
	if (batch->staged == batch->space)
		ccs_post_reclaim(qp, batch->staged + 1);
	if (batch->staged == batch->space) {
		set_error(batch, qp->ctx->provider->batch_too_large);
		return &batch->spill;
	}
	number = qp->flow.wr_head + batch->staged++;
	wr = ccs_wr_copy(qp, number);
	*wr = (struct ibv_send_wr){
		.wr_id = ex->wr_id,
		.sg_list = ccs_wr_copy_sge(qp, number),
		.opcode = opcode,
		.send_flags = ex->wr_flags & ~(unsigned int)IBV_SEND_INLINE,
	};
	return wr;
}

static void stage_rdma(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode, uint32_t rkey,
		       uint64_t remote_addr, __be32 imm)
{
	struct ibv_send_wr *wr = stage_wr(ex, opcode);

	wr->imm_data = imm;
	wr->wr.rdma.remote_addr = remote_addr;
	wr->wr.rdma.rkey = rkey;
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	stage_rdma(ex, IBV_WR_RDMA_WRITE, rkey, remote_addr, 0);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, __be32 imm)
{
	stage_rdma(ex, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, remote_addr, imm);
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	stage_rdma(ex, IBV_WR_RDMA_READ, rkey, remote_addr, 0);
}

static void stage_atomic(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode, uint32_t rkey,
			 uint64_t remote_addr, uint64_t compare_add, uint64_t swap)
{
	struct ibv_send_wr *wr = stage_wr(ex, opcode);

	wr->wr.atomic.remote_addr = remote_addr;
	wr->wr.atomic.compare_add = compare_add;
	wr->wr.atomic.swap = swap;
	wr->wr.atomic.rkey = rkey;
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
			      uint64_t compare, uint64_t swap)
{
	stage_atomic(ex, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, remote_addr, compare, swap);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
				uint64_t add)
{
	stage_atomic(ex, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, remote_addr, add, 0);
}

static void wr_send(struct ibv_qp_ex *ex)
{
	stage_wr(ex, IBV_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm)
{
	stage_wr(ex, IBV_WR_SEND_WITH_IMM)->imm_data = imm;
}

static void wr_send_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	stage_wr(ex, IBV_WR_SEND_WITH_INV)->invalidate_rkey = rkey;
}

static void wr_local_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	stage_wr(ex, IBV_WR_LOCAL_INV)->invalidate_rkey = rkey;
}

static void wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	struct ibv_send_wr *wr = stage_wr(ex, IBV_WR_BIND_MW);

	wr->bind_mw.mw = mw;
	wr->bind_mw.rkey = rkey;
	wr->bind_mw.bind_info = *info;
}

/* Not requested when the QP was created, but the provider may set it: it must not be reachable. */
static void wr_send_tso(struct ibv_qp_ex *ex, void *hdr, uint16_t hdr_sz, uint16_t mss)
{
	(void)hdr, (void)hdr_sz, (void)mss;
	set_error(qp_of(ex)->wr_batch, EOPNOTSUPP);
}

/* The WR that setters modify; NULL: the batch is empty or has failed. */
static struct ibv_send_wr *newest_staged(struct qp *qp, uint64_t *number)
{
	if (!qp->wr_batch->staged || qp->wr_batch->error)
		return NULL;
	*number = qp->flow.wr_head + qp->wr_batch->staged - 1;
	return ccs_wr_copy(qp, *number);
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t n, const struct ibv_sge *list)
{
	struct qp *qp = qp_of(ex);
	uint64_t number;
	struct ibv_send_wr *wr = newest_staged(qp, &number);

	if (!wr)
		return;
	if (n > qp->attr.cap.max_send_sge) {
		set_error(qp->wr_batch, qp->ctx->provider->batch_too_large);
		return;
	}
	memcpy(wr->sg_list, list, n * sizeof(*list));
	wr->num_sge = (int)n;
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	const struct ibv_sge sge = { .addr = addr, .length = length, .lkey = lkey };

	wr_set_sge_list(ex, 1, &sge);
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *ex, uint32_t remote_srqn)
{
	uint64_t number;
	struct ibv_send_wr *wr = newest_staged(qp_of(ex), &number);

	if (wr)
		wr->qp_type.xrc.remote_srqn = remote_srqn;
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t n, const struct ibv_data_buf *buf)
{
	struct qp *qp = qp_of(ex);
	uint64_t number;
	struct ibv_send_wr *wr = newest_staged(qp, &number);
	unsigned char *data;
	size_t len = 0;

	if (!wr)
		return;
	data = ccs_wr_copy_inline(qp, number);
	for (size_t i = 0; i < n; i++) {
		if (buf[i].length > qp->attr.cap.max_inline_data - len) {
			set_error(qp->wr_batch, qp->ctx->provider->batch_too_large);
			return;
		}
		if (buf[i].length)
			memcpy(data + len, buf[i].addr, buf[i].length);
		len += buf[i].length;
	}
	*wr->sg_list = (struct ibv_sge){ .addr = (uintptr_t)data, .length = (uint32_t)len };
	wr->num_sge = 1;
	wr->send_flags |= IBV_SEND_INLINE;
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	const struct ibv_data_buf buf = { .addr = addr, .length = length };

	wr_set_inline_data_list(ex, 1, &buf);
}

/*
 * A pointer that the provider left NULL stays NULL. The members that follow wr_abort
 * (wr_atomic_write, wr_flush) are not touched: with the oldest supported libibverbs their memory
 * belongs to the provider. A QP that was created for them is uncontrolled.
 */
static void install_functions(struct ibv_qp_ex *ex)
{
#define OURS(member) \
	if (ex->member && ex->member != (member)) \
		ex->member = (member);
	OURS(wr_atomic_cmp_swp) OURS(wr_atomic_fetch_add) OURS(wr_bind_mw) OURS(wr_local_inv)
	OURS(wr_rdma_read) OURS(wr_rdma_write) OURS(wr_rdma_write_imm)
	OURS(wr_send) OURS(wr_send_imm) OURS(wr_send_inv) OURS(wr_send_tso)
	OURS(wr_set_inline_data) OURS(wr_set_inline_data_list)
	OURS(wr_set_sge) OURS(wr_set_sge_list) OURS(wr_set_xrc_srqn)
	OURS(wr_start) OURS(wr_complete) OURS(wr_abort)
#undef OURS
}

void ccs_qp_ex_install(const struct qp *qp)
{
	if (qp->wr_batch)
		install_functions(qp->wr_batch->ex);
}

int ccs_qp_ex_open(struct qp *qp)
{
	struct ibv_qp_ex *ex = ccs_real()->ibv_qp_to_qp_ex(qp->real);
	struct wr_batch *batch;

	if (!ex || !ex->wr_start)
		return 0;
	batch = ccs_calloc_padded(1, sizeof(*batch));
	if (!batch || ccs_qp_alloc_copies(qp)) {
		free(batch);
		return -1;
	}
	batch->ex = ex;
	qp->wr_batch = batch;
	qp->special = true;
	return 0;
}
