/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the fake provider without the shim: the properties that tests of the shim rely on. */
#include "../verbs/rig.h"

#include <fcntl.h>
#include <unistd.h>

static struct ibv_wc wc[32];

static struct ibv_qp *qp_ex(struct rig *r, enum ibv_qp_type type, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = r->scq, .recv_cq = r->rcq, .srq = srq, .pd = r->pd, .qp_type = type,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 2,
			 .max_recv_sge = 2, .max_inline_data = 32 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};

	return ibv_create_qp_ex(r->ctx, &attr);
}

/* Replace QP a by one with the extended posting interface. */
static struct ibv_qp_ex *open_ex(struct rig *r)
{
	struct ibv_qp *qp;

	rig_open(r, (struct rig_conf){ 0 });
	qp = qp_ex(r, IBV_QPT_RC, NULL);
	assert_non_null(qp);
	assert_int_equal(ibv_destroy_qp(r->a), 0);
	r->a = qp;
	rig_to_rts(r, qp, r->b->qp_num);
	return ibv_qp_to_qp_ex(qp);
}

static void write_8(struct rig *r, struct ibv_qp_ex *ex, uint64_t wr_id)
{
	ex->wr_id = wr_id;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(ex, r->dmr->rkey, (uintptr_t)r->dst + 8 * wr_id);
	ibv_wr_set_sge(ex, r->smr->lkey, (uintptr_t)r->src + 8 * wr_id, 8);
}

static void batches_are_posted_completely_or_not_at_all(void **state)
{
	struct ibv_data_buf bufs[2];
	struct ibv_qp_ex *ex;
	char text[] = "inline";
	struct rig r;

	ex = open_ex(&r);
	assert_non_null(ex);
	assert_null(ibv_qp_to_qp_ex(r.b));
	assert_non_null(ex->wr_rdma_write); /* whichever were asked for */
	fake_hold(true);
	ibv_wr_start(ex);
	write_8(&r, ex, 1);
	ex->wr_id = 2;
	ibv_wr_rdma_write(ex, r.dmr->rkey, (uintptr_t)r.dst + 100);
	bufs[0] = (struct ibv_data_buf){ .addr = text, .length = 2 };
	bufs[1] = (struct ibv_data_buf){ .addr = text + 2, .length = 4 };
	ibv_wr_set_inline_data_list(ex, 2, bufs);
	assert_int_equal(ibv_wr_complete(ex), 0);
	memset(text, 0, sizeof(text));
	ibv_wr_start(ex);
	write_8(&r, ex, 3);
	ibv_wr_abort(ex);
	ibv_wr_start(ex);
	for (unsigned i = 3; i < 6; i++)
		write_8(&r, ex, i);
	assert_int_equal(ibv_wr_complete(ex), ENOMEM); /* two of four entries are in use */
	ibv_wr_start(ex);
	write_8(&r, ex, 3);
	write_8(&r, ex, 4);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(fake_seen_count(), 4);
	fake_hold(false);
	rig_poll(r.scq, 4, wc);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(wc[i].wr_id, i + 1);
	assert_memory_equal(r.dst + 8, r.src + 8, 8);
	assert_memory_equal(r.dst + 24, r.src + 24, 16);
	assert_memory_equal(r.dst + 100, "inline", 6);
	rig_close(&r);
}

static void wr_complete_returns_what_a_setter_refused(void **state)
{
	struct ibv_sge sge[3] = { { 0 } };
	unsigned char data[512] = { 0 };
	struct ibv_qp_ex *ex;
	struct rig r;

	ex = open_ex(&r);
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_sge_list(ex, 3, sge);
	write_8(&r, ex, 1);
	assert_int_equal(ibv_wr_complete(ex), ENOMEM);
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_inline_data(ex, data, sizeof(data)); /* more than was granted */
	assert_int_equal(ibv_wr_complete(ex), ENOMEM);
	fake_fail_post(1, -EINVAL, FAKE_BAD_WR);
	ibv_wr_start(ex);
	write_8(&r, ex, 1);
	write_8(&r, ex, 2);
	assert_int_equal(ibv_wr_complete(ex), -EINVAL);
	assert_int_equal(fake_seen_count(), 0);
	fake_fail_post(0, EIO, FAKE_BAD_NULL);
	ibv_wr_start(ex);
	write_8(&r, ex, 1);
	assert_int_equal(ibv_wr_complete(ex), EIO);
	rig_poll(r.scq, 1, wc); /* it was sent nevertheless */
	rig_close(&r);
}

