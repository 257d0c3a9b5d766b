/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of QPs in the error state. */
#include "suite.h"

/*
 * The peer has no receive, so that all SENDs are outstanding when the QP goes to ERR. Sends and
 * receives are each flushed in order.
 */
static void modify_to_error_flushes(void)
{
	uint64_t sends = 0, recvs = 100;
	struct ibv_wc wc;
	struct pair p;

	PAIR(&p);
	for (unsigned i = 0; i < 10; i++) {
		recv_ok(&p.a, 100 + i, 0, 64);
		POST(&p, .id = i, .opcode = IBV_WR_SEND, .len = 2000 * i, .flags = i & 1 ?
		     IBV_SEND_SIGNALED : 0);
	}
	require(!count_wcs(&p.a, 5), "completed without a receive");
	require(!end_modify(&p.a, IBV_QPS_ERR), "to ERR");
	for (unsigned i = 0; i < 20; i++) {
		next_wc(&p.a, &wc);
		require(wc.status == IBV_WC_WR_FLUSH_ERR, "WR %lu: %s", (unsigned long)wc.wr_id,
			ibv_wc_status_str(wc.status));
		require(wc.qp_num == p.a.qp->qp_num, "QP %u", wc.qp_num);
		if (wc.wr_id < 100)
			require(wc.wr_id == sends++, "WR %lu", (unsigned long)wc.wr_id);
		else
			require(wc.wr_id == recvs++, "receive %lu", (unsigned long)wc.wr_id);
	}
	require(!count_wcs(&p.a, 5), "more completions than WRs");
	pair_drop(&p);
}

static void requests_in_error_are_flushed(void)
{
	struct pair p;

	PAIR(&p);
	require(!end_modify(&p.a, IBV_QPS_ERR), "to ERR");
	for (unsigned i = 0; i < 5; i++)
		POST(&p, .id = i, .opcode = i & 1 ? IBV_WR_RDMA_WRITE : IBV_WR_SEND, .len = 100,
		     .flags = i & 2 ? IBV_SEND_SIGNALED : 0);
	for (unsigned i = 0; i < 5; i++)
		failed(&p.a, i, IBV_WC_WR_FLUSH_ERR);
	require(!count_wcs(&p.a, 5), "more completions than WRs");
	pair_drop(&p);
}

static void receives_in_error_are_flushed(void)
{
	struct pair p;

	PAIR(&p);
	require(!end_modify(&p.b, IBV_QPS_ERR), "to ERR");
	for (unsigned i = 0; i < 5; i++)
		recv_ok(&p.b, i, 0, 64);
	for (unsigned i = 0; i < 5; i++)
		failed(&p.b, i, IBV_WC_WR_FLUSH_ERR);
	pair_drop(&p);
}

/* Completions before the error are delivered before those of the flush. */
static void what_was_done_comes_first(void)
{
	struct ibv_wc wc;
	bool flushed = false;
	unsigned n = 0;
	struct pair p;

	PAIR(&p);
	for (unsigned i = 0; i < 30; i++)
		POST(&p, .id = i, .opcode = IBV_WR_RDMA_WRITE, .len = 4000, SIGNALED);
	nap_us(500);
	require(!end_modify(&p.a, IBV_QPS_ERR), "to ERR");
	for (; n < 30; n++) {
		next_wc(&p.a, &wc);
		require(wc.wr_id == n, "WR %lu, expected %u", (unsigned long)wc.wr_id, n);
		require(wc.status == IBV_WC_WR_FLUSH_ERR || (!wc.status && !flushed), "WR %u: %s",
			n, ibv_wc_status_str(wc.status));
		flushed = wc.status;
	}
	require(!count_wcs(&p.a, 5), "more completions than WRs");
	pair_drop(&p);
}

static void long_queue_is_flushed(void)
{
	unsigned n = 0;
	struct pair p;

	PAIR(&p, .sends = 300, .cqe = 1000);
	for (; n < 300; n++)
		POST(&p, .id = n, .opcode = IBV_WR_SEND, .len = 3000);
	require(!end_modify(&p.a, IBV_QPS_ERR), "to ERR");
	for (unsigned i = 0; i < n; i++)
		failed(&p.a, i, IBV_WC_WR_FLUSH_ERR);
	require(!count_wcs(&p.a, 5), "more completions than WRs");
	pair_drop(&p);
}

static void error_after_error(void)
{
	struct pair p;

	PAIR(&p);
	POST(&p, .id = 1, .opcode = IBV_WR_SEND, .len = 10);
	require(!end_modify(&p.a, IBV_QPS_ERR) && !end_modify(&p.a, IBV_QPS_ERR), "to ERR");
	failed(&p.a, 1, IBV_WC_WR_FLUSH_ERR);
	require(!count_wcs(&p.a, 5), "flushed twice");
	pair_drop(&p);
}

const struct check flush_checks[] = {
	{ "flush_order", "modify to ERR flushes sends and receives, each in order",
	  modify_to_error_flushes },
	{ "flush_posted", "sends posted in ERR are flushed", requests_in_error_are_flushed },
	{ "flush_recv_posted", "receives posted in ERR are flushed",
	  receives_in_error_are_flushed },
	{ "flush_after_done", "completions are delivered before those that are flushed",
	  what_was_done_comes_first },
	{ "flush_long", "a queue of 300 requests is flushed in order", long_queue_is_flushed },
	{ "flush_twice", "a second modify to ERR flushes nothing again", error_after_error },
	{},
};
