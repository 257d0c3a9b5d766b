// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The user ABI of irdma: completion queues and queue pairs. Everything that the
 * program writes may be nonsense: sizes and indices are checked where they are
 * used.
 */
#include <rdma/ib_pack.h>

#include "rxe_irdma.h"

enum {
	IRDMA_ABI_CQE = sizeof(struct irdma_cqe),
	IRDMA_ABI_QUANTUM = IRDMA_QP_WQE_MIN_SIZE,
	IRDMA_ABI_WORDS = IRDMA_ABI_QUANTUM / sizeof(__le64),
	IRDMA_ABI_HEADER = 3,	/* the word of a WQE, and of a CQE, with the valid bit */
	IRDMA_ABI_HEAD = 0,	/* the words of a CQ's shadow area */
	IRDMA_ABI_ARM = 4,
	IRDMA_ABI_SHADOW = 64,	/* bytes of a shadow area */
	IRDMA_ABI_INLINE_FIRST = 8,	/* inline bytes in a WQE's first quantum */
	IRDMA_ABI_INLINE_NEXT = 31,	/* and in each other */
};

/* In wr_id, beside the WQE's index and its opcode from bit 16 on. */
#define IRDMA_ABI_LATE	BIT_ULL(31)	/* was posted to a QP in ERR */
#define IRDMA_ABI_AGAIN	BIT_ULL(30)	/* is a flush that the library asked for */

struct irdma_abi_cq {
	struct abi_cq	base;
	u32		size, at;	/* entries of the ring; the next to be written */
	bool		pass;		/* the valid bit of that one */
	u32		written;	/* entries ever; not wrapped */
	u16		resizes;
	u64		armed;		/* for what, as in the shadow area */
	u32		armed_at;	/* value of base.produced then */
};

struct irdma_abi_ring {
	__le64		*base;
	u32		depth, at;	/* in quanta; the next to be taken */
	bool		pass;		/* the valid bit of WQEs that were not taken */
};

/* What the program is shown of the end of a queue. */
struct irdma_abi_end {
	bool		flushed;
	u32		cqe;		/* the CQ's `written` before the flush */
};

struct irdma_abi_qp {
	struct abi_qp	base;
	struct irdma_abi_ring sq, rq;
	__le64		*tail;		/* the SQ's, for libraries before rdma-core 38 */
	u32		rq_shift;
	u64		context;	/* the library's, for CQEs */
	bool		dead;		/* went to RESET or ERR */
	struct irdma_abi_end send_end, recv_end;
	__le64		wqe[IRDMA_MAX_QUANTA_PER_WR * IRDMA_ABI_WORDS];	/* a copy */
};

#define to_cq(c) container_of(c, struct irdma_abi_cq, base)
#define to_qp(q) container_of(q, struct irdma_abi_qp, base)

/* Write to udata what fits. */
#define answer(udata, resp) \
	ib_copy_to_udata(udata, &(resp), min(sizeof(resp), (udata)->outlen))

static u64 load(const __le64 *word)
{
	__le64 value = smp_load_acquire(word);

	return le64_to_cpu(value);
}

/* -- completions ---------------------------------------------------------- */

static const u8 flush_codes[] = {
	[IB_WC_LOC_LEN_ERR] = FLUSH_LOC_LEN_ERR,
	[IB_WC_LOC_QP_OP_ERR] = FLUSH_LOC_QP_OP_ERR,
	[IB_WC_LOC_PROT_ERR] = FLUSH_PROT_ERR,
	[IB_WC_LOC_ACCESS_ERR] = FLUSH_PROT_ERR,
	[IB_WC_MW_BIND_ERR] = FLUSH_MW_BIND_ERR,
	[IB_WC_REM_INV_REQ_ERR] = FLUSH_REM_INV_REQ_ERR,
	[IB_WC_REM_ACCESS_ERR] = FLUSH_REM_ACCESS_ERR,
	[IB_WC_REM_OP_ERR] = FLUSH_REM_OP_ERR,
	[IB_WC_RETRY_EXC_ERR] = FLUSH_RETRY_EXC_ERR,
	[IB_WC_FATAL_ERR] = FLUSH_FATAL_ERR,
};

