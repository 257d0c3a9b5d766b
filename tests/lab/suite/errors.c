/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of the errors of requests: their status, and what follows at either end. */
#include "suite.h"

#include <poll.h>

/* A request to or from memory that r describes, after which the QP is in ERR. */
static void post_raw(struct pair *p, struct request *r)
{
	struct ibv_send_wr *bad;
	int error = ibv_post_send(p->a.qp, &r->wr, &bad);

	require(!error, "posting: %s", strerror(error));
}

/* The next completion is an error; providers differ in which. */
static void error_status(struct end *e, uint64_t id, const char *name)
{
	struct ibv_wc wc;

	next_wc(e, &wc);
	require(wc.status && wc.wr_id == id, "WR %lu: %s", (unsigned long)wc.wr_id,
		ibv_wc_status_str(wc.status));
	require(wc.qp_num == e->qp->qp_num, "QP %u", wc.qp_num);
	fact(name, "%s", ibv_wc_status_str(wc.status));
}

static void expect_error_state(struct end *e)
{
	enum ibv_qp_state state = end_state(e);

	require(state == IBV_QPS_ERR, "state %d", state);
}

/* An unsignaled request fails; what is behind it and the receives are flushed. */
static void remote_access_error(void)
{
	struct request r;
	struct pair p;

	PAIR(&p);
	for (unsigned i = 0; i < 3; i++)
		recv_ok(&p.a, 40 + i, 0, 64);
	POST(&p, .id = 30, .opcode = IBV_WR_RDMA_WRITE, .len = 2000, SIGNALED);
	build(&r, &p.a, &p.b, &(struct op){ .id = 31, .opcode = IBV_WR_RDMA_WRITE, .len = 64 });
	r.wr.wr.rdma.rkey = 0xdead00;
	post_raw(&p, &r);
	done(&p.a, 30, IBV_WC_RDMA_WRITE);
	failed(&p.a, 31, IBV_WC_REM_ACCESS_ERR);
	for (unsigned i = 0; i < 3; i++)
		failed(&p.a, 40 + i, IBV_WC_WR_FLUSH_ERR);
	expect_error_state(&p.a);
	require(!count_wcs(&p.a, 5), "more completions than WRs");
	pair_drop(&p);
}

/* The device refuses it at its first packet; a split WRITE has been done in part. */
static void write_beyond_the_region(void)
{
	struct request r;
	struct pair p;

	PAIR(&p);
	memset(target() + MEMORY - TARGET - 65536, 0, 65536);
	fill(source(), MIB, 1);
	build(&r, &p.a, &p.b, &(struct op){ .id = 1, .opcode = IBV_WR_RDMA_WRITE,
					    .len = 65536 + 8, .to = MEMORY - TARGET - 65536 });
	post_raw(&p, &r);
	failed(&p.a, 1, IBV_WC_REM_ACCESS_ERR);
	fact("bytes_written", "%s",
	     is_zero(target() + MEMORY - TARGET - 65536, 65536) ? "none" : "some");
	pair_drop(&p);
}

static void read_without_permission(void)
{
	struct ibv_mr *mr = ibv_reg_mr(hosts[1].pd, target(), 65536, IBV_ACCESS_LOCAL_WRITE);
	struct request r;
	struct pair p;

	require(mr, "no memory region");
	PAIR(&p);
	build(&r, &p.a, &p.b, &(struct op){ .id = 1, .opcode = IBV_WR_RDMA_READ, .len = 20000 });
	r.wr.wr.rdma.rkey = mr->rkey;
	post_raw(&p, &r);
	failed(&p.a, 1, IBV_WC_REM_ACCESS_ERR);
	expect_error_state(&p.a);
	pair_drop(&p);
	require(!ibv_dereg_mr(mr), "deregistering");
}

static void local_protection_error(void)
{
	struct request r;
	struct pair p;

	PAIR(&p);
	build(&r, &p.a, &p.b, &(struct op){ .id = 1, .opcode = IBV_WR_RDMA_WRITE, .len = 64 });
	r.sge[0].lkey = 0xdead00;
	post_raw(&p, &r);
	error_status(&p.a, 1, "status");
	expect_error_state(&p.a);
	pair_drop(&p);
}

static void receive_protection_error(void)
{
	struct ibv_sge sge = { (uintptr_t)inbox(), 4096, 0xdead00 };
	struct ibv_recv_wr wr = { .wr_id = 9, .sg_list = &sge, .num_sge = 1 }, *bad;
	struct pair p;

	PAIR(&p);
	require(!ibv_post_recv(p.b.qp, &wr, &bad), "posting a receive");
	POST(&p, .id = 1, .opcode = IBV_WR_SEND, .len = 100);
	error_status(&p.a, 1, "sender");
	error_status(&p.b, 9, "receiver");
	expect_error_state(&p.b);
	pair_drop(&p);
}

static void send_longer_than_the_receive(void)
{
	struct pair p;

	PAIR(&p);
	recv_ok(&p.b, 9, 0, 64);
	POST(&p, .id = 1, .opcode = IBV_WR_SEND, .len = 3000);
	error_status(&p.a, 1, "sender");
	error_status(&p.b, 9, "receiver");
	pair_drop(&p);
}

static void misaligned_atomic(void)
{
	struct pair p;
	int error;

	PAIR(&p);
	error = TRY_POST(&p, .id = 1, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .to = 4,
			 .compare_add = 1);
	fact("post", "%s", strerror(error));
	if (!error)
		error_status(&p.a, 1, "status");
	pair_drop(&p);
}

