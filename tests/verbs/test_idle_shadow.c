/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that a poll of a CQ with many QPs polls only the shadow CQs that may have completions. */
#include "rig.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

enum { SHADOWS = 3, MOST = 1200, POLLS = 8, BYTES = 64, RACES = 2000, RACES_S = 5 };

struct many {
	struct rig r;
	struct ibv_qp *first, *qp[MOST];
	unsigned qps;
	struct ibv_qp *of[SHADOWS];      /* a QP of each shadow CQ */
	struct ibv_cq *shadow[SHADOWS];
	unsigned shadows;
};

/* Create QPs until `shadows` shadow CQs exist. */
static void add_shadows(struct many *m, unsigned shadows)
{
	while (m->shadows < shadows) {
		struct ibv_qp *qp = m->shadows ? rig_qp(&m->r, m->r.scq, m->r.rcq) : m->r.a;

		assert_non_null(qp);
		if (m->shadows) {
			assert_true(m->qps < MOST);
			m->qp[m->qps++] = qp;
			rig_to_rts(&m->r, qp, m->r.b->qp_num);
		}
		if (m->shadows && fake_send_cq(qp) == m->shadow[m->shadows - 1])
			continue;
		m->of[m->shadows] = qp;
		m->shadow[m->shadows++] = fake_send_cq(qp);
	}
}

static void open_many(struct many *m, unsigned shadows)
{
	*m = (struct many){ .qps = 0 };
	rig_open(&m->r, (struct rig_conf){ .max_send_wr = 64, .cqe = 64 });
	m->first = m->r.a;
	add_shadows(m, shadows);
}

static void close_many(struct many *m)
{
	for (unsigned i = 0; i < m->qps; i++)
		if (m->qp[i])
			assert_int_equal(ibv_destroy_qp(m->qp[i]), 0);
	m->r.a = m->first;
	rig_close(&m->r);
}

/* Post a WR, and wait until the device has it: copa delays it after a pause of the host. */
static void post_to(struct many *m, unsigned shadow)
{
	const uint64_t before = fake_doorbells();

	m->r.a = m->of[shadow];
	assert_int_equal(rig_post(&m->r, shadow, IBV_WR_RDMA_WRITE, 0, BYTES, IBV_SEND_SIGNALED),
			 0);
	while (fake_doorbells() == before)
		usleep(10);
}

/* Among some empty polls, only polls of shadow CQ `busy` reach the device. */
static void polls_reach_only(struct many *m, unsigned busy)
{
	unsigned before[SHADOWS];
	struct ibv_wc wc;

	for (unsigned i = 0; i < m->shadows; i++)
		before[i] = fake_polls(m->shadow[i]);
	for (unsigned k = 0; k < POLLS; k++)
		assert_int_equal(ibv_poll_cq(m->r.scq, 1, &wc), 0);
	for (unsigned i = 0; i < m->shadows; i++) {
		if (i == busy)
			assert_true(fake_polls(m->shadow[i]) >= before[i] + POLLS);
		else
			assert_int_equal(fake_polls(m->shadow[i]), before[i]);
	}
}

static void complete_one(struct many *m, unsigned shadow)
{
	struct ibv_wc wc;

	fake_hold(false);
	rig_poll(m->r.scq, 1, &wc);
	assert_true(!wc.status && wc.wr_id == shadow);
}

static void polls_skip_shadow_cqs_without_wqes_in_flight(void **state)
{
	static struct many m;

	open_many(&m, SHADOWS);
	for (unsigned i = 0; i < SHADOWS; i++) {
		fake_hold(true);
		post_to(&m, i);
		polls_reach_only(&m, i);
		complete_one(&m, i);
		polls_reach_only(&m, SHADOWS);
	}
	close_many(&m);
}

