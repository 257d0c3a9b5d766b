/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests threads on separate and on shared QPs and CQs, together with the pacer thread. Mainly
 * for the thread sanitizer; the counts also hold without it.
 */
#include "rig.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 8, ROUNDS = 150, K4 = 4096 };

static struct rig rig;
static atomic_uint completed;

static struct ibv_qp *new_qp(struct ibv_cq *cq)
{
	struct ibv_qp *qp = rig_qp(&rig, cq, rig.rcq);

	assert_non_null(qp);
	rig_to_rts(&rig, qp, rig.b->qp_num);
	return qp;
}

static int post(struct ibv_qp *qp, uint64_t wr_id, unsigned place)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = rig_wr(&rig, &sge, wr_id, IBV_WR_RDMA_WRITE, place * 4 * K4,
				       3 * K4, IBV_SEND_SIGNALED), *bad;

	return ibv_post_send(qp, &wr, &bad);
}

static void poll_some(struct ibv_cq *cq)
{
	struct ibv_wc wc[8];
	const int n = ibv_poll_cq(cq, 8, wc);

	for (int i = 0; i < n; i++)
		if (wc[i].status == IBV_WC_SUCCESS)
			atomic_fetch_add(&completed, 1);
}

/* Post until the WR is accepted, polling when the queue is full, then wait for all completions. */
static void work(struct ibv_qp *qp, struct ibv_cq *cq, unsigned place)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		unsigned spins = 0;

		while (post(qp, i, place)) {
			poll_some(cq);
			if (!rig_keep_waiting(&spins))
				return;
		}
		if (i % 7 == 0)
			poll_some(cq);
	}
}

struct job {
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	unsigned place;
};

static void *worker(void *arg)
{
	const struct job *j = arg;

	work(j->qp, j->cq, j->place);
	return NULL;
}

static void run_workers(struct job *jobs)
{
	pthread_t thread[THREADS];
	unsigned spins = 0;

	atomic_store(&completed, 0);
	for (unsigned t = 0; t < THREADS; t++)
		pthread_create(&thread[t], NULL, worker, &jobs[t]);
	for (unsigned t = 0; t < THREADS; t++)
		pthread_join(thread[t], NULL);
	while (atomic_load(&completed) < THREADS * ROUNDS && rig_keep_waiting(&spins))
		for (unsigned t = 0; t < THREADS; t++)
			poll_some(jobs[t].cq);
	assert_int_equal(atomic_load(&completed), THREADS * ROUNDS);
}

static void threads_with_separate_qps_and_cqs_complete(void **state)
{
	struct job jobs[THREADS];

	rig_open(&rig, (struct rig_conf){ 0 });
	fake_link(20, 10e9);
	for (unsigned t = 0; t < THREADS; t++) {
		jobs[t].cq = ibv_create_cq(rig.ctx, 64, NULL, NULL, 0);
		jobs[t].qp = new_qp(jobs[t].cq);
		jobs[t].place = t;
	}
	run_workers(jobs);
	for (unsigned t = 0; t < THREADS; t++) {
		assert_int_equal(ibv_destroy_qp(jobs[t].qp), 0);
		assert_int_equal(ibv_destroy_cq(jobs[t].cq), 0);
		assert_memory_equal(rig.src + t * 4 * K4, rig.dst + t * 4 * K4, 3 * K4);
	}
	rig_close(&rig);
}

static void threads_on_a_shared_cq_complete(void **state)
{
	struct job jobs[THREADS];

	rig_open(&rig, (struct rig_conf){ .cqe = 256 });
	fake_link(20, 10e9);
	for (unsigned t = 0; t < THREADS; t++)
		jobs[t] = (struct job){ new_qp(rig.scq), rig.scq, t };
	run_workers(jobs);
	for (unsigned t = 0; t < THREADS; t++)
		assert_int_equal(ibv_destroy_qp(jobs[t].qp), 0);
	rig_close(&rig);
}

static void threads_on_a_shared_qp_complete(void **state)
{
	struct job jobs[THREADS];

	rig_open(&rig, (struct rig_conf){ .cqe = 256 });
	for (unsigned t = 0; t < THREADS; t++)
		jobs[t] = (struct job){ rig.a, rig.scq, t };
	run_workers(jobs);
	rig_close(&rig);
}

/* QPs and CQs are created and destroyed while the pacer thread drives them. */
static void *churn(void *arg)
{
	const unsigned place = *(unsigned *)arg;

	for (unsigned i = 0; i < 40; i++) {
		struct ibv_cq *cq = ibv_create_cq(rig.ctx, 64, NULL, NULL, 0);
		struct ibv_qp *qp = new_qp(cq);

		for (unsigned k = 0; k < 8; k++)
			if (post(qp, k, place))
				return NULL;
		if (i % 3 == 0)
			rig_state(qp, IBV_QPS_ERR);
		if (i % 3 == 1)
			rig_state(qp, IBV_QPS_RESET);
		if (ibv_destroy_qp(qp) || ibv_destroy_cq(cq))
			return NULL;
	}
	return arg;
}

