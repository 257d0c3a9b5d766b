/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests how often the shim reads the clock: less than once per WR for a flow that is not
 * limited.
 */
#include "rig.h"

#include <dlfcn.h>
#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SMALL = 64, LARGE = 16384, WINDOW = 65536, WRS = 256 };
enum { AWAY_NS = 100000000, WATCH_NS = 1000000 };

static struct ibv_wc wc[1];
static _Thread_local unsigned clock_reads; /* this thread's reads, not the pacer thread's */

static _Thread_local bool leaves;    /* sleep in this thread at its next clock read, for AWAY_NS */
static atomic_bool away;             /* that sleep has ended */
static _Atomic uint64_t skipped_ns;  /* waits of the pacer thread during it, which take no time */
static unsigned turns;               /* clock reads of the pacer thread during it */

static atomic_bool pacer_stays;      /* asleep, also when it is due: it does not poll */

static struct timespec add_ns(struct timespec ts, uint64_t ns)
{
	ns += (uint64_t)ts.tv_nsec;
	return (struct timespec){ .tv_sec = ts.tv_sec + (time_t)(ns / 1000000000u),
				  .tv_nsec = (long)(ns % 1000000000u) };
}

static uint64_t ns_of(const struct timespec *ts)
{
	return (uint64_t)ts->tv_sec * 1000000000u + (uint64_t)ts->tv_nsec;
}

static void sleep_for(void)
{
	unsigned spins = 0;

	leaves = false;
	atomic_store(&away, true);
	while (atomic_load(&away) && rig_keep_waiting(&spins))
		;
}

/* Receives the calls of the shim, the device and the test. */
__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *ts)
{
	Dl_info who;
	int rc;

	if (dladdr(__builtin_return_address(0), &who) && strstr(who.dli_fname, "libccshim")) {
		clock_reads++;
		if (leaves)
			sleep_for();
	}
	rc = (int)syscall(SYS_clock_gettime, id, ts);
	*ts = add_ns(*ts, atomic_load(&skipped_ns));
	return rc;
}

static int stay_asleep(int rc)
{
	const int error = errno;

	while (atomic_load(&pacer_stays))
		nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
	errno = error;
	return rc;
}

__attribute__((visibility("default"))) int sem_wait(sem_t *sem)
{
	int (*real)(sem_t *);

	*(void **)&real = dlsym(RTLD_NEXT, "sem_wait");
	return stay_asleep(real(sem));
}

/* Only the pacer thread waits with this function. */
__attribute__((visibility("default"))) int sem_clockwait(sem_t *sem, clockid_t id,
							 const struct timespec *until)
{
	int (*real)(sem_t *, clockid_t, const struct timespec *);
	struct timespec ts;

	clock_gettime(id, &ts);
	if (atomic_load(&away)) {
		turns++;
		if (ns_of(until) > ns_of(&ts))
			atomic_fetch_add(&skipped_ns, ns_of(until) - ns_of(&ts));
		atomic_store(&away, atomic_load(&skipped_ns) < AWAY_NS);
		errno = ETIMEDOUT;
		return -1;
	}
	*(void **)&real = dlsym(RTLD_NEXT, "sem_clockwait");
	ts = add_ns((struct timespec){ 0 }, ns_of(until) - atomic_load(&skipped_ns));
	return stay_asleep(real(sem, id, &ts));
}

static unsigned clock_reads_of(struct rig *r, unsigned n, uint32_t len)
{
	const unsigned before = clock_reads;

	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(rig_post(r, i, IBV_WR_RDMA_WRITE, 0, len, IBV_SEND_SIGNALED), 0);
		fake_step(1);
		assert_int_equal(ibv_poll_cq(r->scq, 1, wc), 1);
		assert_int_equal(wc[0].wr_id, i);
	}
	return clock_reads - before;
}

/* Send enough to complete slow start and the set-up of the shim. */
static void open_warm(struct rig *r)
{
	rig_open(r, (struct rig_conf){ 0 });
	fake_hold(true);
	clock_reads_of(r, 4, LARGE);
}

/* One WR in 128 reads the clock when it is posted and when it has completed. */
static void one_small_wr_in_128_is_timed(void **state)
{
	struct rig r;

	open_warm(&r);
	assert_int_equal(clock_reads_of(&r, WRS, SMALL), 2 * WRS / 128);
	rig_close(&r);
}

static void every_large_wr_is_timed(void **state)
{
	struct rig r;

	open_warm(&r);
	assert_in_range(clock_reads_of(&r, WRS, LARGE), 2 * WRS, 4 * WRS);
	rig_close(&r);
}

static unsigned clock_reads_of_empty_polls(struct rig *r)
{
	const unsigned before = clock_reads;

	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(ibv_poll_cq(r->scq, 1, wc), 0);
	return clock_reads - before;
}

/*
 * An empty poll limits when the next completion can have arrived, which matters only while a
 * segment is timed.
 */
