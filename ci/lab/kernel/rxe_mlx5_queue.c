// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The user ABI of mlx5: completion queues, queue pairs and shared receive
 * queues. Everything that the program writes may be nonsense: sizes and indices
 * are checked where they are used.
 */
#include <linux/mlx5/cq.h>
#include <linux/mlx5/device.h>
#include <linux/mlx5/qp.h>
#include <rdma/mlx5-abi.h>

#include "rxe_mlx5.h"

enum {
	MLX5_NOT_ARMED = 0xffffffff,
	MLX5_INVALID_LKEY = 0x100,
	MLX5_ON_CQ_UPDATE = 8,		/* of fm_ce_se */
	MLX5_ON_SOLICITED = 2,
	MLX5_FENCES = 7 << 5,
	MLX5_INDEX = 0xffffff,		/* of a consumer index in a doorbell record */
	MLX5_DS = 16,			/* bytes of the unit of a WQE's length */
	MLX5_BB = 64,			/* bytes of the unit of a send queue */
	MLX5_CONSUMED = 0,		/* the doorbell records of a CQ */
	MLX5_ARM = 1,
	MLX5_INLINE_SCATTER_32 = 4,	/* a CQE's format: with so many bytes of data */
	MLX5_INLINE_SCATTER_64 = 8,
};

struct mlx5_abi_cq {
	struct abi_cq	base;
	u32		cqe_size;
};

struct mlx5_abi_srq {
	struct abi_srq	base;
	u32		shift, entries;
	u16		head, taken;
};

struct mlx5_abi_qp {
	struct abi_qp	base;
	void		*rq, *sq;
	u32		rq_entries, rq_shift, sq_entries;
	u16		rq_index, sq_index;	/* the next to be taken */
	u32		uidx;
	bool		scatter_recv, scatter_send;
	u8		wqe[64 * MLX5_DS] __aligned(8);	/* a copy: it may wrap, or change */
};

#define to_cq(c) container_of(c, struct mlx5_abi_cq, base)
#define to_srq(s) container_of(s, struct mlx5_abi_srq, base)
#define to_qp(q) container_of(q, struct mlx5_abi_qp, base)

/* Write to udata what fits. */
#define answer(udata, resp) \
	ib_copy_to_udata(udata, &(resp), min(sizeof(resp), (udata)->outlen))

static u32 doorbell_record(const struct abi_mem *m, int index)
{
	const __be32 *record = m->va;
	__be32 value = smp_load_acquire(&record[index]);

	return be32_to_cpu(value);
}

/* -- completions ---------------------------------------------------------- */

static const u8 syndromes[] = {
	[IB_WC_LOC_LEN_ERR] = MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR,
	[IB_WC_LOC_QP_OP_ERR] = MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR,
	[IB_WC_LOC_PROT_ERR] = MLX5_CQE_SYNDROME_LOCAL_PROT_ERR,
	[IB_WC_WR_FLUSH_ERR] = MLX5_CQE_SYNDROME_WR_FLUSH_ERR,
	[IB_WC_MW_BIND_ERR] = MLX5_CQE_SYNDROME_MW_BIND_ERR,
	[IB_WC_BAD_RESP_ERR] = MLX5_CQE_SYNDROME_BAD_RESP_ERR,
	[IB_WC_LOC_ACCESS_ERR] = MLX5_CQE_SYNDROME_LOCAL_ACCESS_ERR,
	[IB_WC_REM_INV_REQ_ERR] = MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR,
	[IB_WC_REM_ACCESS_ERR] = MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR,
	[IB_WC_REM_OP_ERR] = MLX5_CQE_SYNDROME_REMOTE_OP_ERR,
	[IB_WC_RETRY_EXC_ERR] = MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR,
	[IB_WC_RNR_RETRY_EXC_ERR] = MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR,
	[IB_WC_REM_ABORT_ERR] = MLX5_CQE_SYNDROME_REMOTE_ABORTED_ERR,
};

static u32 mlx5_cq_used(struct abi_cq *c)
{
	return (c->produced - doorbell_record(&c->shadow, MLX5_CONSUMED)) & MLX5_INDEX;
}

static bool mlx5_arm_is_due(struct abi_cq *c, u32 arm)
{
	u32 consumed = arm & MLX5_INDEX;

	if (arm == MLX5_NOT_ARMED || consumed == (c->produced & MLX5_INDEX))
		return false;
	if (!(arm & MLX5_CQ_DB_REQ_NOT_SOL))
		return true;
	/* Only the low 24 bits of indices can be compared. */
	return c->any_solicited && (s32)((c->solicited - consumed) << 8) > 0;
}

