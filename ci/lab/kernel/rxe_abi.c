// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A vendor's user ABI on rxe: user memory, the way of WQEs into rxe's queues,
 * and the way of completions out of it.
 */
#include <linux/vmalloc.h>

#include "rxe_abi.h"

static char abi_name[16] = "rxe";
module_param_string(abi, abi_name, sizeof(abi_name), 0644);
MODULE_PARM_DESC(abi, "user ABI of the devices that are added next: rxe, mlx5 or irdma");

bool rxe_abi_trace;
module_param_named(abi_trace, rxe_abi_trace, bool, 0644);
MODULE_PARM_DESC(abi_trace, "log doorbells, WQEs and CQEs");

struct ib_device_ops rxe_abi_ops;	/* what rxe had before it was overlaid */

static const struct abi_ops *const abis[] = { &rxe_mlx5_abi, &rxe_irdma_abi };

/* -- user memory ---------------------------------------------------------- */

int abi_mem_map(struct ib_device *dev, struct abi_mem *m, u64 addr, size_t size)
{
	struct sg_page_iter it;
	struct ib_umem *umem;
	size_t i = 0, n;

	umem = ib_umem_get(dev, addr, size, IB_ACCESS_LOCAL_WRITE);
	if (IS_ERR(umem))
		return PTR_ERR(umem);
	m->umem = umem;
	n = ib_umem_num_pages(umem);
	m->pages = kvcalloc(n, sizeof(*m->pages), GFP_KERNEL);
	if (!m->pages)
		goto fail;
	for_each_sgtable_page(&umem->sgt_append.sgt, &it, 0)
		m->pages[i++] = sg_page_iter_page(&it);
	m->map = vmap(m->pages, n, VM_MAP, PAGE_KERNEL);
	if (!m->map)
		goto fail;
	m->va = m->map + ib_umem_offset(umem);
	return 0;
fail:
	abi_mem_unmap(m);
	return -ENOMEM;
}

void abi_mem_unmap(struct abi_mem *m)
{
	if (m->map)
		vunmap(m->map);
	kvfree(m->pages);
	if (m->umem)
		ib_umem_release(m->umem);
	memset(m, 0, sizeof(*m));
}

/* -- completions ---------------------------------------------------------- */

static void abi_notify(struct abi_cq *c)
{
	lockdep_assert_held(&c->cq->cq_lock);
	if (c->broken || !c->ops->take_arm(c))
		return;
	abi_trace("cq %u: event after %u\n", c->cq->elem.index, c->produced);
	c->cq->ibcq.comp_handler(&c->cq->ibcq, c->cq->ibcq.cq_context);
}

/* A CQ in error, after an overrun for example, delivers no more, as on hardware. */
void abi_cq_break(struct abi_cq *c)
{
	struct ib_event ev = { .event = IB_EVENT_CQ_ERR };

	c->broken = true;
	ev.device = c->cq->ibcq.device;
	ev.element.cq = &c->cq->ibcq;
	if (c->cq->ibcq.event_handler)
		c->cq->ibcq.event_handler(&ev, c->cq->ibcq.cq_context);
}

int abi_deliver(struct abi_cq *c, struct rxe_cqe *cqe, bool solicited)
{
	struct ib_wc *wc = &cqe->ibwc;
	unsigned long flags;
	bool broken;

	spin_lock_irqsave(&c->cq->cq_lock, flags);
	if (c->ops->has_cqe && !c->ops->has_cqe(c, wc)) {
		spin_unlock_irqrestore(&c->cq->cq_lock, flags);
		return 0;
	}
	broken = c->broken;
	if (broken || c->ops->cq_used(c) >= c->entries) {
		c->broken = true;
		spin_unlock_irqrestore(&c->cq->cq_lock, flags);
		if (!broken)
			abi_cq_break(c);
		return -EBUSY;
	}
	abi_trace("cq %u: CQE %u, QP %u, status %d, wr_id %llx, %u bytes\n",
		  c->cq->elem.index, c->produced, wc->qp->qp_num, wc->status,
		  wc->wr_id, wc->byte_len);
	c->ops->write_cqe(c, wc);
	c->produced++;
	if (solicited || wc->status != IB_WC_SUCCESS) {
		c->solicited = c->produced;
		c->any_solicited = true;
	}
	abi_notify(c);
	spin_unlock_irqrestore(&c->cq->cq_lock, flags);
	return 0;
}

