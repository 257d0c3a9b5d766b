/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A device without a data path, as fast as possible: preloaded before libibverbs, it completes a work
 * request by keeping its wr_id until it is polled. A program's CPU time on it is the cost of the
 * program and of libraries between the two. Send side only; objects are never freed.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 64, CQE_MAX = 1 << 22 };

struct cqe {
	uint64_t wr_id;
	uint32_t qp_num;
};

/*
 * Filled from 0 again whenever it is empty, so a long ring costs no memory traffic.
 * Locked, as any device's: one thread may post while another polls.
 */
struct null_cq {
	struct ibv_cq cq;
	pthread_spinlock_t lock;
	struct cqe *ring;
	int head, tail;
};

struct null_qp {
	struct ibv_qp qp;
	struct null_cq *send_cq;         /* the shim changes ibv_qp.send_cq */
};

static struct ibv_device device = { .name = "null0", .transport_type = IBV_TRANSPORT_IB };

/* Whole cache lines: threads that use different queues share no line. */
static void *make(size_t size)
{
	void *p = aligned_alloc(LINE, (size + LINE - 1) / LINE * LINE);

	return p ? memset(p, 0, size) : NULL;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct null_cq *c = ((struct null_qp *)(void *)qp)->send_cq;

	pthread_spin_lock(&c->lock);
	for (; wr; wr = wr->next) {
		if (!(wr->send_flags & IBV_SEND_SIGNALED))
			continue;
		if (c->head == c->cq.cqe)
			break;
		c->ring[c->head++] = (struct cqe){ wr->wr_id, qp->qp_num };
	}
	pthread_spin_unlock(&c->lock);
	if (wr)
		*bad = wr;
	return wr ? ENOMEM : 0;
}

static int poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	struct null_cq *c = (struct null_cq *)(void *)cq;
	int got = 0;

	pthread_spin_lock(&c->lock);
	for (; got < n && c->tail < c->head; got++) {
		const struct cqe *e = &c->ring[c->tail++];

		wc[got].wr_id = e->wr_id;
		wc[got].status = IBV_WC_SUCCESS;
		wc[got].opcode = IBV_WC_RDMA_WRITE;
		wc[got].byte_len = 0;
		wc[got].qp_num = e->qp_num;
		wc[got].wc_flags = 0;
	}
	if (c->tail == c->head)
		c->tail = c->head = 0;
	pthread_spin_unlock(&c->lock);
	return got;
}

struct ibv_device **ibv_get_device_list(int *num)
{
	struct ibv_device **list = calloc(2, sizeof(struct ibv_device *));

	if (list)
		list[0] = &device;
	if (num)
		*num = !!list;
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

struct ibv_context *ibv_open_device(struct ibv_device *d)
{
	struct ibv_context *context = make(sizeof(*context));

	if (!context)
		return NULL;
	context->device = d;
	context->ops.post_send = post_send;
	context->ops.poll_cq = poll_cq;
	return context;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	(void)context;
	*attr = (struct ibv_device_attr){ .vendor_id = 1, /* no software's */
					  .max_qp = 1 << 20, .atomic_cap = IBV_ATOMIC_HCA, .max_qp_wr = 1 << 15, .max_sge = 16,
					  .max_cq = 1 << 20, .max_cqe = CQE_MAX,
					  .phys_port_cnt = 1 };
	return 0;
}

#undef ibv_query_port
int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *compat)
{
	struct ibv_port_attr *attr = (struct ibv_port_attr *)(void *)compat;

	(void)context;
	(void)port;
	attr->state = IBV_PORT_ACTIVE;
	attr->active_width = 2;
	attr->active_speed = 32; /* 100 Gbit/s on four lanes */
	attr->link_layer = IBV_LINK_LAYER_ETHERNET;
	return 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct ibv_pd *pd = make(sizeof(*pd));

	if (pd)
		pd->context = context;
	return pd;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int comp_vector)
{
	struct null_cq *c = make(sizeof(*c));

	(void)comp_vector;
	if (!c || !(c->ring = make((size_t)cqe * sizeof(*c->ring)))) {
		free(c);
		return NULL;
	}
	pthread_spin_init(&c->lock, PTHREAD_PROCESS_PRIVATE);
	c->cq.context = context;
	c->cq.channel = channel;
	c->cq.cq_context = cq_context;
	c->cq.cqe = cqe;
	return &c->cq;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	static uint32_t key;
	struct ibv_mr *mr = make(sizeof(*mr));

	(void)access;
	if (mr)
		*mr = (struct ibv_mr){ .context = pd->context, .pd = pd, .addr = addr,
				       .length = length, .lkey = ++key };
	return mr;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	static uint32_t qp_num = 16;
	struct null_qp *null = make(sizeof(*null));
	struct ibv_qp *qp = &null->qp;

	if (!null)
		return NULL;
	null->send_cq = (struct null_cq *)(void *)attr->send_cq;
	qp->context = pd->context;
	qp->pd = pd;
	qp->send_cq = attr->send_cq;
	qp->recv_cq = attr->recv_cq;
	qp->qp_type = attr->qp_type;
	qp->qp_num = ++qp_num;
	return qp;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	if (mask & IBV_QP_STATE)
		qp->state = attr->qp_state;
	return 0;
}
