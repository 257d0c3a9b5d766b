/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests ibv_wr_*: what the device receives and the application sees is the same with and without
 * the shim, whether the gate is open or everything beyond 4 KiB waits.
 */
#include "rig.h"

#include <pthread.h>
#include <stdatomic.h>

#define K4 4096u

static struct ibv_wc wc[64];

static struct ibv_qp_ex *open_ex(struct rig *r, struct rig_conf conf)
{
	struct ibv_qp_ex *ex;

	conf.ex = true;
	rig_open(r, conf);
	ex = ibv_qp_to_qp_ex(r->a);
	assert_non_null(ex);
	assert_int_equal(fake_send_cq(r->a) == r->scq, rig_is("bare"));
	return ex;
}

static void label(struct ibv_qp_ex *ex, uint64_t wr_id, unsigned int flags)
{
	ex->wr_id = wr_id;
	ex->wr_flags = flags;
}

static uint64_t remote(const struct rig *r, uint64_t offset)
{
	return (uintptr_t)r->dst + offset;
}

static void local(struct rig *r, struct ibv_qp_ex *ex, uint64_t offset, uint32_t len)
{
	ibv_wr_set_sge(ex, r->smr->lkey, (uintptr_t)r->src + offset, len);
}

static void write_len(struct rig *r, struct ibv_qp_ex *ex, uint64_t wr_id, unsigned int flags,
		      uint64_t offset, uint32_t len)
{
	label(ex, wr_id, flags);
	ibv_wr_rdma_write(ex, r->dmr->rkey, remote(r, offset));
	local(r, ex, offset, len);
}

static void write_8(struct rig *r, struct ibv_qp_ex *ex, uint64_t wr_id, unsigned int flags)
{
	write_len(r, ex, wr_id, flags, 8 * wr_id, 8);
}

static void expect(const struct ibv_wc *w, uint64_t wr_id, enum ibv_wc_opcode opcode)
{
	assert_int_equal(w->status, IBV_WC_SUCCESS);
	assert_int_equal(w->wr_id, wr_id);
	assert_int_equal(w->opcode, opcode);
}

/* Complete the batch, all of whose n WRs are signalled, and collect what the device received. */
static void finish(struct rig *r, struct ibv_qp_ex *ex, int n, struct fake_wqe_seen *seen)
{
	assert_int_equal(ibv_wr_complete(ex), 0);
	rig_poll(r->scq, n, wc);
	assert_int_equal(rig_seen_of(r->a, seen, 16), n);
	rig_poll_nothing(r->scq);
}

static void expect_rdma(const struct rig *r, const struct fake_wqe_seen *s,
			enum ibv_wr_opcode opcode, uint64_t offset)
{
	assert_int_equal(s->opcode, opcode);
	assert_int_equal(s->remote_addr, remote(r, offset));
	assert_int_equal(s->rkey, r->dmr->rkey);
	assert_int_equal(s->num_sge, 1);
	assert_int_equal(s->sge[0].addr, (uintptr_t)r->src + offset);
	assert_int_equal(s->sge[0].lkey, r->smr->lkey);
}