static void receiver_not_ready(void)
{
	struct pair p;

	PAIR(&p, .rnr_retry = NO_RNR_RETRY);
	POST(&p, .id = 1, .opcode = IBV_WR_SEND, .len = 100);
	POST(&p, .id = 2, .opcode = IBV_WR_SEND, .len = 100);
	failed(&p.a, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	failed(&p.a, 2, IBV_WC_WR_FLUSH_ERR);
	expect_error_state(&p.a);
	pair_drop(&p);
}

static void receiver_ready_later(void)
{
	struct pair p;

	PAIR(&p);
	fill(source(), 9000, 3);
	for (unsigned i = 0; i < 3; i++)
		POST(&p, .id = i, .opcode = IBV_WR_SEND, .len = 9000, SIGNALED);
	require(!count_wcs(&p.a, 20), "completed without a receive");
	for (unsigned i = 0; i < 3; i++) {
		recv_ok(&p.b, 10 + i, i * 16384, 16384);
		done(&p.a, i, IBV_WC_SEND);
		received(&p.b, 10 + i, 9000);
		require(is_filled(inbox() + i * 16384, 9000, 3), "SEND %u", i);
	}
	pair_drop(&p);
}

static void peer_is_gone(void)
{
	struct pair p;

	PAIR(&p);
	require(!ibv_destroy_qp(p.b.qp), "destroying the peer");
	p.b.qp = NULL;
	recv_ok(&p.a, 9, 0, 64);
	for (unsigned i = 0; i < 3; i++)
		post_ok(&p.a, &p.a, &(struct op){ .id = i, .opcode = IBV_WR_RDMA_WRITE,
						  .len = 5000 });
	failed(&p.a, 0, IBV_WC_RETRY_EXC_ERR);
	for (unsigned i = 1; i < 3; i++)
		failed(&p.a, i, IBV_WC_WR_FLUSH_ERR);
	failed(&p.a, 9, IBV_WC_WR_FLUSH_ERR);
	expect_error_state(&p.a);
	pair_drop(&p);
}

/* Asynchronous events of the responder, of this QP only. */
static void responder_events(void)
{
	struct ibv_async_event event;
	struct pollfd fd = { .fd = hosts[1].ctx->async_fd, .events = POLLIN };
	unsigned n = 0, other = 0;
	struct request r;
	struct pair p;

	PAIR(&p);
	build(&r, &p.a, &p.b, &(struct op){ .id = 1, .opcode = IBV_WR_RDMA_WRITE, .len = 64 });
	r.wr.wr.rdma.rkey = 0xdead00;
	post_raw(&p, &r);
	failed(&p.a, 1, IBV_WC_REM_ACCESS_ERR);
	while (poll(&fd, 1, 50) == 1) {
		require(!ibv_get_async_event(hosts[1].ctx, &event), "no event");
		if (event.event_type == IBV_EVENT_QP_ACCESS_ERR && event.element.qp == p.b.qp)
			n++;
		else
			other++;
		ibv_ack_async_event(&event);
	}
	fact("access_err", "%u", n);
	fact("other", "%u", other);
	expect_error_state(&p.b);
	pair_drop(&p);
}

/* Two connections on the same CQs. */
static void error_of_one_qp_is_its_own(void)
{
	struct request r;
	struct pair p, q;

	PAIR(&p);
	pair_make_beside(&q, &p);
	build(&r, &p.a, &p.b, &(struct op){ .id = 1, .opcode = IBV_WR_RDMA_WRITE, .len = 64 });
	r.wr.wr.rdma.rkey = 0xdead00;
	post_raw(&p, &r);
	failed(&p.a, 1, IBV_WC_REM_ACCESS_ERR);
	for (unsigned i = 0; i < 20; i++)
		POST(&q, .id = i, .opcode = IBV_WR_RDMA_WRITE, .len = 2000, SIGNALED);
	for (unsigned i = 0; i < 20; i++)
		done(&q.a, i, IBV_WC_RDMA_WRITE);
	pair_drop(&q);
	pair_drop(&p);
}

const struct check error_checks[] = {
	{ "err_rkey", "a wrong rkey ends in REM_ACCESS_ERR, also if unsignaled",
	  remote_access_error },
	{ "err_range", "a WRITE beyond the region ends in REM_ACCESS_ERR",
	  write_beyond_the_region },
	{ "err_permission", "a READ without permission ends in REM_ACCESS_ERR",
	  read_without_permission },
	{ "err_lkey", "a send with a wrong lkey fails, and its QP is in ERR",
	  local_protection_error },
	{ "err_recv_lkey", "a receive with a wrong lkey fails at both ends",
	  receive_protection_error },
	{ "err_length", "a SEND longer than its receive fails at both ends",
	  send_longer_than_the_receive },
	{ "err_align", "a misaligned atomic is refused or fails", misaligned_atomic },
	{ "err_rnr", "RNR retries that are exceeded end in RNR_RETRY_EXC_ERR", receiver_not_ready },
	{ "err_rnr_later", "SENDs wait for a receive that is posted later", receiver_ready_later },
	{ "err_retry", "a peer that is gone ends in RETRY_EXC_ERR, what is behind is flushed",
	  peer_is_gone },
	{ "err_async", "an access error at the responder leaves its QP in ERR", responder_events },
	{ "err_other", "the error of one QP does not disturb another on the CQ",
	  error_of_one_qp_is_its_own },
	{},
};
