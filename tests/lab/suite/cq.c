/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of completion queues: the ways to poll, shared ones, resizing and overrun. */
#include "suite.h"

#include <errno.h>
#include <poll.h>

#define WC_FLAGS (IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_SRC_QP)

static void post_writes(struct pair *p, unsigned from, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		POST(p, .id = from + i, .opcode = IBV_WR_RDMA_WRITE, .len = 100, SIGNALED);
}

/* Start a batch once completions are there. */
static void start_poll(struct end *e)
{
	struct ibv_poll_cq_attr attr = { 0 };
	int error;

	for (unsigned i = 0; i < 20000; i++) {
		error = ibv_start_poll(e->cqx, &attr);
		if (error != ENOENT)
			break;
		nap_us(500);
	}
	require(!error, "ibv_start_poll: %s", strerror(error));
}

/* to_end: call ibv_next_poll after the last completion, too. */
static void read_batch(bool to_end)
{
	struct ibv_poll_cq_attr attr = { 0 };
	struct ibv_cq_ex *cq;
	struct pair p;
	int error;

	PAIR(&p, .wc_flags = WC_FLAGS);
	cq = p.a.cqx;
	error = ibv_start_poll(cq, &attr);
	require(error == ENOENT, "ibv_start_poll of an empty CQ: %s", strerror(error));
	post_writes(&p, 0, 24);
	nap_us(200000);
	start_poll(&p.a);
	for (unsigned i = 0; i < 24; i++) {
		require(cq->wr_id == i && !cq->status, "WR %lu", (unsigned long)cq->wr_id);
		require(ibv_wc_read_opcode(cq) == IBV_WC_RDMA_WRITE, "opcode");
		require(ibv_wc_read_qp_num(cq) == p.a.qp->qp_num, "QP");
		if (i == 23 && !to_end)
			break;
		error = ibv_next_poll(cq);
		require(error == (i < 23 ? 0 : ENOENT), "ibv_next_poll: %s", strerror(error));
	}
	ibv_end_poll(cq);
	require(ibv_start_poll(cq, &attr) == ENOENT, "completions after the last one");
	post_writes(&p, 50, 1);
	done(&p.a, 50, IBV_WC_RDMA_WRITE);
	pair_drop(&p);
}

static void batch_reads_every_completion(void)
{
	read_batch(false);
}

static void batch_ends_with_enoent(void)
{
	read_batch(true);
}

static void batch_reads_receives(void)
{
	struct ibv_cq_ex *cq;
	struct pair p;

	PAIR(&p, .wc_flags = WC_FLAGS);
	cq = p.b.cqx;
	for (unsigned i = 0; i < 20; i++) {
		recv_ok(&p.b, i, 0, 4096);
		fill(source(), 3000, i);
		POST(&p, .id = i, .opcode = IBV_WR_SEND_WITH_IMM, .len = i * 150, .imm = i);
		start_poll(&p.b);
		require(cq->wr_id == i && !cq->status, "WR %lu: %s", (unsigned long)cq->wr_id,
			ibv_wc_status_str(cq->status));
		require(ibv_wc_read_opcode(cq) == IBV_WC_RECV, "opcode");
		require(ibv_wc_read_byte_len(cq) == i * 150, "%u bytes", ibv_wc_read_byte_len(cq));
		require(be32toh(ibv_wc_read_imm_data(cq)) == i, "immediate");
		require(ibv_wc_read_wc_flags(cq) & IBV_WC_WITH_IMM, "flags");
		require(ibv_wc_read_qp_num(cq) == p.b.qp->qp_num, "QP");
		ibv_end_poll(cq);
		require(is_filled(inbox(), i * 150, i), "SEND %u", i);
	}
	pair_drop(&p);
}

