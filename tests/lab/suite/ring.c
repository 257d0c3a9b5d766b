/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of lists, scatter/gather elements, and queues that wrap or are full. */
#include "suite.h"

static void list_completes_in_order(void)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_SEND, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD,
		IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_WRITE, IBV_WR_SEND,
	};
	static const enum ibv_wc_opcode completions[] = {
		IBV_WC_RDMA_WRITE, IBV_WC_SEND, IBV_WC_RDMA_READ, IBV_WC_FETCH_ADD,
		IBV_WC_SEND, IBV_WC_RDMA_WRITE, IBV_WC_RDMA_WRITE, IBV_WC_SEND,
	};
	static struct request r[8];
	struct ibv_send_wr *bad = NULL;
	struct pair p;

	PAIR(&p);
	for (unsigned i = 0; i < 8; i++) {
		recv_ok(&p.b, 100 + i, i * 8192, 8192);
		build(&r[i], &p.a, &p.b, &(struct op){
			.id = ~(uint64_t)i, .opcode = opcodes[i], .len = 100 + i * 1000, SIGNALED,
			.pieces = 1 + i % 4, .to = i * 8192, .at = i * 8192 });
		r[i].wr.next = i < 7 ? &r[i + 1].wr : NULL;
	}
	require(!ibv_post_send(p.a.qp, &r[0].wr, &bad), "posting a list");
	for (unsigned i = 0; i < 8; i++)
		done(&p.a, ~(uint64_t)i, completions[i]);
	received(&p.b, 100, 1100);
	received(&p.b, 101, 4100);
	received(&p.b, 102, 5100);
	received(&p.b, 103, 7100);
	pair_drop(&p);
}

/* The third of five has more SGEs than the QP takes. */
static void bad_wr_is_the_refused_one(void)
{
	static struct request r[5];
	struct ibv_send_wr *bad = NULL;
	struct pair p;
	int error;

	PAIR(&p, .sges = 2);
	for (unsigned i = 0; i < 5; i++) {
		build(&r[i], &p.a, &p.b, &(struct op){ .id = i, .opcode = IBV_WR_RDMA_WRITE,
			.len = 64, SIGNALED });
		r[i].wr.next = i < 4 ? &r[i + 1].wr : NULL;
	}
	r[2].wr.num_sge = (int)p.a.cap.max_send_sge + 1;
	for (unsigned i = 1; i <= p.a.cap.max_send_sge && i < SGES; i++)
		r[2].sge[i] = r[2].sge[0];
	error = ibv_post_send(p.a.qp, &r[0].wr, &bad);
	require(error, "a WR with %d SGEs is accepted", r[2].wr.num_sge);
	require(bad == &r[2].wr, "bad_wr is WR %td", bad ? (struct request *)bad - r : -1);
	fact("error", "%s", strerror(error));
	done(&p.a, 0, IBV_WC_RDMA_WRITE);
	done(&p.a, 1, IBV_WC_RDMA_WRITE);
	require(!count_wcs(&p.a, 5), "WRs behind the refused one were carried out");
	pair_drop(&p);
}

static void list_beyond_the_queue(void)
{
	static struct request r[200];
	struct ibv_send_wr *bad = NULL;
	struct pair p;
	unsigned n;
	int error;

	PAIR(&p, .sends = 16, .inline_len = 1);
	for (unsigned i = 0; i < 200; i++) {
		build(&r[i], &p.a, &p.b, &(struct op){ .id = i, .opcode = IBV_WR_RDMA_WRITE,
			.len = 1500, SIGNALED });
		r[i].wr.next = i < 199 ? &r[i + 1].wr : NULL;
	}
	error = ibv_post_send(p.a.qp, &r[0].wr, &bad);
	require(error, "200 WRs are accepted by a queue of %u", p.a.cap.max_send_wr);
	n = (unsigned)((struct request *)bad - r);
	require(n >= p.a.cap.max_send_wr && n < 200, "bad_wr is WR %u", n);
	for (unsigned i = 0; i < n; i++)
		done(&p.a, i, IBV_WC_RDMA_WRITE);
	require(!count_wcs(&p.a, 5), "more completions than accepted WRs");
	pair_drop(&p);
}

