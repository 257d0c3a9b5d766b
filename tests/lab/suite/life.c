/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of the life of QPs: RESET and reuse, teardown with traffic in flight. */
#include "suite.h"

#include <errno.h>

static void exchange(struct pair *p, unsigned seed)
{
	fill(source(), 3000, seed);
	recv_ok(&p->b, 900, 0, 4096);
	POST(p, .id = 800, .opcode = IBV_WR_SEND, .len = 3000, SIGNALED);
	done(&p->a, 800, IBV_WC_SEND);
	received(&p->b, 900, 3000);
	require(is_filled(inbox(), 3000, seed), "bytes of round %u", seed);
}

static void reset_and_reuse(void)
{
	struct pair p;

	PAIR(&p);
	for (unsigned i = 0; i < 20; i++) {
		exchange(&p, i);
		require(!end_modify(&p.a, IBV_QPS_RESET) && !end_modify(&p.b, IBV_QPS_RESET),
			"to RESET");
		require(end_state(&p.a) == IBV_QPS_RESET, "state");
		pair_connect(&p);
	}
	exchange(&p, 99);
	require(!count_wcs(&p.a, 5) && !count_wcs(&p.b, 0), "more completions than WRs");
	pair_drop(&p);
}

static void error_reset_and_reuse(void)
{
	struct pair p;

	PAIR(&p);
	for (unsigned i = 0; i < 10; i++) {
		POST(&p, .id = 1, .opcode = IBV_WR_SEND, .len = 2000);
		POST(&p, .id = 2, .opcode = IBV_WR_SEND, .len = 2000);
		require(!end_modify(&p.a, IBV_QPS_ERR), "to ERR");
		failed(&p.a, 1, IBV_WC_WR_FLUSH_ERR);
		failed(&p.a, 2, IBV_WC_WR_FLUSH_ERR);
		require(!end_modify(&p.a, IBV_QPS_RESET) && !end_modify(&p.b, IBV_QPS_RESET),
			"to RESET");
		pair_connect(&p);
		exchange(&p, i);
	}
	pair_drop(&p);
}

/* SENDs that wait for a receive, and receives, are dropped by RESET: the new life has its own. */
static void reset_drops_what_is_outstanding(void)
{
	struct pair p;

	PAIR(&p);
	for (unsigned i = 0; i < 8; i++) {
		POST(&p, .id = i, .opcode = IBV_WR_SEND, .len = 2000, SIGNALED);
		recv_ok(&p.a, 100 + i, 0, 64);
	}
	nap_us(5000);
	require(!end_modify(&p.a, IBV_QPS_RESET) && !end_modify(&p.b, IBV_QPS_RESET), "to RESET");
	require(!count_wcs(&p.a, 20), "completions of WRs that RESET dropped");
	pair_connect(&p);
	exchange(&p, 1);
	require(!count_wcs(&p.a, 5), "completions of the old life");
	pair_drop(&p);
}

/* SQD: what is posted waits, and is carried out after the return to RTS. */
static void drained_send_queue(void)
{
	struct pair p;
	int error;

	PAIR(&p);
	exchange(&p, 1);
	error = end_modify(&p.a, IBV_QPS_SQD);
	fact("error", "%s", strerror(error));
	if (error)
		skip("no SQD: %s", strerror(error));
	nap_us(20000);
	require(end_state(&p.a) == IBV_QPS_SQD, "state %d", end_state(&p.a));
	error = TRY_POST(&p, .id = 1, .opcode = IBV_WR_RDMA_WRITE, .len = 100, SIGNALED);
	fact("post", "%s", strerror(error));
	if (!error)
		require(!count_wcs(&p.a, 20), "a WR was carried out in SQD");
	require(!end_modify(&p.a, IBV_QPS_RTS), "to RTS");
	POST(&p, .id = 2, .opcode = IBV_WR_RDMA_WRITE, .len = 100, SIGNALED);
	if (!error)
		done(&p.a, 1, IBV_WC_RDMA_WRITE);
	done(&p.a, 2, IBV_WC_RDMA_WRITE);
	exchange(&p, 2);
	pair_drop(&p);
}

/* The same when each entry of the send queue was used before: that of Linux 6.12's rxe counts as
 * drained only when a request is posted. */