static int replaced_complete(struct ibv_qp_ex *ex)
{
	(void)ex;
	return 0;
}

static void modify_qp_installs_wr_complete(void **state)
{
	struct ibv_qp_ex *ex;
	struct rig r;

	ex = open_ex(&r);
	ex->wr_complete = replaced_complete;
	assert_int_equal(rig_state(r.a, IBV_QPS_RTS), 0);
	assert_ptr_not_equal(ex->wr_complete, replaced_complete);
	ex->wr_complete = replaced_complete;
	assert_int_equal(rig_state(r.a, IBV_QPS_RESET), 0);
	assert_ptr_not_equal(ex->wr_complete, replaced_complete);
	ibv_wr_start(ex);
	write_8(&r, ex, 1);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
	fake_rewrite_wr_complete(false);
	ex->wr_complete = replaced_complete;
	rig_to_rts(&r, r.a, r.b->qp_num);
	assert_ptr_equal(ex->wr_complete, replaced_complete);
	fake_rewrite_wr_complete(true);
	rig_close(&r);
}

static void extended_cqs_are_polled_in_batches(void **state)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 16, .wc_flags = IBV_WC_STANDARD_FLAGS };
	struct ibv_poll_cq_attr poll = { 0 };
	struct ibv_cq_ex *cq;
	struct ibv_qp *qp;
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	attr.wc_flags |= IBV_WC_EX_WITH_COMPLETION_TIMESTAMP; /* the device has no clock */
	assert_null(ibv_create_cq_ex(r.ctx, &attr));
	attr.wc_flags = IBV_WC_STANDARD_FLAGS;
	cq = ibv_create_cq_ex(r.ctx, &attr);
	assert_non_null(cq);
	qp = r.a;
	r.a = rig_qp(&r, ibv_cq_ex_to_cq(cq), r.rcq);
	assert_non_null(r.a);
	rig_to_rts(&r, r.a, r.b->qp_num);
	assert_int_equal(ibv_start_poll(cq, &poll), ENOENT);
	assert_int_equal(rig_post(&r, 7, IBV_WR_RDMA_WRITE, 0, 40, IBV_SEND_SIGNALED), 0);
	assert_int_equal(ibv_start_poll(cq, &poll), 0);
	assert_int_equal(cq->wr_id, 7);
	assert_int_equal(cq->status, IBV_WC_SUCCESS);
	assert_int_equal(ibv_wc_read_opcode(cq), IBV_WC_RDMA_WRITE);
	assert_int_equal(ibv_wc_read_byte_len(cq), 40);
	assert_int_equal(ibv_wc_read_qp_num(cq), r.a->qp_num);
	assert_int_equal(rig_post(&r, 8, IBV_WR_RDMA_READ, 0, 8, IBV_SEND_SIGNALED), 0);
	assert_int_equal(ibv_next_poll(cq), 0);
	assert_int_equal(cq->wr_id, 8);
	assert_int_equal(ibv_next_poll(cq), ENOENT);
	ibv_end_poll(cq);
	assert_int_equal(fake_counts().misread, 0);
	assert_int_equal(ibv_modify_cq(ibv_cq_ex_to_cq(cq), &(struct ibv_modify_cq_attr){
		.attr_mask = IBV_CQ_ATTR_MODERATE }), 0);
	assert_int_equal(ibv_destroy_qp(r.a), 0);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	r.a = qp;
	rig_close(&r);
}

