/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What remains in a CQ of a QP that is reset or destroyed. Verbs leave it open: some providers
 * remove these completions, others deliver them. A check fails if another QP's completions are
 * disturbed.
 */
#include "suite.h"

enum { MINE = 70, OTHER = 80, N = 4 };

/* Two connections on the same CQs, and N completions of either that are not polled. */
static void make_two(struct pair *p, struct pair *q, enum ibv_wr_opcode opcode)
{
	PAIR(p);
	pair_make_beside(q, p);
	for (unsigned i = 0; i < N; i++) {
		recv_ok(&p->b, MINE + i, 0, 4096);
		recv_ok(&q->b, OTHER + i, 0, 4096);
		POST(q, .id = MINE + i, .opcode = opcode, .len = 64, SIGNALED);
		POST(p, .id = OTHER + i, .opcode = opcode, .len = 64, SIGNALED);
	}
	nap_us(200000);
}

/* Count what is left of either QP in e's CQ. */
static void report_left(struct end *e, uint32_t gone)
{
	unsigned mine = 0, other = 0;
	struct ibv_wc wc[4 * N];
	int n = left_wcs(e, 20, wc, 4 * N);

	for (int i = 0; i < n; i++) {
		if (wc[i].qp_num == gone)
			mine++;
		else
			require(!wc[i].status && wc[i].wr_id % 10 == other++, "WR %lu: %s",
				(unsigned long)wc[i].wr_id, ibv_wc_status_str(wc[i].status));
	}
	require(other == N, "%u completions of the other QP", other);
	fact("left", "%u", mine);
}

static void drop_two(struct pair *p, struct pair *q)
{
	pair_drop(q);
	pair_drop(p);
}

static void destroyed_sender(void)
{
	struct pair p, q;
	uint32_t gone;

	make_two(&p, &q, IBV_WR_RDMA_WRITE);
	gone = q.a.qp->qp_num;
	require(!ibv_destroy_qp(q.a.qp), "destroying");
	q.a.qp = NULL;
	report_left(&p.a, gone);
	drop_two(&p, &q);
}

static void destroyed_receiver(void)
{
	struct pair p, q;
	uint32_t gone;

	make_two(&p, &q, IBV_WR_SEND);
	gone = q.b.qp->qp_num;
	require(!ibv_destroy_qp(q.b.qp), "destroying");
	q.b.qp = NULL;
	report_left(&p.b, gone);
	drop_two(&p, &q);
}

static void reset_sender(void)
{
	struct pair p, q;

	make_two(&p, &q, IBV_WR_RDMA_WRITE);
	require(!end_modify(&q.a, IBV_QPS_RESET), "to RESET");
	report_left(&p.a, q.a.qp->qp_num);
	drop_two(&p, &q);
}

static void reset_receiver(void)
{
	struct pair p, q;

	make_two(&p, &q, IBV_WR_SEND);
	require(!end_modify(&q.b, IBV_QPS_RESET), "to RESET");
	report_left(&p.b, q.b.qp->qp_num);
	drop_two(&p, &q);
}

/* As above, after the application has polled some, when the shim may hold the rest. */
static void destroyed_after_a_poll(void)
{
	struct ibv_wc wc[2];
	struct pair p;
	int n;

	PAIR(&p);
	for (unsigned i = 0; i < 6; i++)
		POST(&p, .id = i, .opcode = IBV_WR_RDMA_WRITE, .len = 64, SIGNALED);
	nap_us(100000);
	require(ibv_poll_cq(p.a.cq, 2, wc) == 2 && wc[0].wr_id == 0 && wc[1].wr_id == 1, "poll");
	require(!ibv_destroy_qp(p.a.qp), "destroying");
	p.a.qp = NULL;
	n = count_wcs(&p.a, 20);
	fact("left", "%d", n);
	pair_drop(&p);
}

/* Flushed receives, which programs often leave in the CQ. */
static void destroyed_in_error(void)
{
	struct pair p;
	int n;

	PAIR(&p);
	for (unsigned i = 0; i < 5; i++)
		recv_ok(&p.a, i, 0, 64);
	for (unsigned i = 0; i < 5; i++)
		POST(&p, .id = i, .opcode = IBV_WR_SEND, .len = 64);
	require(!end_modify(&p.a, IBV_QPS_ERR), "to ERR");
	nap_us(50000);
	require(!ibv_destroy_qp(p.a.qp), "destroying");
	p.a.qp = NULL;
	n = count_wcs(&p.a, 20);
	fact("left", "%d", n);
	pair_drop(&p);
}

const struct check purge_checks[] = {
	{ "purge_destroy_send", "destroying a QP leaves other QPs' send completions",
	  destroyed_sender },
	{ "purge_destroy_recv", "destroying a QP leaves other QPs' receive completions",
	  destroyed_receiver },
	{ "purge_reset_send", "RESET leaves other QPs' send completions", reset_sender },
	{ "purge_reset_recv", "RESET leaves other QPs' receive completions", reset_receiver },
	{ "purge_polled", "a QP can be destroyed when some completions have been polled",
	  destroyed_after_a_poll },
	{ "purge_flushed", "a QP can be destroyed with flushed requests in the CQ",
	  destroyed_in_error },
	{},
};