static void every_number_of_sges(void)
{
	uint32_t max = (uint32_t)hosts[0].attr.max_sge;
	struct pair p;

	if (max > SGES)
		max = SGES;
	while (max > 1) { /* max_sge is for any opcode and QP; a QP may take fewer */
		struct shape shape = { .sges = max, .inline_len = 1 };

		end_make_cq(&p.a, &hosts[0], &shape);
		p.a.qp = ibv_create_qp(hosts[0].pd, &(struct ibv_qp_init_attr){
			.send_cq = p.a.cq, .recv_cq = p.a.cq, .qp_type = IBV_QPT_RC,
			.cap = { 32, 32, max, max, 0 } });
		if (p.a.qp)
			break;
		end_drop(&p.a);
		max--;
	}
	end_drop(&p.a);
	fact("max", "%u", max);
	PAIR(&p, .sges = max, .inline_len = 1);
	for (uint32_t n = 1; n <= max; n++) {
		fill(source(), n * 33, n);
		recv_ok(&p.b, n, 0, 4096);
		POST(&p, .id = n, .opcode = IBV_WR_SEND, .len = n * 33, .pieces = n, SIGNALED);
		POST(&p, .id = n, .opcode = IBV_WR_RDMA_WRITE, .len = n * 33, .pieces = n,
		     SIGNALED);
		done(&p.a, n, IBV_WC_SEND);
		done(&p.a, n, IBV_WC_RDMA_WRITE);
		received(&p.b, n, n * 33);
		require(is_filled(inbox(), n * 33, n), "SEND with %u SGEs", n);
		require(is_filled(target(), n * 33, n), "WRITE with %u SGEs", n);
	}
	pair_drop(&p);
}

static void receive_scatters(void)
{
	struct ibv_recv_wr wr = { .wr_id = 9, .num_sge = 4 }, *bad;
	struct ibv_sge sge[4];
	struct pair p;

	PAIR(&p);
	memset(inbox(), 0, 65536);
	for (unsigned i = 0; i < 4; i++)
		sge[i] = (struct ibv_sge){ (uintptr_t)inbox() + (3 - i) * 4096, 10 + i * 1000,
					   hosts[1].mr->lkey };
	wr.sg_list = sge;
	require(!ibv_post_recv(p.b.qp, &wr, &bad), "posting a receive");
	fill(source(), 5000, 1);
	POST(&p, .id = 1, .opcode = IBV_WR_SEND, .len = 5000, SIGNALED);
	done(&p.a, 1, IBV_WC_SEND);
	received(&p.b, 9, 5000);
	for (unsigned i = 0, at = 0; i < 4; at += sge[i++].length) {
		uint32_t len = at + sge[i].length > 5000 ? 5000 - at : sge[i].length;

		require(!memcmp(inbox() + (3 - i) * 4096, source() + at, len), "SGE %u", i);
		require(is_zero(inbox() + (3 - i) * 4096 + len, 16), "beyond SGE %u", i);
	}
	pair_drop(&p);
}

/* WQEs of one to several basic blocks, so that they also begin at each offset of the ring. */
static void post_sized(struct pair *p, unsigned i)
{
	struct op op = { .id = i, .opcode = IBV_WR_RDMA_WRITE, .len = 1 + i % 900, SIGNALED };

	op.to = i % 16 * 1024;
	switch (i * 7 % 5) {
	case 0: op.pieces = 4; break;
	case 1: op.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD; op.compare_add = 1; op.to = 65536; break;
	case 2: op.len = 1 + i % 64; op.flags |= IBV_SEND_INLINE; break;
	case 3: op.opcode = IBV_WR_RDMA_READ; op.pieces = 3; break;
	}
	post_ok(&p->a, &p->b, &op);
}