/*
 * The library writes what it is armed for to the doorbell record. Its first
 * value is 0, as is the record's before: "not armed" is written by us.
 */
static bool mlx5_take_arm(struct abi_cq *c)
{
	__be32 *record = (__be32 *)c->shadow.va + MLX5_ARM;
	__be32 arm;

	do {
		arm = READ_ONCE(*record);
		if (!mlx5_arm_is_due(c, be32_to_cpu(arm)))
			return false;
	} while (cmpxchg(record, arm, cpu_to_be32(MLX5_NOT_ARMED)) != arm);
	return true;
}

/* The 64 bytes of CQE number `index` that all CQEs have. */
static struct mlx5_cqe64 *cqe_of(struct abi_cq *c, u32 index)
{
	u32 size = to_cq(c)->cqe_size;

	return c->buf.va + (index & (c->entries - 1)) * size + size - 64;
}

/* Hand the CQE over: its owner bit says it is complete. */
static void cqe_complete(struct abi_cq *c, struct mlx5_cqe64 *cqe, u8 type, u8 format)
{
	smp_store_release(&cqe->op_own, type << 4 | format | !!(c->produced & c->entries));
}

static u8 write_error_cqe(struct mlx5_cqe64 *cqe, struct ib_wc *wc)
{
	struct mlx5_err_cqe *e = (void *)cqe;

	e->syndrome = wc->status < ARRAY_SIZE(syndromes) && syndromes[wc->status] ?
		syndromes[wc->status] : 0x42;
	e->vendor_err_synd = wc->status == IB_WC_WR_FLUSH_ERR ? 0xf9 : 0x88;
	return wc->wr_id & ABI_RECV ? MLX5_CQE_RESP_ERR : MLX5_CQE_REQ_ERR;
}

/* Move a short message to the CQE; the format that says so, or 0. */
static u8 scatter_to_cqe(struct abi_cq *c, struct mlx5_cqe64 *cqe, struct rxe_qp *qp,
			 struct rxe_dma_info *dma, u32 len)
{
	bool wide = to_cq(c)->cqe_size == 128;

	if (!len || len > (wide ? 64 : 32))
		return 0;
	if (!abi_gather(qp, dma, wide ? (u8 *)(cqe - 1) : (u8 *)cqe, len))
		return 0;
	return wide ? MLX5_INLINE_SCATTER_64 : MLX5_INLINE_SCATTER_32;
}

/* The send WQE that has just completed, while nothing has overwritten it. */
static struct rxe_send_wqe *completed_wqe(struct rxe_qp *qp, struct ib_wc *wc)
{
	struct rxe_queue *queue = qp->sq.queue;
	u32 index = queue_get_consumer(queue, QUEUE_TYPE_FROM_CLIENT) - 1;
	struct rxe_send_wqe *w = queue_addr_from_index(queue, index & queue->index_mask);

	return w->wr.wr_id == wc->wr_id ? w : NULL;
}

static u8 write_send_cqe(struct abi_cq *c, struct mlx5_cqe64 *cqe, struct ib_wc *wc, u8 *format)
{
	struct rxe_qp *qp = to_rqp(wc->qp);
	bool fetches = wc->opcode == IB_WC_RDMA_READ || wc->opcode == IB_WC_COMP_SWAP ||
		wc->opcode == IB_WC_FETCH_ADD;
	struct rxe_send_wqe *w;

	if (fetches && to_qp(qp->abi)->scatter_send) {
		w = completed_wqe(qp, wc);
		if (w)
			*format = scatter_to_cqe(c, cqe, qp, &w->dma, wc->byte_len);
	}
	return MLX5_CQE_REQ;
}

static u8 write_recv_cqe(struct abi_cq *c, struct mlx5_cqe64 *cqe, struct ib_wc *wc, u8 *format)
{
	struct rxe_qp *qp = to_rqp(wc->qp);
	struct rxe_recv_wqe *w = &qp->resp.srq_wqe.wqe;

	cqe->flags_rqpn = cpu_to_be32((wc->src_qp & MLX5_INDEX) |
				      (qp_type(qp) == IB_QPT_UD ? 2 << 28 : 0));
	/* Data overwrites what is before. */
	if (to_qp(qp->abi)->scatter_recv && wc->opcode == IB_WC_RECV && w->wr_id == wc->wr_id)
		*format = scatter_to_cqe(c, cqe, qp, &w->dma, wc->byte_len);
	if (wc->wc_flags & IB_WC_WITH_IMM) {
		cqe->immediate = wc->ex.imm_data;
		return wc->opcode == IB_WC_RECV_RDMA_WITH_IMM ?
			MLX5_CQE_RESP_WR_IMM : MLX5_CQE_RESP_SEND_IMM;
	}
	if (wc->wc_flags & IB_WC_WITH_INVALIDATE) {
		cqe->inval_rkey = cpu_to_be32(wc->ex.invalidate_rkey);
		return MLX5_CQE_RESP_SEND_INV;
	}
	return MLX5_CQE_RESP_SEND;
}

