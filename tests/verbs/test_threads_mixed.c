/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Eight threads share CQs of each kind: they post by both interfaces, poll by both, request and
 * read events, resize, query, fail, reset and destroy, while another thread changes settings as
 * `ccshim set` does. Mainly for the thread sanitizer; no completion of a QP that lives is lost
 * without it either.
 */
#include "rig.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>

#include "../diff/mailbox.h"
#include "../unit/seed.h"

enum { THREADS = 8, ROUNDS = 40, LIST = 4, CQS = 3, CQE = 2048, AREA = 65536, RECEIVES = 8 };
#define RECEIVE (1ull << 31)             /* in a wr_id */

static struct rig rig;
static struct ibv_cq *cqs[CQS];          /* with a channel, extended, neither */
static struct ibv_cq_ex *extended;

struct worker {
	uint32_t number, random;
	unsigned life;                   /* of its QPs */
	struct ibv_qp *qp, *peer;
	struct ibv_cq *cq;
	uint32_t requested, receives;    /* completions of its sends and receives */
	bool wrong;
};

/* For each worker and life; any thread may poll them. */
static struct tally {
	atomic_uint sent, received;
	atomic_bool failing;             /* completions may be failures, and get lost */
} tallies[THREADS][ROUNDS];

static uint32_t next(struct worker *w)
{
	w->random = w->random * 1664525 + 1013904223;
	return w->random >> 8;
}

static bool count(uint64_t wr_id, enum ibv_wc_status status)
{
	const uint64_t number = wr_id >> 32, life = wr_id & ~RECEIVE & UINT32_MAX;
	struct tally *t;

	if (number >= THREADS || life >= ROUNDS)
		return false;
	t = &tallies[number][life];
	if (status)
		return atomic_load(&t->failing);
	atomic_fetch_add(wr_id & RECEIVE ? &t->received : &t->sent, 1);
	return true;
}

static bool poll_batch(void)
{
	struct ibv_poll_cq_attr attr = { 0 };
	bool ok = true;
	int n = 0;

	if (ibv_start_poll(extended, &attr))
		return true;
	do
		ok &= count(extended->wr_id, extended->status);
	while (++n < 5 && !ibv_next_poll(extended));
	ibv_end_poll(extended);
	return ok;
}

static bool poll_some(struct worker *w)
{
	struct ibv_cq *cq = next(w) % 4 ? w->cq : cqs[next(w) % CQS];
	const int n = 1 + (int)(next(w) % 16);
	struct ibv_wc wc[16];
	bool ok = true;
	int got;

	if (cq == cqs[1] && next(w) % 2)
		return poll_batch();
	got = ibv_poll_cq(cq, n, wc);
	for (int i = 0; i < got; i++)
		ok &= count(wc[i].wr_id, wc[i].status);
	return ok && got >= 0;
}

static void read_events(void)
{
	struct ibv_cq *cq;
	void *context;

	while (!ibv_get_cq_event(rig.channel, &cq, &context))
		ibv_ack_cq_events(cq, 1);
}

static uint64_t wr_id(const struct worker *w)
{
	return (uint64_t)w->number << 32 | w->life;
}

static int post_batch(struct worker *w)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(w->qp);

	ibv_wr_start(ex);
	ex->wr_id = wr_id(w);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(ex, rig.dmr->rkey, (uintptr_t)rig.dst + w->number * AREA);
	ibv_wr_set_sge(ex, rig.smr->lkey, (uintptr_t)rig.src + w->number * AREA,
		       1 + next(w) % AREA);
	return ibv_wr_complete(ex);
}

