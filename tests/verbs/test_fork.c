/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests fork in a process with controlled QPs (hazard 17): parent and child work as without the
 * shim.
 */
#include "rig.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define K4 4096u

static struct ibv_wc wc[64];

static int wait_for(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The child opens the device again, and its completions arrive natively. */
static int child_with_its_own_device(void)
{
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	if (fake_send_cq(r.a) != r.scq)
		return 1;
	if (rig_post(&r, 3, IBV_WR_RDMA_WRITE, 0, 10 * K4, IBV_SEND_SIGNALED))
		return 2;
	rig_poll(r.scq, 1, wc);
	rig_close(&r);
	return wc->wr_id == 3 ? 0 : 3;
}

/* The child sees the parent's current completion, ends the batch, and sees one of its own in another. */
static int child_in_a_batch(struct rig *r, struct ibv_cq_ex *ex)
{
	struct ibv_poll_cq_attr attr = { 0 };

	if (ex->wr_id != 3 || ibv_wc_read_opcode(ex) != IBV_WC_RDMA_WRITE)
		return 1;
	if (ibv_next_poll(ex) != ENOENT)
		return 2;
	ibv_end_poll(ex);
	if (rig_recv(r, 5, 0, 64) || rig_post(r, 4, IBV_WR_SEND, 0, 64, 0))
		return 3;
	fake_step(1);
	if (ibv_start_poll(ex, &attr) || ex->wr_id != 5)
		return 4;
	return ibv_wc_read_opcode(ex) == IBV_WC_RECV ? 0 : 5;
}

static void a_child_can_end_a_batch_that_its_parent_began(void **state)
{
	struct ibv_cq_init_attr_ex extended = { 0 };
	struct ibv_poll_cq_attr attr = { 0 };
	struct ibv_cq_ex *ex;
	struct rig r;
	pid_t pid;

	rig_open(&r, (struct rig_conf){ .one_cq = true, .cq_ex = &extended });
	fake_hold(true);
	ex = (struct ibv_cq_ex *)(void *)r.scq;
	assert_int_equal(rig_post(&r, 3, IBV_WR_RDMA_WRITE, 0, 64, IBV_SEND_SIGNALED), 0);
	fake_step(1);
	assert_int_equal(ibv_start_poll(ex, &attr), 0);
	pid = fork();
	if (pid == 0)
		_exit(child_in_a_batch(&r, ex));
	assert_int_equal(wait_for(pid), 0);
	assert_int_equal(ibv_next_poll(ex), ENOENT);
	ibv_end_poll(ex);
	fake_hold(false);
	rig_close(&r);
}

static void a_child_can_open_its_own_device(void **state)
{
	struct rig r;
	pid_t pid;

	rig_open(&r, (struct rig_conf){ 0 });
	for (unsigned i = 0; i < 10; i++) /* start the pacer thread and give it work */
		assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, 10 * K4,
					  IBV_SEND_SIGNALED), 0);
	pid = fork();
	if (pid == 0)
		_exit(child_with_its_own_device());
	assert_int_equal(wait_for(pid), 0);
	rig_poll(r.scq, 10, wc);
	assert_int_equal(wc[9].wr_id, 9);
	rig_close(&r);
}