static void rdma_builders_post_what_they_are_given(void **state)
{
	struct fake_wqe_seen seen[16];
	struct ibv_qp_ex *ex;
	struct rig r;

	ex = open_ex(&r, (struct rig_conf){ 0 });
	rig_recv(&r, 70, 4096, 64);
	ibv_wr_start(ex);
	write_len(&r, ex, 1, IBV_SEND_SIGNALED, 0, 24);
	label(ex, 2, IBV_SEND_SIGNALED | IBV_SEND_SOLICITED);
	ibv_wr_rdma_write_imm(ex, r.dmr->rkey, remote(&r, 64), 0x1234);
	local(&r, ex, 64, 32);
	label(ex, 3, IBV_SEND_SIGNALED | IBV_SEND_FENCE);
	ibv_wr_rdma_read(ex, r.dmr->rkey, remote(&r, 512));
	local(&r, ex, 512, 40);
	finish(&r, ex, 3, seen);
	expect(&wc[0], 1, IBV_WC_RDMA_WRITE);
	expect(&wc[1], 2, IBV_WC_RDMA_WRITE);
	expect(&wc[2], 3, IBV_WC_RDMA_READ);
	assert_int_equal(wc[2].byte_len, 40);
	expect_rdma(&r, &seen[0], IBV_WR_RDMA_WRITE, 0);
	expect_rdma(&r, &seen[1], IBV_WR_RDMA_WRITE_WITH_IMM, 64);
	expect_rdma(&r, &seen[2], IBV_WR_RDMA_READ, 512);
	assert_int_equal(seen[1].imm, 0x1234);
	assert_int_equal(seen[0].send_flags, IBV_SEND_SIGNALED);
	assert_int_equal(seen[1].send_flags, IBV_SEND_SIGNALED | IBV_SEND_SOLICITED);
	assert_int_equal(seen[2].send_flags, IBV_SEND_SIGNALED | IBV_SEND_FENCE);
	assert_int_equal(seen[0].doorbell, seen[2].doorbell);
	rig_poll(r.rcq, 1, wc);
	assert_int_equal(wc->opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	assert_int_equal(wc->imm_data, 0x1234);
	assert_memory_equal(r.dst, r.src, 24);
	assert_memory_equal(r.dst + 64, r.src + 64, 32);
	rig_close(&r);
}

static void atomic_builders_post_what_they_are_given(void **state)
{
	struct fake_wqe_seen seen[16];
	struct ibv_qp_ex *ex;
	struct rig r;
	uint64_t value;

	ex = open_ex(&r, (struct rig_conf){ 0 });
	ibv_wr_start(ex);
	label(ex, 1, IBV_SEND_SIGNALED);
	ibv_wr_atomic_fetch_add(ex, r.dmr->rkey, remote(&r, 8), 41);
	local(&r, ex, 0, 8);
	label(ex, 2, IBV_SEND_SIGNALED);
	ibv_wr_atomic_cmp_swp(ex, r.dmr->rkey, remote(&r, 8), 41, 4711);
	local(&r, ex, 8, 8);
	finish(&r, ex, 2, seen);
	expect(&wc[0], 1, IBV_WC_FETCH_ADD);
	expect(&wc[1], 2, IBV_WC_COMP_SWAP);
	assert_int_equal(seen[0].opcode, IBV_WR_ATOMIC_FETCH_AND_ADD);
	assert_int_equal(seen[0].compare_add, 41);
	assert_int_equal(seen[0].rkey, r.dmr->rkey);
	assert_int_equal(seen[1].opcode, IBV_WR_ATOMIC_CMP_AND_SWP);
	assert_int_equal(seen[1].remote_addr, remote(&r, 8));
	assert_int_equal(seen[1].compare_add, 41);
	assert_int_equal(seen[1].swap, 4711);
	memcpy(&value, r.dst + 8, 8);
	assert_int_equal(value, 4711);
	memcpy(&value, r.src + 8, 8);
	assert_int_equal(value, 41);
	rig_close(&r);
}

static void send_builders_post_what_they_are_given(void **state)
{
	struct fake_wqe_seen seen[16];
	struct ibv_qp_ex *ex;
	struct rig r;

	ex = open_ex(&r, (struct rig_conf){ 0 });
	for (unsigned i = 0; i < 3; i++)
		rig_recv(&r, 70 + i, 1024 * i, 1024);
	ibv_wr_start(ex);
	label(ex, 1, IBV_SEND_SIGNALED);
	ibv_wr_send(ex);
	local(&r, ex, 0, 100);
	label(ex, 2, IBV_SEND_SIGNALED);
	ibv_wr_send_imm(ex, 0xabcd);
	local(&r, ex, 1024, 200);
	label(ex, 3, IBV_SEND_SIGNALED);
	ibv_wr_send_inv(ex, 0x77);
	local(&r, ex, 2048, 300);
	finish(&r, ex, 3, seen);
	for (unsigned i = 0; i < 3; i++) {
		expect(&wc[i], i + 1, IBV_WC_SEND);
		assert_int_equal(seen[i].length, 100 * (i + 1));
	}
	assert_int_equal(seen[0].opcode, IBV_WR_SEND);
	assert_int_equal(seen[1].opcode, IBV_WR_SEND_WITH_IMM);
	assert_int_equal(seen[2].opcode, IBV_WR_SEND_WITH_INV);
	rig_poll(r.rcq, 3, wc);
	assert_true(wc[1].wc_flags & IBV_WC_WITH_IMM);
	assert_int_equal(wc[1].imm_data, 0xabcd);
	assert_true(wc[2].wc_flags & IBV_WC_WITH_INV);
	assert_int_equal(wc[2].invalidated_rkey, 0x77);
	assert_memory_equal(r.dst, r.src, 100);
	assert_memory_equal(r.dst + 2048, r.src + 2048, 300);
	rig_close(&r);
}

/*
 * A window is bound, used and invalidated within one batch, in order although these WRs do not
 * wait.
 */
static void a_window_can_be_bound_used_and_invalidated_in_one_batch(void **state)
{
	struct fake_wqe_seen seen[16];
	struct ibv_mw_bind_info info;
	struct ibv_qp_ex *ex;
	struct ibv_mw *mw;
	uint32_t key;
	struct rig r;

	ex = open_ex(&r, (struct rig_conf){ 0 });
	mw = ibv_alloc_mw(r.pd, IBV_MW_TYPE_2);
	key = ibv_inc_rkey(mw->rkey);
	info = (struct ibv_mw_bind_info){ .mr = r.dmr, .addr = remote(&r, 4096), .length = 4096,
					  .mw_access_flags = IBV_ACCESS_REMOTE_WRITE };
	ibv_wr_start(ex);
	write_len(&r, ex, 1, 0, 0, 3000);
	write_len(&r, ex, 2, 0, 3000, 3000); /* with a gate this WR waits */
	label(ex, 3, IBV_SEND_SIGNALED);
	ibv_wr_bind_mw(ex, mw, key, &info);
	memset(&info, 0xff, sizeof(info));
	label(ex, 4, IBV_SEND_SIGNALED);
	ibv_wr_rdma_write(ex, key, remote(&r, 4096));
	local(&r, ex, 4096, 64);
	label(ex, 5, IBV_SEND_SIGNALED);
	ibv_wr_local_inv(ex, key);
	label(ex, 6, 0);
	ibv_wr_rdma_write(ex, key, remote(&r, 4096));
	local(&r, ex, 0, 64);
	assert_int_equal(ibv_wr_complete(ex), 0);
	rig_poll(r.scq, 4, wc);
	assert_int_equal(rig_seen_of(r.a, seen, 16), 6);
	expect(&wc[0], 3, IBV_WC_BIND_MW);
	expect(&wc[1], 4, IBV_WC_RDMA_WRITE);
	expect(&wc[2], 5, IBV_WC_LOCAL_INV);
	assert_true(wc[3].wr_id == 6 && wc[3].status == IBV_WC_REM_ACCESS_ERR);
	assert_memory_equal(r.dst + 4096, r.src + 4096, 64);
	assert_int_equal(seen[4].opcode, IBV_WR_LOCAL_INV);
	assert_int_equal(seen[4].imm, key);
	ibv_dealloc_mw(mw);
	rig_close(&r);
}

/* The application may reuse SGE lists and inline data as soon as they were set. */
static void setters_copy_lists_and_inline_data(void **state)
{
	struct fake_wqe_seen seen[16];
	char one[] = "con", two[] = "gest", three[] = "ion";
	struct ibv_data_buf buf[3] = { { one, 3 }, { two, 4 }, { three, 3 } };
	struct ibv_sge sge[3];
	struct ibv_qp_ex *ex;
	struct rig r;

	ex = open_ex(&r, (struct rig_conf){ 0 });
	ibv_wr_start(ex);
	write_len(&r, ex, 1, IBV_SEND_SIGNALED, 8192, 4000); /* with a gate the others wait */
	label(ex, 2, IBV_SEND_SIGNALED);
	ibv_wr_rdma_write(ex, r.dmr->rkey, remote(&r, 0));
	for (unsigned i = 0; i < 3; i++)
		sge[i] = (struct ibv_sge){ .addr = (uintptr_t)r.src + 100 * i, .length = 100,
					   .lkey = r.smr->lkey };
	ibv_wr_set_sge_list(ex, 3, sge);
	label(ex, 3, IBV_SEND_SIGNALED | IBV_SEND_INLINE);
	ibv_wr_rdma_write(ex, r.dmr->rkey, remote(&r, 400));
	ibv_wr_set_inline_data_list(ex, 3, buf);
	label(ex, 4, IBV_SEND_SIGNALED);
	ibv_wr_rdma_write(ex, r.dmr->rkey, remote(&r, 500));
	ibv_wr_set_inline_data(ex, one, 4);
	label(ex, 5, IBV_SEND_SIGNALED); /* without data */
	ibv_wr_rdma_write(ex, r.dmr->rkey, remote(&r, 600));
	memset(sge, 0xff, sizeof(sge));
	one[0] = two[0] = three[0] = 'x';
	label(ex, 99, 0);
	finish(&r, ex, 5, seen);
	for (unsigned i = 0; i < 5; i++)
		expect(&wc[i], i + 1, IBV_WC_RDMA_WRITE);
	assert_int_equal(seen[1].num_sge, 3);
	assert_int_equal(seen[1].sge[2].addr, (uintptr_t)r.src + 200);
	assert_true(seen[2].send_flags & IBV_SEND_INLINE);
	assert_int_equal(seen[2].length, 10);
	assert_memory_equal(seen[2].inlined, "congestion", 10);
	assert_memory_equal(seen[3].inlined, "con", 4);
	assert_int_equal(seen[4].length, 0);
	assert_memory_equal(r.dst, r.src, 300);
	assert_memory_equal(r.dst + 400, "congestion", 10);
	rig_close(&r);
}

/* One WR is wrong: ibv_wr_complete returns its code, and no WR of the batch is posted. */
static void wr_complete_returns_the_error_and_posts_nothing(void **state)
{
	static const struct ibv_sge many[6];
	char data[512] = "";
	struct ibv_qp_ex *ex;
	struct rig r;

	ex = open_ex(&r, (struct rig_conf){ .max_send_wr = 8 });
	for (unsigned wrong = 0; wrong < 4; wrong++) {
		ibv_wr_start(ex);
		write_8(&r, ex, 1, IBV_SEND_SIGNALED);
		label(ex, 2, IBV_SEND_SIGNALED);
		ibv_wr_rdma_write(ex, r.dmr->rkey, remote(&r, 0));
		if (wrong == 0)
			ibv_wr_set_sge_list(ex, 6, many);
		else if (wrong == 1)
			ibv_wr_set_inline_data(ex, data, rig_cap.max_inline_data + 1);
		else if (wrong == 2)
			ibv_wr_set_inline_data_list(ex, 2, (struct ibv_data_buf[]){
							   { data, rig_cap.max_inline_data },
							   { data, 5 } });
		else
			local(&r, ex, 0, 8);
		for (unsigned i = 3; i < (wrong == 3 ? 10 : 5); i++)
			write_8(&r, ex, i, IBV_SEND_SIGNALED);
		assert_int_equal(ibv_wr_complete(ex), fake_profile()->batch_too_large);
		assert_int_equal(fake_seen_count(), 0);
		rig_poll_nothing(r.scq);
	}
	ibv_wr_start(ex);
	for (unsigned i = 0; i < 8; i++)
		write_8(&r, ex, i, IBV_SEND_SIGNALED);
	assert_int_equal(ibv_wr_complete(ex), 0);
	rig_poll(r.scq, 8, wc);
	expect(&wc[7], 7, IBV_WC_RDMA_WRITE);
	rig_close(&r);
}

static void a_full_queue_refuses_the_whole_batch(void **state)
{
	struct ibv_qp_ex *ex;
	struct rig r;

	ex = open_ex(&r, (struct rig_conf){ .max_send_wr = 8 });
	for (unsigned round = 0; round < 20; round++) {
		fake_hold(true);
		ibv_wr_start(ex);
		for (unsigned i = 0; i < 5; i++)
			write_8(&r, ex, i, IBV_SEND_SIGNALED);
		assert_int_equal(ibv_wr_complete(ex), 0);
		ibv_wr_start(ex);
		for (unsigned i = 5; i < 9; i++)
			write_8(&r, ex, i, IBV_SEND_SIGNALED);
		assert_int_equal(ibv_wr_complete(ex), fake_profile()->batch_too_large);
		fake_hold(false);
		rig_poll(r.scq, 5, wc);
		for (unsigned i = 0; i < 5; i++)
			expect(&wc[i], i, IBV_WC_RDMA_WRITE);
		rig_poll_nothing(r.scq);
	}
	rig_close(&r);
}

/* The device refuses a WR of a batch: the whole batch is dropped, and its code is returned. */
static void a_batch_that_the_device_refuses_returns_its_code(void **state)
{
	static const int codes[] = { ENOMEM, EINVAL, -EINVAL };
	struct ibv_qp_ex *ex;
	struct rig r;

	ex = open_ex(&r, (struct rig_conf){ 0 });
	for (unsigned c = 0; c < 3; c++) {
		fake_fail_post(0, codes[c], FAKE_BAD_WR);
		ibv_wr_start(ex);
		for (unsigned i = 0; i < 3; i++)
			write_8(&r, ex, i, IBV_SEND_SIGNALED);
		assert_int_equal(ibv_wr_complete(ex), codes[c]);
		rig_poll_nothing(r.scq);
		ibv_wr_start(ex);
		write_8(&r, ex, 10 + c, IBV_SEND_SIGNALED);
		assert_int_equal(ibv_wr_complete(ex), 0);
		rig_poll(r.scq, 1, wc);
		expect(wc, 10 + c, IBV_WC_RDMA_WRITE);
	}
	/* rxe's doorbell fails, but the WQEs are in the ring */
	fake_fail_post(0, EINVAL, FAKE_BAD_NULL);
	ibv_wr_start(ex);
	for (unsigned i = 0; i < 3; i++)
		write_8(&r, ex, i, IBV_SEND_SIGNALED);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
	rig_poll(r.scq, 3, wc);
	expect(&wc[2], 2, IBV_WC_RDMA_WRITE);
	rig_close(&r);
}

/* The device's queue becomes full within a batch that the shim has accepted: the other WRs wait. */
static void wrs_of_a_batch_that_the_device_refuses_with_enomem_wait(void **state)
{
	struct ibv_qp_ex *ex;
	struct rig r;

	if (rig_is("bare"))
		skip();
	ex = open_ex(&r, (struct rig_conf){ 0 });
	for (unsigned skip = 1; skip < 5; skip++) {
		fake_fail_post(skip, ENOMEM, FAKE_BAD_WR);
		ibv_wr_start(ex);
		for (unsigned i = 0; i < 6; i++)
			write_8(&r, ex, i, IBV_SEND_SIGNALED);
		assert_int_equal(ibv_wr_complete(ex), 0);
		rig_poll(r.scq, 6, wc);
		for (unsigned i = 0; i < 6; i++)
			expect(&wc[i], i, IBV_WC_RDMA_WRITE);
	}
	rig_close(&r);
}

static void aborted_batches_post_nothing(void **state)
{
	struct ibv_qp_ex *ex;
	struct rig r;

	ex = open_ex(&r, (struct rig_conf){ .max_send_wr = 4 });
	for (unsigned round = 0; round < 5; round++) {
		ibv_wr_start(ex);
		for (unsigned i = 0; i < round; i++)
			write_8(&r, ex, 100 + i, IBV_SEND_SIGNALED);
		ibv_wr_abort(ex);
		rig_poll_nothing(r.scq);
		ibv_wr_start(ex);
		assert_int_equal(ibv_wr_complete(ex), 0); /* empty */
		ibv_wr_start(ex);
		write_8(&r, ex, round, IBV_SEND_SIGNALED);
		assert_int_equal(ibv_wr_complete(ex), 0);
		rig_poll(r.scq, 1, wc);
		expect(wc, round, IBV_WC_RDMA_WRITE);
	}
	assert_int_equal(fake_seen_count(), 5);
	rig_close(&r);
}

/*
 * Before RTS the provider's wr_complete refuses. modify_qp installs another function, which the
 * application must not see.
 */
static void ibv_wr_complete_follows_the_qps_state(void **state)
{
	struct ibv_qp_ex *ex;
	struct rig r;

	ex = open_ex(&r, (struct rig_conf){ 0 });
	for (unsigned round = 0; round < 6; round++) {
		fake_rewrite_wr_complete(round % 2);
		assert_int_equal(rig_state(r.a, IBV_QPS_RESET), 0);
		ibv_wr_start(ex);
		write_8(&r, ex, 1, IBV_SEND_SIGNALED);
		assert_int_equal(ibv_wr_complete(ex), EINVAL);
		rig_to_rts(&r, r.a, r.b->qp_num);
		fake_seen_clear();
		fake_hold(true);
		ibv_wr_start(ex);
		for (unsigned i = 0; i < 3; i++)
			write_len(&r, ex, i, IBV_SEND_SIGNALED, i * K4, K4);
		assert_int_equal(ibv_wr_complete(ex), 0);
		assert_int_equal(fake_pending(), rig_is("gated") ? 1 : 3);
		rig_poll_stepping(r.scq, 3, wc);
		expect(&wc[2], 2, IBV_WC_RDMA_WRITE);
		assert_int_equal(rig_state(r.a, IBV_QPS_SQD), 0);
		ibv_wr_start(ex);
		write_8(&r, ex, 3, IBV_SEND_SIGNALED);
		assert_int_equal(ibv_wr_complete(ex), 0);
		rig_poll_nothing(r.scq);
		assert_int_equal(rig_state(r.a, IBV_QPS_RTS), 0);
		rig_poll_stepping(r.scq, 1, wc);
		expect(wc, 3, IBV_WC_RDMA_WRITE);
		assert_int_equal(rig_state(r.a, IBV_QPS_ERR), 0);
		ibv_wr_start(ex);
		write_8(&r, ex, 4, 0);
		write_8(&r, ex, 5, 0);
		assert_int_equal(ibv_wr_complete(ex), 0);
		rig_poll(r.scq, 2, wc);
		assert_true(wc[0].wr_id == 4 && wc[0].status == IBV_WC_WR_FLUSH_ERR);
		assert_true(wc[1].wr_id == 5 && wc[1].status == IBV_WC_WR_FLUSH_ERR);
		fake_hold(false);
	}
	rig_close(&r);
}

static void post_send_and_ibv_wr_keep_their_order_on_one_qp(void **state)
{
	struct ibv_mw_bind bind = { .wr_id = 2, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_qp_ex *ex;
	struct ibv_mw *mw;
	struct rig r;

	ex = open_ex(&r, (struct rig_conf){ 0 });
	mw = ibv_alloc_mw(r.pd, IBV_MW_TYPE_1);
	for (unsigned round = 0; round < 30; round++) {
		ibv_wr_start(ex);
		write_len(&r, ex, 0, IBV_SEND_SIGNALED, 0, 3000);
		assert_int_equal(ibv_wr_complete(ex), 0);
		assert_int_equal(rig_post(&r, 1, IBV_WR_RDMA_WRITE, 4096, 3000,
					  IBV_SEND_SIGNALED), 0);
		if (round % 3 == 0)
			assert_int_equal(ibv_bind_mw(r.a, mw, &bind), 0);
		ibv_wr_start(ex);
		write_len(&r, ex, 3, IBV_SEND_SIGNALED, 8192, 3000);
		write_len(&r, ex, 4, IBV_SEND_SIGNALED, 12288, 3000);
		assert_int_equal(ibv_wr_complete(ex), 0);
		rig_poll(r.scq, round % 3 ? 4 : 5, wc);
		for (unsigned i = 0, n = 0; i < 5; i++)
			if (i != 2 || round % 3 == 0)
				expect(&wc[n++], i, i == 2 ? IBV_WC_BIND_MW : IBV_WC_RDMA_WRITE);
	}
	ibv_dealloc_mw(mw);
	rig_close(&r);
}

/* Calls that an application may make within a batch do not deadlock. */
static void poll_and_modify_work_within_a_batch(void **state)
{
	struct ibv_qp_ex *ex;
	struct rig r;

	ex = open_ex(&r, (struct rig_conf){ .max_send_wr = 4 });
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, 3000, IBV_SEND_SIGNALED), 0);
	ibv_wr_start(ex);
	rig_poll(r.scq, 4, wc);
	write_8(&r, ex, 7, IBV_SEND_SIGNALED);
	assert_int_equal(rig_state(r.a, IBV_QPS_RTS), 0);
	write_8(&r, ex, 8, IBV_SEND_SIGNALED);
	assert_int_equal(ibv_wr_complete(ex), 0);
	rig_poll(r.scq, 2, wc);
	expect(&wc[0], 7, IBV_WC_RDMA_WRITE);
	expect(&wc[1], 8, IBV_WC_RDMA_WRITE);
	rig_close(&r);
}