static enum hrtimer_restart abi_delayed(struct hrtimer *timer)
{
	struct abi_cq *c = container_of(timer, struct abi_cq, delay);

	abi_deliver(c, &c->delayed, false);
	return HRTIMER_NORESTART;
}

/* rxe_cq_post() of a CQ that has another ABI. */
int rxe_abi_cq_post(struct rxe_cq *cq, struct rxe_cqe *cqe, int solicited)
{
	struct abi_cq *c = cq->abi;
	u64 ns;

	if (cqe->ibwc.wr_id >> ABI_STATUS)
		cqe->ibwc.status = cqe->ibwc.wr_id >> ABI_STATUS;
	switch (abi_fault_cqe(&cqe->ibwc, &ns)) {
	case ABI_DROP:
		return 0;
	case ABI_DELAY:
		if (hrtimer_active(&c->delay))
			break;
		c->delayed = *cqe;
		hrtimer_start(&c->delay, ns_to_ktime(ns), HRTIMER_MODE_REL);
		return 0;
	case ABI_DUPLICATE:
		abi_deliver(c, cqe, solicited);
		break;
	case ABI_KEEP:
		break;
	}
	return abi_deliver(c, cqe, solicited);
}

/*
 * Move the first len bytes of the buffers that dma describes to a CQE, as
 * hardware does that scatters short messages to the CQE: until the library has
 * polled it, the buffers' contents are undefined, here 0xee.
 */
bool abi_gather(struct rxe_qp *qp, struct rxe_dma_info *dma, u8 *to, u32 len)
{
	static const u8 undefined[64] = { [0 ... 63] = 0xee };
	struct {
		struct rxe_dma_info dma;
		struct rxe_sge sge[RXE_MAX_SGE];
	} d = {};
	u32 n = dma->num_sge;

	if (len > sizeof(undefined) || n > RXE_MAX_SGE)
		return false;
	d.dma.num_sge = n;
	d.dma.resid = dma->length;
	memcpy(d.dma.sge, dma->sge, n * sizeof(struct rxe_sge));
	if (copy_data(qp->pd, IB_ACCESS_LOCAL_WRITE, &d.dma, to, len, RXE_FROM_MR_OBJ))
		return false;
	d.dma.cur_sge = 0;
	d.dma.sge_offset = 0;
	d.dma.resid = dma->length;
	return !copy_data(qp->pd, IB_ACCESS_LOCAL_WRITE, &d.dma, (void *)undefined, len,
			  RXE_TO_MR_OBJ);
}

