/* SPDX-License-Identifier: BSD-2-Clause */
/* How often the shim looks at the clock: not for each WR of a flow that nothing holds back. */
#include "rig.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SMALL = 64, LARGE = 16384, WINDOW = 65536, WRS = 160 };
enum { AWAY_NS = 100000000, WATCH_NS = 1000000 };

static struct ibv_wc wc[1];
static _Thread_local unsigned looks; /* not of the helper thread */

static _Thread_local bool leaves;    /* this thread, at its next look, for AWAY_NS */
static atomic_bool away;             /* it has */
static _Atomic uint64_t skipped_ns;  /* by the helper's waits meanwhile, which take no time */
static unsigned turns;               /* of the helper meanwhile */

static struct timespec plus(struct timespec ts, uint64_t ns)
{
	ns += (uint64_t)ts.tv_nsec;
	return (struct timespec){ .tv_sec = ts.tv_sec + (time_t)(ns / 1000000000u),
				  .tv_nsec = (long)(ns % 1000000000u) };
}

static uint64_t ns_of(const struct timespec *ts)
{
	return (uint64_t)ts->tv_sec * 1000000000u + (uint64_t)ts->tv_nsec;
}

static void be_away(void)
{
	unsigned spins = 0;

	leaves = false;
	atomic_store(&away, true);
	while (atomic_load(&away) && rig_patience(&spins))
		;
}

/* The shim's calls come here, the device's and the test's too. */
__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *ts)
{
	Dl_info who;
	int rc;

	if (dladdr(__builtin_return_address(0), &who) && strstr(who.dli_fname, "libccshim")) {
		looks++;
		if (leaves)
			be_away();
	}
	rc = (int)syscall(SYS_clock_gettime, id, ts);
	*ts = plus(*ts, atomic_load(&skipped_ns));
	return rc;
}

/* Only the helper waits like that. */
__attribute__((visibility("default"))) int pthread_cond_clockwait(pthread_cond_t *cond,
								  pthread_mutex_t *mutex,
								  clockid_t id,
								  const struct timespec *until)
{
	int (*real)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
	struct timespec ts;

	clock_gettime(id, &ts);
	if (atomic_load(&away)) {
		turns++;
		if (ns_of(until) > ns_of(&ts))
			atomic_fetch_add(&skipped_ns, ns_of(until) - ns_of(&ts));
		atomic_store(&away, atomic_load(&skipped_ns) < AWAY_NS);
		return ETIMEDOUT;
	}
	*(void **)&real = dlsym(RTLD_NEXT, "pthread_cond_clockwait");
	ts = plus((struct timespec){ 0 }, ns_of(until) - atomic_load(&skipped_ns));
	return real(cond, mutex, id, &ts);
}

static unsigned looks_of(struct rig *r, unsigned n, uint32_t len)
{
	const unsigned before = looks;

	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(rig_post(r, i, IBV_WR_RDMA_WRITE, 0, len, IBV_SEND_SIGNALED), 0);
		fake_step(1);
		assert_int_equal(ibv_poll_cq(r->scq, 1, wc), 1);
		assert_int_equal(wc[0].wr_id, i);
	}
	return looks - before;
}

/* What ends slow start, and the shim's set-up. */
static void open_warm(struct rig *r)
{
	rig_open(r, (struct rig_conf){ 0 });
	fake_hold(true);
	looks_of(r, 4, LARGE);
}

/* One in thirty-two, when it is posted and when it has come. */
static void small_ones_go_without(void **state)
{
	struct rig r;

	(void)state;
	open_warm(&r);
	assert_int_equal(looks_of(&r, WRS, SMALL), 2 * WRS / 32);
	rig_close(&r);
}

static void large_ones_are_timed(void **state)
{
	struct rig r;

	(void)state;
	open_warm(&r);
	assert_in_range(looks_of(&r, WRS, LARGE), 2 * WRS, 4 * WRS);
	rig_close(&r);
}

static unsigned looks_of_empty_polls(struct rig *r)
{
	const unsigned before = looks;

	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(ibv_poll_cq(r->scq, 1, wc), 0);
	return looks - before;
}