static void *start_and_write(void *arg)
{
	struct rig *r = arg;
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(r->a);

	ibv_wr_start(ex);
	write_8(r, ex, 7, IBV_SEND_SIGNALED);
	return NULL;
}

static void complete_both(struct rig *r, struct ibv_qp_ex *ex)
{
	assert_int_equal(ibv_wr_complete(ex), 0);
	rig_poll(r->scq, 2, wc);
	expect(&wc[0], 7, IBV_WC_RDMA_WRITE);
	expect(&wc[1], 8, IBV_WC_RDMA_WRITE);
}

/* As of a Go program, whose calls of C may come from different threads. */
static void a_batch_continues_in_another_thread(void **state)
{
	struct ibv_qp_ex *ex;
	pthread_t thread;
	struct rig r;

	ex = open_ex(&r, (struct rig_conf){ 0 });
	for (unsigned i = 0; i < 6; i++) {
		pthread_create(&thread, NULL, start_and_write, &r);
		pthread_join(thread, NULL);
		if (i % 2) {
			ibv_wr_abort(ex);
			continue;
		}
		write_8(&r, ex, 8, IBV_SEND_SIGNALED);
		complete_both(&r, ex);
	}
	rig_close(&r);
}

/* It would wait for itself if the batch still belonged to the thread that began it. */
static void a_batch_that_continues_in_another_thread_may_modify_there(void **state)
{
	const enum ibv_qp_state states[] = { IBV_QPS_RTS, IBV_QPS_RESET };
	struct ibv_qp_ex *ex;
	pthread_t thread;
	struct rig r;

	ex = open_ex(&r, (struct rig_conf){ 0 });
	for (unsigned i = 0; i < 2; i++) {
		pthread_create(&thread, NULL, start_and_write, &r);
		pthread_join(thread, NULL);
		write_8(&r, ex, 8, IBV_SEND_SIGNALED);
		assert_int_equal(rig_state(r.a, states[i]), 0);
		if (i) {
			ibv_wr_abort(ex);
			continue;
		}
		complete_both(&r, ex);
	}
	rig_close(&r);
}