static void threads_create_and_destroy_qps_under_traffic(void **state)
{
	unsigned place[THREADS];
	pthread_t thread[THREADS];

	rig_open(&rig, (struct rig_conf){ 0 });
	fake_link(20, 10e9);
	for (unsigned t = 0; t < THREADS; t++) {
		place[t] = t;
		pthread_create(&thread[t], NULL, churn, &place[t]);
	}
	for (unsigned t = 0; t < THREADS; t++) {
		void *ok;

		pthread_join(thread[t], &ok);
		assert_non_null(ok);
	}
	rig_close(&rig);
}

/* Use the same CQs and create other QPs, as other threads do during a modify of one QP. */
static void *use_other_qps(void *arg)
{
	struct ibv_qp *other = arg, *another;
	struct ibv_wc wc = { 0 };
	unsigned spins = 0;

	if (post(other, 77, 0))
		return NULL;
	while (!ibv_poll_cq(rig.scq, 1, &wc) || wc.qp_num != other->qp_num)
		if (!rig_keep_waiting(&spins))
			return NULL;
	another = rig_qp(&rig, rig.scq, rig.rcq);
	if (!another || rig_state(other, IBV_QPS_RESET) || ibv_destroy_qp(another))
		return NULL;
	return wc.wr_id == 77 && wc.status == IBV_WC_SUCCESS ? arg : NULL;
}

static void use_other_qps_in_a_thread(void *arg)
{
	pthread_t thread;
	void *ok;

	pthread_create(&thread, NULL, use_other_qps, arg);
	pthread_join(thread, &ok);
	assert_non_null(ok);
}

/*
 * While the device slowly resets a QP, also one with ibv_wr_*, or moves it to RTS, only threads
 * that post to that QP wait.
 */
static void a_slow_modify_blocks_no_other_qp(void **state)
{
	const enum ibv_qp_state states[] = { IBV_QPS_RTS, IBV_QPS_ERR, IBV_QPS_RESET };

	rig_open(&rig, (struct rig_conf){ .ex = true });
	for (unsigned i = 0; i < 3; i++) {
		struct ibv_qp *other = new_qp(rig.scq);

		if (states[i] == IBV_QPS_RTS)
			assert_int_equal(rig_state(rig.a, IBV_QPS_SQD), 0);
		else
			assert_int_equal(post(rig.a, 1, 4), 0); /* some of it waits */
		fake_during_modify(use_other_qps_in_a_thread, other);
		assert_int_equal(rig_state(rig.a, states[i]), 0);
		assert_int_equal(ibv_destroy_qp(other), 0);
	}
	rig_close(&rig);
}

static void *post_forever(void *arg)
{
	atomic_uint *posts = arg;

	for (;;) {
		if (!post(rig.a, 1, 0))
			atomic_fetch_add(posts, 1);
		poll_some(rig.scq);
	}
	return NULL;
}

/* The call is a cancellation point with and without the shim, and must not leave a lock held. */
static void a_cancelled_thread_leaves_nothing_locked(void **state)
{
#ifdef __SANITIZE_ADDRESS__
	skip(); /* the sanitizer's poisoned stack stays so, and the thread would abort */
#endif
	for (unsigned round = 0; round < 20; round++) {
		atomic_uint posts = 0;
		unsigned spins = 0;
		pthread_t thread;
		struct ibv_wc wc;
		void *result;

		rig_open(&rig, (struct rig_conf){ 0 });
		pthread_create(&thread, NULL, post_forever, &posts);
		while (atomic_load(&posts) < 50)
			assert_true(rig_keep_waiting(&spins));
		pthread_cancel(thread);
		pthread_join(thread, &result);
		assert_ptr_equal(result, PTHREAD_CANCELED);
		for (spins = 0; post(rig.a, 2, 0); poll_some(rig.scq))
			assert_true(rig_keep_waiting(&spins));
		for (spins = 0; !ibv_poll_cq(rig.scq, 1, &wc) || wc.wr_id != 2;)
			assert_true(rig_keep_waiting(&spins));
		rig_close(&rig);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_with_separate_qps_and_cqs_complete),
		cmocka_unit_test(threads_on_a_shared_cq_complete),
		cmocka_unit_test(threads_on_a_shared_qp_complete),
		cmocka_unit_test(threads_create_and_destroy_qps_under_traffic),
		cmocka_unit_test(a_slow_modify_blocks_no_other_qp),
		cmocka_unit_test(a_cancelled_thread_leaves_nothing_locked),
	};

	(void)argc;
	rig_exec(argv, "CCSHIM_CC=fixed:rate=5g", "CCSHIM_SEGMENT=4k", "CCSHIM_MAX_INFLIGHT=16k",
		 "CCSHIM_BASE_RTT=20us", "FAKERDMA_VENDOR=0xffffff:0", NULL);
	return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