static void an_srq_is_shared_and_raises_its_limit_event(void **state)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq_attr limit = { .srq_limit = 2 };
	struct ibv_async_event event;
	struct ibv_recv_wr wr, *bad;
	struct ibv_sge sge;
	struct ibv_srq *srq;
	struct ibv_qp *two[2], *b;
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	srq = ibv_create_srq(r.pd, &init);
	assert_non_null(srq);
	for (int i = 0; i < 2; i++) {
		two[i] = qp_ex(&r, IBV_QPT_RC, srq);
		assert_non_null(two[i]);
		rig_to_rts(&r, two[i], r.a->qp_num);
	}
	assert_int_equal(ibv_destroy_srq(srq), EBUSY);
	for (unsigned i = 0; i < 4; i++) {
		sge = (struct ibv_sge){ .addr = (uintptr_t)r.dst + 64 * i, .length = 64,
					.lkey = r.dmr->lkey };
		wr = (struct ibv_recv_wr){ .wr_id = i, .sg_list = &sge, .num_sge = 1 };
		assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
	}
	assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), ENOMEM);
	assert_int_equal(ibv_post_recv(two[0], &wr, &bad), EINVAL);
	assert_int_equal(ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT), 0);
	b = r.b;
	for (unsigned i = 0; i < 3; i++) { /* to each in turn */
		assert_int_equal(rig_state(r.a, IBV_QPS_RESET), 0);
		rig_to_rts(&r, r.a, two[i % 2]->qp_num);
		assert_int_equal(rig_post(&r, 9, IBV_WR_SEND, 64 * i, 64, IBV_SEND_SIGNALED), 0);
	}
	rig_poll(r.rcq, 3, wc);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(wc[i].wr_id, i);
		assert_int_equal(wc[i].qp_num, two[i % 2]->qp_num);
	}
	assert_memory_equal(r.dst, r.src, 3 * 64);
	assert_int_equal(ibv_get_async_event(r.ctx, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
	assert_ptr_equal(event.element.srq, srq);
	ibv_ack_async_event(&event);
	rig_poll(r.scq, 1, wc);
	r.b = b;
	for (int i = 0; i < 2; i++)
		assert_int_equal(ibv_destroy_qp(two[i]), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	rig_close(&r);
}

/* Write with the window's key; returns the status. */
static enum ibv_wc_status write_to(struct rig *r, uint32_t rkey)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = rig_wr(r, &sge, 1, IBV_WR_RDMA_WRITE, 128, 64, IBV_SEND_SIGNALED);
	struct ibv_send_wr *bad;

	wr.wr.rdma.rkey = rkey;
	assert_int_equal(ibv_post_send(r->a, &wr, &bad), 0);
	rig_poll(r->scq, 1, wc);
	if (wc->status) {
		rig_state(r->a, IBV_QPS_RESET);
		rig_to_rts(r, r->a, r->b->qp_num);
	}
	return wc->status;
}

static void windows_give_access_from_bind_to_invalidation(void **state)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_BIND_MW }, *bad;
	struct ibv_mw *mw;
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	mw = ibv_alloc_mw(r.pd, IBV_MW_TYPE_2);
	assert_int_equal(write_to(&r, mw->rkey), IBV_WC_REM_ACCESS_ERR);
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = mw->rkey + 1;
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = r.dmr, .addr = (uintptr_t)r.dst + 128, .length = 64,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE };
	assert_int_equal(ibv_post_send(r.b, &wr, &bad), 0);
	assert_int_equal(write_to(&r, wr.bind_mw.rkey), IBV_WC_SUCCESS);
	assert_memory_equal(r.dst + 128, r.src + 128, 64);
	/* the other side invalidates it by a SEND */
	assert_int_equal(rig_recv(&r, 5, 0, 64), 0);
	wr = (struct ibv_send_wr){ .opcode = IBV_WR_SEND_WITH_INV,
				   .invalidate_rkey = wr.bind_mw.rkey };
	assert_int_equal(ibv_post_send(r.a, &wr, &bad), 0);
	rig_poll(r.rcq, 1, wc);
	assert_int_equal(wc->wc_flags, IBV_WC_WITH_INV);
	assert_int_equal(wc->invalidated_rkey, wr.invalidate_rkey);
	assert_int_equal(write_to(&r, wr.invalidate_rkey), IBV_WC_REM_ACCESS_ERR);
	ibv_dealloc_mw(mw);
	rig_close(&r);
}