static void mlx5_write_cqe(struct abi_cq *c, struct ib_wc *wc)
{
	struct mlx5_cqe64 *cqe = cqe_of(c, c->produced);
	struct rxe_qp *qp = to_rqp(wc->qp);
	u64 now = abi_clock();
	u8 type, format = 0;
	u32 user_index = to_qp(qp->abi)->uidx;

	memset(cqe, 0, offsetof(struct mlx5_cqe64, op_own));
	if (!rxe_mlx5_cqe_version)
		user_index = qp->srq && wc->wr_id & ABI_RECV ? qp->srq->srq_num : 0;
	cqe->srqn = cpu_to_be32(user_index);
	/* wr_id is a WQE's index, and above it the opcode. */
	cqe->sop_drop_qpn = cpu_to_be32((u8)(wc->wr_id >> 16) << 24 | qp->ibqp.qp_num);
	cqe->wqe_counter = cpu_to_be16(wc->wr_id);
	if (wc->status != IB_WC_SUCCESS) {
		type = write_error_cqe(cqe, wc);
	} else {
		cqe->byte_cnt = cpu_to_be32(wc->byte_len);
		type = wc->wr_id & ABI_RECV ? write_recv_cqe(c, cqe, wc, &format) :
			write_send_cqe(c, cqe, wc, &format);
		cqe->timestamp_h = cpu_to_be32(now >> 32);
		cqe->timestamp_l = cpu_to_be32(now);
	}
	cqe_complete(c, cqe, type, format);
}

/* -- receive WQEs --------------------------------------------------------- */

static void parse_sges(struct rxe_recv_wqe *w, const struct mlx5_wqe_data_seg *seg, int max)
{
	int i;

	for (i = 0; i < max; i++) {
		if (be32_to_cpu(seg[i].lkey) == MLX5_INVALID_LKEY)
			break;
		w->dma.sge[i].addr = be64_to_cpu(seg[i].addr);
		w->dma.sge[i].length = be32_to_cpu(seg[i].byte_count) & INT_MAX;
		w->dma.sge[i].lkey = be32_to_cpu(seg[i].lkey);
	}
	w->dma.num_sge = i;
}

static bool mlx5_recv_waits(struct abi_qp *base)
{
	struct mlx5_abi_qp *q = to_qp(base);

	return q->rq_entries &&
		q->rq_index != (u16)doorbell_record(&base->shadow, MLX5_RCV_DBR);
}

static int mlx5_next_recv(struct abi_qp *base, struct rxe_recv_wqe *w)
{
	struct mlx5_abi_qp *q = to_qp(base);

	if (!mlx5_recv_waits(base))
		return 0;
	w->wr_id = q->rq_index | ABI_RECV;
	parse_sges(w, q->rq + ((q->rq_index & (q->rq_entries - 1)) << q->rq_shift),
		   min(1 << q->rq_shift >> 4, base->qp->rq.max_sge));
	q->rq_index++;
	return 1;
}

/* WQEs of an SRQ are a linked list. */
static int mlx5_next_srq_recv(struct abi_srq *base, struct rxe_recv_wqe *w)
{
	struct mlx5_abi_srq *s = to_srq(base);
	struct mlx5_wqe_srq_next_seg *next;

	if (s->taken == (u16)doorbell_record(&base->shadow, 0))
		return 0;
	next = base->buf.va + ((s->head & (s->entries - 1)) << s->shift);
	w->wr_id = s->head | ABI_RECV;
	parse_sges(w, (void *)(next + 1),
		   min((1 << s->shift >> 4) - 1, base->srq->rq.max_sge));
	s->head = be16_to_cpu(next->next_wqe_index);
	s->taken++;
	return 1;
}

/* -- send WQEs ------------------------------------------------------------ */

