/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of memory windows and of requests that invalidate keys. */
#include "suite.h"

#include <errno.h>

enum { OFFSET = 65536, LEN = 8192 };

static struct ibv_mw *window_alloc(enum ibv_mw_type type)
{
	struct ibv_mw *mw;

	mw = ibv_alloc_mw(hosts[1].pd, type);
	fact("supported", "%d", !!mw);
	if (!mw)
		skip("no memory windows: %s", strerror(errno));
	return mw;
}

static struct ibv_mw_bind_info range(uint32_t len)
{
	return (struct ibv_mw_bind_info){
		.mr = hosts[1].mr, .addr = (uintptr_t)target() + OFFSET, .length = len,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
	};
}

/* A WRITE through a window, or a SEND that invalidates it. */
static int post_through(struct pair *p, uint64_t id, uint32_t rkey, enum ibv_wr_opcode opcode)
{
	struct ibv_send_wr *bad;
	struct request r;

	build(&r, &p->a, &p->b, &(struct op){ .id = id, .opcode = opcode, .len = 1000,
					      .to = OFFSET, SIGNALED });
	if (opcode == IBV_WR_SEND_WITH_INV)
		r.wr.invalidate_rkey = rkey;
	else
		r.wr.wr.rdma.rkey = rkey;
	return ibv_post_send(p->a.qp, &r.wr, &bad);
}