/*
 * After a resize the library polls the old buffer first, with the same shadow
 * area; it has not consumed from the new one until it says that it has left the
 * old.
 */
static u32 irdma_cq_used(struct abi_cq *base)
{
	struct irdma_abi_cq *c = to_cq(base);
	const __le64 *shadow = base->shadow.va;
	u16 left = FIELD_GET(IRDMA_CQ_DBSA_SW_CQ_SELECT, load(&shadow[IRDMA_ABI_ARM]));
	u32 head = FIELD_GET(IRDMA_CQ_DBSA_CQEIDX, load(&shadow[IRDMA_ABI_HEAD]));

	if (left != c->resizes || head >= c->size)
		head = 0;
	return (c->at + c->size - head) % c->size;
}

static struct irdma_abi_end *end_of(const struct ib_wc *wc)
{
	struct irdma_abi_qp *q = to_qp(to_rqp(wc->qp)->abi);

	return wc->wr_id & ABI_RECV ? &q->recv_end : &q->send_end;
}

/* Whether the library has not consumed the CQE that flushes the queue. */
static bool flush_waits(struct abi_cq *c, const struct irdma_abi_end *end)
{
	return end->flushed && to_cq(c)->written - end->cqe <= irdma_cq_used(c);
}

/* One CQE flushes a queue: the library completes all of its WQEs with it. */
static bool irdma_has_cqe(struct abi_cq *c, const struct ib_wc *wc)
{
	struct irdma_abi_end *end = end_of(wc);

	if (wc->status == IB_WC_SUCCESS)
		return true;
	if (wc->wr_id & IRDMA_ABI_AGAIN)
		return !flush_waits(c, end);
	return !end->flushed && !(wc->wr_id & IRDMA_ABI_LATE);
}

/*
 * Note whether the library armed the CQ, before a CQE is written that could be
 * due. Hardware sees each doorbell, and so a new number of two bits in the shadow
 * area. We may see only the last of four; but each sets a bit that we clear.
 */
static void see_arm(struct irdma_abi_cq *c)
{
	const u64 bits = IRDMA_CQ_DBSA_ARM_NEXT | IRDMA_CQ_DBSA_ARM_NEXT_SE;
	__le64 *word = (__le64 *)c->base.shadow.va + IRDMA_ABI_ARM;
	__le64 arm;

	do {
		arm = READ_ONCE(*word);
		if (!(le64_to_cpu(arm) & IRDMA_CQ_DBSA_ARM_NEXT_SE))
			return;
	} while (cmpxchg(word, arm, arm & ~cpu_to_le64(bits)) != arm);
	c->armed = le64_to_cpu(arm) & bits;
	c->armed_at = c->base.produced;
}

static bool irdma_take_arm(struct abi_cq *base)
{
	struct irdma_abi_cq *c = to_cq(base);
	bool due;

	see_arm(c);
	if (c->armed & IRDMA_CQ_DBSA_ARM_NEXT)
		due = base->produced != c->armed_at;
	else
		due = c->armed && base->any_solicited &&
			(s32)(base->solicited - c->armed_at) > 0;
	if (due)
		c->armed = 0;
	return due;
}

/* The CQ's next entry, and in *valid its valid bit. */
static __le64 *next_entry(struct irdma_abi_cq *c, u64 *valid)
{
	struct irdma_cqe *ring = c->base.buf.va;
	__le64 *entry = ring[c->at].buf;

	*valid = FIELD_PREP(IRDMA_CQ_VALID, c->pass);
	c->written++;
	if (++c->at == c->size) {
		c->at = 0;
		c->pass = !c->pass;
	}
	return entry;
}

static void write_immediate(struct irdma_abi_cq *c, u32 data)
{
	u64 valid;
	__le64 *entry = next_entry(c, &valid);

	entry[0] = cpu_to_le64(FIELD_PREP(IRDMA_CQ_IMMDATALOW32, data));
	entry[1] = 0;
	entry[2] = 0;
	entry[3] = cpu_to_le64(valid | IRDMA_CQ_IMMVALID);
}