static const struct mlx5_abi_opcode {
	u8 wr_plus_1;		/* enum ib_wr_opcode, or 0 if there is no such opcode */
	bool remote, atomic;	/* which segments it has */
} opcodes[256] = {
	[MLX5_OPCODE_SEND] = { IB_WR_SEND + 1 },
	[MLX5_OPCODE_SEND_IMM] = { IB_WR_SEND_WITH_IMM + 1 },
	[MLX5_OPCODE_SEND_INVAL] = { IB_WR_SEND_WITH_INV + 1 },
	[MLX5_OPCODE_RDMA_WRITE] = { IB_WR_RDMA_WRITE + 1, .remote = true },
	[MLX5_OPCODE_RDMA_WRITE_IMM] = { IB_WR_RDMA_WRITE_WITH_IMM + 1, .remote = true },
	[MLX5_OPCODE_RDMA_READ] = { IB_WR_RDMA_READ + 1, .remote = true },
	[MLX5_OPCODE_ATOMIC_CS] = { IB_WR_ATOMIC_CMP_AND_SWP + 1, true, true },
	[MLX5_OPCODE_ATOMIC_FA] = { IB_WR_ATOMIC_FETCH_AND_ADD + 1, true, true },
};

/* What is left of a WQE. */
struct segments {
	void *at, *end;
};

/* The next `size` bytes, or NULL if the WQE ends before. */
static void *take_segment(struct segments *s, size_t size)
{
	void *at = s->at;

	if (s->end - at < size)
		return NULL;
	s->at += size;
	return at;
}

static int parse_address(struct rxe_qp *qp, struct segments *s, struct rxe_send_wr *wr)
{
	struct mlx5_wqe_datagram_seg *seg = take_segment(s, sizeof(*seg));
	struct rdma_ah_attr attr = { .type = RDMA_AH_ATTR_TYPE_ROCE };
	const struct ib_gid_attr *sgid;
	union ib_gid dgid;
	u32 flow;

	if (!seg)
		return -EINVAL;
	flow = be32_to_cpu(seg->av.grh_gid_fl);
	memcpy(dgid.raw, seg->av.rgid, sizeof(dgid));
	rdma_ah_set_port_num(&attr, 1);
	rdma_ah_set_grh(&attr, &dgid, flow & 0xfffff, flow >> 20 & 0xff, seg->av.hop_limit,
			seg->av.tclass);
	sgid = rdma_get_gid_attr(qp->ibqp.device, 1, flow >> 20 & 0xff);
	if (IS_ERR(sgid))
		return PTR_ERR(sgid);
	attr.grh.sgid_attr = sgid;
	memcpy(attr.roce.dmac, seg->av.rmac, ETH_ALEN);
	rxe_init_av(&attr, &wr->wr.ud.av);
	rdma_put_gid_attr(sgid);
	wr->wr.ud.remote_qpn = be32_to_cpu(seg->av.dqp_dct) & MLX5_INDEX;
	wr->wr.ud.remote_qkey = be32_to_cpu(seg->av.key.qkey.qkey);
	return 0;
}

static int parse_remote(const struct mlx5_abi_opcode *op, struct segments *s,
			struct rxe_send_wqe *w)
{
	struct mlx5_wqe_raddr_seg *r = take_segment(s, sizeof(*r));
	struct mlx5_wqe_atomic_seg *a;

	if (!r)
		return -EINVAL;
	w->iova = be64_to_cpu(r->raddr);
	if (!op->atomic) {
		w->wr.wr.rdma.remote_addr = w->iova;
		w->wr.wr.rdma.rkey = be32_to_cpu(r->rkey);
		return 0;
	}
	a = take_segment(s, sizeof(*a));
	if (!a)
		return -EINVAL;
	w->wr.wr.atomic.remote_addr = w->iova;
	w->wr.wr.atomic.rkey = be32_to_cpu(r->rkey);
	w->wr.wr.atomic.swap = be64_to_cpu(a->swap_add);
	w->wr.wr.atomic.compare_add = be64_to_cpu(
		w->wr.opcode == IB_WR_ATOMIC_CMP_AND_SWP ? a->compare : a->swap_add);
	return 0;
}

static int parse_inline(struct rxe_qp *qp, struct segments *s, struct rxe_send_wqe *w)
{
	struct mlx5_wqe_inline_seg *seg = s->at;
	u32 bytes = be32_to_cpu(seg->byte_count) & 0x3ff;

	if (!take_segment(s, ALIGN(sizeof(*seg) + bytes, MLX5_DS)) ||
	    w->dma.length + bytes > qp->sq.max_inline)
		return -EINVAL;
	memcpy(w->dma.inline_data + w->dma.length, seg + 1, bytes);
	w->dma.length += bytes;
	w->wr.send_flags |= IB_SEND_INLINE;
	return 0;
}

