/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests what libccshim(7) says under LIMITS of controlled queue pairs, where no other test does:
 * the documented effects occur, only there, and no other effect does.
 */
#include "rig.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__)
#define THREADED true /* by the sanitizer, from the start */
#else
#define THREADED false
#endif

enum { K4 = 4096, WRS = 8 };

static bool enforces(void)
{
	return rig_is("open") || rig_is("paced");
}

/* The status of a child that calls this. */
static int in_child(int (*call)(void *arg), void *arg)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(call(arg));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* -- other name spaces -------------------------------------------------------------- */

static int enter_user_namespace(void)
{
	return unshare(CLONE_NEWUSER) ? errno : 0;
}

/* The thread's current namespace suffices: the kernel refuses it as well. */
static int enter_mount_namespace(void)
{
	const int fd = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);

	return setns(fd, CLONE_NEWNS) ? errno : 0;
}

struct entering {
	int (*enter)(void);
};

static int enter_before_verbs(void *arg)
{
	return ((struct entering *)arg)->enter();
}

static int enter_before_connecting(void *arg)
{
	ibv_close_device(rig_device());
	return ((struct entering *)arg)->enter();
}

static int enter_connected(void *arg)
{
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	return ((struct entering *)arg)->enter();
}

static void can_be_entered_until_connected(int (*enter)(void))
{
	struct entering e = { enter };

	if (THREADED || in_child(enter_before_verbs, &e)) /* the system forbids it */
		skip();
	assert_int_equal(in_child(enter_before_connecting, &e), 0);
	assert_int_equal(WEXITSTATUS(in_child(enter_connected, &e)), enforces() ? EINVAL : 0);
}

static void a_user_name_space_can_be_entered_until_a_qp_is_connected_in_mode_enforce(void **state)
{
	can_be_entered_until_connected(enter_user_namespace);
}

static void a_mount_name_space_can_be_entered_until_a_qp_is_connected_in_mode_enforce(void **state)
{
	can_be_entered_until_connected(enter_mount_namespace);
}

/* -- a process that ends without exit ---------------------------------------------- */

struct ending {
	unsigned char *memory;           /* that the parent sees */
	void (*end)(void);
};

static void end_by_underscore_exit(void)
{
	_exit(0);
}

static void end_by_quick_exit(void)
{
	quick_exit(0);
}

static void end_by_signal(void)
{
	raise(SIGTERM);
}

static void end_by_execve(void)
{
	char *argv[] = { "true", NULL };

	execvp(argv[0], argv);
}

/* Post writes of a byte each to the parent's memory, and end. */
static int post_and_end(void *arg)
{
	const struct ending *e = arg;
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	r.dst = e->memory;
	r.dmr = ibv_reg_mr(r.pd, e->memory, RIG_BUF,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	memset(r.src, 1, RIG_BUF);
	for (unsigned i = 0; i < WRS; i++)
		if (rig_post(&r, i, IBV_WR_RDMA_WRITE, i * K4, K4, IBV_SEND_SIGNALED))
			return 1;
	e->end();
	return 1;
}

static unsigned count_arrived(const unsigned char *memory)
{
	unsigned n = 0;

	while (n < WRS && memory[n * K4])
		n++;
	for (unsigned i = n; i < WRS; i++)
		assert_int_equal(memory[i * K4], 0); /* in order */
	return n;
}

static void only_waiting_requests_are_lost_without_exit(void **state)
{
	struct ending e = { .memory = mmap(NULL, RIG_BUF, PROT_READ | PROT_WRITE,
					   MAP_SHARED | MAP_ANONYMOUS, -1, 0) };
	void (*const ends[])(void) = { end_by_underscore_exit, end_by_quick_exit, end_by_signal,
				       end_by_execve };

	assert_true(e.memory != MAP_FAILED);
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		unsigned arrived;

		memset(e.memory, 0, RIG_BUF);
		e.end = ends[i];
		assert_int_not_equal(WEXITSTATUS(in_child(post_and_end, &e)), 1);
		arrived = count_arrived(e.memory);
		if (rig_is("paced"))
			assert_in_range(arrived, 1, WRS - 1);
		else
			assert_int_equal(arrived, WRS);
	}
	munmap(e.memory, RIG_BUF);
}

/* -- a batch that continues in another thread -------------------------------------- */

static atomic_bool modified;
static struct rig batch_rig;

static void *modify_to_rts(void *arg)
{
	assert_int_equal(rig_state(batch_rig.a, IBV_QPS_RTS), 0);
	atomic_store(&modified, true);
	return arg;
}