static u64 describe_error(struct irdma_abi_cq *c, const struct ib_wc *wc, u32 before)
{
	u64 code = FLUSH_GENERAL_ERR;

	*end_of(wc) = (struct irdma_abi_end){ .flushed = true, .cqe = before };
	if (wc->status < ARRAY_SIZE(flush_codes) && flush_codes[wc->status])
		code = flush_codes[wc->status];
	return IRDMA_CQ_ERROR | FIELD_PREP(IRDMA_CQ_MAJERR, IRDMA_FLUSH_MAJOR_ERR) |
		FIELD_PREP(IRDMA_CQ_MINERR, code);
}

static u64 describe_recv(const struct ib_wc *wc)
{
	u64 op = IB_OPCODE_SEND_ONLY;

	if (wc->opcode == IB_WC_RECV_RDMA_WITH_IMM)
		op = IB_OPCODE_RDMA_WRITE_ONLY_WITH_IMMEDIATE;
	else if (wc->wc_flags & IB_WC_WITH_IMM)
		op = IB_OPCODE_SEND_ONLY_WITH_IMMEDIATE;
	return FIELD_PREP(IRDMACQ_OP, op) |
		(wc->wc_flags & IB_WC_WITH_INVALIDATE ? IRDMACQ_STAG : 0);
}

static void irdma_write_cqe(struct abi_cq *base, struct ib_wc *wc)
{
	struct irdma_abi_cq *c = to_cq(base);
	bool recv = wc->wr_id & ABI_RECV;
	bool immediate = recv && wc->status == IB_WC_SUCCESS && wc->wc_flags & IB_WC_WITH_IMM;
	u64 source = wc->wc_flags & IB_WC_WITH_INVALIDATE ? wc->ex.invalidate_rkey : wc->src_qp;
	u32 before = c->written;
	u64 header;
	__le64 *entry;

	see_arm(c);
	entry = next_entry(c, &header);
	header |= FIELD_PREP(IRDMA_CQ_WQEIDX, wc->wr_id & FIELD_MAX(IRDMA_CQ_WQEIDX));
	header |= recv ? 0 : IRDMA_CQ_SQ;
	if (wc->status != IB_WC_SUCCESS)
		header |= describe_error(c, wc, before);
	else if (recv)
		header |= describe_recv(wc);
	else
		header |= FIELD_PREP(IRDMACQ_OP, wc->wr_id >> 16 & FIELD_MAX(IRDMACQ_OP));
	if (immediate) {
		header |= IRDMA_CQ_EXTCQE;
		write_immediate(c, be32_to_cpu(wc->ex.imm_data));
	}
	entry[0] = cpu_to_le64(FIELD_PREP(IRDMACQ_PAYLDLEN, wc->byte_len));
	entry[1] = cpu_to_le64(to_qp(to_rqp(wc->qp)->abi)->context);
	entry[2] = cpu_to_le64(FIELD_PREP(IRDMACQ_QPID, wc->qp->qp_num) |
			       FIELD_PREP(IRDMACQ_UDSRCQPN, source));
	smp_store_release(&entry[IRDMA_ABI_HEADER], cpu_to_le64(header));
}

/* -- WQEs ----------------------------------------------------------------- */

static void ring_init(struct irdma_abi_ring *r, void *base, u32 depth)
{
	r->base = base;
	r->depth = depth;
	r->at = 0;
	r->pass = true;
}

static __le64 *ring_wqe(const struct irdma_abi_ring *r)
{
	return r->base + r->at * IRDMA_ABI_WORDS;
}

static bool ring_waits(const struct irdma_abi_ring *r)
{
	return FIELD_GET(IRDMAQPSQ_VALID, load(ring_wqe(r) + IRDMA_ABI_HEADER)) == r->pass;
}

static void ring_advance(struct irdma_abi_ring *r, u32 quanta)
{
	r->at += quanta;
	if (r->at >= r->depth) {
		r->at = 0;
		r->pass = !r->pass;
	}
}

/* Take the WQE's fragments number first to last - 1. The library adds empty ones. */
static int parse_fragments(struct rxe_dma_info *dma, const __le64 *wqe, u32 first, u32 last,
			   u32 max)
{
	const __le64 *fragment;
	u64 info;
	u32 i;

	for (i = first; i < last; i++) {
		fragment = wqe + (i ? IRDMA_ABI_WORDS + 2 * (i - 1) : 0);
		info = le64_to_cpu(fragment[1]);
		if (!FIELD_GET(IRDMAQPSQ_FRAG_LEN, info))
			continue;
		if (dma->num_sge >= max)
			return -EINVAL;
		dma->sge[dma->num_sge].addr = le64_to_cpu(fragment[0]);
		dma->sge[dma->num_sge].length = FIELD_GET(IRDMAQPSQ_FRAG_LEN, info);
		dma->sge[dma->num_sge++].lkey = FIELD_GET(IRDMAQPSQ_FRAG_STAG, info);
	}
	return 0;
}