/* The last WR is signalled, and the first is a SEND if the peer has a receive for it. */
static int post_list(struct worker *w, bool send)
{
	const unsigned n = 1 + next(w) % LIST;
	struct ibv_send_wr wr[LIST], *bad;
	struct ibv_sge sge[LIST];
	int rc;

	for (unsigned i = 0; i < n; i++) {
		const enum ibv_wr_opcode opcode = send && !i ? IBV_WR_SEND
			: next(w) % 3 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ;

		wr[i] = rig_wr(&rig, &sge[i], wr_id(w), opcode, w->number * AREA,
			       8u << next(w) % (opcode == IBV_WR_SEND ? 9 : 13),
			       i + 1 < n ? 0 : IBV_SEND_SIGNALED);
		wr[i].next = i + 1 < n ? &wr[i + 1] : NULL;
	}
	rc = ibv_post_send(w->qp, wr, &bad);
	w->receives += send && (!rc || bad != wr);
	return rc;
}

static bool post_receives(struct worker *w)
{
	struct ibv_sge sge = { .addr = (uintptr_t)rig.dst + w->number * AREA, .length = AREA,
			       .lkey = rig.dmr->lkey };
	struct ibv_recv_wr wr = { .wr_id = wr_id(w) | RECEIVE, .sg_list = &sge,
				  .num_sge = 1 }, *bad;
	bool ok = true;

	for (unsigned i = 0; i < RECEIVES; i++)
		ok &= !ibv_post_recv(w->peer, &wr, &bad);
	return ok;
}

static bool create(struct worker *w)
{
	w->requested = w->receives = 0;
	w->qp = rig_qp(&rig, w->cq, w->cq);
	w->peer = rig_qp(&rig, w->cq, w->cq);
	if (!w->qp || !w->peer)
		return false;
	rig_to_rts(&rig, w->peer, w->qp->qp_num);
	rig_to_rts(&rig, w->qp, w->peer->qp_num);
	return post_receives(w);
}

static bool wait_for_all(struct worker *w)
{
	const struct tally *t = &tallies[w->number][w->life];
	unsigned spins = 0;
	bool ok = true;

	while (ok && (atomic_load(&t->sent) != w->requested ||
		      atomic_load(&t->received) != w->receives)) {
		ok = poll_some(w);
		read_events();
		if (!rig_keep_waiting(&spins))
			return false;
	}
	return ok;
}

static bool use(struct worker *w)
{
	const bool send = w->receives < RECEIVES && next(w) % 2, batch = next(w) % 3 == 0;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int rc;

	ibv_req_notify_cq(w->cq, next(w) % 4 == 0);
	if (batch)
		rc = post_batch(w);
	else
		rc = post_list(w, send);
	w->requested += !rc;
	if (next(w) % 8 == 0)
		ibv_resize_cq(cqs[0], (int)(CQE + next(w) % 64));
	if (next(w) % 8 == 0 && ibv_query_qp(w->qp, &attr, IBV_QP_STATE, &init))
		return false;
	read_events();
	return (!rc || rc == ENOMEM) && poll_some(w);
}

/* With or without outstanding WRs: the provider removes a QP's remaining completions. */
static bool end(struct worker *w)
{
	const uint32_t how = next(w) % 4;
	bool ok = how > 1 || wait_for_all(w);

	atomic_store(&tallies[w->number][w->life].failing, true);
	if (how == 1 || how == 2)
		ok &= !rig_state(w->qp, next(w) % 2 ? IBV_QPS_ERR : IBV_QPS_RESET);
	ok &= poll_some(w) && !ibv_destroy_qp(w->qp) && !ibv_destroy_qp(w->peer);
	return ok;
}

static void *work(void *arg)
{
	struct worker *w = arg;

	for (w->life = 0; w->life < ROUNDS && !w->wrong; w->life++) {
		w->wrong = !create(w);
		for (unsigned i = next(w) % 24; i && !w->wrong; i--)
			w->wrong = !use(w);
		w->wrong |= !end(w);
		w->cq = cqs[next(w) % CQS];
	}
	return NULL;
}

