/* SPDX-License-Identifier: BSD-2-Clause */
/* A child of a process with controlled QPs (hazard 17): it is left alone, and so is the parent. */
#include "rig.h"

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

/* The child's own device: its completions arrive, natively. */
static int child_with_its_own_device(void)
{
	struct rig r;

	rig_open(&r, (struct rig_conf){ 0 });
	if (r.a->send_cq != r.scq)
		return 1;
	if (rig_post(&r, 3, IBV_WR_RDMA_WRITE, 0, 10 * K4, IBV_SEND_SIGNALED))
		return 2;
	rig_poll(r.scq, 1, wc);
	rig_close(&r);
	return wc->wr_id == 3 ? 0 : 3;
}

static void parent_and_child(void **state)
{
	struct rig r;
	pid_t pid;

	(void)state;
	rig_open(&r, (struct rig_conf){ 0 });
	for (unsigned i = 0; i < 10; i++) /* so that the helper thread exists and has work */
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

/* One that ends by exit() writes no report over the parent's and does not hang. */
static void a_child_that_only_exits(void **state)
{
	struct rig r;
	pid_t pid;

	(void)state;
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

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parent_and_child),
		cmocka_unit_test(a_child_that_only_exits),
	};

	(void)argc;
	rig_exec(argv, "CCSHIM_CC=none", "CCSHIM_SEGMENT=4k", "CCSHIM_CAP=4k",
		 "CCSHIM_BASE_RTT=20us", NULL);
	alarm(120);
	return cmocka_run_group_tests_name("fork", tests, NULL, NULL);
}