enum { THREADS = 4, ROUNDS = 100, EACH = 3 };

struct job {
	struct rig *r;
	unsigned place;
	bool plain;                      /* with ibv_post_send */
};

static atomic_uint completed;

static int post_three(const struct job *j)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(j->r->a);
	struct ibv_send_wr wr[EACH], *bad;
	struct ibv_sge sge[EACH];

	for (unsigned i = 0; i < EACH && j->plain; i++) {
		wr[i] = rig_wr(j->r, &sge[i], i, IBV_WR_RDMA_WRITE, 8 * j->place, 8,
			       IBV_SEND_SIGNALED);
		wr[i].next = i + 1 < EACH ? &wr[i + 1] : NULL;
	}
	if (j->plain)
		return ibv_post_send(j->r->a, wr, &bad);
	ibv_wr_start(ex);
	for (unsigned i = 0; i < EACH; i++)
		write_len(j->r, ex, i, IBV_SEND_SIGNALED, 8 * j->place, 8);
	return ibv_wr_complete(ex);
}

static void *work(void *arg)
{
	const struct job *j = arg;
	struct ibv_wc some[8];

	for (unsigned i = 0; i < ROUNDS; i++) {
		if (post_three(j))
			return NULL;
		for (int n = ibv_poll_cq(j->r->scq, 8, some); n > 0; n--)
			if (some[n - 1].status == IBV_WC_SUCCESS)
				atomic_fetch_add(&completed, 1);
	}
	return arg;
}

