/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a process may become the host's agent. */
#include "test.h"

#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config/agent_place.h"

static char root[] = "/tmp/test_place.XXXXXX";

/* Makes the file and its directories below root. */
static void make_file(const char *path)
{
	char name[256];
	int fd;

	snprintf(name, sizeof(name), "%s%s", root, path);
	for (char *slash = strchr(name + sizeof(root), '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(name, 0700);
		*slash = '/';
	}
	fd = open(name, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	close(fd);
}

static int begin(void **state)
{
	char proc[64];

	strcpy(root + sizeof(root) - 7, "XXXXXX");
	if (!mkdtemp(root))
		return -1;
	snprintf(proc, sizeof(proc), "%s/proc", root);
	return symlink("/proc", proc);
}

static int end(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

static bool is_obstacle(const char *words)
{
	const char *why = ccs_agent_place_obstacle(root);

	return why && strstr(why, words);
}

static void an_installed_ccshimd_is_one(void **state)
{
	static const char *const path[] = { CCS_SBINDIR "/ccshimd", "/usr/sbin/ccshimd",
		"/etc/systemd/system/ccshimd.service", "/lib/systemd/system/ccshimd.service" };

	for (unsigned i = 0; i < sizeof(path) / sizeof(*path); i++) {
		assert_false(is_obstacle("installed"));
		make_file(path[i]);
		assert_true(is_obstacle("ccshimd is installed here"));
		end(state);
		begin(state);
	}
}

/* Also with the host's network, where the port is the host's. */
static void a_container_is_one(void **state)
{
	int status;
	pid_t pid;

	pid = fork();
	if (pid == 0) {
		pid_t inner;

		if (unshare(CLONE_NEWPID) && unshare(CLONE_NEWUSER | CLONE_NEWPID))
			_exit(77);
		inner = fork();
		/*
		 * /proc/self has no entry for it in a /proc of the outer namespace: a missing entry
		 * counts as well.
		 */
		if (inner == 0)
			_exit(!is_obstacle("in a container"));
		_exit(waitpid(inner, &status, 0) == inner && WIFEXITED(status)
			      ? WEXITSTATUS(status) : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
}

static void without_proc_it_is_taken_for_a_container(void **state)
{
	char proc[64];

	snprintf(proc, sizeof(proc), "%s/proc", root);
	assert_int_equal(unlink(proc), 0);
	assert_true(is_obstacle("in a container"));
}

static void the_first_pid_namespace_is_none(void **state)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) || st.st_ino != 0xeffffffcu)
		skip(); /* this test is in a container */
	assert_null(ccs_agent_place_obstacle(root));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(an_installed_ccshimd_is_one),
		TEST(a_container_is_one),
		TEST(without_proc_it_is_taken_for_a_container),
		TEST(the_first_pid_namespace_is_none),
	};

	return cmocka_run_group_tests_name("agent_place", tests, NULL, NULL);
}
