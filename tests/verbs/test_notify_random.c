/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Property: a request gives an event for a later completion, whatever its completion queue's queue
 * pairs send, and whichever events were left unread before. The program requests once, and reads
 * events and polls until it has what it waits for.
 */
#include "rig.h"

#include <poll.h>

#include "../unit/seed.h"

enum { QPS = 6, ROUNDS = 200, NOISE = 1, FIRST = 100 };

struct set {
	struct rig r;
	struct ibv_qp *qps[QPS];
	bool extended;
};

static void set_open(struct set *s, bool extended, bool one_cq)
{
	struct ibv_cq_init_attr_ex attr = { .wc_flags = IBV_WC_STANDARD_FLAGS };

	s->extended = extended;
	rig_open(&s->r, (struct rig_conf){ .channel = true, .one_cq = one_cq, .max_send_wr = 64,
					   .max_recv_wr = 64, .cqe = 128,
					   .cq_ex = extended ? &attr : NULL });
	s->qps[0] = s->r.a;
	for (int i = 1; i < QPS; i++) {
		s->qps[i] = rig_qp(&s->r, s->r.scq, s->r.rcq);
		rig_to_rts(&s->r, s->qps[i], s->r.b->qp_num);
	}
}

static void set_close(struct set *s)
{
	s->r.a = s->qps[0];
	for (int i = 1; i < QPS; i++)
		assert_int_equal(ibv_destroy_qp(s->qps[i]), 0);
	rig_close(&s->r);
}

static void post(struct set *s, uint64_t id, enum ibv_wr_opcode opcode, unsigned flags)
{
	static const uint32_t lengths[] = { 64, 3000, 4096, 50000, 200000 };
	const bool send = opcode == IBV_WR_SEND;

	s->r.a = s->qps[send ? 0 : seed_below(QPS)];
	assert_int_equal(rig_post(&s->r, id, opcode, 0, lengths[send ? 0 : seed_below(5)],
				  flags), 0);
}

static void post_unsignalled(struct set *s, uint64_t most)
{
	for (uint64_t n = seed_below(most + 1); n; n--)
		post(s, NOISE, IBV_WR_RDMA_WRITE, 0);
}

/* Poll what there is; returns how many. *found: among them one that is no noise. */
static int poll_some(struct set *s, bool *found)
{
	struct ibv_cq_ex *ex = (struct ibv_cq_ex *)s->r.scq;
	struct ibv_poll_cq_attr attr = { 0 };
	struct ibv_wc wc[4];
	int n = 0;

	if (!s->extended) {
		n = ibv_poll_cq(s->r.scq, 4, wc);
		for (int i = 0; i < n; i++)
			*found |= wc[i].wr_id >= FIRST;
		return n;
	}
	if (ibv_start_poll(ex, &attr))
		return 0;
	do {
		n++;
		*found |= ex->wr_id >= FIRST;
	} while (!ibv_next_poll(ex));
	ibv_end_poll(ex);
	return n;
}

static void request(const struct set *s)
{
	assert_int_equal(ibv_req_notify_cq(s->r.scq, 0), 0);
}

/* Leaves events unread. */
static void make_noise(struct set *s)
{
	unsigned spins = 0;
	bool found = false;
	int left = 2;

	request(s);
	for (int i = 0; i < 2; i++)
		post(s, NOISE, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED);
	while (left) {
		left -= poll_some(s, &found);
		assert_true(rig_keep_waiting(&spins));
	}
}

static void take_event(const struct set *s)
{
	struct pollfd p = { .fd = s->r.channel->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *context;

	assert_int_equal(poll(&p, 1, -1), 1);
	assert_int_equal(ibv_get_cq_event(s->r.channel, &cq, &context), 0);
	assert_ptr_equal(cq, s->r.scq);
	ibv_ack_cq_events(cq, 1);
}

/* A WRITE, or a SEND whose receive counts as well, if it is in the same completion queue. */
static void wait_for_one(struct set *s, uint64_t id)
{
	const bool send = s->r.conf.one_cq && seed_below(2);
	unsigned spins = 0;
	bool found = false;
	int got = 0;

	if (send)
		assert_int_equal(rig_recv(&s->r, id, 0, 64), 0);
	request(s);
	post_unsignalled(s, 2);
	post(s, id, send ? IBV_WR_SEND : IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED);
	while (!found) {
		take_event(s);
		got += poll_some(s, &found);
	}
	while (got < 1 + send) {
		got += poll_some(s, &found);
		assert_true(rig_keep_waiting(&spins));
	}
}

static void a_request_gives_an_event_whatever_came_before(void **state)
{
	bool found = false;

	seed_start("requests");
	for (int kind = 0; kind < 4; kind++) {
		struct set s;

		set_open(&s, kind & 1, kind & 2);
		for (uint64_t id = FIRST; id < FIRST + ROUNDS; id++) {
			if (!seed_below(2))
				request(&s);
			if (!seed_below(3))
				make_noise(&s);
			post_unsignalled(&s, 2);
			while (poll_some(&s, &found))
				;
			wait_for_one(&s, id);
		}
		set_close(&s);
	}
}

int main(int argc, char **argv)
{
	static const struct rig_mode modes[] = {
		{ "bare-mlx5", { "RIG_BARE=1", "FAKERDMA_PROFILE=mlx5" } },
		{ "bare-rxe", { "RIG_BARE=1", "FAKERDMA_PROFILE=rxe" } },
		{ "mlx5", { "FAKERDMA_PROFILE=mlx5", "CCSHIM_CC=none" } },
		{ "rxe", { "FAKERDMA_PROFILE=rxe", "CCSHIM_CC=none" } },
		{ "mlx5-gated", { "FAKERDMA_PROFILE=mlx5", "CCSHIM_CC=none", "CCSHIM_SEGMENT=4k",
				  "CCSHIM_MAX_INFLIGHT=16k", "CCSHIM_BASE_RTT=20us" } },
		{ "rxe-gated", { "FAKERDMA_PROFILE=rxe", "CCSHIM_CC=none", "CCSHIM_SEGMENT=4k",
				 "CCSHIM_MAX_INFLIGHT=16k", "CCSHIM_BASE_RTT=20us" } },
		{ "observe", { "CCSHIM_MODE=observe", "FAKERDMA_PROFILE=rxe" } },
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_gives_an_event_whatever_came_before),
	};

	return rig_run_in(argc, argv, "notify_random", modes, sizeof(modes) / sizeof(*modes),
			  tests, 1);
}
