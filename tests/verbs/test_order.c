/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests that a SEND's completion is reported before the response to it when one CQ serves both
 * directions, as on the bare device. Programs depend on this: a target considers a login
 * complete once the last response was sent, and rejects a command that it receives earlier.
 */
#include "rig.h"

enum { K4 = 4096, ROUNDS = 60, MOST = 16, REQUEST = 1, ANSWER = 2, ASKED = 100, ANSWERED = 200 };

static struct ibv_cq_init_attr_ex extended;
static bool batches;

/* Poll once, or one batch, for at most n completions, and store their wr_ids. */
static int poll_some(struct rig *r, int n, uint64_t *id)
{
	struct ibv_cq_ex *ex = (struct ibv_cq_ex *)(void *)r->scq;
	struct ibv_poll_cq_attr attr = { 0 };
	struct ibv_wc wc[MOST];
	int got = 0, rc;

	if (!batches) {
		got = ibv_poll_cq(r->scq, n, wc);
		for (int i = 0; i < got; i++) {
			assert_int_equal(wc[i].status, IBV_WC_SUCCESS);
			id[i] = wc[i].wr_id;
		}
		return got;
	}
	for (rc = ibv_start_poll(ex, &attr); !rc; rc = ibv_next_poll(ex)) {
		assert_int_equal(ex->status, IBV_WC_SUCCESS);
		id[got++] = ex->wr_id;
		if (got == n)
			break;
	}
	assert_true(!rc || rc == ENOENT);
	if (got)
		ibv_end_poll(ex);
	return got;
}

static void poll_all(struct rig *r, int n, int most, uint64_t *id)
{
	unsigned spins = 0;

	for (int got = 0; got < n && rig_keep_waiting(&spins);)
		got += poll_some(r, most < n - got ? most : n - got, id + got);
}

static int index_of(const uint64_t *id, int n, uint64_t wanted)
{
	for (int i = 0; i < n; i++)
		if (id[i] == wanted)
			return i;
	fail_msg("WR %d is not reported", (int)wanted);
	return -1;
}

static void carry_out(struct rig *r, struct ibv_qp *qp, uint64_t id, enum ibv_wr_opcode opcode,
		      uint32_t len)
{
	struct ibv_qp *const a = r->a;

	r->a = qp;
	assert_int_equal(rig_post(r, id, opcode, 0, len, IBV_SEND_SIGNALED), 0);
	r->a = a;
	fake_step(1);
}

static void send(struct rig *r, struct ibv_qp *qp, uint64_t id, uint32_t len)
{
	carry_out(r, qp, id, IBV_WR_SEND, len);
}

static void receive(struct rig *r, struct ibv_qp *qp, uint64_t id)
{
	struct ibv_qp *const b = r->b;

	r->b = qp;
	assert_int_equal(rig_recv(r, id, 0, K4), 0);
	r->b = b;
}

/* Try every kind of WR before the SEND; no completion is omitted or reported twice. */
static void answers_follow(struct ibv_cq_init_attr_ex *cq_ex, bool by_batches)
{
	struct rig r;

	batches = by_batches;
	rig_open(&r, (struct rig_conf){ .one_cq = true, .cq_ex = cq_ex });
	fake_hold(true);
	for (unsigned round = 0; round < ROUNDS; round++) {
		const int most = round % 3 ? (int)(round % 5) + 1 : MOST;
		uint64_t id[4] = { 0 };

		if (round & 4) {
			receive(&r, r.b, 7);
			send(&r, r.a, 8, 64);
			poll_all(&r, 2, 1 + (round & 1), id);
		}
		if (round & 2) {
			carry_out(&r, r.a, 8, IBV_WR_RDMA_WRITE, 64);
			poll_all(&r, 1, 1, id);
		}
		for (unsigned i = 0; round & 16 && i < 3; i++) /* so that receives are polled first */
			carry_out(&r, r.a, 8, IBV_WR_RDMA_WRITE, 64);
		poll_all(&r, round & 16 ? 3 : 0, 1, id);
		receive(&r, r.b, ASKED);
		receive(&r, r.a, ANSWERED);
		send(&r, r.a, REQUEST, round & 8 ? K4 : 64);
		send(&r, r.b, ANSWER, 64);
		poll_all(&r, 4, most, id);
		assert_true(index_of(id, 4, REQUEST) < index_of(id, 4, ANSWERED));
		index_of(id, 4, ASKED);
		index_of(id, 4, ANSWER);
		assert_int_equal(poll_some(&r, 1, id), 0);
	}
	rig_close(&r);
}

static void a_response_follows_its_send_in_polls(void **state)
{
	answers_follow(NULL, false);
}

static void a_response_follows_its_send_in_an_extended_cq(void **state)
{
	static const uint64_t fields[] = {
		0, IBV_WC_STANDARD_FLAGS, IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
	};

	for (int i = 0; i < (getenv("FAKERDMA_CLOCK") ? 6 : 4); i++) {
		extended.wc_flags = fields[i / 2];
		answers_follow(&extended, i & 1);
	}
}

/*
 * A thread that polls one completion at a time and posts one WR for each still gets its
 * receives.
 */