static void send_queue_is_drained_after_a_lap(void)
{
	struct pair p;
	int error;

	PAIR(&p);
	for (unsigned i = 0; i < 200; i++) {
		POST(&p, .id = i, .opcode = IBV_WR_RDMA_WRITE, .len = 100, SIGNALED);
		done(&p.a, i, IBV_WC_RDMA_WRITE);
	}
	error = end_modify(&p.a, IBV_QPS_SQD);
	if (error)
		skip("no SQD: %s", strerror(error));
	POST(&p, .id = 200, .opcode = IBV_WR_RDMA_WRITE, .len = 100, SIGNALED);
	nap_us(20000);
	require(!end_modify(&p.a, IBV_QPS_RTS), "to RTS");
	POST(&p, .id = 201, .opcode = IBV_WR_RDMA_WRITE, .len = 100, SIGNALED);
	done(&p.a, 200, IBV_WC_RDMA_WRITE);
	done(&p.a, 201, IBV_WC_RDMA_WRITE);
	pair_drop(&p);
}

/*
 * SQD with requests outstanding. After the return to RTS rxe sends nothing before the next request
 * is posted.
 */
static void busy_send_queue_is_drained(void)
{
	struct pair p;
	int error, n;

	PAIR(&p);
	for (unsigned i = 0; i < 20; i++)
		POST(&p, .id = i, .opcode = IBV_WR_RDMA_WRITE, .len = 20000, SIGNALED);
	error = end_modify(&p.a, IBV_QPS_SQD);
	if (error)
		skip("no SQD: %s", strerror(error));
	nap_us(50000);
	require(!end_modify(&p.a, IBV_QPS_RTS), "to RTS");
	n = count_wcs(&p.a, 500);
	fact("resumes", "%d", n == 20);
	POST(&p, .id = 20, .opcode = IBV_WR_RDMA_WRITE, .len = 100, SIGNALED);
	n += count_wcs(&p.a, 500);
	require(n <= 21, "%d completions of 21 WRs", n);
	fact("completions", "%d", n);
	pair_drop(&p);
}

static void post_some(struct pair *p, unsigned round)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_SEND, IBV_WR_ATOMIC_FETCH_AND_ADD,
	};

	for (unsigned i = 0; i < 20; i++) {
		recv_ok(&p->b, i, 0, 65536);
		POST(p, .id = i, .opcode = opcodes[(round + i) % 4], .len = i * 2500,
		     .flags = i % 3 ? IBV_SEND_SIGNALED : 0);
	}
}

static void teardown_in_flight(void)
{
	struct pair other, p;

	PAIR(&other);
	for (unsigned round = 0; round < 24; round++) {
		PAIR(&p);
		post_some(&p, round);
		nap_us(round * 40);
		switch (round % 4) {
		case 0: require(!end_modify(&p.a, IBV_QPS_ERR), "to ERR"); break;
		case 1: require(!end_modify(&p.b, IBV_QPS_ERR), "to ERR"); break;
		case 2: require(!end_modify(&p.a, IBV_QPS_RESET), "to RESET"); break;
		}
		pair_drop(&p);
		exchange(&other, round);
	}
	pair_drop(&other);
}

/* The same, on the CQs of a QP that continues to work. */
static void teardown_on_a_shared_cq(void)
{
	uint32_t keep;
	struct pair other, p;
	struct ibv_wc wc;
	unsigned next;

	PAIR(&other);
	keep = other.a.qp->qp_num;
	for (unsigned round = 0; round < 12; round++) {
		end_make(&p.a, &hosts[0], &(struct shape){ .cq = other.a.cq });
		end_make(&p.b, &hosts[1], &(struct shape){ 0 });
		pair_connect(&p);
		post_some(&p, round);
		for (unsigned i = 0; i < 10; i++)
			POST(&other, .id = i, .opcode = IBV_WR_RDMA_WRITE, .len = 3000, SIGNALED);
		nap_us(round * 100);
		pair_drop(&p);
		for (next = 0; next < 10;) {
			next_wc(&other.a, &wc);
			require(wc.qp_num != keep || (!wc.status && wc.wr_id == next++),
				"WR %lu: %s", (unsigned long)wc.wr_id,
				ibv_wc_status_str(wc.status));
		}
		count_wcs(&other.a, 2);
	}
	pair_drop(&other);
}

static void many_qps(void)
{
	enum { QPS = 24 };
	static struct pair p[QPS];
	struct ibv_wc wc;
	unsigned i;

	PAIR(&p[0]);
	for (i = 1; i < QPS; i++)
		pair_make_beside(&p[i], &p[0]);
	for (unsigned round = 0; round < 3; round++) {
		for (i = 0; i < QPS; i++)
			POST(&p[i], .id = i, .opcode = IBV_WR_RDMA_WRITE, .len = 2000, SIGNALED);
		for (i = 0; i < QPS; i++) {
			next_wc(&p[0].a, &wc);
			require(!wc.status && wc.wr_id < QPS, "%s", ibv_wc_status_str(wc.status));
			require(wc.qp_num == p[wc.wr_id].a.qp->qp_num, "QP %u", wc.qp_num);
		}
	}
	for (i = QPS; i--;)
		pair_drop(&p[i]);
}

