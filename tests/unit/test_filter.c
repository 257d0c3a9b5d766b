/* SPDX-License-Identifier: BSD-2-Clause */
/* What an agent that has been taken over cannot do: each attempt is a process inside the filter. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

#include "tests/tools/forbidden_calls.h"
#include "tools/ccshimd/ccshimd.h"

enum { NO_FILTER = 201, ALLOWED = 202 };

/* Runs it in a process, inside the filter or not; its errno, ALLOWED, or NO_FILTER. */
static int inside(long (*attempt)(void), bool filtered)
{
	const pid_t child = fork();
	int status;

	if (!child) {
		const int error = filtered ? filter_system_calls(false) : 0;

		if (error)
			_exit(error == ENOTSUP ? NO_FILTER : error);
		errno = 0;
		_exit(attempt() < 0 ? errno : ALLOWED);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

TEST(what_an_agent_never_does_is_refused)
{
	for (unsigned i = 0; i < nforbidden_calls; i++) {
		const int result = inside(forbidden_calls[i].attempt, true);

		if (result == NO_FILTER)
			skip();
		if (result != EPERM)
			fail_msg("%s: %d", forbidden_calls[i].name, result);
	}
}

/* So that EPERM above is the filter's. */
TEST(without_a_filter_it_is_not_refused)
{
	for (unsigned i = 0; i < nforbidden_calls; i++)
		if (!forbidden_calls[i].privileged &&
		    inside(forbidden_calls[i].attempt, false) == EPERM)
			fail_msg("%s", forbidden_calls[i].name);
	unlink(FORBIDDEN_FILE);
}

static void *increment(void *arg)
{
	++*(int *)arg;
	return NULL;
}

static long do_an_agents_work(void)
{
	pthread_t thread;
	char byte;
	int n = 0, fd;

	if (pthread_create(&thread, NULL, increment, &n) || pthread_join(thread, NULL) || n != 1)
		return -1;
	fd = open("/proc/self/stat", O_RDONLY);
	if (fd < 0 || read(fd, &byte, 1) != 1 || close(fd))
		return -1;
	fd = memfd_create("ccshim-cap", MFD_CLOEXEC | MFD_ALLOW_SEALING); /* of a tenant */
	if (fd < 0 || write(fd, &byte, 1) != 1 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) || close(fd))
		return -1;
	fd = socket(AF_NETLINK, SOCK_RAW, 0);
	return fd < 0 || close(fd) || syscall(SYS_unshare, CLONE_FILES) ? -1 : 0;
}

TEST(what_an_agent_does_is_allowed)
{
	int result;

	result = inside(do_an_agents_work, true);
	if (result == NO_FILTER)
		skip();
	assert_int_equal(result, ALLOWED);
}
