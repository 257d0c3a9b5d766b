/* SPDX-License-Identifier: BSD-2-Clause */
/* What an agent that has been taken over cannot do: each attempt is a process inside the filter. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tools/ccshimd/filter.h"

enum { NO_FILTER = 201, ALLOWED = 202 };

/* Runs it inside the filter; its errno, ALLOWED, or NO_FILTER. */
static int inside(long (*attempt)(void))
{
	const pid_t child = fork();
	int status;

	if (!child) {
		const int error = filter_system_calls(false);

		if (error)
			_exit(error == ENOTSUP ? NO_FILTER : error);
		errno = 0;
		_exit(attempt() < 0 ? errno : ALLOWED);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static long run_program(void) { return execl("/bin/true", "true", NULL); }
static long run_descriptor(void) { return syscall(SYS_execveat, -1, "/bin/true", NULL, NULL, 0); }
static long make_process(void) { return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); }
static long trace_parent(void) { return ptrace(PTRACE_ATTACH, getppid(), NULL, NULL); }
static long open_to_write(void) { return open("/dev/null", O_WRONLY); }
static long create_file(void) { return open("/tmp/test_filter.none", O_RDONLY | O_CREAT, 0600); }
static long remove_file(void) { return unlink("/tmp/test_filter.none"); }
static long end_parent(void) { return kill(getppid(), 0); }
static long change_user(void) { return syscall(SYS_setuid, getuid()); }
static long capture(void) { return socket(AF_PACKET, SOCK_DGRAM, 0); }
static long leave_namespace(void) { return syscall(SYS_unshare, 0x10000000 /* a user's */); }

static long map_code(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
	       MAP_FAILED ? -1 : 0;
}

static long write_parents_memory(void)
{
	char byte = 0;
	struct iovec own = { &byte, 1 };

	return process_vm_writev(getppid(), &own, 1, &own, 1, 0);
}

static void what_an_agent_never_does_is_refused(void **state)
{
	static const struct { const char *name; long (*attempt)(void); } all[] = {
		{ "execve", run_program }, { "execveat", run_descriptor },
		{ "fork", make_process }, { "ptrace", trace_parent },
		{ "open to write", open_to_write }, { "create", create_file },
		{ "unlink", remove_file }, { "kill", end_parent }, { "setuid", change_user },
		{ "packet socket", capture }, { "namespace", leave_namespace },
		{ "executable memory", map_code }, { "process_vm_writev", write_parents_memory },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++) {
		const int result = inside(all[i].attempt);

		if (result == NO_FILTER)
			skip();
		if (result != EPERM)
			fail_msg("%s: %d", all[i].name, result);
	}
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
	fd = socket(AF_NETLINK, SOCK_RAW, 0);
	return fd < 0 || close(fd) || syscall(SYS_unshare, CLONE_FILES) ? -1 : 0;
}

static void what_an_agent_does_is_allowed(void **state)
{
	int result;

	(void)state;
	result = inside(do_an_agents_work);
	if (result == NO_FILTER)
		skip();
	assert_int_equal(result, ALLOWED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_an_agent_never_does_is_refused),
		cmocka_unit_test(what_an_agent_does_is_allowed),
	};

	return cmocka_run_group_tests_name("filter", tests, NULL, NULL);
}