static void type_1_window(void)
{
	struct ibv_mw *mw = window_alloc(IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = { .wr_id = 5, .send_flags = IBV_SEND_SIGNALED,
				    .bind_info = range(LEN) };
	uint32_t old;
	struct pair p;

	PAIR(&p);
	require(!ibv_bind_mw(p.b.qp, mw, &bind), "binding: %s", strerror(errno));
	done(&p.b, 5, IBV_WC_BIND_MW);
	fill(source(), 1000, 1);
	require(!post_through(&p, 1, mw->rkey, IBV_WR_RDMA_WRITE), "posting");
	done(&p.a, 1, IBV_WC_RDMA_WRITE);
	require(is_filled(target() + OFFSET, 1000, 1), "WRITE through a window");
	old = mw->rkey;
	bind.bind_info.length = 0;
	bind.wr_id = 6;
	require(!ibv_bind_mw(p.b.qp, mw, &bind), "unbinding");
	done(&p.b, 6, IBV_WC_BIND_MW);
	require(!post_through(&p, 2, old, IBV_WR_RDMA_WRITE), "posting");
	failed(&p.a, 2, IBV_WC_REM_ACCESS_ERR);
	pair_drop(&p);
	require(!ibv_dealloc_mw(mw), "deallocating a window");
}

static uint32_t bind_type_2(struct end *e, struct ibv_mw *mw, uint64_t id)
{
	struct ibv_send_wr wr = { .wr_id = id, .opcode = IBV_WR_BIND_MW,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;

	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info = range(LEN);
	require(!ibv_post_send(e->qp, &wr, &bad), "posting BIND_MW: %s", strerror(errno));
	done(e, id, IBV_WC_BIND_MW);
	return wr.bind_mw.rkey;
}

static void send_with_inv_invalidates(void)
{
	struct ibv_mw *mw = window_alloc(IBV_MW_TYPE_2);
	struct ibv_wc wc;
	uint32_t rkey;
	struct pair p;

	PAIR(&p);
	rkey = bind_type_2(&p.b, mw, 5);
	fill(source(), 1000, 2);
	recv_ok(&p.b, 9, 0, 4096);
	require(!post_through(&p, 1, rkey, IBV_WR_RDMA_WRITE), "posting");
	require(!post_through(&p, 2, rkey, IBV_WR_SEND_WITH_INV), "posting");
	done(&p.a, 1, IBV_WC_RDMA_WRITE);
	done(&p.a, 2, IBV_WC_SEND);
	wc = received(&p.b, 9, 1000);
	require(wc.invalidated_rkey == rkey, "rkey %x, expected %x", wc.invalidated_rkey, rkey);
	fact("flag", "%d", !!(wc.wc_flags & IBV_WC_WITH_INV)); /* rxe sets another one */
	require(is_filled(target() + OFFSET, 1000, 2) && is_filled(inbox(), 1000, 2), "bytes");
	require(!post_through(&p, 3, rkey, IBV_WR_RDMA_WRITE), "posting");
	failed(&p.a, 3, IBV_WC_REM_ACCESS_ERR);
	pair_drop(&p);
	require(!ibv_dealloc_mw(mw), "deallocating a window");
}

static void local_inv_invalidates(void)
{
	struct ibv_mw *mw = window_alloc(IBV_MW_TYPE_2);
	struct ibv_send_wr wr = { .wr_id = 6, .opcode = IBV_WR_LOCAL_INV,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct pair p;

	PAIR(&p);
	wr.invalidate_rkey = bind_type_2(&p.b, mw, 5);
	fill(source(), 1000, 3);
	require(!post_through(&p, 1, wr.invalidate_rkey, IBV_WR_RDMA_WRITE), "posting");
	done(&p.a, 1, IBV_WC_RDMA_WRITE);
	require(!ibv_post_send(p.b.qp, &wr, &bad), "posting LOCAL_INV");
	done(&p.b, 6, IBV_WC_LOCAL_INV);
	require(!post_through(&p, 2, wr.invalidate_rkey, IBV_WR_RDMA_WRITE), "posting");
	failed(&p.a, 2, IBV_WC_REM_ACCESS_ERR);
	pair_drop(&p);
	require(!ibv_dealloc_mw(mw), "deallocating a window");
}

/* The same by ibv_wr_*. */
static void wr_bind_and_invalidate(void)
{
	struct ibv_mw *mw = window_alloc(IBV_MW_TYPE_2);
	struct ibv_mw_bind_info info = range(LEN);
	uint32_t rkey = ibv_inc_rkey(mw->rkey);
	struct ibv_qp_ex *qp;
	struct pair p;

	PAIR(&p, .ops = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_BIND_MW |
			IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_SEND_WITH_INV);
	fill(source(), 1000, 4);
	for (unsigned i = 0; i < 2; i++, rkey = ibv_inc_rkey(rkey)) {
		qp = p.b.qpx;
		ibv_wr_start(qp);
		qp->wr_id = 5;
		qp->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_bind_mw(qp, mw, rkey, &info);
		require(!ibv_wr_complete(qp), "binding");
		done(&p.b, 5, IBV_WC_BIND_MW);
		mw->rkey = rkey; /* which ibv_bind_mw would do */
		recv_ok(&p.b, 9, 0, 4096);
		qp = i ? p.b.qpx : p.a.qpx;
		ibv_wr_start(qp);
		qp->wr_id = 6;
		qp->wr_flags = IBV_SEND_SIGNALED;
		if (i) {
			ibv_wr_local_inv(qp, rkey);
		} else {
			ibv_wr_send_inv(qp, rkey);
			ibv_wr_set_sge(qp, hosts[0].mr->lkey, (uintptr_t)source(), 100);
		}
		require(!ibv_wr_complete(qp), "invalidating");
		done(i ? &p.b : &p.a, 6, i ? IBV_WC_LOCAL_INV : IBV_WC_SEND);
		if (!i)
			require(received(&p.b, 9, 100).invalidated_rkey == rkey, "rkey");
	}
	pair_drop(&p);
	require(!ibv_dealloc_mw(mw), "deallocating a window");
}

const struct check window_checks[] = {
	{ "mw_type_1", "ibv_bind_mw gives access, and takes it away", type_1_window },
	{ "mw_send_inv", "SEND_WITH_INV invalidates a window, and the receive names it",
	  send_with_inv_invalidates },
	{ "mw_local_inv", "LOCAL_INV invalidates a window", local_inv_invalidates },
	{ "mw_wr", "ibv_wr_bind_mw, _local_inv and _send_inv do the same", wr_bind_and_invalidate },
	{},
};