/* In state ERR nothing is flushed but once, or when the library asks for it. */
static bool irdma_recv_waits(struct abi_qp *base)
{
	return false;
}

static int irdma_next_recv(struct abi_qp *base, struct rxe_recv_wqe *w)
{
	struct irdma_abi_qp *q = to_qp(base);
	u32 quanta = 1 << q->rq_shift;
	__le64 *wqe = ring_wqe(&q->rq);
	u64 header;

	if (!ring_waits(&q->rq))
		return 0;
	header = le64_to_cpu(wqe[IRDMA_ABI_HEADER]);
	w->wr_id = q->rq.at | ABI_RECV;
	parse_fragments(&w->dma, wqe, 0,
			min(2 * quanta - 1, 1 + (u32)FIELD_GET(IRDMAQPSQ_ADDFRAGCNT, header)),
			base->qp->rq.max_sge);
	ring_advance(&q->rq, quanta);
	return 1;
}

static const struct irdma_abi_opcode {
	u8 wr_plus_1, imm_plus_1;	/* enum ib_wr_opcode, or 0 if there is no such opcode */
	bool remote, solicited;
} opcodes[64] = {
	[IRDMA_OP_TYPE_RDMA_WRITE] = { IB_WR_RDMA_WRITE + 1, IB_WR_RDMA_WRITE_WITH_IMM + 1, true },
	[IRDMA_OP_TYPE_RDMA_WRITE_SOL] = {
		IB_WR_RDMA_WRITE + 1, IB_WR_RDMA_WRITE_WITH_IMM + 1, true, true },
	[IRDMA_OP_TYPE_RDMA_READ] = { IB_WR_RDMA_READ + 1, 0, true },
	[IRDMA_OP_TYPE_SEND] = { IB_WR_SEND + 1, IB_WR_SEND_WITH_IMM + 1 },
	[IRDMA_OP_TYPE_SEND_SOL] = {
		IB_WR_SEND + 1, IB_WR_SEND_WITH_IMM + 1, .solicited = true },
	[IRDMA_OP_TYPE_SEND_INV] = { IB_WR_SEND_WITH_INV + 1 },
	[IRDMA_OP_TYPE_SEND_SOL_INV] = { IB_WR_SEND_WITH_INV + 1, .solicited = true },
	[IRDMA_OP_TYPE_INV_STAG] = { IB_WR_LOCAL_INV + 1 },
};

static u32 quanta_of(u64 header)
{
	u32 bytes = FIELD_GET(IRDMAQPSQ_INLINEDATALEN, header);

	if (!(header & IRDMAQPSQ_INLINEDATAFLAG))
		return 1 + DIV_ROUND_UP(FIELD_GET(IRDMAQPSQ_ADDFRAGCNT, header), 2);
	if (bytes <= IRDMA_ABI_INLINE_FIRST)
		return 1;
	return 1 + DIV_ROUND_UP(bytes - IRDMA_ABI_INLINE_FIRST, IRDMA_ABI_INLINE_NEXT);
}

/* Of each quantum but the first, the last byte is not data. */
static void parse_inline(const __le64 *wqe, u32 bytes, struct rxe_send_wqe *w)
{
	u8 *to = w->dma.inline_data;
	u32 part = min_t(u32, bytes, IRDMA_ABI_INLINE_FIRST);

	w->dma.length = bytes;
	w->wr.send_flags |= IB_SEND_INLINE;
	memcpy(to, wqe + 1, part);
	while (bytes -= part) {
		to += part;
		wqe += IRDMA_ABI_WORDS;
		part = min_t(u32, bytes, IRDMA_ABI_INLINE_NEXT);
		memcpy(to, wqe, part);
	}
}