void abi_cq_start(struct abi_cq *c, struct rxe_cq *cq, struct abi_ctx *ctx)
{
	c->cq = cq;
	c->ctx = ctx;
	hrtimer_init(&c->delay, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	c->delay.function = abi_delayed;
	cq->abi = c;
	spin_lock_irq(&ctx->lock);
	list_add(&c->list, &ctx->cqs);
	spin_unlock_irq(&ctx->lock);
}

void abi_cq_stop(struct abi_cq *c)
{
	spin_lock_irq(&c->ctx->lock);
	list_del(&c->list);
	spin_unlock_irq(&c->ctx->lock);
	hrtimer_cancel(&c->delay);
}

/* -- receive queues ------------------------------------------------------- */

static void abi_count_sges(struct rxe_recv_wqe *w)
{
	int i;

	for (i = 0; i < w->dma.num_sge; i++)
		w->dma.length += w->dma.sge[i].length;
	w->dma.resid = w->dma.length;
}

static void abi_fetch_srq(struct abi_srq *s)
{
	struct rxe_rq *rq = &s->srq->rq;
	struct rxe_recv_wqe *w;
	unsigned long flags;

	spin_lock_irqsave(&rq->producer_lock, flags);
	while (!queue_full(rq->queue, QUEUE_TYPE_FROM_ULP)) {
		w = queue_producer_addr(rq->queue, QUEUE_TYPE_FROM_ULP);
		memset(w, 0, sizeof(*w));
		if (s->ops->next_srq_recv(s, w) <= 0)
			break;
		abi_count_sges(w);
		queue_advance_producer(rq->queue, QUEUE_TYPE_FROM_ULP);
	}
	spin_unlock_irqrestore(&rq->producer_lock, flags);
}

static void abi_fetch_rq(struct abi_qp *q)
{
	struct rxe_rq *rq = &q->qp->rq;
	struct rxe_recv_wqe *w;
	unsigned long flags;

	spin_lock_irqsave(&rq->producer_lock, flags);
	while (!queue_full(rq->queue, QUEUE_TYPE_FROM_ULP)) {
		w = queue_producer_addr(rq->queue, QUEUE_TYPE_FROM_ULP);
		memset(w, 0, sizeof(*w));
		if (q->ops->next_recv(q, w) <= 0)
			break;
		abi_count_sges(w);
		queue_advance_producer(rq->queue, QUEUE_TYPE_FROM_ULP);
	}
	spin_unlock_irqrestore(&rq->producer_lock, flags);
}

/*
 * rxe needs a receive WQE, or is about to flush them. Receive queues need not
 * have a doorbell: hardware reads the producer index when a packet arrives.
 */
void rxe_abi_fetch_recv(struct rxe_qp *qp)
{
	struct abi_qp *q = qp->abi;

	if (qp->srq) {
		if (qp->srq->abi)
			abi_fetch_srq(qp->srq->abi);
	} else if (qp->rq.queue) {
		abi_fetch_rq(q);
	}
}

/*
 * In state ERR receives are flushed as they are posted, and no packet arrives
 * to look for them. They are polled for, ever less often up to 10 ms.
 */
void rxe_abi_flushed(struct rxe_qp *qp)
{
	struct abi_qp *q = qp->abi;

	if (qp->srq || !qp->rq.queue || q->stopping || hrtimer_active(&q->flush))
		return;
	q->flush_ns = 10 * NSEC_PER_USEC;
	hrtimer_start(&q->flush, ns_to_ktime(q->flush_ns), HRTIMER_MODE_REL);
}

static enum hrtimer_restart abi_flush_poll(struct hrtimer *timer)
{
	struct abi_qp *q = container_of(timer, struct abi_qp, flush);

	if (qp_state(q->qp) != IB_QPS_ERR)
		return HRTIMER_NORESTART;
	if (q->ops->recv_waits(q)) {
		q->flush_ns = 10 * NSEC_PER_USEC;
		rxe_sched_task(&q->qp->recv_task);
	}
	hrtimer_forward_now(timer, ns_to_ktime(q->flush_ns));
	q->flush_ns = min_t(u64, 2 * q->flush_ns, 10 * NSEC_PER_MSEC);
	return HRTIMER_RESTART;
}

/* -- send queues ---------------------------------------------------------- */

/*
 * A WQE that the device cannot execute completes in its turn, with
 * IB_WC_LOC_QP_OP_ERR, and stops the queue. rxe does so for an opcode that it
 * does not know.
 */
static void abi_post_send(struct rxe_qp *qp, struct rxe_send_wqe *w, bool bad)
{
	enum ib_wc_status status = abi_fault_wqe(qp);

	w->wr.wr_id |= (u64)status << ABI_STATUS;
	if (!bad && !status)
		w->mask = wr_opcode_mask(w->wr.opcode, qp);
	if (!w->mask) {
		w->wr.opcode = IB_WR_LSO;
		w->dma.num_sge = 0;
		w->dma.length = 0;
	}
	w->dma.resid = w->dma.length;
	w->state = wqe_state_posted;
	w->ssn = atomic_add_return(1, &qp->ssn);
	queue_advance_producer(qp->sq.queue, QUEUE_TYPE_FROM_ULP);
	abi_trace("QP %u: WQE %llx, opcode %d, %u bytes\n", qp->ibqp.qp_num,
		  w->wr.wr_id, w->wr.opcode, w->dma.length);
}

void abi_fetch_send(struct abi_qp *q)
{
	struct rxe_qp *qp = q->qp;
	struct rxe_send_wqe *w;
	unsigned long flags;
	bool any = false;
	int got;

	if (qp_state(qp) < IB_QPS_RTS)
		return;
	spin_lock_irqsave(&qp->sq.sq_lock, flags);
	while (!queue_full(qp->sq.queue, QUEUE_TYPE_FROM_ULP)) {
		w = queue_producer_addr(qp->sq.queue, QUEUE_TYPE_FROM_ULP);
		memset(w, 0, sizeof(*w));
		got = q->ops->next_send(q, w);
		if (!got)
			break;
		abi_post_send(qp, w, got < 0);
		any = true;
	}
	spin_unlock_irqrestore(&qp->sq.sq_lock, flags);
	if (any)
		rxe_sched_task(&qp->send_task);
}

/* -- doorbells ------------------------------------------------------------ */

/* Which of the context's doorbells rang is not recorded: all its queues are read. */
void abi_doorbell(struct abi_ctx *ctx)
{
	struct abi_qp *q;
	struct abi_cq *c;
	unsigned long flags;

	spin_lock_irqsave(&ctx->lock, flags);
	list_for_each_entry(q, &ctx->qps, list)
		abi_fetch_send(q);
	list_for_each_entry(c, &ctx->cqs, list) {
		spin_lock(&c->cq->cq_lock);
		abi_notify(c);
		spin_unlock(&c->cq->cq_lock);
	}
	spin_unlock_irqrestore(&ctx->lock, flags);
}

void abi_qp_start(struct abi_qp *q)
{
	spin_lock_irq(&q->ctx->lock);
	list_add(&q->list, &q->ctx->qps);
	spin_unlock_irq(&q->ctx->lock);
}

/* Before rxe destroys the QP, which may flush it once more. */
void abi_qp_stop(struct abi_qp *q)
{
	spin_lock_irq(&q->ctx->lock);
	list_del(&q->list);
	spin_unlock_irq(&q->ctx->lock);
	q->stopping = true;
	hrtimer_cancel(&q->flush);
}

void abi_qp_init(struct abi_qp *q, struct rxe_qp *qp, struct abi_ctx *ctx)
{
	q->qp = qp;
	q->ctx = ctx;
	hrtimer_init(&q->flush, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	q->flush.function = abi_flush_poll;
	qp->abi = q;
}

/* -- contexts and devices ------------------------------------------------- */

int abi_ctx_open(struct ib_ucontext *ibuc)
{
	struct abi_ctx *ctx = kzalloc(sizeof(*ctx), GFP_KERNEL);
	int err;

	if (!ctx)
		return -ENOMEM;
	spin_lock_init(&ctx->lock);
	INIT_LIST_HEAD(&ctx->qps);
	INIT_LIST_HEAD(&ctx->cqs);
	err = rxe_abi_ops.alloc_ucontext(ibuc, NULL);
	if (err) {
		kfree(ctx);
		return err;
	}
	ctx->uc = to_ruc(ibuc);
	to_ruc(ibuc)->abi = ctx;
	return 0;
}

void abi_dealloc_ucontext(struct ib_ucontext *ibuc)
{
	struct abi_ctx *ctx = to_ruc(ibuc)->abi;

	if (ctx->doorbell)
		rdma_user_mmap_entry_remove(abi_page_entry(ctx->doorbell));
	rxe_abi_ops.dealloc_ucontext(ibuc);
	abi_pages_flush();
	kfree(ctx);
}

/* Called when rxe has set its own functions. */
int rxe_abi_setup(struct ib_device *dev)
{
	size_t i;
	int err;

	for (i = 0; i < ARRAY_SIZE(abis); i++) {
		if (!sysfs_streq(abi_name, abis[i]->name))
			continue;
		err = abi_pages_init();
		if (err)
			return err;
		rxe_abi_ops = dev->ops;
		dev->ops.alloc_mw = NULL;
		dev->ops.dealloc_mw = NULL;
		dev->ops.dealloc_ucontext = abi_dealloc_ucontext;
		dev->ops.mmap_free = abi_mmap_free;
		abis[i]->overlay(dev);
		return 0;
	}
	return sysfs_streq(abi_name, "rxe") ? 0 : -EINVAL;
}
