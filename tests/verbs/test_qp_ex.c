/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests ibv_create_qp_ex: which QPs are controlled and which are not. The same expectations hold
 * with and without the shim.
 */
#include "rig.h"

static struct ibv_wc wc[16];

static struct ibv_qp_init_attr_ex usual(const struct rig *r)
{
	return (struct ibv_qp_init_attr_ex){
		.qp_context = (void *)0x5a5a, .send_cq = r->scq, .recv_cq = r->rcq,
		.pd = r->pd, .qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.cap = { .max_send_wr = 7, .max_recv_wr = 6, .max_send_sge = 2,
			 .max_recv_sge = 1, .max_inline_data = 32 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_SEND,
	};
}

static bool controlled(const struct ibv_qp *qp, const struct rig *r)
{
	return fake_send_cq(qp) != r->scq;
}

/* The QP replaces r->a and is used as r->a, with ibv_wr_* if it has that interface. */
static void try_out(struct rig *r, struct ibv_qp *qp)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);

	assert_int_equal(ibv_destroy_qp(r->a), 0);
	r->a = qp;
	rig_to_rts(r, qp, r->b->qp_num);
	fake_seen_clear();
	assert_int_equal(rig_post(r, 1, IBV_WR_RDMA_WRITE, 0, 100, IBV_SEND_SIGNALED), 0);
	if (ex) {
		ibv_wr_start(ex);
		ex->wr_id = 2;
		ex->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_rdma_write(ex, r->dmr->rkey, (uintptr_t)r->dst + 200);
		ibv_wr_set_sge(ex, r->smr->lkey, (uintptr_t)r->src + 200, 100);
		assert_int_equal(ibv_wr_complete(ex), 0);
	}
	rig_poll(r->scq, ex ? 2 : 1, wc);
	for (unsigned i = 0; i < (ex ? 2 : 1); i++)
		assert_true(wc[i].wr_id == i + 1 && wc[i].status == IBV_WC_SUCCESS);
	/* Internal wr_ids of the shim never reach the application. */
	assert_int_equal(fake_seen(0).wr_id != 1, controlled(qp, r));
	assert_memory_equal(r->src, r->dst, 100);
}

static void create_qp_ex_leaves_its_attributes_unchanged(void **state)
{
	struct ibv_qp_init_attr_ex attr, before;
	struct ibv_qp_init_attr init = { 0 };
	struct ibv_qp_attr now = { 0 };
	struct ibv_qp_cap granted;
	struct ibv_qp *qp;
	struct rig r;

	for (unsigned ops = 0; ops < 2; ops++) {
		rig_open(&r, (struct rig_conf){ 0 });
		attr = usual(&r);
		if (!ops)
			attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
		before = attr;
		qp = ibv_create_qp_ex(r.ctx, &attr);
		assert_non_null(qp);
		assert_int_equal(controlled(qp, &r), !rig_is("bare"));
		granted = attr.cap;
		attr.cap = before.cap;
		assert_memory_equal(&attr, &before, sizeof(attr));
		assert_int_equal(!!ibv_qp_to_qp_ex(qp), ops);
		assert_ptr_equal(qp->qp_context, (void *)0x5a5a);
		assert_int_equal(ibv_query_qp(qp, &now, IBV_QP_CAP, &init), 0);
		assert_memory_equal(&init.cap, &granted, sizeof(granted));
		assert_true(granted.max_send_wr >= 7 && granted.max_inline_data >= 32);
		assert_int_equal(init.sq_sig_all, 1);
		assert_ptr_equal(init.send_cq, r.scq);
		try_out(&r, qp);
		rig_close(&r);
	}
}

/* The larger depth exceeds the device's limit: the application's own depth is used. */
static void a_qp_is_controlled_at_the_devices_own_depth(void **state)
{
	struct ibv_qp_init_attr_ex attr;
	struct ibv_qp *qp;
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	fake_limit_depth(7);
	attr = usual(&r);
	qp = ibv_create_qp_ex(r.ctx, &attr);
	assert_non_null(qp);
	assert_int_equal(controlled(qp, &r), !rig_is("bare"));
	assert_true(attr.cap.max_send_wr >= 7);
	try_out(&r, qp);
	rig_close(&r);
}

static void uncontrolled_qps_work_natively(void **state)
{
	struct ibv_qp_init_attr_ex attr;
	struct ibv_qp *qp;
	struct rig r;

	for (unsigned i = 0; i < 2; i++) {
		rig_open(&r, (struct rig_conf){ 0 });
		attr = usual(&r);
		if (i) {
			attr.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
			attr.create_flags = IBV_QP_CREATE_CVLAN_STRIPPING;
		} else {
			attr.qp_type = IBV_QPT_UC;
		}
		qp = ibv_create_qp_ex(r.ctx, &attr);
		assert_non_null(qp);
		assert_false(controlled(qp, &r));
		if (i)
			try_out(&r, qp);
		else
			assert_int_equal(ibv_destroy_qp(qp), 0);
		rig_close(&r);
	}
}

