/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_WR_H
#define CCS_WR_H
/* Properties of a work request, its deep copy, and its WQEs. */
#include "preload/object/qp_record.h"

/* At least one, so that each copy has an entry for inline data. */
static inline uint32_t ccs_max_sge(const struct qp *qp)
{
	return qp->attr.cap.max_send_sge ? qp->attr.cap.max_send_sge : 1;
}

static inline bool ccs_wr_has_payload(const struct ibv_send_wr *wr)
{
	return wr->opcode != IBV_WR_LOCAL_INV && wr->opcode != IBV_WR_BIND_MW;
}

static inline bool ccs_wr_sge_fit(const struct qp *qp, const struct ibv_send_wr *wr)
{
	return (uint32_t)wr->num_sge <= qp->attr.cap.max_send_sge; /* a negative one is large */
}

/* Payload bytes. Reads only fields that the opcode defines, and no scatter list that is longer
 * than the QP's: the device refuses that without reading it. */
static inline uint64_t ccs_wr_len(const struct qp *qp, const struct ibv_send_wr *wr)
{
	const bool counts = ccs_wr_has_payload(wr) && ccs_wr_sge_fit(qp, wr);
	uint64_t len = 0;

	for (int i = 0; counts && i < wr->num_sge; i++)
		len += wr->sg_list[i].length;
	return len;
}

/* CCS_WR_* of an opcode. */
static inline uint32_t ccs_opcode_flags(enum ibv_wr_opcode opcode)
{
	/* Only the device can validate the others. They pass the gate, and wait only for an entry. */
	static const uint8_t known[IBV_WR_SEND_WITH_INV + 1] = {
		[IBV_WR_RDMA_WRITE] = CCS_WR_SPLIT,
		[IBV_WR_RDMA_WRITE_WITH_IMM] = CCS_WR_SPLIT | CCS_WR_RECV | CCS_WR_IMM,
		[IBV_WR_SEND] = CCS_WR_RECV,
		[IBV_WR_SEND_WITH_IMM] = CCS_WR_RECV | CCS_WR_IMM,
		[IBV_WR_RDMA_READ] = CCS_WR_SPLIT | CCS_WR_READ,
		[IBV_WR_ATOMIC_CMP_AND_SWP] = CCS_WR_READ,
		[IBV_WR_ATOMIC_FETCH_AND_ADD] = CCS_WR_READ,
		[IBV_WR_LOCAL_INV] = CCS_WR_NO_DEFER,
		[IBV_WR_BIND_MW] = CCS_WR_NO_DEFER,
		[IBV_WR_SEND_WITH_INV] = CCS_WR_RECV,
	};

	return opcode <= IBV_WR_SEND_WITH_INV ? known[opcode] : CCS_WR_NO_DEFER;
}

/* CCS_WR_* of a WR posted to qp. */
static inline uint32_t ccs_wr_flags(const struct qp *qp, const struct ibv_send_wr *wr)
{
	uint32_t flags = ccs_opcode_flags(wr->opcode);

	if (qp->sq_sig_all || (wr->send_flags & IBV_SEND_SIGNALED))
		flags |= CCS_WR_SIGNALED;
	/* A list that is too long must reach the device unsplit, to be refused. */
	if ((wr->send_flags & IBV_SEND_INLINE) || !ccs_wr_sge_fit(qp, wr) ||
	    (wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM && !qp->split_imm))
		flags &= ~(uint32_t)CCS_WR_SPLIT;
	if (flags & CCS_WR_READ && wr->opcode != IBV_WR_RDMA_READ && !qp->ctx->atomics)
		flags |= CCS_WR_NO_DEFER; /* the device refuses them */
	return flags;
}

/* 0, or the error code with which the device usually refuses such a WR. */
int ccs_wr_check(const struct qp *qp, const struct ibv_send_wr *wr);

/* Copy the source of that WR, because the caller may reuse its list after the call. 0, or the
 * result of ccs_wr_check(). */
int ccs_wr_keep(struct qp *qp, uint64_t number);

/* Build the WQE, but for `next`, of a segment, the n-th of its doorbell. If it is not all of its
 * WR, the QP must have the memory for copies. */
void ccs_wr_build(const struct qp *qp, uint64_t segment, struct ibv_send_wr *out, uint32_t n);

/* Set the members of a whole WR's WQE that the device reads, except `next`. atomic: the WR is a READ
 * or an atomic. */
static inline void ccs_wr_build_whole(const struct ibv_send_wr *wr, bool signal, bool atomic,
				      uint64_t token, struct ibv_send_wr *out)
{
	out->wr_id = token;
	out->sg_list = wr->sg_list;
	out->num_sge = wr->num_sge;
	out->opcode = wr->opcode;
	out->send_flags = signal ? wr->send_flags | IBV_SEND_SIGNALED
				 : wr->send_flags & ~(unsigned int)IBV_SEND_SIGNALED;
	out->imm_data = wr->imm_data;
	if (atomic) {
		out->wr.atomic = wr->wr.atomic; /* it contains the members of a READ */
	} else {
		/* as one of 16 bytes, the load would often cross a cache line */
		out->wr.rdma.remote_addr = wr->wr.rdma.remote_addr;
		out->wr.rdma.rkey = wr->wr.rdma.rkey;
	}
	out->qp_type.xrc.remote_srqn = wr->qp_type.xrc.remote_srqn;
}

static inline struct ibv_send_wr *ccs_wr_copy(const struct qp *qp, uint64_t number)
{
	return &qp->copy[number & qp->flow.queue.wr_mask];
}

/* The block: the copies; their scatter lists of cap.max_send_sge entries; the scatter lists of a
 * doorbell's segments; the copies' inline data. */
static inline struct ibv_sge *ccs_wr_sges(const struct qp *qp, size_t list)
{
	return (struct ibv_sge *)(void *)(qp->copy + qp->flow.queue.wr_mask + 1) +
	       list * ccs_max_sge(qp);
}

static inline struct ibv_sge *ccs_wr_copy_sge(const struct qp *qp, uint64_t number)
{
	return ccs_wr_sges(qp, number & qp->flow.queue.wr_mask);
}

/* Scatter list of the n-th segment of a doorbell. */
static inline struct ibv_sge *ccs_wr_segment_sge(const struct qp *qp, uint32_t n)
{
	return ccs_wr_sges(qp, (size_t)qp->flow.queue.wr_mask + 1 + n);
}

static inline unsigned char *ccs_wr_copy_inline(const struct qp *qp, uint64_t number)
{
	return (unsigned char *)ccs_wr_segment_sge(qp, CCS_BATCH) +
	       (number & qp->flow.queue.wr_mask) * qp->attr.cap.max_inline_data;
}

/* Token of a WQE: the QP's id in the upper half, the segment's number in the lower. */
static inline uint64_t ccs_token(const struct qp *qp, uint64_t segment)
{
	return (uint64_t)qp->id << 32 | (uint32_t)segment;
}

/* The segment's full number: less than 2^32 are in flight at a time. */
static inline uint64_t ccs_token_segment(const struct qp *qp, uint64_t token)
{
	const uint64_t tail = qp->flow.seg_tail;

	return tail + (uint32_t)((uint32_t)token - (uint32_t)tail);
}

#endif
