/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of ibv_wr_*. */
#include "suite.h"

#define RC_OPS                                                                                     \
	(IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |    \
	 IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |                                 \
	 IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)

#define EX_PAIR(p) PAIR(p, .ops = RC_OPS, .sges = 4, .inline_len = 64)

static uint32_t rkey(void)
{
	return hosts[1].mr->rkey;
}

static uint64_t at(uint32_t offset)
{
	return (uintptr_t)target() + offset;
}

static struct ibv_qp_ex *begin(struct ibv_qp_ex *qp, uint64_t id, unsigned flags)
{
	qp->wr_id = id;
	qp->wr_flags = flags;
	return qp;
}

static void set_source(struct ibv_qp_ex *qp, uint32_t len)
{
	ibv_wr_set_sge(qp, hosts[0].mr->lkey, (uintptr_t)source(), len);
}

static void set_local(struct ibv_qp_ex *qp, uint32_t len)
{
	ibv_wr_set_sge(qp, hosts[0].mr->lkey, (uintptr_t)local(), len);
}

static void complete_ok(struct ibv_qp_ex *qp)
{
	int error = ibv_wr_complete(qp);

	require(!error, "ibv_wr_complete: %s", strerror(error));
}

static void write_and_read(void)
{
	struct ibv_qp_ex *qp;
	struct pair p;

	EX_PAIR(&p);
	qp = p.a.qpx;
	fill(source(), 30000, 1);
	ibv_wr_start(qp);
	ibv_wr_rdma_write(begin(qp, 1, IBV_SEND_SIGNALED), rkey(), at(64));
	set_source(qp, 30000);
	complete_ok(qp);
	done(&p.a, 1, IBV_WC_RDMA_WRITE);
	require(is_filled(target() + 64, 30000, 1), "WRITE");
	fill(target(), 20000, 2);
	ibv_wr_start(qp);
	ibv_wr_rdma_read(begin(qp, 2, IBV_SEND_SIGNALED), rkey(), at(0));
	set_local(qp, 20000);
	complete_ok(qp);
	done(&p.a, 2, IBV_WC_RDMA_READ);
	require(is_filled(local(), 20000, 2), "READ");
	pair_drop(&p);
}

static void send_and_immediates(void)
{
	struct ibv_qp_ex *qp;
	struct ibv_wc wc;
	struct pair p;

	EX_PAIR(&p);
	qp = p.a.qpx;
	fill(source(), 3000, 1);
	for (unsigned i = 0; i < 3; i++)
		recv_ok(&p.b, i, i * 4096, 4096);
	ibv_wr_start(qp);
	ibv_wr_send(begin(qp, 10, IBV_SEND_SIGNALED));
	set_source(qp, 3000);
	ibv_wr_send_imm(begin(qp, 11, IBV_SEND_SIGNALED), htobe32(77));
	set_source(qp, 100);
	ibv_wr_rdma_write_imm(begin(qp, 12, IBV_SEND_SIGNALED), rkey(), at(0), htobe32(78));
	set_source(qp, 2000);
	complete_ok(qp);
	done(&p.a, 10, IBV_WC_SEND);
	done(&p.a, 11, IBV_WC_SEND);
	done(&p.a, 12, IBV_WC_RDMA_WRITE);
	received(&p.b, 0, 3000);
	wc = received(&p.b, 1, 100);
	require(wc.wc_flags & IBV_WC_WITH_IMM && be32toh(wc.imm_data) == 77, "SEND_WITH_IMM");
	wc = received(&p.b, 2, 2000);
	require(wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM && be32toh(wc.imm_data) == 78, "WRITE_IMM");
	require(is_filled(inbox(), 3000, 1) && is_filled(inbox() + 4096, 100, 1), "bytes");
	pair_drop(&p);
}