static void ended_batch_leaves_the_rest(void)
{
	struct ibv_wc wc;
	struct pair p;

	PAIR(&p, .wc_flags = WC_FLAGS);
	post_writes(&p, 0, 20);
	nap_us(200000);
	for (unsigned i = 0; i < 20; i += 4) {
		start_poll(&p.a);
		require(p.a.cqx->wr_id == i, "WR %lu", (unsigned long)p.a.cqx->wr_id);
		require(!ibv_next_poll(p.a.cqx) && p.a.cqx->wr_id == i + 1, "the next");
		ibv_end_poll(p.a.cqx);
		done(&p.a, i + 2, IBV_WC_RDMA_WRITE);
		next_wc(&p.a, &wc);
		require(wc.wr_id == i + 3, "WR %lu", (unsigned long)wc.wr_id);
	}
	pair_drop(&p);
}

/* The CQ is locked by the batch, the QP is not. */
static void requests_posted_in_a_batch(void)
{
	struct pair p;

	PAIR(&p, .wc_flags = WC_FLAGS);
	post_writes(&p, 0, 4);
	nap_us(50000);
	start_poll(&p.a);
	post_writes(&p, 10, 3);
	require(!ibv_next_poll(p.a.cqx) && p.a.cqx->wr_id == 1, "WR %lu",
		(unsigned long)p.a.cqx->wr_id);
	post_writes(&p, 13, 3);
	ibv_end_poll(p.a.cqx);
	done(&p.a, 2, IBV_WC_RDMA_WRITE);
	done(&p.a, 3, IBV_WC_RDMA_WRITE);
	for (unsigned i = 10; i < 16; i++)
		done(&p.a, i, IBV_WC_RDMA_WRITE);
	pair_drop(&p);
}

/* The application has promised to use one thread. */
static void single_threaded_cq(void)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 10, .wc_flags = WC_FLAGS, .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED,
	};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(hosts[0].ctx, &attr);
	struct pair p;

	fact("supported", "%d", !!cq);
	if (!cq)
		skip("no single-threaded CQs: %s", strerror(errno));
	require(!ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), "destroying");
	PAIR(&p, .wc_flags = WC_FLAGS, .single_threaded = true);
	for (unsigned i = 0; i < 200; i++) {
		POST(&p, .id = i, .opcode = IBV_WR_RDMA_WRITE, .len = 9000, SIGNALED);
		if (i < 16)
			continue;
		start_poll(&p.a);
		require(p.a.cqx->wr_id == i - 16 && !p.a.cqx->status, "WR %lu",
			(unsigned long)p.a.cqx->wr_id);
		ibv_end_poll(p.a.cqx);
	}
	for (unsigned i = 184; i < 200; i++)
		done(&p.a, i, IBV_WC_RDMA_WRITE);
	pair_drop(&p);
}

static void separate_cqs(void)
{
	struct ibv_cq *send_cq = ibv_create_cq(hosts[0].ctx, 64, NULL, NULL, 0);
	struct ibv_wc wc[17];
	struct pair p;

	require(send_cq, "no CQ");
	end_make(&p.a, &hosts[0], &(struct shape){ .send_cq = send_cq });
	end_make(&p.b, &hosts[1], &(struct shape){ 0 });
	pair_connect(&p);
	for (unsigned i = 0; i < 16; i++) {
		recv_ok(&p.a, 100 + i, 0, 4096);
		POST(&p, .id = i, .opcode = IBV_WR_RDMA_READ, .len = 3000, SIGNALED);
		post_ok(&p.b, &p.a, &(struct op){ .id = i, .opcode = IBV_WR_SEND, .len = 2000 });
	}
	for (unsigned i = 0; i < 16; i++)
		received(&p.a, 100 + i, 2000);
	nap_us(50000);
	require(ibv_poll_cq(send_cq, 17, wc) == 16, "completions of sends");
	for (unsigned i = 0; i < 16; i++)
		require(!wc[i].status && wc[i].wr_id == i && wc[i].qp_num == p.a.qp->qp_num,
			"WR %lu", (unsigned long)wc[i].wr_id);
	require(!count_wcs(&p.a, 5), "more completions than receives");
	pair_drop(&p);
	require(!ibv_destroy_cq(send_cq), "destroying");
}