static void empty_polls_read_the_clock_only_while_a_segment_is_timed(void **state)
{
	struct rig r;

	open_warm(&r);
	assert_int_equal(clock_reads_of_empty_polls(&r), 0);
	assert_int_equal(rig_post(&r, 1, IBV_WR_RDMA_WRITE, 0, SMALL, IBV_SEND_SIGNALED), 0);
	assert_int_equal(clock_reads_of_empty_polls(&r), 0);
	assert_int_equal(rig_post(&r, 2, IBV_WR_RDMA_WRITE, 0, LARGE, IBV_SEND_SIGNALED), 0);
	assert_in_range(clock_reads_of_empty_polls(&r), 100, 300);
	rig_poll_stepping(r.scq, 1, wc);
	rig_poll_stepping(r.scq, 1, wc);
	assert_int_equal(clock_reads_of_empty_polls(&r), 0);
	assert_int_equal(rig_post(&r, 3, IBV_WR_RDMA_WRITE, 0, LARGE, IBV_SEND_SIGNALED), 0);
	assert_int_equal(ibv_destroy_qp(r.a), 0);
	r.a = NULL;
	while (ibv_poll_cq(r.scq, 1, wc) > 0)
		; /* remove what the device has already completed */
	assert_int_equal(clock_reads_of_empty_polls(&r), 0);
	rig_close(&r);
}

/*
 * Each poll reads the clock once, also while a WR waits at a closed window with the pacer
 * notified, and when a completion opens the window for the next WR.
 */
static void a_poll_reads_the_clock_once_while_wrs_wait(void **state)
{
	unsigned before;
	struct rig r;

	open_warm(&r);
	atomic_store(&pacer_stays, true);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, WINDOW, IBV_SEND_SIGNALED), 0);
	assert_int_equal(fake_pending(), 1);
	assert_int_equal(clock_reads_of_empty_polls(&r), 100);
	for (unsigned i = 0; i < 2; i++) {
		before = clock_reads;
		fake_step(1);
		assert_int_equal(ibv_poll_cq(r.scq, 1, wc), 1);
		assert_int_equal(clock_reads - before, 1);
		assert_int_equal(fake_pending(), 1);
	}
	atomic_store(&pacer_stays, false);
	rig_poll_stepping(r.scq, 1, wc);
	rig_close(&r);
}

/*
 * The pacer thread preempts a polling thread that holds its CQ's lock. On one CPU a retry would
 * only keep that thread from running, so the pacer waits as long as if no thread polled.
 */
static void the_pacer_does_not_retry_a_contended_cq_at_once(void **state)
{
	struct rig r;

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

static unsigned clock_reads_of_empty_batches(struct ibv_cq_ex *cq)
{
	struct ibv_poll_cq_attr attr = { 0 };
	const unsigned before = clock_reads;

	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(ibv_start_poll(cq, &attr), ENOENT);
	return clock_reads - before;
}

/* An empty batch of an extended CQ reads the clock once, one with a completion twice. */
static void poll_batches_read_the_clock_no_more_than_polls(void **state)
{
	struct ibv_cq_init_attr_ex attr = { .wc_flags = IBV_WC_STANDARD_FLAGS };
	struct ibv_poll_cq_attr none = { 0 };
	struct ibv_cq_ex *cq;
	unsigned before;
	struct rig r;

	rig_open(&r, (struct rig_conf){ .cq_ex = &attr });
	fake_hold(true);
	clock_reads_of(&r, 4, LARGE);
	cq = (struct ibv_cq_ex *)(void *)r.scq;
	atomic_store(&pacer_stays, true);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, WINDOW, IBV_SEND_SIGNALED), 0);
	assert_int_equal(fake_pending(), 1);
	assert_int_equal(clock_reads_of_empty_batches(cq), 100);
	before = clock_reads;
	fake_step(1);
	assert_int_equal(ibv_start_poll(cq, &none), 0);
	assert_int_equal(ibv_next_poll(cq), ENOENT);
	ibv_end_poll(cq);
	assert_int_equal(clock_reads - before, 2);
	atomic_store(&pacer_stays, false);
	for (unsigned i = 0; i < 2; i++)
		rig_poll_stepping(r.scq, 1, wc);
	rig_close(&r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_small_wr_in_128_is_timed),
		cmocka_unit_test(every_large_wr_is_timed),
		cmocka_unit_test(empty_polls_read_the_clock_only_while_a_segment_is_timed),
		cmocka_unit_test(a_poll_reads_the_clock_once_while_wrs_wait),
		cmocka_unit_test(the_pacer_does_not_retry_a_contended_cq_at_once),
		cmocka_unit_test(poll_batches_read_the_clock_no_more_than_polls),
	};

	(void)argc;
	/* With these settings no RTT revokes the fast path and no window closes. */
	rig_exec(argv, "CCSHIM_CC=none", "CCSHIM_BASE_RTT=1s", "CCSHIM_SEGMENT=64k",
		 "CCSHIM_MAX_INFLIGHT=64k", NULL);
	return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