static void atomics(void)
{
	uint64_t *remote = (uint64_t *)(void *)target(), *result = (uint64_t *)(void *)local();
	struct ibv_qp_ex *qp;
	struct pair p;

	EX_PAIR(&p);
	qp = p.a.qpx;
	*remote = 5;
	ibv_wr_start(qp);
	ibv_wr_atomic_cmp_swp(begin(qp, 1, IBV_SEND_SIGNALED), rkey(), at(0), 5, 9);
	set_local(qp, 8);
	complete_ok(qp);
	done(&p.a, 1, IBV_WC_COMP_SWAP);
	require(*remote == 9 && *result == 5, "%lu, was %lu", (unsigned long)*remote,
		(unsigned long)*result);
	ibv_wr_start(qp);
	ibv_wr_atomic_fetch_add(begin(qp, 2, IBV_SEND_SIGNALED), rkey(), at(0), 4);
	set_local(qp, 8);
	complete_ok(qp);
	done(&p.a, 2, IBV_WC_FETCH_ADD);
	require(*remote == 13 && *result == 9, "%lu, was %lu", (unsigned long)*remote,
		(unsigned long)*result);
	pair_drop(&p);
}

/* Requests of 60 bytes in one part and in three, in batches of their own. */
static void each_setter(bool inlined)
{
	struct ibv_data_buf buf[3];
	struct ibv_sge sge[3];
	struct ibv_qp_ex *qp;
	struct pair p;

	EX_PAIR(&p);
	qp = p.a.qpx;
	memset(target(), 0, 4096);
	fill(source(), 60, 3);
	for (unsigned i = 0; i < 3; i++) {
		sge[i] = (struct ibv_sge){ (uintptr_t)source() + i * 20, 20, hosts[0].mr->lkey };
		buf[i] = (struct ibv_data_buf){ source() + i * 20, 20 };
	}
	for (unsigned i = 0; i < 2; i++) {
		ibv_wr_start(qp);
		ibv_wr_rdma_write(begin(qp, i, IBV_SEND_SIGNALED), rkey(), at(i * 100));
		if (inlined && i)
			ibv_wr_set_inline_data_list(qp, 3, buf);
		else if (inlined)
			ibv_wr_set_inline_data(qp, source(), 60);
		else if (i)
			ibv_wr_set_sge_list(qp, 3, sge);
		else
			set_source(qp, 60);
		complete_ok(qp);
		done(&p.a, i, IBV_WC_RDMA_WRITE);
		require(is_filled(target() + i * 100, 60, 3), "setter %u", i);
		require(is_zero(target() + i * 100 + 60, 40), "setter %u: bytes beside", i);
	}
	pair_drop(&p);
}

static void sge_setters(void)
{
	each_setter(false);
}

static void inline_setters(void)
{
	each_setter(true);
}

static void inline_data_are_taken_by_the_setter(void)
{
	struct ibv_data_buf buf[2];
	struct ibv_qp_ex *qp;
	struct pair p;

	EX_PAIR(&p);
	qp = p.a.qpx;
	memset(target(), 0, 4096);
	ibv_wr_start(qp);
	for (unsigned i = 0; i < 16; i++) {
		fill(source(), 60, i);
		ibv_wr_rdma_write(begin(qp, i, IBV_SEND_SIGNALED), rkey(), at(i * 64));
		buf[0] = (struct ibv_data_buf){ source(), 7 };
		buf[1] = (struct ibv_data_buf){ source() + 7, i * 3 };
		if (i & 1)
			ibv_wr_set_inline_data(qp, source(), 7 + i * 3);
		else
			ibv_wr_set_inline_data_list(qp, 2, buf);
		memset(source(), 0xff, 60);
	}
	complete_ok(qp);
	for (unsigned i = 0; i < 16; i++)
		done(&p.a, i, IBV_WC_RDMA_WRITE);
	for (unsigned i = 0; i < 16; i++)
		require(is_filled(target() + i * 64, 7 + i * 3, i), "WR %u", i);
	pair_drop(&p);
}

