/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests that a process whose first thread has called pthread_exit() ends with its last thread, with
 * the status and the exit handlers of exit(0), and not before.
 */
#include "rig.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STATUS = 7 };

static bool done;

/* The process ends with status 0 unless this changes it. */
static void at_exit(void)
{
	if (done)
		_exit(STATUS);
}

static void *work(void *arg)
{
	const struct timespec longer = { .tv_nsec = 200000000 }; /* than the threads stay unwatched */
	struct ibv_wc wc;
	struct rig r;

	(void)arg;
	rig_open(&r, (struct rig_conf){ 0 });
	for (unsigned i = 0; i < 5; i++) {
		nanosleep(&longer, NULL);
		if (rig_post(&r, i, IBV_WR_RDMA_WRITE, 0, 8192, IBV_SEND_SIGNALED))
			_exit(1);
		rig_poll(r.scq, 1, &wc);
	}
	done = true;
	if (setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 0 })) /* as a program that has used up all */
		_exit(1);
	return NULL;
}

static int leave_to_another_thread(void)
{
	pthread_t thread;

	if (atexit(at_exit) || pthread_create(&thread, NULL, work, NULL))
		return 1;
	pthread_exit(NULL);
}

/* A process of which only threads that block all signals are left ends by no signal but SIGKILL. */
static void ends(void **state)
{
	const struct rig_mode *mode = *state;
	const pid_t pid = fork();
	int status = 0;

	assert_true(pid >= 0);
	if (!pid) {
		execl("/proc/self/exe", "test_last_thread", mode->name, NULL);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), STATUS);
}

int main(int argc, char **argv)
{
	struct CMUnitTest tests[4];

#if defined(__SANITIZE_THREAD__)
	puts("1..0 # SKIP the sanitizer's own thread never ends"); /* with the shim or without */
	return 0;
#endif
	for (int i = 0; i < 4; i++) {
		const struct rig_mode *m = &rig_modes[i];

		tests[i] = (struct CMUnitTest){ .name = m->name, .test_func = ends,
						.initial_state = (void *)(uintptr_t)m };
		if (argc < 2 || strcmp(argv[1], m->name) != 0)
			continue;
		if (strcmp(m->settings[0], "RIG_BARE=1") == 0)
			setenv("RIG_BARE", "1", 1);
		rig_exec(argv, m->settings[0], m->settings[1], m->settings[2], m->settings[3], NULL);
		return leave_to_another_thread();
	}
	return cmocka_run_group_tests_name("the last thread ends the process", tests, NULL, NULL);
}