static void send_queue_wraps(void)
{
	enum { ROUNDS = 120, DEPTH = 13 };
	uint64_t *sum = (uint64_t *)(void *)(target() + 65536), adds = 0;
	struct ibv_wc wc;
	struct pair p;
	unsigned next = 0, i;

	PAIR(&p, .sends = DEPTH);
	*sum = 0;
	for (i = 0; i < ROUNDS * DEPTH; i++) {
		if (i >= DEPTH) {
			next_wc(&p.a, &wc);
			require(!wc.status && wc.wr_id == next, "WR %u: %s", next,
				ibv_wc_status_str(wc.status));
			next++;
		}
		post_sized(&p, i);
		adds += i * 7 % 5 == 1;
	}
	for (; next < i; next++) {
		next_wc(&p.a, &wc);
		require(!wc.status && wc.wr_id == next, "WR %u", next);
	}
	require(*sum == adds, "atomics: %lu of %lu", (unsigned long)*sum, (unsigned long)adds);
	pair_drop(&p);
}

static void receive_queue_wraps(void)
{
	enum { ROUNDS = 40, DEPTH = 7 };
	struct pair p;

	PAIR(&p, .recvs = DEPTH);
	for (unsigned i = 0; i < ROUNDS; i++) {
		for (unsigned j = 0; j < DEPTH; j++)
			recv_ok(&p.b, i * DEPTH + j, j * 1024, 1024);
		fill(source(), 900, i);
		for (unsigned j = 0; j < DEPTH; j++)
			POST(&p, .id = j, .opcode = IBV_WR_SEND, .len = 100 * j + 8, SIGNALED);
		for (unsigned j = 0; j < DEPTH; j++) {
			done(&p.a, j, IBV_WC_SEND);
			received(&p.b, i * DEPTH + j, 100 * j + 8);
			require(is_filled(inbox() + j * 1024, 100 * j + 8, i), "SEND %u", j);
		}
	}
	pair_drop(&p);
}

/* As many WRs as the capabilities promise are accepted, and all that were accepted complete. */
static void full_queue_refuses(void)
{
	enum { LIMIT = 400 };
	unsigned n = 0;
	struct pair p;
	int error = 0;

	PAIR(&p, .sends = 16, .inline_len = 1);
	while (n < LIMIT && !error) {
		error = TRY_POST(&p, .id = n, .opcode = IBV_WR_RDMA_WRITE, .len = 2000, SIGNALED);
		n += !error;
	}
	require(error, "%u WRs are accepted", n);
	require(n >= p.a.cap.max_send_wr, "%u WRs are accepted, %u are promised", n,
		p.a.cap.max_send_wr);
	fact("error", "%s", strerror(error));
	for (unsigned i = 0; i < n; i++)
		done(&p.a, i, IBV_WC_RDMA_WRITE);
	POST(&p, .id = 1000, .opcode = IBV_WR_RDMA_WRITE, .len = 8, SIGNALED);
	done(&p.a, 1000, IBV_WC_RDMA_WRITE);
	require(!count_wcs(&p.a, 5), "more completions than WRs");
	pair_drop(&p);
}

/* Without completions there is nothing that frees the queue; whether it is freed is a fact. */
static void unsignaled_requests_fill_the_queue(void)
{
	unsigned n = 0;
	struct pair p;
	int error = 0;

	PAIR(&p, .sends = 16, .inline_len = 1);
	for (; n < 400 && !error; n += !error) {
		error = TRY_POST(&p, .id = n, .opcode = IBV_WR_RDMA_WRITE, .len = 100);
		nap_us(100);
	}
	fact("error", "%s", strerror(error));
	require(n >= 16 && !count_wcs(&p.a, 5), "%u unsignaled WRs", n);
	pair_drop(&p);
}