static void poll_returns_at_most_n(void)
{
	struct ibv_wc wc[32];
	struct pair p;
	unsigned at = 0;
	int n;

	PAIR(&p);
	require(ibv_poll_cq(p.a.cq, 4, wc) == 0, "an empty CQ");
	post_writes(&p, 0, 30);
	nap_us(200000);
	while ((n = ibv_poll_cq(p.a.cq, 1 + (int)at % 7, wc)) > 0) {
		require(n <= 1 + (int)at % 7, "%d completions", n);
		for (int i = 0; i < n; i++)
			require(!wc[i].status && wc[i].wr_id == at++, "WR %lu",
				(unsigned long)wc[i].wr_id);
	}
	require(at == 30, "%u completions", at);
	pair_drop(&p);
}

/* Both ends of a QP, and several QPs, on one CQ: order is per QP and queue. */
static void one_cq_for_several_qps(void)
{
	uint64_t expected[3] = { 0 };
	struct pair p[3];
	struct ibv_wc wc;
	unsigned q;

	PAIR(&p[0]);
	for (q = 1; q < 3; q++)
		pair_make_beside(&p[q], &p[0]);
	for (unsigned i = 0; i < 20; i++)
		for (q = 0; q < 3; q++)
			POST(&p[q], .id = i, .opcode = IBV_WR_RDMA_WRITE, .len = 50 + q * 3000,
			     SIGNALED);
	for (unsigned i = 0; i < 60; i++) {
		next_wc(&p[0].a, &wc);
		for (q = 0; q < 3 && p[q].a.qp->qp_num != wc.qp_num; q++)
			;
		require(q < 3 && !wc.status, "QP %u: %s", wc.qp_num, ibv_wc_status_str(wc.status));
		require(wc.wr_id == expected[q]++, "QP %u: WR %lu", q, (unsigned long)wc.wr_id);
	}
	for (q = 3; q--;)
		pair_drop(&p[q]);
}

static void sends_and_receives_on_one_cq(void)
{
	uint64_t sent = 0, got = 100;
	struct ibv_wc wc;
	struct pair p;

	PAIR(&p);
	for (unsigned i = 0; i < 16; i++) {
		recv_ok(&p.a, 100 + i, 0, 4096);
		recv_ok(&p.b, 100 + i, 0, 4096);
	}
	for (unsigned i = 0; i < 16; i++) {
		POST(&p, .id = i, .opcode = IBV_WR_SEND, .len = 2000, SIGNALED);
		post_ok(&p.b, &p.a, &(struct op){ .id = i, .opcode = IBV_WR_SEND, .len = 1000 });
	}
	for (unsigned i = 0; i < 32; i++) {
		next_wc(&p.a, &wc);
		require(!wc.status && wc.qp_num == p.a.qp->qp_num, "%s",
			ibv_wc_status_str(wc.status));
		if (wc.opcode == IBV_WC_RECV)
			require(wc.wr_id == got++, "receive %lu", (unsigned long)wc.wr_id);
		else
			require(wc.wr_id == sent++, "SEND %lu", (unsigned long)wc.wr_id);
	}
	require(sent == 16 && got == 116, "%u SENDs", (unsigned)sent);
	pair_drop(&p);
}

static void resizing_loses_nothing(void)
{
	struct pair p;
	int error;

	PAIR(&p, .cqe = 30);
	require(p.a.cq->cqe >= 30, "cqe %d", p.a.cq->cqe);
	post_writes(&p, 0, 20);
	nap_us(100000);
	error = ibv_resize_cq(p.a.cq, 300);
	fact("error", "%s", strerror(error));
	if (error)
		skip("CQs cannot be resized: %s", strerror(error));
	require(p.a.cq->cqe >= 300, "cqe %d after resizing", p.a.cq->cqe);
	for (unsigned i = 0; i < 10; i++)
		done(&p.a, i, IBV_WC_RDMA_WRITE);
	post_writes(&p, 20, 10);
	nap_us(100000);
	error = ibv_resize_cq(p.a.cq, 40);
	fact("shrink", "%s", strerror(error));
	for (unsigned i = 10; i < 30; i++)
		done(&p.a, i, IBV_WC_RDMA_WRITE);
	require(!count_wcs(&p.a, 5), "more completions than WRs");
	pair_drop(&p);
}