static int parse_data(struct rxe_qp *qp, struct segments *s, struct rxe_send_wqe *w)
{
	struct mlx5_wqe_data_seg *seg;
	u32 bytes;

	while (s->at < s->end) {
		seg = s->at;
		bytes = be32_to_cpu(seg->byte_count);
		if (bytes & MLX5_INLINE_SEG) {
			if (w->dma.num_sge || parse_inline(qp, s, w))
				return -EINVAL;
			continue;
		}
		if (!take_segment(s, sizeof(*seg)) || w->dma.num_sge >= qp->sq.max_sge ||
		    w->wr.send_flags & IB_SEND_INLINE || w->dma.length + bytes > INT_MAX)
			return -EINVAL;
		w->dma.sge[w->dma.num_sge].addr = be64_to_cpu(seg->addr);
		w->dma.sge[w->dma.num_sge].length = bytes;
		w->dma.sge[w->dma.num_sge++].lkey = be32_to_cpu(seg->lkey);
		w->dma.length += bytes;
	}
	return 0;
}

/* The WQE q->wqe of `ds` units. */
static int parse_send(struct mlx5_abi_qp *q, u32 ds, struct rxe_send_wqe *w)
{
	struct mlx5_wqe_ctrl_seg *ctrl = (void *)q->wqe;
	const struct mlx5_abi_opcode *op =
		&opcodes[be32_to_cpu(ctrl->opmod_idx_opcode) & 0xff];
	struct segments s = { ctrl + 1, q->wqe + ds * MLX5_DS };
	struct rxe_qp *qp = q->base.qp;

	w->wr.wr_id |= (be32_to_cpu(ctrl->opmod_idx_opcode) & 0xff) << 16;
	if (!op->wr_plus_1)
		return -EINVAL;
	w->wr.opcode = op->wr_plus_1 - 1;
	w->wr.send_flags = (ctrl->fm_ce_se & MLX5_ON_CQ_UPDATE ? IB_SEND_SIGNALED : 0) |
		(ctrl->fm_ce_se & MLX5_ON_SOLICITED ? IB_SEND_SOLICITED : 0) |
		(ctrl->fm_ce_se & MLX5_FENCES ? IB_SEND_FENCE : 0);
	if (w->wr.opcode == IB_WR_SEND_WITH_INV)
		w->wr.ex.invalidate_rkey = be32_to_cpu(ctrl->imm);
	else
		w->wr.ex.imm_data = ctrl->imm;
	if (qp_type(qp) == IB_QPT_UD && parse_address(qp, &s, &w->wr))
		return -EINVAL;
	if (op->remote && parse_remote(op, &s, w))
		return -EINVAL;
	return parse_data(qp, &s, w);
}

static int mlx5_next_send(struct abi_qp *base, struct rxe_send_wqe *w)
{
	struct mlx5_abi_qp *q = to_qp(base);
	u16 target;
	u32 at, ds, len, first;

	if (!q->sq_entries)
		return 0;
	target = doorbell_record(&base->shadow, MLX5_SND_DBR);
	if (q->sq_index == target)
		return 0;
	w->wr.wr_id = q->sq_index;
	at = (q->sq_index & (q->sq_entries - 1)) * MLX5_BB;
	ds = be32_to_cpu(READ_ONCE(((struct mlx5_wqe_ctrl_seg *)(q->sq + at))->qpn_ds)) & 0x3f;
	len = ds * MLX5_DS;
	if (!ds || len > q->sq_entries * MLX5_BB) {
		q->sq_index = target;	/* where the next WQE begins is unknown */
		return -EINVAL;
	}
	first = min(len, q->sq_entries * MLX5_BB - at);
	memcpy(q->wqe, q->sq + at, first);
	memcpy(q->wqe + first, q->sq, len - first);
	q->sq_index += DIV_ROUND_UP(len, MLX5_BB);
	return parse_send(q, ds, w) ?: 1;
}

/* -- the objects ---------------------------------------------------------- */

static void cq_free(struct mlx5_abi_cq *c)
{
	abi_mem_unmap(&c->base.buf);
	abi_mem_unmap(&c->base.shadow);
	kfree(c);
}