static void completions_of_all_shadow_cqs_are_found(void **state)
{
	static struct many m;
	unsigned seen = 0;

	open_many(&m, SHADOWS);
	for (unsigned i = 0; i < SHADOWS; i++)
		post_to(&m, i);
	for (unsigned i = 0; i < SHADOWS; i++) {
		struct ibv_wc wc;

		rig_poll(m.r.scq, 1, &wc);
		assert_true(!wc.status && !(seen & 1u << wc.wr_id));
		seen |= 1u << wc.wr_id;
	}
	polls_reach_only(&m, SHADOWS);
	close_many(&m);
}

/* Most polls check the shadow CQ of the last completions first: make it this shadow CQ. */
static void use_alone(struct many *m, unsigned shadow, unsigned times)
{
	while (times--) {
		struct ibv_wc wc;

		post_to(m, shadow);
		rig_poll(m->r.scq, 1, &wc);
		assert_true(!wc.status && wc.wr_id == shadow);
	}
}

static void a_poll_returns_fewer_only_if_all_shadow_cqs_are_empty(void **state)
{
	static struct many m;
	struct ibv_wc wc[8];

	open_many(&m, SHADOWS);
	for (unsigned k = 0; k < 600; k++) {
		const unsigned posted = 1 + k % 2;

		use_alone(&m, k % SHADOWS, 1 + k % 5);
		for (unsigned i = 0; i < SHADOWS; i++)
			for (unsigned n = 0; n < (i == k % SHADOWS ? posted : 1); n++)
				post_to(&m, i);
		assert_int_equal(ibv_poll_cq(m.r.scq, 8, wc), SHADOWS + posted - 1);
	}
	close_many(&m);
}

static void a_busy_shadow_cq_delays_no_completion_of_another(void **state)
{
	static struct many m;

	open_many(&m, SHADOWS);
	for (unsigned k = 0; k < 300; k++) {
		unsigned polls = 0;
		struct ibv_wc wc = { .wr_id = 0 };

		use_alone(&m, 0, 1 + k % 5);
		post_to(&m, 1);
		for (; wc.wr_id != 1; polls++) {
			post_to(&m, 0);
			assert_int_equal(ibv_poll_cq(m.r.scq, 1, &wc), 1);
			assert_true(!wc.status && polls < POLLS);
		}
		rig_poll(m.r.scq, 1, &wc); /* all WRs of the busy shadow CQ were polled */
	}
	close_many(&m);
}

static void wqes_from_before_the_second_shadow_cq_are_not_missed(void **state)
{
	static struct many m;

	open_many(&m, 1);
	fake_hold(true);
	post_to(&m, 0);
	add_shadows(&m, SHADOWS);
	polls_reach_only(&m, 0);
	complete_one(&m, 0);
	polls_reach_only(&m, SHADOWS);
	close_many(&m);
}

static atomic_bool enough;

static void *post_and_poll(void *arg)
{
	struct many *m = arg;
	struct ibv_sge sge;
	struct ibv_send_wr wr = rig_wr(&m->r, &sge, 0, IBV_WR_RDMA_WRITE, 0, BYTES,
				       IBV_SEND_SIGNALED), *bad;

	while (!atomic_load(&enough)) {
		struct ibv_wc wc;

		assert_int_equal(ibv_post_send(m->first, &wr, &bad), 0);
		rig_poll(m->r.scq, 1, &wc);
		assert_int_equal(wc.status, 0);
	}
	return NULL;
}