/* The pacer thread stays in the parent: waiting WRs go out while the parent sleeps. */
static void a_fork_does_not_stop_the_parents_waiting_wrs(void **state)
{
	struct ibv_cq *cq;
	void *context;
	struct rig r;
	pid_t pid;

	rig_open(&r, (struct rig_conf){ .channel = true });
	assert_int_equal(ibv_req_notify_cq(r.scq, 0), 0);
	fake_hold(true);
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(rig_post(&r, i, IBV_WR_RDMA_WRITE, i * 10 * K4, 10 * K4,
					  i == 9 ? IBV_SEND_SIGNALED : 0), 0);
	assert_int_equal(fake_pending(), 1); /* the other segments wait */
	pid = fork();
	if (pid == 0)
		_exit(ibv_poll_cq(r.scq, 1, wc)); /* the child only polls */
	assert_int_equal(wait_for(pid), 0);
	fake_hold(false);
	while (!ibv_poll_cq(r.scq, 1, wc)) {
		assert_int_equal(ibv_get_cq_event(r.channel, &cq, &context), 0);
		ibv_ack_cq_events(cq, 1);
		assert_int_equal(ibv_req_notify_cq(r.scq, 0), 0);
	}
	assert_true(wc->wr_id == 9 && wc->status == IBV_WC_SUCCESS);
	assert_memory_equal(r.src, r.dst, 100 * K4);
	rig_close(&r);
}

/* A child that ends by exit() does not overwrite the parent's report and does not hang. */
static void a_child_that_exits_does_not_disturb_its_parent(void **state)
{
	struct rig r;
	pid_t pid;

	rig_open(&r, (struct rig_conf){ 0 });
	rig_post(&r, 1, IBV_WR_RDMA_WRITE, 0, 100 * K4, IBV_SEND_SIGNALED);
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		exit(0);
	assert_int_equal(wait_for(pid), 0);
	rig_poll(r.scq, 1, wc);
	rig_close(&r);
}

/* Whether this process maps its statistics file, whose name is its PID, under that name. */
static bool has_statistics_file(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512], end[32];
	bool has = false;

	assert_non_null(maps);
	snprintf(end, sizeof(end), "/%ld\n", (long)getpid());
	while (fgets(line, sizeof(line), maps))
		has = has || strstr(line, end);
	fclose(maps);
	return has;
}

/* As _Fork(), which runs no fork handlers. */
static void a_child_without_fork_handlers_keeps_its_parents_statistics(void **state)
{
	struct rig r;
	pid_t pid;

	rig_open(&r, (struct rig_conf){ 0 });
	assert_true(has_statistics_file());
	fflush(NULL);
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid == 0)
		exit(0);
	assert_int_equal(wait_for(pid), 0);
	assert_true(has_statistics_file());
	rig_close(&r);
}

/* A posting thread is stopped while it reads the WR, which lies in a page without read access. */
static struct ibv_sge *unreadable;
static atomic_int stopped, go_on;

static void stop(int sig)
{
	(void)sig;
	atomic_store(&stopped, 1);
	while (!atomic_load(&go_on))
		sched_yield();
}

static void *post_unreadable(void *arg)
{
	struct rig *r = arg;
	struct ibv_sge unused;
	struct ibv_send_wr *bad, wr = rig_wr(r, &unused, 1, IBV_WR_RDMA_WRITE, 0, 8,
					     IBV_SEND_SIGNALED);

	wr.sg_list = unreadable;
	return ibv_post_send(r->a, &wr, &bad) ? arg : NULL;
}

static void begin_to_post(struct rig *r, pthread_t *thread)
{
	const struct sigaction action = { .sa_handler = stop };

	unreadable = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(unreadable, MAP_FAILED);
	rig_wr(r, unreadable, 1, IBV_WR_RDMA_WRITE, 0, 8, 0);
	assert_int_equal(mprotect(unreadable, 4096, PROT_NONE), 0);
	assert_int_equal(sigaction(SIGSEGV, &action, NULL), 0);
	assert_int_equal(pthread_create(thread, NULL, post_unreadable, r), 0);
	while (!atomic_load(&stopped))
		sched_yield();
}

static void end_to_post(pthread_t thread)
{
	void *failed;

	signal(SIGSEGV, SIG_DFL);
	assert_int_equal(mprotect(unreadable, 4096, PROT_READ), 0);
	atomic_store(&go_on, 1);
	assert_int_equal(pthread_join(thread, &failed), 0);
	assert_null(failed);
	munmap(unreadable, 4096);
}