/* One SGE, lists, and inline data if that is set, with unsignaled WRs among them. */
static void mixed_batch(bool inlined)
{
	struct ibv_sge sge[2];
	struct ibv_qp_ex *qp;
	struct pair p;

	EX_PAIR(&p);
	qp = p.a.qpx;
	memset(target(), 0, 65536);
	fill(source(), 9000, 5);
	for (unsigned i = 0; i < 2; i++)
		sge[i] = (struct ibv_sge){ (uintptr_t)source() + i * 50, 50, hosts[0].mr->lkey };
	for (unsigned round = 0; round < 20; round++) {
		ibv_wr_start(qp);
		ibv_wr_rdma_write(begin(qp, 1, IBV_SEND_SIGNALED), rkey(), at(0));
		set_source(qp, 9000);
		ibv_wr_rdma_write(begin(qp, 2, 0), rkey(), at(10000));
		if (inlined)
			ibv_wr_set_inline_data(qp, source(), 50);
		else
			set_source(qp, 50);
		ibv_wr_rdma_write(begin(qp, 3, 0), rkey(), at(20000));
		ibv_wr_set_sge_list(qp, 2, sge);
		ibv_wr_rdma_read(begin(qp, 4, IBV_SEND_SIGNALED), rkey(), at(0));
		set_local(qp, 9000);
		complete_ok(qp);
		done(&p.a, 1, IBV_WC_RDMA_WRITE);
		done(&p.a, 4, IBV_WC_RDMA_READ);
		require(is_filled(target(), 9000, 5) && is_filled(target() + 10000, 50, 5) &&
			is_filled(target() + 20000, 100, 5), "WRITEs of round %u", round);
		require(is_filled(local(), 9000, 5), "READ of round %u", round);
	}
	pair_drop(&p);
}

static void batch_of_sges(void)
{
	mixed_batch(false);
}

static void batch_with_inline_data(void)
{
	mixed_batch(true);
}

/* Also while earlier WRs are outstanding. */
static void abort_leaves_nothing(void)
{
	struct ibv_qp_ex *qp;
	struct pair p;

	EX_PAIR(&p);
	qp = p.a.qpx;
	memset(target(), 0, 4096);
	fill(source(), 100, 1);
	for (unsigned round = 0; round < 40; round++) {
		ibv_wr_start(qp);
		for (unsigned i = 0; i < 3; i++) {
			ibv_wr_rdma_write(begin(qp, 100 + i, IBV_SEND_SIGNALED), rkey(), at(0));
			set_source(qp, 100);
		}
		ibv_wr_abort(qp);
		ibv_wr_start(qp);
		ibv_wr_rdma_write(begin(qp, round, IBV_SEND_SIGNALED), rkey(), at(1000));
		set_source(qp, 100);
		complete_ok(qp);
		if (round >= 8)
			done(&p.a, round - 8, IBV_WC_RDMA_WRITE);
	}
	for (unsigned i = 32; i < 40; i++)
		done(&p.a, i, IBV_WC_RDMA_WRITE);
	require(!count_wcs(&p.a, 5), "completions of aborted WRs");
	require(is_zero(target(), 100), "an aborted WRITE was carried out");
	require(is_filled(target() + 1000, 100, 1), "the WRITE after an abort");
	pair_drop(&p);
}

/* A batch that does not fit is refused as a whole. */
static void full_batch_is_refused(void)
{
	struct ibv_qp_ex *qp;
	struct pair p;
	int error;

	EX_PAIR(&p);
	qp = p.a.qpx;
	memset(target(), 0, 4096);
	fill(source(), 100, 1);
	ibv_wr_start(qp);
	for (unsigned i = 0; i < 2000; i++) {
		ibv_wr_rdma_write(begin(qp, i, IBV_SEND_SIGNALED), rkey(), at(0));
		set_source(qp, 100);
	}
	error = ibv_wr_complete(qp);
	require(error, "2000 WRs are accepted by a queue of %u", p.a.cap.max_send_wr);
	fact("error", "%s", strerror(error));
	require(!count_wcs(&p.a, 10), "completions of a refused batch");
	require(is_zero(target(), 100), "a refused WRITE was carried out");
	ibv_wr_start(qp);
	ibv_wr_rdma_write(begin(qp, 5000, IBV_SEND_SIGNALED), rkey(), at(0));
	set_source(qp, 100);
	complete_ok(qp);
	done(&p.a, 5000, IBV_WC_RDMA_WRITE);
	pair_drop(&p);
}