/* Batches of several threads on one QP, and lists, do not interleave. */
static void batches_of_several_threads_do_not_mix(void **state)
{
	static struct fake_wqe_seen seen[THREADS * ROUNDS * EACH + 1];
	struct job job[THREADS];
	pthread_t thread[THREADS];
	struct rig r;
	unsigned spins = 0;
	void *ok;

	open_ex(&r, (struct rig_conf){ .max_send_wr = THREADS * ROUNDS * EACH, .cqe = 4096 });
	atomic_store(&completed, 0);
	for (unsigned t = 0; t < THREADS; t++) {
		job[t] = (struct job){ &r, t, t == THREADS - 1 };
		pthread_create(&thread[t], NULL, work, &job[t]);
	}
	for (unsigned t = 0; t < THREADS; t++) {
		pthread_join(thread[t], &ok);
		assert_non_null(ok);
	}
	while (atomic_load(&completed) < THREADS * ROUNDS * EACH && rig_keep_waiting(&spins))
		if (ibv_poll_cq(r.scq, 1, wc) == 1)
			atomic_fetch_add(&completed, 1);
	assert_int_equal(rig_seen_of(r.a, seen, THREADS * ROUNDS * EACH + 1),
			 THREADS * ROUNDS * EACH);
	for (unsigned i = 0; i < THREADS * ROUNDS * EACH; i++)
		assert_int_equal(seen[i].remote_addr, seen[i / EACH * EACH].remote_addr);
	rig_close(&r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rdma_builders_post_what_they_are_given),
		cmocka_unit_test(atomic_builders_post_what_they_are_given),
		cmocka_unit_test(send_builders_post_what_they_are_given),
		cmocka_unit_test(a_window_can_be_bound_used_and_invalidated_in_one_batch),
		cmocka_unit_test(setters_copy_lists_and_inline_data),
		cmocka_unit_test(wr_complete_returns_the_error_and_posts_nothing),
		cmocka_unit_test(a_full_queue_refuses_the_whole_batch),
		cmocka_unit_test(a_batch_that_the_device_refuses_returns_its_code),
		cmocka_unit_test(wrs_of_a_batch_that_the_device_refuses_with_enomem_wait),
		cmocka_unit_test(aborted_batches_post_nothing),
		cmocka_unit_test(ibv_wr_complete_follows_the_qps_state),
		cmocka_unit_test(post_send_and_ibv_wr_keep_their_order_on_one_qp),
		cmocka_unit_test(poll_and_modify_work_within_a_batch),
		cmocka_unit_test(a_batch_continues_in_another_thread),
		cmocka_unit_test(a_batch_that_continues_in_another_thread_may_modify_there),
		cmocka_unit_test(batches_of_several_threads_do_not_mix),
	};

	return rig_run_modes(argc, argv, "wr", tests, sizeof(tests) / sizeof(*tests));
}