static void create_cqs(void)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = CQE, .wc_flags = IBV_WC_STANDARD_FLAGS };

	cqs[0] = ibv_create_cq(rig.ctx, CQE, NULL, rig.channel, 0);
	extended = ibv_create_cq_ex(rig.ctx, &attr);
	assert_non_null(extended);
	cqs[1] = ibv_cq_ex_to_cq(extended);
	cqs[2] = ibv_create_cq(rig.ctx, CQE, NULL, NULL, 0);
}

static atomic_bool ended;

/* Store one request at a time. A poll or the pacer thread applies it. */
static void *change_settings(void *arg)
{
	static const char *const texts[] = {
		"all\nmode=observe\n", "all\nmode=enforce\n", "new\nmode=off\n", "all\ncc=swift\n", "new\ncc=timely\n",
		"all\ncc=none\nmax_inflight=8k\n", "all\nsegment=64k\n", "all\nsegment=4k\nsplit=y\n", "all\nsplit=n\n",
		"all\nmode=enforce\nmax_rate=2g\n", "all\nmax_rate=inf\nbase_rtt=auto\n", "all\nbase_rtt=20us\n",
	};
	uint32_t random = *(uint32_t *)arg;
	unsigned applied = 0;

	for (; !atomic_load(&ended); applied += mailbox_answered()) {
		random = random * 1664525 + 1013904223;
		mailbox_put(texts[(random >> 8) % (sizeof(texts) / sizeof(*texts))]);
		while (!mailbox_answered() && !atomic_load(&ended))
			sched_yield();
	}
	printf("# %u requests\n", applied);
	return NULL;
}

static void threads_that_share_all_kinds_of_cqs_lose_no_completion(void **state)
{
	struct worker workers[THREADS] = { 0 };
	pthread_t thread[THREADS], settings;
	const bool controlled = !getenv("RIG_BARE");
	uint32_t random;

	rig_open(&rig, (struct rig_conf){ .channel = true, .ex = true, .max_send_wr = 64 });
	assert_int_equal(fcntl(rig.channel->fd, F_SETFL, O_NONBLOCK), 0);
	fake_link(20, 10e9);
	create_cqs();
	seed_start("threads");
	random = (uint32_t)seed_next();
	assert_int_equal(mailbox_open(), controlled);
	if (controlled)
		pthread_create(&settings, NULL, change_settings, &random);
	for (unsigned t = 0; t < THREADS; t++) {
		workers[t] = (struct worker){ .number = t, .random = (uint32_t)seed_next(),
					      .cq = cqs[t % CQS] };
		pthread_create(&thread[t], NULL, work, &workers[t]);
	}
	for (unsigned t = 0; t < THREADS; t++)
		pthread_join(thread[t], NULL);
	atomic_store(&ended, true);
	if (controlled)
		pthread_join(settings, NULL);
	for (unsigned t = 0; t < THREADS; t++)
		assert_false(workers[t].wrong);
	read_events();
	for (unsigned i = 0; i < CQS; i++)
		assert_int_equal(ibv_destroy_cq(cqs[i]), 0);
	rig_close(&rig);
}

int main(int argc, char **argv)
{
	static const struct rig_mode modes[] = {
		{ "bare", { "RIG_BARE=1" } },
		{ "mlx5", { "CCSHIM_CC=fixed:rate=5g", "CCSHIM_SEGMENT=4k", "CCSHIM_MAX_INFLIGHT=16k",
			    "CCSHIM_BASE_RTT=20us" } },
		{ "mlx5-timely", { "CCSHIM_CC=timely", "FAKERDMA_CLOCK=156250" } },
		{ "rxe", { "CCSHIM_CC=fixed:rate=5g", "CCSHIM_SEGMENT=4k", "CCSHIM_MAX_INFLIGHT=16k",
			   "CCSHIM_BASE_RTT=20us", "FAKERDMA_PROFILE=rxe" } },
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_that_share_all_kinds_of_cqs_lose_no_completion),
	};

	return rig_run_in(argc, argv, "threads and CQs", modes, sizeof(modes) / sizeof(*modes), tests,
			  sizeof(tests) / sizeof(*tests));
}
