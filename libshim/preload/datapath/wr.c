/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies of deferred WRs, and the WQEs of segments. */
#include "preload/datapath/wr.h"

#include <errno.h>
#include <string.h>

#include "preload/datapath/qp.h"

static bool is_atomic(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/* As librxe requires, which leaves the check of opcodes to the kernel. */
static bool is_valid_for_rxe(const struct qp *qp, const struct ibv_send_wr *wr)
{
	return is_atomic(wr->opcode)
		? ccs_wr_len(qp, wr) >= 8 && wr->wr.atomic.remote_addr % 8 == 0
		: wr->opcode != IBV_WR_BIND_MW || !wr->num_sge;
}

/* In libmlx5's order, which has a code for each. */
int ccs_wr_check(const struct qp *qp, const struct ibv_send_wr *wr)
{
	if (!qp->syscalls && wr->opcode > IBV_WR_SEND_WITH_INV)
		return EINVAL;
	if (!ccs_wr_sge_fit(qp, wr))
		return qp->ctx->provider->too_large;
	if (is_atomic(wr->opcode) && !qp->ctx->atomics)
		return EOPNOTSUPP;
	if ((wr->send_flags & IBV_SEND_INLINE) && ccs_wr_len(qp, wr) > qp->attr.cap.max_inline_data)
		return qp->ctx->provider->too_large;
	return qp->syscalls && !is_valid_for_rxe(qp, wr) ? EINVAL : 0;
}

/* The application may reuse inline data once the call returns, so they are copied too. */
static void keep_inline(struct qp *qp, struct ibv_send_wr *copy, const struct ibv_send_wr *src,
			unsigned char *data, struct ibv_sge *sge)
{
	const uint64_t len = ccs_wr_len(qp, src);
	unsigned char *to = data;

	for (int i = 0; i < src->num_sge; i++) {
		memcpy(to, (const void *)(uintptr_t)src->sg_list[i].addr, src->sg_list[i].length);
		to += src->sg_list[i].length;
	}
	*sge = (struct ibv_sge){ .addr = (uintptr_t)data, .length = (uint32_t)len };
	copy->num_sge = src->num_sge ? 1 : 0;
}

int ccs_wr_keep(struct qp *qp, uint64_t number)
{
	struct ccs_wr *wr = ccs_flow_wr(&qp->flow, number);
	const struct ibv_send_wr *src = wr->source;
	struct ibv_send_wr *copy;
	struct ibv_sge *sge;
	int refusal;

	if (qp->copy && src == ccs_wr_copy(qp, number))
		return 0;
	refusal = ccs_wr_check(qp, src);
	if (refusal)
		return refusal;
	if (ccs_qp_alloc_copies(qp))
		return ENOMEM;
	copy = ccs_wr_copy(qp, number);
	sge = ccs_wr_copy_sge(qp, number);
	*copy = *src;
	copy->sg_list = sge;
	wr->source = copy;
	if (!ccs_wr_has_payload(src))
		copy->num_sge = 0;
	else if (src->send_flags & IBV_SEND_INLINE)
		keep_inline(qp, copy, src, ccs_wr_copy_inline(qp, number), sge);
	else if (src->num_sge)
		memcpy(sge, src->sg_list, (size_t)src->num_sge * sizeof(*sge));
	return 0;
}

/* Bytes [offset, offset + len) of a scatter list; returns the number of entries. */
static int slice_sges(const struct ibv_send_wr *src, uint64_t offset, uint64_t len,
		      struct ibv_sge *out)
{
	int n = 0;

	for (int i = 0; i < src->num_sge && len; i++) {
		const struct ibv_sge *in = &src->sg_list[i];
		uint64_t some;

		if (offset >= in->length) {
			offset -= in->length;
			continue;
		}
		some = in->length - offset < len ? in->length - offset : len;
		out[n++] = (struct ibv_sge){ .addr = in->addr + offset, .length = (uint32_t)some,
					     .lkey = in->lkey };
		offset = 0;
		len -= some;
	}
	return n;
}

/* A fence applies to the first segment, a solicited event to the last. */
static unsigned int flags_of(const struct ccs_seg *seg, unsigned int flags)
{
	if (!seg->first)
		flags &= ~(unsigned int)IBV_SEND_FENCE;
	if (!seg->last)
		flags &= ~(unsigned int)IBV_SEND_SOLICITED;
	return seg->signal ? flags | IBV_SEND_SIGNALED : flags & ~(unsigned int)IBV_SEND_SIGNALED;
}

void ccs_wr_build(const struct qp *qp, uint64_t segment, struct ibv_send_wr *out, uint32_t n)
{
	const struct ccs_seg *seg = ccs_flow_seg(&qp->flow, segment);
	const struct ibv_send_wr *src = ccs_flow_wr(&qp->flow, seg->wr)->source;
	struct ibv_sge *sge;

	*out = *src;
	out->wr_id = ccs_token(qp, segment);
	out->send_flags = flags_of(seg, src->send_flags);
	if (seg->first && seg->last)
		return;
	sge = ccs_wr_segment_sge(qp, n);
	out->num_sge = slice_sges(src, seg->offset, seg->len, sge);
	out->sg_list = sge;
	out->wr.rdma.remote_addr = src->wr.rdma.remote_addr + seg->offset;
	if (src->opcode == IBV_WR_RDMA_WRITE_WITH_IMM && !seg->last)
		out->opcode = IBV_WR_RDMA_WRITE;
}