int mlx5_abi_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		       struct uverbs_attr_bundle *attrs)
{
	struct ib_udata *udata = attrs ? &attrs->driver_udata : NULL;
	struct ib_cq_init_attr plain = { .cqe = 1, .comp_vector = attr->comp_vector };
	struct mlx5_ib_create_cq_resp resp = {};
	struct mlx5_ib_create_cq cmd = {};
	struct mlx5_abi_cq *c;
	int err;

	if (!udata)
		return rxe_abi_ops.create_cq(ibcq, attr, NULL);
	err = ib_copy_from_udata(&cmd, udata, min(sizeof(cmd), udata->inlen));
	if (err)
		return err;
	abi_trace("create CQ: %d CQEs of %u bytes, flags %x\n", attr->cqe, cmd.cqe_size, cmd.flags);
	if ((cmd.cqe_size != 64 && cmd.cqe_size != 128) || cmd.cqe_comp_en ||
	    attr->cqe < 1 || attr->cqe >= MLX5_ABI_MAX_CQES)
		return -EINVAL;
	c = kzalloc(sizeof(*c), GFP_KERNEL);
	if (!c)
		return -ENOMEM;
	c->base.ops = &rxe_mlx5_abi;
	c->base.entries = roundup_pow_of_two(attr->cqe + 1);
	c->cqe_size = cmd.cqe_size;
	err = abi_mem_map(ibcq->device, &c->base.buf, cmd.buf_addr,
			  c->base.entries * c->cqe_size) ?:
		abi_mem_map(ibcq->device, &c->base.shadow, cmd.db_addr, 2 * sizeof(__be32)) ?:
		rxe_abi_ops.create_cq(ibcq, &plain, NULL);
	if (err) {
		cq_free(c);
		return err;
	}
	((__be32 *)c->base.shadow.va)[MLX5_ARM] = cpu_to_be32(MLX5_NOT_ARMED);
	/* The library's mask is made from this. */
	ibcq->cqe = c->base.entries - 1;
	resp.cqn = to_rcq(ibcq)->elem.index;
	err = answer(udata, resp);
	if (err) {
		rxe_abi_ops.destroy_cq(ibcq, NULL);
		cq_free(c);
		return err;
	}
	abi_cq_start(&c->base, to_rcq(ibcq), abi_ctx_of(udata));
	return 0;
}

/*
 * The last CQE in the old buffer says that those after it are in the new one;
 * the library copies what it has not polled.
 */
static int switch_buffer(struct abi_cq *c, struct abi_mem *buf, u32 entries)
{
	struct mlx5_cqe64 *cqe;
	u32 used;

	lockdep_assert_held(&c->cq->cq_lock);
	used = mlx5_cq_used(c);
	if (c->broken || used >= c->entries || used + 1 > entries)
		return -EINVAL;
	cqe = cqe_of(c, c->produced);
	memset(cqe, 0, offsetof(struct mlx5_cqe64, op_own));
	cqe_complete(c, cqe, MLX5_CQE_RESIZE_CQ, 0);
	c->produced++;
	swap(c->buf, *buf);
	c->entries = entries;
	return 0;
}

int mlx5_abi_resize_cq(struct ib_cq *ibcq, int cqe, struct ib_udata *udata)
{
	struct abi_cq *c = to_rcq(ibcq)->abi;
	struct mlx5_ib_resize_cq cmd = {};
	struct abi_mem buf = {};
	unsigned long flags;
	u32 entries;
	int err;

	if (!c || !udata || cqe < 1 || cqe >= MLX5_ABI_MAX_CQES)
		return -EINVAL;
	err = ib_copy_from_udata(&cmd, udata, min(sizeof(cmd), udata->inlen));
	if (err)
		return err;
	if (cmd.cqe_size != to_cq(c)->cqe_size)
		return -EINVAL;
	entries = roundup_pow_of_two(cqe + 1);
	err = abi_mem_map(ibcq->device, &buf, cmd.buf_addr, entries * cmd.cqe_size);
	if (err)
		return err;
	spin_lock_irqsave(&c->cq->cq_lock, flags);
	err = switch_buffer(c, &buf, entries);
	spin_unlock_irqrestore(&c->cq->cq_lock, flags);
	abi_mem_unmap(&buf);
	if (!err)
		ibcq->cqe = entries - 1;
	return err;
}

int mlx5_abi_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct abi_cq *c = to_rcq(ibcq)->abi;
	int err;

	if (c && atomic_read(&c->cq->num_wq))
		return -EINVAL;		/* as rxe would say, too late for us */
	if (c)
		abi_cq_stop(c);
	err = rxe_abi_ops.destroy_cq(ibcq, udata);
	if (!err && c)
		cq_free(to_cq(c));
	return err;
}