/* As on libmlx5, which counts the SGEs of ibv_post_send() only. */
static void inline_data_of_builders_need_no_sge(void **state)
{
	struct ibv_qp_init_attr_ex attr;
	struct ibv_qp_ex *ex;
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	attr = usual(&r);
	attr.cap.max_send_sge = 0;
	assert_int_equal(ibv_destroy_qp(r.a), 0);
	r.a = ibv_create_qp_ex(r.ctx, &attr);
	assert_non_null(r.a);
	assert_int_equal(attr.cap.max_send_sge, 0);
	rig_to_rts(&r, r.a, r.b->qp_num);
	ex = ibv_qp_to_qp_ex(r.a);
	ibv_wr_start(ex);
	ex->wr_id = 3;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(ex, r.dmr->rkey, (uintptr_t)r.dst);
	ibv_wr_set_inline_data(ex, r.src, 16);
	assert_int_equal(ibv_wr_complete(ex), 0);
	rig_poll(r.scq, 1, wc);
	assert_true(wc->wr_id == 3 && wc->status == IBV_WC_SUCCESS);
	assert_memory_equal(r.src, r.dst, 16);
	rig_close(&r);
}

/* In an older libibverbs the structure is shorter, and the memory after it is the provider's. */
static void members_beyond_an_older_qp_ex_are_not_written(void **state)
{
	const size_t old = offsetof(struct ibv_qp_ex, wr_abort) + sizeof(void (*)(void));
	unsigned char sentinel[sizeof(struct ibv_qp_ex)];
	struct ibv_qp_init_attr_ex attr;
	struct ibv_qp_ex *ex;
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	attr = usual(&r);
	ex = ibv_qp_to_qp_ex(ibv_create_qp_ex(r.ctx, &attr));
	assert_non_null(ex);
	memset(sentinel, 0x5a, sizeof(sentinel));
	memcpy((char *)ex + old, sentinel, sizeof(*ex) - old);
	rig_to_rts(&r, &ex->qp_base, r.b->qp_num);
	assert_memory_equal((char *)ex + old, sentinel, sizeof(*ex) - old);
	assert_int_equal(ibv_destroy_qp(&ex->qp_base), 0);
	rig_close(&r);
}

static void refused_attributes_return_the_devices_errno(void **state)
{
	struct ibv_qp_init_attr_ex attr;
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	for (unsigned i = 0; i < 4; i++) {
		attr = usual(&r);
		if (i == 0)
			attr.send_ops_flags |= IBV_QP_EX_WITH_TSO;
		else if (i == 1)
			attr.comp_mask |= IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
		else if (i == 2)
			attr.comp_mask &= ~(uint32_t)IBV_QP_INIT_ATTR_PD;
		else
			attr.cap.max_send_sge = 1000;
		errno = 0;
		assert_null(ibv_create_qp_ex(r.ctx, &attr));
		assert_int_equal(errno, i < 3 ? EOPNOTSUPP : EINVAL);
	}
	rig_close(&r);
}

static void a_cq_of_another_device_gets_to_the_device(void **state)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_qp_init_attr_ex attr;
	struct ibv_context *other;
	struct ibv_cq *cq;
	unsigned cqs;
	struct rig r;

	assert_true(list && list[1]);
	rig_open(&r, (struct rig_conf){ 0 });
	other = ibv_open_device(list[1]);
	assert_non_null(other);
	ibv_free_device_list(list);
	cq = ibv_create_cq(other, 16, NULL, NULL, 0);
	assert_non_null(cq);
	cqs = fake_counts().cqs;
	attr = usual(&r);
	attr.send_cq = cq;
	errno = 0;
	assert_null(ibv_create_qp_ex(r.ctx, &attr));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(fake_counts().cqs, cqs);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ibv_close_device(other), 0);
	rig_close(&r);
}

/* The device handles the receive side, including an SRQ. */
static void a_controlled_qp_receives_from_an_srq(void **state)
{
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_qp_init_attr_ex attr;
	struct ibv_recv_wr wr = { .wr_id = 33, .num_sge = 1 }, *bad;
	struct ibv_sge sge;
	struct ibv_srq *srq;
	struct ibv_qp *qp;
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	srq = ibv_create_srq(r.pd, &srq_attr);
	assert_non_null(srq);
	attr = usual(&r);
	attr.srq = srq;
	qp = ibv_create_qp_ex(r.ctx, &attr);
	assert_non_null(qp);
	assert_int_equal(controlled(qp, &r), !rig_is("bare"));
	rig_to_rts(&r, qp, r.a->qp_num);
	assert_int_equal(rig_state(r.a, IBV_QPS_RESET), 0);
	rig_to_rts(&r, r.a, qp->qp_num);
	sge = (struct ibv_sge){ .addr = (uintptr_t)r.dst, .length = 1000, .lkey = r.dmr->lkey };
	wr.sg_list = &sge;
	assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
	assert_int_equal(rig_post(&r, 1, IBV_WR_SEND, 0, 500, IBV_SEND_SIGNALED), 0);
	rig_poll(r.rcq, 1, wc);
	assert_true(wc->wr_id == 33 && wc->byte_len == 500 && wc->qp_num == qp->qp_num);
	rig_poll(r.scq, 1, wc);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	rig_close(&r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(create_qp_ex_leaves_its_attributes_unchanged),
		cmocka_unit_test(a_qp_is_controlled_at_the_devices_own_depth),
		cmocka_unit_test(uncontrolled_qps_work_natively),
		cmocka_unit_test(inline_data_of_builders_need_no_sge),
		cmocka_unit_test(members_beyond_an_older_qp_ex_are_not_written),
		cmocka_unit_test(refused_attributes_return_the_devices_errno),
		cmocka_unit_test(a_cq_of_another_device_gets_to_the_device),
		cmocka_unit_test(a_controlled_qp_receives_from_an_srq),
	};

	return rig_run_modes(argc, argv, "qp_ex", tests, sizeof(tests) / sizeof(*tests));
}