static void events_of_overrun(struct host *h, struct ibv_cq *cq)
{
	struct pollfd fd = { .fd = h->ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;
	bool overrun = false;

	while (poll(&fd, 1, 20) == 1 && !ibv_get_async_event(h->ctx, &event)) {
		overrun |= event.event_type == IBV_EVENT_CQ_ERR && event.element.cq == cq;
		ibv_ack_async_event(&event);
	}
	fact("cq_err", "%d", overrun);
}

/* Receives, as providers and the shim differ in where completions of sends wait. */
static void overrun_is_reported_or_harmless(void)
{
	struct pair p, after;
	struct ibv_wc wc;
	unsigned n;

	PAIR(&p, .cqe = 4, .recvs = 64);
	n = (unsigned)p.b.cq->cqe + 4;
	require(n <= 64, "a CQ of %d entries", p.b.cq->cqe);
	for (unsigned i = 0; i < n; i++)
		recv_ok(&p.b, i, 0, 64);
	for (unsigned i = 0; i < n; i++) {
		POST(&p, .id = i, .opcode = IBV_WR_SEND, .len = 8, SIGNALED);
		next_wc(&p.a, &wc);
		if (wc.status)
			break;
	}
	events_of_overrun(&hosts[1], p.b.cq);
	n = (unsigned)left_wcs(&p.b, 20, &wc, 1);
	require(!n || wc.wr_id == 0, "WR %lu is the first", (unsigned long)wc.wr_id);
	pair_drop(&p);
	PAIR(&after);
	post_writes(&after, 0, 4);
	for (unsigned i = 0; i < 4; i++)
		done(&after.a, i, IBV_WC_RDMA_WRITE);
	pair_drop(&after);
}

static void busy_cq_is_not_destroyed(void)
{
	struct pair p;
	int error;

	PAIR(&p);
	error = ibv_destroy_cq(p.a.cq);
	require(error == EBUSY, "destroying the CQ of a QP: %s", strerror(error));
	post_writes(&p, 0, 3);
	for (unsigned i = 0; i < 3; i++)
		done(&p.a, i, IBV_WC_RDMA_WRITE);
	pair_drop(&p);
}

const struct check cq_checks[] = {
	{ "cq_batch", "a batch of ibv_start_poll reads every completion in order",
	  batch_reads_every_completion },
	{ "cq_batch_end", "ibv_next_poll returns ENOENT after the last completion",
	  batch_ends_with_enoent },
	{ "cq_batch_recv", "a batch reads the members of receives", batch_reads_receives },
	{ "cq_batch_rest", "an ended batch leaves the rest to later batches and ibv_poll_cq",
	  ended_batch_leaves_the_rest },
	{ "cq_batch_post", "requests posted in a batch complete", requests_posted_in_a_batch },
	{ "cq_single", "a single-threaded CQ delivers every completion", single_threaded_cq },
	{ "cq_separate", "sends and receives complete on CQs of their own", separate_cqs },
	{ "cq_poll_n", "ibv_poll_cq returns at most n completions, in order",
	  poll_returns_at_most_n },
	{ "cq_shared", "completions of QPs that share a CQ have their qp_num and order",
	  one_cq_for_several_qps },
	{ "cq_both", "sends and receives of one CQ are each in order",
	  sends_and_receives_on_one_cq },
	{ "cq_resize", "resizing a CQ loses no completion", resizing_loses_nothing },
	{ "cq_overrun", "an overrun CQ does not disturb other QPs",
	  overrun_is_reported_or_harmless },
	{ "cq_busy", "a CQ with a QP is not destroyed", busy_cq_is_not_destroyed },
	{},
};