static void a_modify_by_a_thread_that_adds_nothing_waits_for_the_end_of_the_batch(void **state)
{
	struct ibv_qp_ex *ex;
	unsigned spins = 0;
	pthread_t thread;

	rig_open(&batch_rig, (struct rig_conf){ .ex = true });
	ex = ibv_qp_to_qp_ex(batch_rig.a);
	atomic_store(&modified, false);
	ibv_wr_start(ex);
	pthread_create(&thread, NULL, modify_to_rts, NULL);
	if (rig_is("bare")) {
		while (!atomic_load(&modified) && rig_keep_waiting(&spins))
			;
		assert_true(atomic_load(&modified));
	} else {
		rig_until_others_sleep();
		assert_false(atomic_load(&modified));
	}
	assert_int_equal(ibv_wr_complete(ex), 0);
	pthread_join(thread, NULL);
	assert_true(atomic_load(&modified));
	rig_close(&batch_rig);
}

/* -- the order of the data of a split WRITE ---------------------------------------- */

/* The device gets several, of consecutive bytes, and promises an order within each. */
static void a_split_write_is_a_sequence_of_segments(void **state)
{
	struct ibv_wc wc;
	uint64_t at = 0;
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	assert_int_equal(rig_post(&r, 1, IBV_WR_RDMA_WRITE, 0, 5 * K4, IBV_SEND_SIGNALED), 0);
	rig_poll(r.scq, 1, &wc);
	for (size_t i = 0; i < fake_seen_count(); i++) {
		assert_int_equal(fake_seen(i).remote_addr, (uintptr_t)r.dst + at);
		at += fake_seen(i).length;
	}
	assert_int_equal(at, 5 * K4);
	if (rig_is("paced"))
		assert_in_range(fake_seen_count(), 5, 6);
	else
		assert_int_equal(fake_seen_count(), 1);
	rig_close(&r);
}

/* -- a completion queue that is too small -------------------------------------------- */

static void sends_do_not_overrun_a_completion_queue(void **state)
{
	enum { CQE = 4, SENDS = 16 };
	struct ibv_wc wc[SENDS];
	struct rig r;

	if (rig_is("bare"))
		return; /* the device's does, which no rig survives */
	rig_open(&r, (struct rig_conf){ .max_send_wr = SENDS, .cqe = CQE });
	for (uint64_t i = 0; i < SENDS; i++)
		assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, 8, IBV_SEND_SIGNALED), 0);
	rig_poll(r.scq, SENDS, wc);
	for (uint64_t i = 0; i < SENDS; i++)
		assert_true(wc[i].wr_id == i && wc[i].status == IBV_WC_SUCCESS);
	rig_close(&r);
}

/* -- objects that the device has more of ---------------------------------------------- */

static void completion_queues_use_more_objects(void **state)
{
	struct fake_counts before, after;
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	struct rig r;

	rig_open(&r, (struct rig_conf){ .channel = true });
	cq = rig_cq(&r, 16);
	before = fake_counts();
	qp = rig_qp(&r, cq, cq);
	after = fake_counts();
	assert_int_equal(after.qps, before.qps + 1);
	assert_int_equal(after.cqs, before.cqs + !rig_is("bare"));
	for (int i = 0; i < 2; i++)
		assert_int_equal(ibv_req_notify_cq(cq, 0), 0);
	before = after;
	after = fake_counts();
	assert_int_equal(after.qps, before.qps + !rig_is("bare"));
	assert_int_equal(after.cqs, before.cqs + !rig_is("bare"));
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	rig_close(&r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_user_name_space_can_be_entered_until_a_qp_is_connected_in_mode_enforce),
		cmocka_unit_test(a_mount_name_space_can_be_entered_until_a_qp_is_connected_in_mode_enforce),
		cmocka_unit_test(only_waiting_requests_are_lost_without_exit),
		cmocka_unit_test(a_modify_by_a_thread_that_adds_nothing_waits_for_the_end_of_the_batch),
		cmocka_unit_test(a_split_write_is_a_sequence_of_segments),
		cmocka_unit_test(sends_do_not_overrun_a_completion_queue),
		cmocka_unit_test(completion_queues_use_more_objects),
	};

	const struct rig_mode modes[] = {
		rig_modes[0], rig_modes[1], rig_modes[2],
		/* A WR of 4 KB takes .3 s: the last WRs have not left when the process ends. */
		{ "paced", { "CCSHIM_CC=fixed:rate=100k", "CCSHIM_SEGMENT=4k" } },
	};

	return rig_run_in(argc, argv, "limits", modes, sizeof(modes) / sizeof(*modes), tests,
			  sizeof(tests) / sizeof(*tests));
}