static void srq_free(struct mlx5_abi_srq *s)
{
	abi_mem_unmap(&s->base.buf);
	abi_mem_unmap(&s->base.shadow);
	kfree(s);
}

int mlx5_abi_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
			struct ib_udata *udata)
{
	struct ib_srq_init_attr asked = *init;
	struct mlx5_ib_create_srq_resp resp = {};
	struct mlx5_ib_create_srq cmd = {};
	struct mlx5_abi_srq *s;
	int err;

	if (!udata)
		return rxe_abi_ops.create_srq(ibsrq, init, NULL);
	err = ib_copy_from_udata(&cmd, udata, min(sizeof(cmd), udata->inlen));
	if (err)
		return err;
	if (init->attr.max_wr >= MLX5_ABI_MAX_WQES || init->attr.max_sge > RXE_MAX_SGE)
		return -EINVAL;
	s = kzalloc(sizeof(*s), GFP_KERNEL);
	if (!s)
		return -ENOMEM;
	s->base.ops = &rxe_mlx5_abi;
	s->base.srq = to_rsrq(ibsrq);
	s->entries = roundup_pow_of_two(init->attr.max_wr + 1);
	s->shift = ilog2(max_t(u32, 32, roundup_pow_of_two((1 + init->attr.max_sge) * MLX5_DS)));
	asked.attr.max_sge = min_t(u32, asked.attr.max_sge, RXE_MAX_SGE - 5);
	err = abi_mem_map(ibsrq->device, &s->base.buf, cmd.buf_addr, s->entries << s->shift) ?:
		abi_mem_map(ibsrq->device, &s->base.shadow, cmd.db_addr, sizeof(__be32)) ?:
		rxe_abi_ops.create_srq(ibsrq, &asked, NULL);
	if (err) {
		srq_free(s);
		return err;
	}
	to_rsrq(ibsrq)->abi = &s->base;
	resp.srqn = to_rsrq(ibsrq)->srq_num;
	err = answer(udata, resp);
	if (err) {
		rxe_abi_ops.destroy_srq(ibsrq, NULL);
		srq_free(s);
	}
	return err;
}

/* mlx5 does not resize SRQs. */
int mlx5_abi_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
			enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	return mask & IB_SRQ_MAX_WR ? -EINVAL :
		rxe_abi_ops.modify_srq(ibsrq, attr, mask, NULL);
}

int mlx5_abi_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct abi_srq *s = to_rsrq(ibsrq)->abi;
	int err = rxe_abi_ops.destroy_srq(ibsrq, udata);

	if (!err && s)
		srq_free(to_srq(s));
	return err;
}

static void qp_free(struct mlx5_abi_qp *q)
{
	abi_mem_unmap(&q->base.buf);
	abi_mem_unmap(&q->base.shadow);
	kfree(q);
}

static int check_queue(u32 entries)
{
	return entries > MLX5_ABI_MAX_WQES || (entries && !is_power_of_2(entries)) ? -EINVAL : 0;
}

static int check_qp(const struct ib_qp_init_attr *init, const struct mlx5_ib_create_qp *cmd)
{
	if (init->qp_type != IB_QPT_RC && init->qp_type != IB_QPT_UC &&
	    init->qp_type != IB_QPT_UD)
		return -EOPNOTSUPP;
	if (cmd->flags & (MLX5_QP_FLAG_SIGNATURE | MLX5_QP_FLAG_TYPE_DCT |
			  MLX5_QP_FLAG_TYPE_DCI))
		return -EOPNOTSUPP;
	if (cmd->rq_wqe_count && (cmd->rq_wqe_shift < 4 || cmd->rq_wqe_shift > 9))
		return -EINVAL;
	return check_queue(cmd->sq_wqe_count) ?: check_queue(cmd->rq_wqe_count);
}

static int map_qp(struct ib_device *dev, struct mlx5_abi_qp *q,
		  const struct mlx5_ib_create_qp *cmd)
{
	u32 rq_size = q->rq_entries << q->rq_shift;
	int err;

	if (!q->sq_entries && !q->rq_entries)
		return 0;
	err = abi_mem_map(dev, &q->base.buf, cmd->buf_addr,
			  rq_size + q->sq_entries * MLX5_BB) ?:
		abi_mem_map(dev, &q->base.shadow, cmd->db_addr, 2 * sizeof(__be32));
	q->rq = q->base.buf.va;
	q->sq = q->base.buf.va + rq_size;
	return err;
}