static void parent_domain(void)
{
	struct ibv_td_init_attr td_attr = { 0 };
	struct ibv_parent_domain_init_attr attr = { .pd = hosts[0].pd };
	struct ibv_pd *pd;
	struct pair p;

	attr.td = ibv_alloc_td(hosts[0].ctx, &td_attr);
	fact("supported", "%d", !!attr.td);
	if (!attr.td)
		skip("no thread domains: %s", strerror(errno));
	pd = ibv_alloc_parent_domain(hosts[0].ctx, &attr);
	require(pd, "no parent domain: %s", strerror(errno));
	end_make(&p.a, &hosts[0], &(struct shape){ .pd = pd });
	end_make(&p.b, &hosts[1], &(struct shape){ 0 });
	pair_connect(&p);
	require(p.a.qp->pd == pd, "the QP's PD is another one");
	for (unsigned i = 0; i < 20; i++)
		exchange(&p, i);
	pair_drop(&p);
	require(!ibv_dealloc_pd(pd) && !ibv_dealloc_td(attr.td), "deallocating");
}

/* A device that is opened a second time, used and closed. */
static void second_context(void)
{
	struct host second = hosts[0];
	struct pair p, other;

	PAIR(&other);
	for (unsigned round = 0; round < 3; round++) {
		second.ctx = ibv_open_device(hosts[0].ctx->device);
		require(second.ctx && second.ctx != hosts[0].ctx, "opening: %s", strerror(errno));
		second.pd = ibv_alloc_pd(second.ctx);
		second.mr = ibv_reg_mr(second.pd, second.mem, MEMORY, IBV_ACCESS_LOCAL_WRITE);
		require(second.pd && second.mr, "registering");
		end_make(&p.a, &second, &(struct shape){ 0 });
		end_make(&p.b, &hosts[1], &(struct shape){ 0 });
		pair_connect(&p);
		exchange(&p, round);
		exchange(&other, round);
		POST(&p, .id = 1, .opcode = IBV_WR_RDMA_WRITE, .len = 60000);
		pair_drop(&p);
		require(!ibv_dereg_mr(second.mr) && !ibv_dealloc_pd(second.pd) &&
			!ibv_close_device(second.ctx), "closing");
		exchange(&other, round);
	}
	pair_drop(&other);
}

static void busy_objects_are_not_destroyed(void)
{
	struct ibv_srq *srq;
	struct pair p;
	struct end q;
	int error;

	PAIR(&p);
	error = ibv_dealloc_pd(hosts[0].pd);
	require(error == EBUSY, "deallocating the PD of a QP: %s", strerror(error));
	error = ibv_destroy_comp_channel(p.a.channel);
	require(error == EBUSY, "destroying the channel of a CQ: %s", strerror(error));
	srq = srq_make(&hosts[1], 16);
	end_make(&q, &hosts[1], &(struct shape){ .srq = srq });
	error = ibv_destroy_srq(srq);
	require(error == EBUSY, "destroying the SRQ of a QP: %s", strerror(error));
	end_drop(&q);
	require(!ibv_destroy_srq(srq), "destroying an SRQ");
	exchange(&p, 1);
	pair_drop(&p);
}

const struct check life_checks[] = {
	{ "life_reset", "a QP is used again after RESET", reset_and_reuse },
	{ "life_error_reset", "a QP is used again after ERR and RESET", error_reset_and_reuse },
	{ "life_reset_drops", "RESET drops what is outstanding, without completions",
	  reset_drops_what_is_outstanding },
	{ "life_sqd", "requests posted in SQD wait for RTS", drained_send_queue },
	{ "life_sqd_lap", "SQD ends when each entry of the send queue was used before",
	  send_queue_is_drained_after_a_lap },
	{ "life_sqd_busy", "requests outstanding in SQD complete at most once",
	  busy_send_queue_is_drained },
	{ "life_teardown", "QPs with traffic in flight can be destroyed, and others continue",
	  teardown_in_flight },
	{ "life_teardown_cq", "destroying a QP with traffic leaves others on its CQ undisturbed",
	  teardown_on_a_shared_cq },
	{ "life_many", "many QPs share a CQ", many_qps },
	{ "life_parent_domain", "a QP in a parent domain works", parent_domain },
	{ "life_context", "a device can be opened again, used and closed", second_context },
	{ "life_busy", "objects in use are not destroyed", busy_objects_are_not_destroyed },
	{},
};