/* No completion is missed when shadow CQs begin to be counted. */
static void a_thread_gets_its_completions_while_shadow_cqs_are_added(void **state)
{
	static struct many m;
	pthread_t thread;

	open_many(&m, 1);
	atomic_store(&enough, false);
	assert_int_equal(pthread_create(&thread, NULL, post_and_poll, &m), 0);
	add_shadows(&m, SHADOWS);
	atomic_store(&enough, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	polls_reach_only(&m, SHADOWS);
	close_many(&m);
}

static atomic_uint polled;

static void *post_after_each_poll(void *arg)
{
	struct many *m = arg;

	for (unsigned i = 0;; i++) {
		struct ibv_sge sge;
		struct ibv_send_wr wr = rig_wr(&m->r, &sge, i, IBV_WR_RDMA_WRITE, 0, BYTES,
					       IBV_SEND_SIGNALED), *bad;

		while (atomic_load(&polled) < i)
			sched_yield();
		if (atomic_load(&enough))
			return NULL;
		assert_int_equal(ibv_post_send(m->of[i % m->shadows], &wr, &bad), 0);
	}
}

/* At most this number, limited by time: on a busy machine threads take long to alternate. */
static bool is_last_race(unsigned i, time_t since)
{
	return i + 1 == RACES || time(NULL) - since > RACES_S;
}

/* A thread polls all the time: a WQE may be posted while it finds no WQE in flight. */
static void polls_of_an_idle_cq_find_what_another_thread_posts(void **state)
{
	static struct many m;

	for (unsigned shadows = 1; shadows <= SHADOWS; shadows += SHADOWS - 1) {
		const time_t since = time(NULL);
		pthread_t thread;

		open_many(&m, shadows);
		atomic_store(&polled, 0);
		atomic_store(&enough, false);
		assert_int_equal(pthread_create(&thread, NULL, post_after_each_poll, &m), 0);
		for (unsigned i = 0; !atomic_load(&enough); i++) {
			struct ibv_wc wc;

			rig_poll(m.r.scq, 1, &wc);
			assert_true(!wc.status && wc.wr_id == i);
			atomic_store(&enough, is_last_race(i, since));
			atomic_store(&polled, i + 1);
		}
		assert_int_equal(pthread_join(thread, NULL), 0);
		close_many(&m);
	}
}

static void wqes_of_an_ended_qp_do_not_count(void **state)
{
	static struct many m;
	struct ibv_wc wc;

	open_many(&m, SHADOWS);
	fake_hold(true);
	post_to(&m, 0);
	assert_int_equal(rig_state(m.of[0], IBV_QPS_RESET), 0);
	polls_reach_only(&m, SHADOWS);
	post_to(&m, 1);
	assert_int_equal(rig_state(m.of[1], IBV_QPS_ERR), 0);
	fake_hold(false);
	rig_poll(m.r.scq, 1, &wc);
	assert_true(wc.status == IBV_WC_WR_FLUSH_ERR && wc.wr_id == 1);
	fake_hold(true);
	post_to(&m, 2);
	for (unsigned i = 0; i < m.qps; i++)
		if (m.qp[i] == m.of[2])
			m.qp[i] = NULL;
	assert_int_equal(ibv_destroy_qp(m.of[2]), 0);
	if (rig_is("rxe")) /* it flushes, and keeps what is flushed */
		rig_poll(m.r.scq, 1, &wc);
	polls_reach_only(&m, SHADOWS);
	fake_hold(false);
	close_many(&m);
}

int main(int argc, char **argv)
{
	static const struct rig_mode modes[] = {
		{ "observe", { "CCSHIM_MODE=observe" } },
		{ "open", { "CCSHIM_CC=none", "CCSHIM_SEGMENT=1m", "CCSHIM_MAX_INFLIGHT=16m" } },
		{ "copa", { "CCSHIM_CC=copa" } },
		{ "rxe", { "CCSHIM_CC=none", "FAKERDMA_PROFILE=rxe" } },
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(polls_skip_shadow_cqs_without_wqes_in_flight),
		cmocka_unit_test(completions_of_all_shadow_cqs_are_found),
		cmocka_unit_test(a_poll_returns_fewer_only_if_all_shadow_cqs_are_empty),
		cmocka_unit_test(a_busy_shadow_cq_delays_no_completion_of_another),
		cmocka_unit_test(wqes_from_before_the_second_shadow_cq_are_not_missed),
		cmocka_unit_test(a_thread_gets_its_completions_while_shadow_cqs_are_added),
		cmocka_unit_test(polls_of_an_idle_cq_find_what_another_thread_posts),
		cmocka_unit_test(wqes_of_an_ended_qp_do_not_count),
	};

	return rig_run_in(argc, argv, "idle_shadow", modes, sizeof(modes) / sizeof(*modes), tests,
			  sizeof(tests) / sizeof(*tests));
}