static int parse_data(struct irdma_abi_qp *q, u64 header, struct rxe_send_wqe *w)
{
	u32 bytes = FIELD_GET(IRDMAQPSQ_INLINEDATALEN, header);
	u64 total = 0;
	int i, err;

	if (header & IRDMAQPSQ_INLINEDATAFLAG) {
		if (bytes > q->base.qp->sq.max_inline || w->wr.opcode == IB_WR_RDMA_READ)
			return -EINVAL;
		parse_inline(q->wqe, bytes, w);
		return 0;
	}
	err = parse_fragments(&w->dma, q->wqe, !!(header & IRDMAQPSQ_IMMDATAFLAG),
			      1 + FIELD_GET(IRDMAQPSQ_ADDFRAGCNT, header),
			      q->base.qp->sq.max_sge);
	for (i = 0; i < w->dma.num_sge; i++)
		total += w->dma.sge[i].length;
	if (err || total > INT_MAX)
		return -EINVAL;
	w->dma.length = total;
	return 0;
}

static int parse_datagram(const __le64 *wqe, u64 header, struct rxe_send_wr *wr)
{
	u64 destination = le64_to_cpu(wqe[2]);

	wr->wr.ud.ah_num = FIELD_GET(IRDMAQPSQ_AHID, header);
	wr->wr.ud.remote_qpn = FIELD_GET(IRDMAQPSQ_DESTQPN, destination);
	wr->wr.ud.remote_qkey = FIELD_GET(IRDMAQPSQ_DESTQKEY, destination);
	return wr->wr.ud.ah_num ? 0 : -EINVAL;
}

/* The WQE q->wqe. */
static int parse_send(struct irdma_abi_qp *q, struct rxe_send_wqe *w)
{
	u64 header = le64_to_cpu(q->wqe[IRDMA_ABI_HEADER]);
	const struct irdma_abi_opcode *op = &opcodes[FIELD_GET(IRDMAQPSQ_OPCODE, header)];
	bool immediate = header & IRDMAQPSQ_IMMDATAFLAG;
	u8 wr_plus_1 = immediate ? op->imm_plus_1 : op->wr_plus_1;

	if (!wr_plus_1)
		return -EINVAL;
	w->wr.opcode = wr_plus_1 - 1;
	w->wr.send_flags = (header & IRDMAQPSQ_SIGCOMPL ? IB_SEND_SIGNALED : 0) |
		(op->solicited ? IB_SEND_SOLICITED : 0) |
		(header & IRDMAQPSQ_READFENCE ? IB_SEND_FENCE : 0);
	if (w->wr.opcode == IB_WR_LOCAL_INV) {
		w->wr.ex.invalidate_rkey =
			FIELD_GET(IRDMAQPSQ_FRAG_STAG, le64_to_cpu(q->wqe[1]));
		return 0;
	}
	if (immediate)
		w->wr.ex.imm_data = cpu_to_be32(le64_to_cpu(q->wqe[0]));
	else if (w->wr.opcode == IB_WR_SEND_WITH_INV)
		w->wr.ex.invalidate_rkey = FIELD_GET(IRDMAQPSQ_REMSTAG, header);
	if (qp_type(q->base.qp) == IB_QPT_UD && parse_datagram(q->wqe, header, &w->wr))
		return -EINVAL;
	if (op->remote) {
		w->iova = le64_to_cpu(q->wqe[2]);
		w->wr.wr.rdma.remote_addr = w->iova;
		w->wr.wr.rdma.rkey = FIELD_GET(IRDMAQPSQ_REMSTAG, header);
	}
	return parse_data(q, header, w);
}

/* Copy the next WQE, which may change, to q->wqe; false if its length is nonsense. */
static bool take_send(struct irdma_abi_qp *q)
{
	const __le64 *wqe = ring_wqe(&q->sq);
	__le64 header = READ_ONCE(wqe[IRDMA_ABI_HEADER]);
	u32 quanta = quanta_of(le64_to_cpu(header));
	bool sane = quanta <= IRDMA_MAX_QUANTA_PER_WR && q->sq.at + quanta <= q->sq.depth;

	if (!sane)
		quanta = 1;
	memcpy(q->wqe, wqe, quanta * IRDMA_ABI_QUANTUM);
	q->wqe[IRDMA_ABI_HEADER] = header;
	ring_advance(&q->sq, quanta);
	return sane;
}