static struct mlx5_abi_qp *qp_alloc(const struct ib_qp_init_attr *init,
				    const struct mlx5_ib_create_qp *cmd)
{
	struct mlx5_abi_qp *q = kzalloc(sizeof(*q), GFP_KERNEL);
	bool connected = init->qp_type != IB_QPT_UD;

	if (!q)
		return NULL;
	q->base.ops = &rxe_mlx5_abi;
	q->uidx = cmd->uidx;
	q->sq_entries = cmd->sq_wqe_count;
	q->rq_entries = init->srq ? 0 : cmd->rq_wqe_count;
	q->rq_shift = cmd->rq_wqe_shift;
	q->scatter_recv = connected && cmd->flags & MLX5_QP_FLAG_SCATTER_CQE;
	q->scatter_send = connected && (cmd->flags & MLX5_QP_FLAG_ALLOW_SCATTER_CQE ||
		(q->scatter_recv && init->sq_sig_type == IB_SIGNAL_ALL_WR));
	return q;
}

int mlx5_abi_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init,
		       struct ib_udata *udata)
{
	struct ib_qp_init_attr asked = *init;
	struct mlx5_ib_create_qp_resp resp = {};
	struct mlx5_ib_create_qp cmd = {};
	struct mlx5_abi_qp *q;
	int err;

	if (!udata)
		return rxe_abi_ops.create_qp(ibqp, init, NULL);
	err = ib_copy_from_udata(&cmd, udata, min(sizeof(cmd), udata->inlen)) ?:
		check_qp(init, &cmd);
	if (err)
		return err;
	q = qp_alloc(init, &cmd);
	if (!q)
		return -ENOMEM;
	asked.create_flags = 0;
	asked.cap.max_send_wr = max(1u, q->sq_entries);
	asked.cap.max_recv_wr = q->rq_entries;
	asked.cap.max_send_sge = RXE_MAX_SGE;
	asked.cap.max_inline_data = MLX5_ABI_MAX_SQ_DESC;
	asked.cap.max_recv_sge = q->rq_entries ? min(RXE_MAX_SGE, 1 << q->rq_shift >> 4) : 0;
	abi_qp_init(&q->base, to_rqp(ibqp), abi_ctx_of(udata));
	err = map_qp(ibqp->device, q, &cmd) ?: rxe_abi_ops.create_qp(ibqp, &asked, NULL);
	if (err)
		goto fail;
	resp.bfreg_index = rxe_mlx5_bfregs(q->base.ctx) ?
		ibqp->qp_num % rxe_mlx5_bfregs(q->base.ctx) : cmd.bfreg_index;
	err = answer(udata, resp);
	if (err) {
		rxe_abi_ops.destroy_qp(ibqp, NULL);
		goto fail;
	}
	abi_qp_start(&q->base);
	return 0;
fail:
	qp_free(q);
	return err;
}

int mlx5_abi_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		       struct ib_udata *udata)
{
	struct abi_qp *q = to_rqp(ibqp)->abi;
	struct mlx5_ib_modify_qp_resp resp = {};
	int err;

	err = rxe_abi_ops.modify_qp(ibqp, attr, mask, NULL);
	if (err || !q)
		return err;
	if (mask & IB_QP_STATE) {
		if (attr->qp_state == IB_QPS_RESET)
			to_qp(q)->rq_index = to_qp(q)->sq_index = 0;
		else
			abi_fetch_send(q);
	}
	if (!udata || udata->outlen < sizeof(resp))
		return 0;
	resp.response_length = sizeof(resp);
	return answer(udata, resp);
}

int mlx5_abi_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct abi_qp *q = to_rqp(ibqp)->abi;
	int err;

	if (q && atomic_read(&q->qp->mcg_num))
		return -EBUSY;		/* as rxe would say, too late for us */
	if (q)
		abi_qp_stop(q);
	err = rxe_abi_ops.destroy_qp(ibqp, udata);
	if (!err && q)
		qp_free(to_qp(q));
	return err;
}

const struct abi_ops rxe_mlx5_abi = {
	.name = "mlx5",
	.overlay = rxe_mlx5_overlay,
	.next_send = mlx5_next_send,
	.next_recv = mlx5_next_recv,
	.next_srq_recv = mlx5_next_srq_recv,
	.recv_waits = mlx5_recv_waits,
	.cq_used = mlx5_cq_used,
	.write_cqe = mlx5_write_cqe,
	.take_arm = mlx5_take_arm,
};