static void full_receive_queue_refuses(void)
{
	unsigned n = 0;
	struct pair p;
	int error = 0;

	PAIR(&p, .recvs = 16);
	while (n < 400 && !error) {
		error = try_recv(&p.b, n, 0, 64);
		n += !error;
	}
	require(error && n >= p.b.cap.max_recv_wr, "%u receives are accepted", n);
	fact("error", "%s", strerror(error));
	fact("accepted", "%u", n);
	pair_drop(&p);
}

static void unsignaled_requests_are_silent(void)
{
	unsigned last = 0;
	struct pair p;

	PAIR(&p, .sends = 16);
	for (unsigned i = 0; i < 210; i++) {
		POST(&p, .id = i, .opcode = IBV_WR_RDMA_WRITE, .len = 64 + i,
		     .flags = i % 7 == 6 ? IBV_SEND_SIGNALED : 0);
		if (i % 7 == 6) {
			done(&p.a, i, IBV_WC_RDMA_WRITE);
			last = i;
		}
	}
	require(last == 209 && !count_wcs(&p.a, 5), "completions of unsignaled WRs");
	pair_drop(&p);
}

static void sq_sig_all_signals_all(void)
{
	struct pair p;

	PAIR(&p, .sig_all = true);
	for (unsigned i = 0; i < 30; i++)
		POST(&p, .id = i, .opcode = i % 3 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ,
		     .len = i * 300);
	for (unsigned i = 0; i < 30; i++)
		done(&p.a, i, i % 3 ? IBV_WC_RDMA_WRITE : IBV_WC_RDMA_READ);
	require(!count_wcs(&p.a, 5), "more completions than WRs");
	pair_drop(&p);
}

static void reads_beyond_rd_atomic_complete(void)
{
	struct pair p;

	PAIR(&p, .rd_atomic = 1);
	for (unsigned i = 0; i < 24; i++) {
		fill(target() + i * 4096, 4000, i);
		POST(&p, .id = i, .opcode = IBV_WR_RDMA_READ, .len = 4000, .to = i * 4096,
		     .at = i * 4096, SIGNALED);
	}
	for (unsigned i = 0; i < 24; i++) {
		done(&p.a, i, IBV_WC_RDMA_READ);
		require(is_filled(local() + i * 4096, 4000, i), "READ %u", i);
	}
	pair_drop(&p);
}

const struct check ring_checks[] = {
	{ "list", "a list of all opcodes completes in the order of posting",
	  list_completes_in_order },
	{ "list_bad", "bad_wr is the refused WR, and those before it are carried out",
	  bad_wr_is_the_refused_one },
	{ "list_full", "of a list beyond the queue the first part is accepted, up to bad_wr",
	  list_beyond_the_queue },
	{ "sges", "requests with every number of SGEs arrive", every_number_of_sges },
	{ "scatter", "a receive scatters to its SGEs in order", receive_scatters },
	{ "sq_wrap", "a send queue wraps many times with WQEs of several sizes", send_queue_wraps },
	{ "rq_wrap", "a receive queue wraps many times", receive_queue_wraps },
	{ "sq_full", "a full send queue refuses a WR, and all accepted WRs complete",
	  full_queue_refuses },
	{ "sq_full_unsignaled", "unsignaled WRs that fill the queue stay silent",
	  unsignaled_requests_fill_the_queue },
	{ "rq_full", "a full receive queue refuses a WR", full_receive_queue_refuses },
	{ "unsignaled", "WRs without IBV_SEND_SIGNALED have no completion",
	  unsignaled_requests_are_silent },
	{ "sq_sig_all", "each WR has a completion if sq_sig_all is set", sq_sig_all_signals_all },
	{ "rd_atomic", "more READs than max_rd_atomic complete", reads_beyond_rd_atomic_complete },
	{},
};