static int irdma_next_send(struct abi_qp *base, struct rxe_send_wqe *w)
{
	struct irdma_abi_qp *q = to_qp(base);
	u32 at, i;
	u64 op;
	bool sane;

	/* No more often than there are quanta: the program could write NOPs without end. */
	for (i = 0; i < q->sq.depth && ring_waits(&q->sq); i++) {
		at = q->sq.at;
		sane = take_send(q);
		WRITE_ONCE(*q->tail, cpu_to_le64(q->sq.at));
		op = FIELD_GET(IRDMAQPSQ_OPCODE, le64_to_cpu(q->wqe[IRDMA_ABI_HEADER]));
		if (op == IRDMA_OP_TYPE_NOP)
			continue;
		w->wr.wr_id = at | op << 16;
		if (qp_state(base->qp) == IB_QPS_ERR)
			w->wr.wr_id |= IRDMA_ABI_LATE;
		return sane ? parse_send(q, w) ?: 1 : -EINVAL;
	}
	return 0;
}

/* -- completion queues ---------------------------------------------------- */

static void cq_free(struct irdma_abi_cq *c)
{
	abi_mem_unmap(&c->base.buf);
	abi_mem_unmap(&c->base.shadow);
	kfree(c);
}

static void cq_set_ring(struct irdma_abi_cq *c, u32 size)
{
	c->size = size;
	c->at = 0;
	c->pass = true;
	c->base.entries = size - 2;	/* so that a CQE with immediate data fits in */
}

static struct irdma_abi_cq *cq_alloc(struct ib_device *dev, u32 size,
				     const struct irdma_create_cq_req *req)
{
	struct irdma_abi_cq *c = kzalloc(sizeof(*c), GFP_KERNEL);
	int err;

	if (!c)
		return ERR_PTR(-ENOMEM);
	c->base.ops = &rxe_irdma_abi;
	cq_set_ring(c, size);
	err = abi_mem_map(dev, &c->base.buf, req->user_cq_buf, size * IRDMA_ABI_CQE) ?:
		abi_mem_map(dev, &c->base.shadow, req->user_shadow_area, IRDMA_ABI_SHADOW);
	if (err) {
		cq_free(c);
		return ERR_PTR(err);
	}
	return c;
}

int irdma_abi_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
			struct uverbs_attr_bundle *attrs)
{
	struct ib_udata *udata = attrs ? &attrs->driver_udata : NULL;
	struct ib_cq_init_attr plain = { .cqe = 1, .comp_vector = attr->comp_vector };
	struct irdma_create_cq_resp resp = {};
	struct irdma_create_cq_req req = {};
	struct irdma_abi_cq *c;
	int err;

	if (!udata)
		return rxe_abi_ops.create_cq(ibcq, attr, NULL);
	if (attr->flags & ~IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION)
		return -EOPNOTSUPP;
	if (udata->inlen < sizeof(req) || attr->cqe < 1 || attr->cqe > IRDMA_MAX_CQ_SIZE)
		return -EINVAL;
	err = ib_copy_from_udata(&req, udata, sizeof(req));
	if (err)
		return err;
	c = cq_alloc(ibcq->device, max(attr->cqe, 4), &req);
	if (IS_ERR(c))
		return PTR_ERR(c);
	err = rxe_abi_ops.create_cq(ibcq, &plain, NULL);
	if (err) {
		cq_free(c);
		return err;
	}
	ibcq->cqe = c->size;
	resp.cq_id = to_rcq(ibcq)->elem.index;
	resp.cq_size = c->size;
	err = answer(udata, resp);
	if (err) {
		rxe_abi_ops.destroy_cq(ibcq, NULL);
		cq_free(c);
		return err;
	}
	abi_cq_start(&c->base, to_rcq(ibcq), abi_ctx_of(udata));
	return 0;
}