/* They tell when a completion had not come yet: while one is timed. */
static void empty_polls_look_while_it_is_of_use(void **state)
{
	struct rig r;

	(void)state;
	open_warm(&r);
	assert_int_equal(looks_of_empty_polls(&r), 0);
	assert_int_equal(rig_post(&r, 1, IBV_WR_RDMA_WRITE, 0, SMALL, IBV_SEND_SIGNALED), 0);
	assert_int_equal(looks_of_empty_polls(&r), 0);
	assert_int_equal(rig_post(&r, 2, IBV_WR_RDMA_WRITE, 0, LARGE, IBV_SEND_SIGNALED), 0);
	assert_in_range(looks_of_empty_polls(&r), 100, 300);
	rig_poll_stepping(r.scq, 1, wc);
	rig_poll_stepping(r.scq, 1, wc);
	assert_int_equal(looks_of_empty_polls(&r), 0);
	assert_int_equal(rig_post(&r, 3, IBV_WR_RDMA_WRITE, 0, LARGE, IBV_SEND_SIGNALED), 0);
	assert_int_equal(ibv_destroy_qp(r.a), 0);
	r.a = NULL;
	while (ibv_poll_cq(r.scq, 1, wc) > 0)
		; /* what the device told of it until then */
	assert_int_equal(looks_of_empty_polls(&r), 0);
	rig_close(&r);
}

/*
 * Each poll once, also while a WR waits at a closed window and the helper is told of it,
 * and when a completion opens that for the next one.
 */
static void what_waits_costs_no_second_look(void **state)
{
	unsigned before;
	struct rig r;

	(void)state;
	open_warm(&r);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, WINDOW, IBV_SEND_SIGNALED), 0);
	assert_int_equal(fake_pending(), 1);
	assert_int_equal(looks_of_empty_polls(&r), 100);
	for (unsigned i = 0; i < 2; i++) {
		before = looks;
		fake_step(1);
		assert_int_equal(ibv_poll_cq(r.scq, 1, wc), 1);
		assert_int_equal(looks - before, 1);
		assert_int_equal(fake_pending(), 1);
	}
	rig_poll_stepping(r.scq, 1, wc);
	rig_close(&r);
}

/*
 * A thread that polls loses its CPU to the helper, with its CQ's lock: on one CPU that is
 * whom the helper keeps from going on, so it asks no sooner than it would if nobody polled.
 */
static void who_polls_is_not_asked_at_once_again(void **state)
{
	struct rig r;

	(void)state;
	open_warm(&r);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, WINDOW, IBV_SEND_SIGNALED), 0);
	leaves = true;
	assert_int_equal(ibv_poll_cq(r.scq, 1, wc), 0);
	assert_false(leaves);
	assert_false(atomic_load(&away));
	assert_in_range(turns, 1, 2 * AWAY_NS / WATCH_NS);
	for (unsigned i = 0; i < 3; i++)
		rig_poll_stepping(r.scq, 1, wc);
	rig_close(&r);
}

static unsigned looks_of_empty_sessions(struct ibv_cq_ex *cq)
{
	struct ibv_poll_cq_attr attr = { 0 };
	const unsigned before = looks;

	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(ibv_start_poll(cq, &attr), ENOENT);
	return looks - before;
}

/* Nor does one of an extended CQ: an empty session looks once, one with a completion twice. */
static void sessions_look_no_more_than_polls(void **state)
{
	struct ibv_cq_init_attr_ex attr = { .wc_flags = IBV_WC_STANDARD_FLAGS };
	struct ibv_poll_cq_attr none = { 0 };
	struct ibv_cq_ex *cq;
	unsigned before;
	struct rig r;

	(void)state;
	rig_open(&r, (struct rig_conf){ .cq_ex = &attr });
	fake_hold(true);
	looks_of(&r, 4, LARGE);
	cq = (struct ibv_cq_ex *)(void *)r.scq;
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, WINDOW, IBV_SEND_SIGNALED), 0);
	assert_int_equal(fake_pending(), 1);
	assert_int_equal(looks_of_empty_sessions(cq), 100);
	before = looks;
	fake_step(1);
	assert_int_equal(ibv_start_poll(cq, &none), 0);
	assert_int_equal(ibv_next_poll(cq), ENOENT);
	ibv_end_poll(cq);
	assert_in_range(looks - before, 1, 2); /* 1: the helper came first */
	for (unsigned i = 0; i < 2; i++)
		rig_poll_stepping(r.scq, 1, wc);
	rig_close(&r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_ones_go_without),
		cmocka_unit_test(large_ones_are_timed),
		cmocka_unit_test(empty_polls_look_while_it_is_of_use),
		cmocka_unit_test(what_waits_costs_no_second_look),
		cmocka_unit_test(who_polls_is_not_asked_at_once_again),
		cmocka_unit_test(sessions_look_no_more_than_polls),
	};

	(void)argc;
	/* No RTT can end the calm; no window closes. */
	rig_exec(argv, "CCSHIM_CC=none", "CCSHIM_BASE_RTT=1s", "CCSHIM_SEGMENT=64k",
		 "CCSHIM_CAP=64k", NULL);
	return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
