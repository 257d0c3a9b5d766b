/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests what becomes of WRs that the gate holds back when their QP or the process ends. */
#include "rig.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { K4 = 4096, WRS = 8, SECOND = 1000000000, LAST_NAP = 30000 };

/* For ThreadSanitizer: a handler that calls exit(), as below, is unsafe, but programs have them. */
const char *__tsan_default_options(void);
__attribute__((visibility("default"))) const char *__tsan_default_options(void)
{
	return "report_signal_unsafe=0";
}

static _Thread_local int64_t clock_ns;   /* this thread's; 0: the real one */
static unsigned naps;                    /* that a signal has cut short after a microsecond */
static bool signals;
static atomic_uint posts;

__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *ts)
{
	if (!clock_ns)
		return (int)syscall(SYS_clock_gettime, id, ts);
	*ts = (struct timespec){ .tv_sec = clock_ns / SECOND, .tv_nsec = clock_ns % SECOND };
	return 0;
}

static int (*real_sem_clockwait)(sem_t *, clockid_t, const struct timespec *);

/* Not at the first call: the pacer thread and the thread that exits can make it at once. */
__attribute__((constructor)) static void find_sem_clockwait(void)
{
	*(void **)&real_sem_clockwait = dlsym(RTLD_NEXT, "sem_clockwait");
}

/* The naps of the thread that lingers. */
__attribute__((visibility("default")))
int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *end)
{
	if (!clock_ns)
		return real_sem_clockwait(sem, clock, end);
	if (!signals) {
		clock_ns = end->tv_sec * (int64_t)SECOND + end->tv_nsec;
		nanosleep(&(struct timespec){ .tv_nsec = 50000 }, NULL);
		errno = ETIMEDOUT;
		return -1;
	}
	clock_ns += 1000;
	if (++naps == LAST_NAP)
		fake_step(1000);
	errno = EINTR;
	return -1;
}

/* Stop this thread's clock `seconds` from now. */
static void move_clock(int seconds)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	clock_ns = (now.tv_sec + (int64_t)seconds) * SECOND + now.tv_nsec;
}

static void post_all(struct rig *r)
{
	fake_hold(true);
	for (unsigned i = 0; i < WRS; i++)
		assert_int_equal(rig_post(r, i, IBV_WR_RDMA_WRITE, i * K4, K4, IBV_SEND_SIGNALED), 0);
	assert_int_equal(fake_pending(), 1);
}

/* exit() without ibv_destroy_qp, from a process whose WRs have been held back for a while. */
static void exit_with_wrs_that_wait(unsigned char *shared)
{
	static struct rig r; /* not a leak */

	rig_open(&r, (struct rig_conf){ 0 });
	memcpy(shared + RIG_BUF, r.src, RIG_BUF);
	r.dst = shared;
	r.dmr = ibv_reg_mr(r.pd, shared, RIG_BUF, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	assert_non_null(r.dmr);
	post_all(&r);
	fake_hold(false);
	move_clock(5);
	exit(0);
}

static void *post_and_poll(void *arg)
{
	struct rig *r = arg;
	struct ibv_wc wc;

	for (unsigned i = 0;; i++) {
		rig_post(r, i, IBV_WR_RDMA_WRITE, 0, K4, IBV_SEND_SIGNALED);
		ibv_poll_cq(r->scq, 1, &wc);
		atomic_fetch_add(&posts, 1);
	}
	return NULL;
}

static void exit_while_threads_post(unsigned char *unused)
{
	static struct rig r;
	unsigned spins = 0;
	pthread_t thread;

	(void)unused;
	rig_open(&r, (struct rig_conf){ 0 });
	for (unsigned i = 0; i < 3; i++)
		pthread_create(&thread, NULL, post_and_poll, &r);
	while (atomic_load(&posts) < 1000 && rig_keep_waiting(&spins))
		;
	exit(0);
}

#ifndef __SANITIZE_ADDRESS__ /* its allocator also has locks */
static void exit_now(int sig)
{
	(void)sig;
	exit(0);
}

/* The signal may come while the thread has any lock of ours. */
static void exit_in_a_signal_handler(unsigned char *unused)
{
	const struct itimerval in_2_ms = { .it_value.tv_usec = 2000 };
	static struct rig r;

	(void)unused;
	setenv("CCSHIM_LINGER", "10ms", 1); /* it waits up to 10 ms for its lock */
	rig_open(&r, (struct rig_conf){ 0 });
	signal(SIGPROF, exit_now);
	setitimer(ITIMER_PROF, &in_2_ms, NULL);
	post_and_poll(&r);
}
#endif

/* The child is a new process: this process has not used verbs yet. */
static int exit_status(void (*function)(unsigned char *shared), unsigned char *shared)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0)
		function(shared);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void wrs_that_wait_at_exit_are_sent(void **state)
{
	unsigned char *shared = mmap(NULL, 2 * RIG_BUF, PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(shared, MAP_FAILED);
	assert_int_equal(exit_status(exit_with_wrs_that_wait, shared), 0);
	assert_memory_equal(shared, shared + RIG_BUF, WRS * K4);
	munmap(shared, 2 * RIG_BUF);
}

static void exit_waits_for_no_lock_of_a_thread(void **state)
{
	for (unsigned round = 0; round < 10; round++) {
		assert_int_equal(exit_status(exit_while_threads_post, NULL), 0);
#ifndef __SANITIZE_ADDRESS__
		assert_int_equal(exit_status(exit_in_a_signal_handler, NULL), 0);
#endif
	}
}

static void signals_do_not_shorten_the_wait_for_the_last_wrs(void **state)
{
	struct rig r;

	static const enum ibv_qp_state ends[] = { IBV_QPS_ERR, IBV_QPS_RESET };

	for (unsigned round = 0; round < 3; round++) {
		rig_open(&r, (struct rig_conf){ 0 });
		post_all(&r);
		naps = 0;
		signals = true;
		move_clock(1);
		if (round < 2) {
			assert_int_equal(rig_state(r.a, ends[round]), 0);
		} else {
			assert_int_equal(ibv_destroy_qp(r.a), 0);
			r.a = NULL;
		}
		clock_ns = 0;
		signals = false;
		assert_memory_equal(r.dst, r.src, WRS * K4);
		rig_close(&r);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrs_that_wait_at_exit_are_sent),
		cmocka_unit_test(exit_waits_for_no_lock_of_a_thread),
		cmocka_unit_test(signals_do_not_shorten_the_wait_for_the_last_wrs),
	};

	(void)argc;
	rig_exec(argv, "CCSHIM_CC=fixed:rate=1m", "CCSHIM_SEGMENT=4k", "CCSHIM_MAX_INFLIGHT=4k",
		 "CCSHIM_BASE_RTT=20us", "CCSHIM_LINGER=10s", NULL);
	return cmocka_run_group_tests_name("linger", tests, NULL, NULL);
}