/*
 * The child destroys objects, as destructors do at exit, while threads of the parent were
 * inside verbs.
 */
static int child_that_cleans_up(struct rig *r)
{
	if (rig_state(r->a, IBV_QPS_ERR) || rig_state(r->a, IBV_QPS_RESET))
		return 1;
	if (ibv_destroy_qp(r->a) || ibv_destroy_qp(r->b))
		return 2;
	return ibv_destroy_cq(r->scq) || ibv_destroy_cq(r->rcq) ? 3 : 0;
}

static void a_child_can_destroy_inherited_objects(void **state)
{
	pthread_t thread;
	struct rig r;
	pid_t pid;

	rig_open(&r, (struct rig_conf){ 0 });
	begin_to_post(&r, &thread);
	pid = fork();
	if (pid == 0)
		_exit(child_that_cleans_up(&r));
	assert_int_equal(wait_for(pid), 0);
	end_to_post(thread);
	rig_poll(r.scq, 1, wc);
	rig_close(&r);
}

/* As a child that waits for events on behalf of its parent. */
static void a_child_gets_events_of_the_parents_cq(void **state)
{
	struct ibv_cq *cq;
	void *context;
	struct rig r;
	pid_t pid;

	rig_open(&r, (struct rig_conf){ .channel = true });
	assert_int_equal(ibv_req_notify_cq(r.scq, 0), 0);
	assert_int_equal(rig_post(&r, 1, IBV_WR_RDMA_WRITE, 0, K4, IBV_SEND_SIGNALED), 0);
	pid = fork();
	if (pid == 0) {
		if (ibv_get_cq_event(r.channel, &cq, &context))
			_exit(1);
		ibv_ack_cq_events(cq, 1);
		_exit(cq == r.scq && context == &r ? 0 : 2);
	}
	assert_int_equal(wait_for(pid), 0);
	rig_poll(r.scq, 1, wc);
	rig_close(&r);
}

static void a_child_queries_what_its_parent_does(void **state)
{
	struct ibv_qp_attr attr = { 0 }, here = { 0 };
	struct ibv_qp_init_attr init, there;
	struct rig r;
	pid_t pid;

	rig_open(&r, (struct rig_conf){ 0 });
	assert_int_equal(ibv_query_qp(r.a, &attr, IBV_QP_CAP | IBV_QP_AV, &init), 0);
	pid = fork();
	if (pid == 0) {
		if (ibv_query_qp(r.a, &here, IBV_QP_CAP | IBV_QP_AV, &there))
			_exit(1);
		_exit(memcmp(&here.cap, &attr.cap, sizeof(attr.cap)) ? 2 :
		      memcmp(&there.cap, &init.cap, sizeof(init.cap)) ? 3 :
		      there.send_cq != r.scq ? 4 :
		      here.ah_attr.grh.traffic_class != attr.ah_attr.grh.traffic_class ? 5 : 0);
	}
	assert_int_equal(wait_for(pid), 0);
	rig_close(&r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_can_open_its_own_device),
		cmocka_unit_test(a_child_can_end_a_batch_that_its_parent_began),
		cmocka_unit_test(a_fork_does_not_stop_the_parents_waiting_wrs),
		cmocka_unit_test(a_child_that_exits_does_not_disturb_its_parent),
		cmocka_unit_test(a_child_without_fork_handlers_keeps_its_parents_statistics),
		cmocka_unit_test(a_child_can_destroy_inherited_objects),
		cmocka_unit_test(a_child_gets_events_of_the_parents_cq),
		cmocka_unit_test(a_child_queries_what_its_parent_does),
	};

	(void)argc;
	rig_exec(argv, "CCSHIM_CC=none", "CCSHIM_SEGMENT=4k", "CCSHIM_MAX_INFLIGHT=4k",
		 "CCSHIM_BASE_RTT=20us", NULL);
	return cmocka_run_group_tests_name("fork", tests, NULL, NULL);
}