static void both_interfaces_on_one_qp(void)
{
	struct ibv_qp_ex *qp;
	struct pair p;

	EX_PAIR(&p);
	qp = p.a.qpx;
	fill(source(), 5000, 1);
	for (unsigned i = 0; i < 60; i += 2) {
		POST(&p, .id = i, .opcode = IBV_WR_RDMA_WRITE, .len = 5000, SIGNALED);
		ibv_wr_start(qp);
		ibv_wr_rdma_write(begin(qp, i + 1, IBV_SEND_SIGNALED), rkey(), at(8192));
		set_source(qp, 100 + i);
		complete_ok(qp);
		done(&p.a, i, IBV_WC_RDMA_WRITE);
		done(&p.a, i + 1, IBV_WC_RDMA_WRITE);
	}
	require(is_filled(target(), 5000, 1) && is_filled(target() + 8192, 158, 1), "bytes");
	pair_drop(&p);
}

static void datagrams(void)
{
	struct ibv_qp_ex *qp;
	struct ibv_wc wc;
	struct pair p;

	PAIR(&p, .type = IBV_QPT_UD,
	     .ops = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM);
	qp = p.a.qpx;
	fill(source(), 500, 1);
	for (unsigned i = 0; i < 20; i++) {
		recv_ok(&p.b, i, 0, 2048);
		ibv_wr_start(qp);
		begin(qp, i, IBV_SEND_SIGNALED);
		if (i & 1)
			ibv_wr_send_imm(qp, htobe32(i));
		else
			ibv_wr_send(qp);
		ibv_wr_set_ud_addr(qp, p.a.ah, p.b.qp->qp_num, QKEY);
		set_source(qp, i & 2 ? 40 : 500);
		complete_ok(qp);
		done(&p.a, i, IBV_WC_SEND);
		wc = received(&p.b, i, GRH_LEN + (i & 2 ? 40 : 500));
		require(!(i & 1) || be32toh(wc.imm_data) == i, "immediate");
		require(is_filled(inbox() + GRH_LEN, i & 2 ? 40 : 500, 1), "datagram %u", i);
	}
	pair_drop(&p);
}

const struct check wr_checks[] = {
	{ "wr_write_read", "ibv_wr_rdma_write and _read move their bytes", write_and_read },
	{ "wr_send", "ibv_wr_send and WRs with immediates arrive, in one batch",
	  send_and_immediates },
	{ "wr_atomics", "ibv_wr_atomic_* return the old value", atomics },
	{ "wr_sges", "ibv_wr_set_sge and _sge_list set what is sent", sge_setters },
	{ "wr_inline", "ibv_wr_set_inline_data and _data_list set what is sent", inline_setters },
	{ "wr_inline_copy", "inline data are those at the time of the setter",
	  inline_data_are_taken_by_the_setter },
	{ "wr_batch", "a batch may mix SGEs, lists and opcodes", batch_of_sges },
	{ "wr_batch_inline", "a batch may mix SGEs, inline data and opcodes",
	  batch_with_inline_data },
	{ "wr_abort", "an aborted batch leaves nothing", abort_leaves_nothing },
	{ "wr_full", "a batch that does not fit is refused as a whole", full_batch_is_refused },
	{ "wr_and_post", "ibv_post_send and ibv_wr_* alternate on one QP",
	  both_interfaces_on_one_qp },
	{ "wr_ud", "ibv_wr_set_ud_addr addresses datagrams", datagrams },
	{},
};