int irdma_abi_resize_cq(struct ib_cq *ibcq, int cqe, struct ib_udata *udata)
{
	struct abi_cq *c = to_rcq(ibcq)->abi;
	struct irdma_resize_cq_req req = {};
	u32 size = max(cqe, 4);
	struct abi_mem buf = {};
	unsigned long flags;
	int err;

	if (!c || !udata || udata->inlen < sizeof(req) || cqe < 1 || cqe > IRDMA_MAX_CQ_SIZE)
		return -EINVAL;
	err = ib_copy_from_udata(&req, udata, sizeof(req)) ?:
		abi_mem_map(ibcq->device, &buf, req.user_cq_buffer, size * IRDMA_ABI_CQE);
	if (err)
		return err;
	spin_lock_irqsave(&c->cq->cq_lock, flags);
	swap(c->buf, buf);
	cq_set_ring(to_cq(c), size);
	to_cq(c)->resizes = (to_cq(c)->resizes + 1) & FIELD_MAX(IRDMA_CQ_DBSA_SW_CQ_SELECT);
	spin_unlock_irqrestore(&c->cq->cq_lock, flags);
	abi_mem_unmap(&buf);
	ibcq->cqe = size - 1;
	return 0;
}

int irdma_abi_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
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

/* -- queue pairs ---------------------------------------------------------- */

static void qp_free(struct irdma_abi_qp *q)
{
	abi_mem_unmap(&q->base.buf);
	kfree(q);
}

/* How many quanta a WQE of a queue has, as a power of two. */
static u32 wqe_shift(u32 fragments, u32 inline_bytes)
{
	if (fragments <= 1 && inline_bytes <= 8)
		return 0;
	if (fragments < 4 && inline_bytes <= 39)
		return 1;
	return fragments < 8 && inline_bytes <= 101 ? 2 : 3;
}

static int check_qp(const struct ib_qp_init_attr *init)
{
	const struct ib_qp_cap *cap = &init->cap;

	if ((init->qp_type != IB_QPT_RC && init->qp_type != IB_QPT_UD) || init->create_flags ||
	    init->srq)
		return -EOPNOTSUPP;
	if (cap->max_inline_data > IRDMA_MAX_INLINE_DATA_SIZE ||
	    cap->max_send_sge > IRDMA_MAX_WQ_FRAGMENT_COUNT ||
	    cap->max_recv_sge > IRDMA_MAX_WQ_FRAGMENT_COUNT ||
	    !cap->max_send_wr || cap->max_send_wr > IRDMA_QP_SW_MAX_WQ_QUANTA ||
	    !cap->max_recv_wr || cap->max_recv_wr > IRDMA_QP_SW_MAX_RQ_QUANTA)
		return -EINVAL;
	return 0;
}

/* The send queue, the receive queue and the shadow area are one buffer. */
static int map_qp(struct ib_device *dev, struct irdma_abi_qp *q,
		  const struct ib_qp_cap *cap, u64 address)
{
	u32 sq_depth = cap->max_send_wr <<
		wqe_shift(cap->max_send_sge + 1, cap->max_inline_data);
	u32 rq_depth = cap->max_recv_wr << q->rq_shift;
	u32 sq_size = ALIGN(sq_depth * IRDMA_ABI_QUANTUM, IRDMA_HW_PAGE_SIZE);
	u32 rq_size = ALIGN(rq_depth * IRDMA_ABI_QUANTUM, IRDMA_HW_PAGE_SIZE);
	int err;

	if (sq_depth > IRDMA_QP_SW_MAX_WQ_QUANTA || rq_depth > IRDMA_QP_SW_MAX_RQ_QUANTA ||
	    address % IRDMA_HW_PAGE_SIZE)
		return -EINVAL;
	err = abi_mem_map(dev, &q->base.buf, address, sq_size + rq_size + IRDMA_ABI_SHADOW);
	if (err)
		return err;
	ring_init(&q->sq, q->base.buf.va, sq_depth);
	ring_init(&q->rq, q->base.buf.va + sq_size, rq_depth);
	q->tail = q->base.buf.va + sq_size + rq_size;
	return 0;
}

static int answer_create_qp(struct ib_qp *ibqp, const struct ib_qp_init_attr *init,
			    struct ib_udata *udata)
{
	struct irdma_create_qp_resp resp = {
		.qp_id = ibqp->qp_num,
		.actual_sq_size = init->cap.max_send_wr,
		.actual_rq_size = init->cap.max_recv_wr,
		.qp_caps = IRDMA_SEND_WITH_IMM | IRDMA_ROCE | IRDMA_PUSH_MODE,
	};