static void datagram_state(struct rig *r, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 0x1234 };

	(void)r;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX |
				       IBV_QP_QKEY), 0);
	assert_int_equal(rig_state(qp, IBV_QPS_RTR), 0);
	assert_int_equal(rig_state(qp, IBV_QPS_RTS), 0);
}

static void datagrams_without_receive_or_qkey_are_lost(void **state)
{
	struct ibv_ah_attr where = { .is_global = 1, .port_num = 1, .grh.sgid_index = 1 };
	struct ibv_send_wr wr, *bad;
	struct ibv_qp *qp[2], *a, *b;
	struct ibv_sge sge;
	struct ibv_ah *ah;
	struct rig r;

	rig_open(&r, (struct rig_conf){ .type = IBV_QPT_UD });
	a = r.a;
	b = r.b;
	for (int i = 0; i < 2; i++) {
		qp[i] = rig_qp(&r, r.scq, r.rcq);
		datagram_state(&r, qp[i]);
	}
	r.b = qp[1];
	ibv_query_gid(r.ctx, 1, 1, &where.grh.dgid);
	ah = ibv_create_ah(r.pd, &where);
	wr = rig_wr(&r, &sge, 3, IBV_WR_SEND_WITH_IMM, 512, 64, IBV_SEND_SIGNALED);
	wr.imm_data = 77;
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = qp[1]->qp_num;
	wr.wr.ud.remote_qkey = 0x1234;
	assert_int_equal(ibv_post_send(qp[0], &wr, &bad), 0); /* no receive: the datagram is lost */
	rig_poll(r.scq, 1, wc);
	assert_int_equal(wc->status, IBV_WC_SUCCESS);
	assert_int_equal(rig_recv(&r, 4, 0, 104), 0);
	wr.wr.ud.remote_qkey = 0x4321;
	/* the wrong key: the datagram is lost */
	assert_int_equal(ibv_post_send(qp[0], &wr, &bad), 0);
	rig_poll(r.scq, 1, wc);
	assert_int_equal(ibv_poll_cq(r.rcq, 1, wc), 0);
	wr.wr.ud.remote_qkey = 0x1234;
	assert_int_equal(ibv_post_send(qp[0], &wr, &bad), 0);
	rig_poll(r.rcq, 1, wc);
	assert_int_equal(wc->wr_id, 4);
	assert_int_equal(wc->byte_len, 104);
	assert_int_equal(wc->src_qp, qp[0]->qp_num);
	assert_int_equal(wc->wc_flags, IBV_WC_WITH_IMM | IBV_WC_GRH);
	assert_int_equal(wc->imm_data, 77);
	assert_memory_equal(r.dst + 40, r.src + 512, 64);
	rig_poll(r.scq, 1, wc);
	ibv_destroy_ah(ah);
	for (int i = 0; i < 2; i++)
		assert_int_equal(ibv_destroy_qp(qp[i]), 0);
	r.a = a;
	r.b = b;
	rig_close(&r);
}

