/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests XRC: the sending QP is controlled like an RC QP, each message reaches the SRQ that it
 * names, and the device handles the receiving end.
 */
#include "rig.h"

enum { K4 = 4096, N = 6, SRQS = 2 };

static struct ibv_wc wc[16];

struct xrc {
	struct rig r;                    /* a sends, b receives */
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq[SRQS];
	uint32_t num[SRQS];
};

static void make_srq(struct xrc *x, unsigned i)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 16, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC, .pd = x->r.pd, .xrcd = x->xrcd, .cq = x->r.rcq,
	};

	x->srq[i] = ibv_create_srq_ex(x->r.ctx, &attr);
	assert_non_null(x->srq[i]);
	assert_int_equal(ibv_get_srq_num(x->srq[i], &x->num[i]), 0);
}

static void open_xrc(struct xrc *x, bool ex)
{
	struct ibv_xrcd_init_attr xrcd_attr = { .fd = -1 };
	/* verbs ignore the CQs of such a QP: a program may not have set them */
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_XRC_RECV,
					    .comp_mask = IBV_QP_INIT_ATTR_XRCD,
					    .send_cq = (struct ibv_cq *)8, .recv_cq = (struct ibv_cq *)8 };
	struct rig *r = &x->r;

	rig_open(r, (struct rig_conf){ 0 });
	assert_int_equal(ibv_destroy_qp(r->a), 0);
	assert_int_equal(ibv_destroy_qp(r->b), 0);
	x->xrcd = ibv_open_xrcd(r->ctx, &xrcd_attr);
	assert_non_null(x->xrcd);
	for (unsigned i = 0; i < SRQS; i++)
		make_srq(x, i);
	attr.xrcd = x->xrcd;
	r->b = ibv_create_qp_ex(r->ctx, &attr);
	r->conf.type = IBV_QPT_XRC_SEND;
	r->conf.ex = ex;
	r->a = rig_qp(r, r->scq, NULL);
	assert_true(r->a && r->b);
	assert_int_equal(fake_send_cq(r->a) == r->scq, rig_is("bare"));
	rig_to_rts(r, r->b, r->a->qp_num);
	rig_to_rts(r, r->a, r->b->qp_num);
	fake_seen_clear();
}

static void close_xrc(struct xrc *x)
{
	assert_int_equal(ibv_destroy_qp(x->r.a), 0);
	assert_int_equal(ibv_destroy_qp(x->r.b), 0);
	x->r.a = x->r.b = NULL;
	for (unsigned i = 0; i < SRQS; i++)
		assert_int_equal(ibv_destroy_srq(x->srq[i]), 0);
	assert_int_equal(ibv_close_xrcd(x->xrcd), 0);
	rig_close(&x->r);
}

/* Post receives to SRQ i for each of the N messages. */
static void post_receives(struct xrc *x)
{
	for (unsigned k = 0; k < N; k++) {
		struct ibv_sge sge = { .addr = (uintptr_t)x->r.dst + k * K4, .length = K4,
				       .lkey = x->r.dmr->lkey };
		struct ibv_recv_wr wr = { .wr_id = 100 * (k % SRQS) + k, .sg_list = &sge,
					  .num_sge = 1 }, *bad;

		assert_int_equal(ibv_post_srq_recv(x->srq[k % SRQS], &wr, &bad), 0);
	}
}

static void expect_all(struct xrc *x)
{
	rig_poll(x->r.scq, 2 * N, wc);
	for (unsigned i = 0; i < 2 * N; i++)
		assert_true(wc[i].wr_id == i && wc[i].status == IBV_WC_SUCCESS &&
			    wc[i].qp_num == x->r.a->qp_num);
	rig_poll(x->r.rcq, N, wc);
	for (unsigned k = 0; k < N; k++)
		assert_true(wc[k].wr_id == 100 * (k % SRQS) + k && wc[k].byte_len == K4 &&
			    wc[k].qp_num == x->r.b->qp_num);
	assert_memory_equal(x->r.dst, x->r.src, N * K4);
	assert_memory_equal(x->r.dst + 10 * K4, x->r.src + 10 * K4, 3 * K4);
	if (rig_is("gated")) /* WRITEs in segments */
		assert_int_equal(fake_seen_count(), N + 3 * N);
	else
		assert_int_equal(fake_seen_count(), 2 * N);
}

/* The WR's list is overwritten before the WR goes out. */
static void post(struct xrc *x, uint64_t wr_id, enum ibv_wr_opcode opcode, uint64_t offset,
		 uint32_t len)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = rig_wr(&x->r, &sge, wr_id, opcode, offset, len,
				       IBV_SEND_SIGNALED), *bad;

	wr.qp_type.xrc.remote_srqn = x->num[wr_id / 2 % SRQS];
	assert_int_equal(ibv_post_send(x->r.a, &wr, &bad), 0);
	memset(&wr, 0x5a, sizeof(wr));
	memset(&sge, 0x5a, sizeof(sge));
}

static void each_message_reaches_its_srq(void **state)
{
	struct xrc x;

	open_xrc(&x, false);
	post_receives(&x);
	for (unsigned k = 0; k < N; k++) {
		post(&x, 2 * k, IBV_WR_SEND, k * K4, K4);
		post(&x, 2 * k + 1, IBV_WR_RDMA_WRITE, 10 * K4, 3 * K4);
	}
	expect_all(&x);
	close_xrc(&x);
}

static void batches_reach_each_xrc_srq(void **state)
{
	struct ibv_qp_ex *ex;
	struct xrc x;

	open_xrc(&x, true);
	ex = ibv_qp_to_qp_ex(x.r.a);
	assert_non_null(ex);
	post_receives(&x);
	ibv_wr_start(ex);
	for (unsigned k = 0; k < N; k++) {
		ex->wr_flags = IBV_SEND_SIGNALED;
		ex->wr_id = 2 * k;
		ibv_wr_send(ex);
		ibv_wr_set_sge(ex, x.r.smr->lkey, (uintptr_t)x.r.src + k * K4, K4);
		ibv_wr_set_xrc_srqn(ex, x.num[k % SRQS]);
		ex->wr_id = 2 * k + 1;
		ibv_wr_rdma_write(ex, x.r.dmr->rkey, (uintptr_t)x.r.dst + 10 * K4);
		ibv_wr_set_xrc_srqn(ex, 0);
		ibv_wr_set_sge(ex, x.r.smr->lkey, (uintptr_t)x.r.src + 10 * K4, 3 * K4);
	}
	assert_int_equal(ibv_wr_complete(ex), 0);
	expect_all(&x);
	close_xrc(&x);
}

static void a_message_to_an_unknown_srq_fails(void **state)
{
	struct xrc x;

	open_xrc(&x, false);
	x.num[0] = x.num[1] = 4711;
	post(&x, 2, IBV_WR_SEND, 0, K4);
	post(&x, 3, IBV_WR_SEND, 0, K4);
	rig_poll(x.r.scq, 2, wc);
	assert_true(wc[0].wr_id == 2 && wc[0].status == IBV_WC_REM_INV_REQ_ERR);
	assert_true(wc[1].wr_id == 3 && wc[1].status == IBV_WC_WR_FLUSH_ERR);
	close_xrc(&x);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_message_reaches_its_srq),
		cmocka_unit_test(batches_reach_each_xrc_srq),
		cmocka_unit_test(a_message_to_an_unknown_srq_fails),
	};

	return rig_run_modes(argc, argv, "xrc", tests, sizeof(tests) / sizeof(*tests));
}