	if (init->qp_type == IB_QPT_RC)
		resp.qp_caps |= IRDMA_WRITE_WITH_IMM;
	return answer(udata, resp);
}

int irdma_abi_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init,
			struct ib_udata *udata)
{
	struct ib_qp_init_attr asked = *init;
	struct irdma_create_qp_req req = {};
	struct irdma_abi_qp *q;
	int err;

	if (!udata)
		return rxe_abi_ops.create_qp(ibqp, init, NULL);
	if (udata->inlen < sizeof(req))
		return -EINVAL;
	err = ib_copy_from_udata(&req, udata, sizeof(req)) ?: check_qp(init);
	if (err)
		return err;
	q = kzalloc(sizeof(*q), GFP_KERNEL);
	if (!q)
		return -ENOMEM;
	q->base.ops = &rxe_irdma_abi;
	q->context = req.user_compl_ctx;
	q->rq_shift = wqe_shift(init->cap.max_recv_sge, 0);
	abi_qp_init(&q->base, to_rqp(ibqp), abi_ctx_of(udata));
	err = map_qp(ibqp->device, q, &init->cap, req.user_wqe_bufs);
	if (err)
		goto fail;
	asked.cap.max_send_wr = q->sq.depth;	/* a WQE has at least one quantum */
	asked.cap.max_send_sge = 2 * IRDMA_MAX_QUANTA_PER_WR;
	asked.cap.max_recv_sge = 2 << q->rq_shift;
	asked.cap.max_inline_data = 2 * IRDMA_MAX_INLINE_DATA_SIZE;
	err = rxe_abi_ops.create_qp(ibqp, &asked, NULL);
	if (err)
		goto fail;
	err = answer_create_qp(ibqp, init, udata);
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

static void flush_again(struct ib_qp *ibqp, struct ib_cq *ibcq, u64 queue)
{
	struct rxe_cqe cqe = { .ibwc = {
		.qp = ibqp, .status = IB_WC_WR_FLUSH_ERR, .wr_id = queue | IRDMA_ABI_AGAIN } };

	if (to_rcq(ibcq)->abi)
		abi_deliver(to_rcq(ibcq)->abi, &cqe, false);
}

/* The QP has been in RESET or ERR, and does not leave it. */
static int modify_dead_qp(struct ib_qp *ibqp, enum ib_qp_state state, struct ib_udata *udata)
{
	struct irdma_modify_qp_req req = {};
	int err;

	if (state != IB_QPS_ERR && state != IB_QPS_RESET)
		return -EINVAL;
	if (!udata || !udata->inlen)
		return 0;
	err = ib_copy_from_udata(&req, udata, min(sizeof(req), udata->inlen));
	if (err)
		return err;
	if (req.sq_flush)
		flush_again(ibqp, ibqp->send_cq, 0);
	if (req.rq_flush)
		flush_again(ibqp, ibqp->recv_cq, ABI_RECV);
	return 0;
}

int irdma_abi_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
			struct ib_udata *udata)
{
	struct abi_qp *q = to_rqp(ibqp)->abi;
	struct irdma_modify_qp_resp resp = {};
	int err;

	if (q && mask & IB_QP_STATE && (to_qp(q)->dead || qp_state(q->qp) == IB_QPS_ERR))
		return modify_dead_qp(ibqp, attr->qp_state, udata);
	if (q)
		abi_fetch_send(q);	/* what was posted before is not late */
	err = rxe_abi_ops.modify_qp(ibqp, attr, mask, NULL);
	if (err || !q || !(mask & IB_QP_STATE))
		return err;
	if (attr->qp_state == IB_QPS_RESET || attr->qp_state == IB_QPS_ERR)
		to_qp(q)->dead = true;
	else
		abi_fetch_send(q);
	return udata && udata->outlen ? answer(udata, resp) : 0;
}

int irdma_abi_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
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

const struct abi_ops rxe_irdma_abi = {
	.name = "irdma",
	.overlay = rxe_irdma_overlay,
	.next_send = irdma_next_send,
	.next_recv = irdma_next_recv,
	.recv_waits = irdma_recv_waits,
	.cq_used = irdma_cq_used,
	.has_cqe = irdma_has_cqe,
	.write_cqe = irdma_write_cqe,
	.take_arm = irdma_take_arm,
};