static void faults_apply_to_the_chosen_event(void **state)
{
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	fake_fail_cqe(1, IBV_WC_RNR_RETRY_EXC_ERR);
	rig_post(&r, 1, IBV_WR_RDMA_WRITE, 0, 8, IBV_SEND_SIGNALED);
	rig_post(&r, 2, IBV_WR_RDMA_WRITE, 0, 8, 0);
	rig_poll(r.scq, 2, wc);
	assert_int_equal(wc[0].status, IBV_WC_SUCCESS);
	assert_int_equal(wc[1].status, IBV_WC_RNR_RETRY_EXC_ERR);
	rig_state(r.a, IBV_QPS_RESET);
	rig_to_rts(&r, r.a, r.b->qp_num);
	fake_not_ready(0, 2);
	rig_recv(&r, 5, 0, 64);
	rig_post(&r, 6, IBV_WR_SEND, 0, 64, IBV_SEND_SIGNALED);
	assert_int_equal(fake_pending(), 1);
	rig_poll(r.scq, 1, wc);
	rig_poll(r.rcq, 1, wc);
	fake_stale_cqe(0);
	assert_int_equal(ibv_destroy_qp(r.a), 0);
	r.a = NULL;
	assert_int_equal(ibv_poll_cq(r.scq, 2, wc), 1);
	assert_int_equal(wc->wr_id, 6);
	rig_close(&r);
}

static void sq_drained_is_raised_after_the_last_completion(void **state)
{
	struct ibv_async_event event;
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	assert_int_equal(fcntl(r.ctx->async_fd, F_SETFL, O_NONBLOCK), 0);
	fake_hold(true);
	rig_post(&r, 1, IBV_WR_RDMA_WRITE, 0, 8, IBV_SEND_SIGNALED);
	assert_int_equal(rig_state(r.a, IBV_QPS_SQD), 0);
	rig_post(&r, 2, IBV_WR_RDMA_WRITE, 0, 8, IBV_SEND_SIGNALED);
	assert_int_equal(ibv_get_async_event(r.ctx, &event), -1);
	assert_int_equal(fake_step(2), 1); /* the later WR waits */
	assert_int_equal(ibv_get_async_event(r.ctx, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_SQ_DRAINED);
	ibv_ack_async_event(&event);
	assert_int_equal(rig_state(r.a, IBV_QPS_RTS), 0);
	assert_int_equal(fake_step(2), 1);
	fake_hold(false);
	rig_poll(r.scq, 2, wc);
	rig_close(&r);
}

static void a_context_is_imported_by_its_descriptor(void **state)
{
	struct ibv_qp_rate_limit_attr limit = { .rate_limit = 1000 };
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_context *again;
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	again = ibv_import_device(dup(r.ctx->cmd_fd));
	assert_non_null(again);
	assert_ptr_equal(again->device, r.ctx->device);
	assert_ptr_not_equal(again, r.ctx);
	assert_int_equal(ibv_close_device(again), 0);
	assert_null(ibv_import_device(-1));
	assert_int_equal(ibv_modify_qp_rate_limit(r.a, &limit), 0);
	assert_int_equal(ibv_query_qp(r.a, &attr, IBV_QP_RATE_LIMIT, &init), 0);
	assert_int_equal(attr.rate_limit, 1000);
	rig_close(&r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(batches_are_posted_completely_or_not_at_all),
		cmocka_unit_test(wr_complete_returns_what_a_setter_refused),
		cmocka_unit_test(modify_qp_installs_wr_complete),
		cmocka_unit_test(extended_cqs_are_polled_in_batches),
		cmocka_unit_test(an_srq_is_shared_and_raises_its_limit_event),
		cmocka_unit_test(windows_give_access_from_bind_to_invalidation),
		cmocka_unit_test(datagrams_without_receive_or_qkey_are_lost),
		cmocka_unit_test(faults_apply_to_the_chosen_event),
		cmocka_unit_test(sq_drained_is_raised_after_the_last_completion),
		cmocka_unit_test(a_context_is_imported_by_its_descriptor),
	};

	(void)argc;
	setenv("RIG_BARE", "1", 1);
	rig_exec(argv, NULL);
	return cmocka_run_group_tests_name("fake", tests, NULL, NULL);
}