static void receives_are_reported_while_sends_continue(void **state)
{
	enum { BACKLOG = 32, SOON = 100 };
	struct rig r;

	batches = false;
	for (unsigned phase = 0; phase < 8; phase++) {
		unsigned polls = 0;
		uint64_t id = 0;

		rig_open(&r, (struct rig_conf){ .one_cq = true, .cqe = 256, .max_send_wr = 128 });
		for (unsigned i = 0; i < phase; i++)
			assert_int_equal(poll_some(&r, 1, &id), 0);
		for (unsigned i = 0; i < BACKLOG; i++)
			carry_out(&r, r.a, 8, IBV_WR_RDMA_WRITE, 64);
		receive(&r, r.b, ASKED);
		carry_out(&r, r.a, REQUEST, IBV_WR_SEND, 64);
		for (id = 0; id != ASKED; polls++) {
			poll_all(&r, 1, 1, &id);
			assert_true(polls < SOON);
			if (id != ASKED)
				carry_out(&r, r.a, 8, IBV_WR_RDMA_WRITE, 64);
		}
		rig_close(&r);
	}
}

/* With many of both, all receives and all sends are reported, each in their order. */
static void sends_and_receives_each_keep_their_order(void **state)
{
	struct rig r;

	for (int most = 1; most <= MOST; most += 3) {
		uint64_t id[64], sent = 0, got = 0;

		batches = most & 1;
		rig_open(&r, (struct rig_conf){ .one_cq = true, .cqe = 64, .max_send_wr = 32,
						.max_recv_wr = 32,
						.cq_ex = batches ? &extended : NULL });
		fake_hold(true);
		for (uint64_t i = 0; i < 30; i++) {
			receive(&r, r.b, 1000 + i);
			send(&r, r.a, i, 64);
		}
		poll_all(&r, 60, most, id);
		for (int i = 0; i < 60; i++)
			assert_int_equal(id[i], id[i] < 1000 ? sent++ : 1000 + got++);
		assert_true(sent == 30 && got == 30);
		rig_close(&r);
	}
}

/*
 * The work of a poll is in proportion to the completions it returns: it reads at most a batch
 * ahead.
 */
static void a_poll_for_one_completion_leaves_most_in_the_device(void **state)
{
	enum { N = 200, BATCH = 16 };
	struct rig r;
	struct ibv_cq *cq;

	for (int ex = 0; ex < 2; ex++) {
		uint64_t id[MOST];
		uint32_t before;

		batches = ex;
		rig_open(&r, (struct rig_conf){ .max_send_wr = N, .cqe = N,
						.cq_ex = ex ? &extended : NULL });
		cq = fake_send_cq(r.a);
		fake_hold(true);
		for (uint64_t i = 0; i < N; i++)
			assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, 8,
						  IBV_SEND_SIGNALED), 0);
		fake_step(N);
		before = fake_cqes(cq);
		assert_int_equal(poll_some(&r, 1, id), 1);
		assert_int_equal(id[0], 0);
		assert_true(before - fake_cqes(cq) <= BATCH);
		for (uint64_t i = 1; i < N; i++) {
			while (!poll_some(&r, 1, id))
				fake_step(1);
			assert_int_equal(id[0], i);
		}
		rig_close(&r);
	}
}

/* A CQ without a WQE in flight is soon not polled any more; the next WQE changes that at once. */
static void idle_polls_leave_the_devices_send_cq_alone(void **state)
{
	enum { LONG = 20000 };
	struct rig r;

	for (int ex = 0; ex < 2; ex++) {
		struct ibv_cq *cq;
		uint64_t id[MOST];
		unsigned before;

		batches = ex;
		rig_open(&r, (struct rig_conf){ .cq_ex = ex ? &extended : NULL });
		cq = fake_send_cq(r.a);
		for (uint64_t i = 0; i < 3; i++) {
			for (unsigned k = 0; k < LONG; k++)
				assert_int_equal(poll_some(&r, 1, id), 0);
			before = fake_polls(cq);
			for (unsigned k = 0; k < 100; k++)
				assert_int_equal(poll_some(&r, 1, id), 0);
			if (cq != r.scq)
				assert_int_equal(fake_polls(cq), before);
			fake_hold(true);
			assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, 8,
						  IBV_SEND_SIGNALED), 0);
			for (unsigned k = 0; k < LONG; k++)
				assert_int_equal(poll_some(&r, 1, id), 0);
			assert_true(fake_polls(cq) >= before + LONG);
			fake_step(1);
			assert_int_equal(poll_some(&r, 1, id), 1);
			assert_int_equal(id[0], i);
			fake_hold(false);
		}
		rig_close(&r);
	}
}

int main(int argc, char **argv)
{
	const struct rig_mode modes[] = {
		rig_modes[0], rig_modes[1], rig_modes[2], rig_modes[3],
		{ "clock", { "CCSHIM_CC=none", "CCSHIM_SEGMENT=4k", "CCSHIM_MAX_INFLIGHT=4k",
			     "CCSHIM_BASE_RTT=20us", "FAKERDMA_CLOCK=156250" } },
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_response_follows_its_send_in_polls),
		cmocka_unit_test(a_response_follows_its_send_in_an_extended_cq),
		cmocka_unit_test(receives_are_reported_while_sends_continue),
		cmocka_unit_test(sends_and_receives_each_keep_their_order),
		cmocka_unit_test(a_poll_for_one_completion_leaves_most_in_the_device),
		cmocka_unit_test(idle_polls_leave_the_devices_send_cq_alone),
	};

	return rig_run_in(argc, argv, "order", modes, sizeof(modes) / sizeof(*modes), tests,
			  sizeof(tests) / sizeof(*tests));
}
