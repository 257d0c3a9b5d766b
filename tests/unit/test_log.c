/* SPDX-License-Identifier: BSD-2-Clause */
/* Log messages: levels, files, errno, threads, signals and the limit on warnings. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "observe/log.h"

static int real_stderr, catcher[2];

/* Redirect stderr into a pipe that collects the output of a test. */
static int catch_stderr(void **state)
{
	real_stderr = dup(STDERR_FILENO);
	if (pipe2(catcher, O_NONBLOCK | O_CLOEXEC) || dup2(catcher[1], STDERR_FILENO) < 0)
		return -1;
	ccs_log_setup(CCS_LOG_INFO, "");
	return 0;
}

static int release_stderr(void **state)
{
	dup2(real_stderr, STDERR_FILENO);
	close(real_stderr);
	close(catcher[0]);
	close(catcher[1]);
	return 0;
}

static const char *caught(void)
{
	static char text[65536];
	ssize_t n = read(catcher[0], text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

#define CAUGHT(name_) TEST_WITH(name_, catch_stderr, release_stderr)

CAUGHT(messages_below_the_level_are_dropped)
{
	ccs_log_setup(CCS_LOG_WARN, NULL);
	ccs_log(CCS_LOG_ERROR, "a %d", 1);
	ccs_log(CCS_LOG_WARN, "b");
	ccs_log(CCS_LOG_INFO, "c");
	ccs_log(CCS_LOG_DEBUG, "d");
	assert_string_equal(caught(), "ccshim: error: a 1\nccshim: warn: b\n");
	ccs_log_setup(CCS_LOG_ERROR, NULL);
	assert_true(ccs_log_on(CCS_LOG_ERROR) && !ccs_log_on(CCS_LOG_WARN));
	ccs_log_setup(CCS_LOG_INFO, NULL);
	ccs_log(CCS_LOG_INFO, "c");
	assert_string_equal(caught(), "ccshim: info: c\n");
}

CAUGHT(debug_level_adds_host_pid_and_tid)
{
	char host[65] = "", want[256];

	gethostname(host, sizeof(host) - 1);
	snprintf(want, sizeof(want), "ccshim: warn: %s:%d:%d: x\n", host, (int)getpid(),
		 (int)gettid());
	ccs_log_setup(CCS_LOG_DEBUG, NULL);
	ccs_log(CCS_LOG_WARN, "x");
	assert_string_equal(caught(), want);
}

CAUGHT(errno_is_preserved_and_formatted)
{
	errno = ENOSPC;
	ccs_log(CCS_LOG_WARN, "write: %m");
	assert_int_equal(errno, ENOSPC);
	ccs_log(CCS_LOG_DEBUG, "not shown");
	assert_int_equal(errno, ENOSPC);
	close(STDERR_FILENO);
	ccs_log(CCS_LOG_WARN, "nowhere");
	assert_int_equal(errno, ENOSPC);
	assert_string_equal(caught(), "ccshim: warn: write: No space left on device\n");
}

CAUGHT(one_message_is_one_line)
{
	char text[5000];
	const char *line;

	ccs_log(CCS_LOG_WARN, "a\nb\033[31m\tc\x7f \xc3\xa9");
	assert_string_equal(caught(), "ccshim: warn: a?b?[31m?c? \xc3\xa9\n");
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	ccs_log(CCS_LOG_WARN, "%s", text);
	line = caught();
	assert_true(strlen(line) < 1024);
	assert_string_equal(line + strlen(line) - 5, "x...\n");
}

static void log_once_here(void)
{
	ccs_log_once(CCS_LOG_WARN, "only once");
}

CAUGHT(log_once_logs_once_per_call_site)
{
	log_once_here();
	log_once_here();
	assert_string_equal(caught(), "ccshim: warn: only once\n");
}

static void *log_many(void *arg)
{
	for (unsigned i = 0; i < 200; i++)
		ccs_log(CCS_LOG_INFO, "thread %s says it", (const char *)arg);
	return NULL;
}

CAUGHT(threads_do_not_mix_lines)
{
	static const char *const names[] = { "one", "two", "three", "four" };
	pthread_t threads[4];
	unsigned lines = 0;
	char want[64], *text;

	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, log_many, (void *)names[i]), 0);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	text = strdup(caught());
	for (char *rest = text, *line; (line = strsep(&rest, "\n")) && *line; lines++) {
		unsigned i = 0;

		for (; i < 4; i++) {
			snprintf(want, sizeof(want), "ccshim: info: thread %s says it", names[i]);
			if (strcmp(line, want) == 0)
				break;
		}
		assert_true(i < 4);
	}
	free(text);
	assert_int_equal(lines, 800);
}

CAUGHT(log_file_survives_chdir_and_closefrom)
{
	char dir[] = "/tmp/ccs-log-XXXXXX", text[128] = "", path[64];
	FILE *f;

	assert_non_null(mkdtemp(dir));
	assert_int_equal(chdir(dir), 0);
	ccs_log_setup(CCS_LOG_INFO, "x.log");
	assert_int_equal(chdir("/"), 0); /* the path was made absolute */
	ccs_log(CCS_LOG_WARN, "one");
	for (int fd = 3; fd < 64; fd++)  /* as a daemon does */
		if (fd != real_stderr && fd != catcher[0] && fd != catcher[1])
			close(fd);
	ccs_log(CCS_LOG_WARN, "two");
	assert_string_equal(caught(), "");
	snprintf(path, sizeof(path), "%s/x.log", dir);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_true(fread(text, 1, sizeof(text) - 1, f) > 0);
	fclose(f);
	assert_string_equal(text, "ccshim: warn: one\nccshim: warn: two\n");
	unlink(path);
	rmdir(dir);

	ccs_log(CCS_LOG_WARN, "three"); /* the directory is gone: fall back to stderr */
	assert_string_equal(caught(), "ccshim: warn: three\n");
	ccs_log_setup(CCS_LOG_INFO, "/nowhere/x.log");
	assert_string_equal(caught(), "ccshim: warn: log_file /nowhere/x.log: "
				      "No such file or directory; messages go to stderr\n");
}

CAUGHT(what_a_full_log_file_does_not_take_goes_to_stderr)
{
	ccs_log_setup(CCS_LOG_WARN, "/dev/full");
	ccs_log(CCS_LOG_WARN, "one");
	ccs_log(CCS_LOG_WARN, "two");
	assert_string_equal(caught(), "ccshim: warn: log_file /dev/full: No space left on device; "
				      "messages go to stderr\nccshim: warn: one\nccshim: warn: two\n");
}

/* Run body in a child; returns its wait status. */
static int in_child(void (*body)(void))
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		body();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return status;
}

static void write_to_closed_pipe(void)
{
	int fds[2];
	sigset_t pending;

	if (pipe(fds) || dup2(fds[1], STDERR_FILENO) < 0)
		_exit(1);
	close(fds[0]);
	close(fds[1]);
	ccs_log(CCS_LOG_WARN, "not read");
	sigpending(&pending);
	_exit(sigismember(&pending, SIGPIPE) ? 2 : 0);
}

/* The application's own pending SIGPIPE stays pending. */
static void keep_pending_sigpipe(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGPIPE);
	ccs_log(CCS_LOG_WARN, "x");
	sigpending(&set);
	_exit(sigismember(&set, SIGPIPE) ? 0 : 2);
}

static void write_beyond_the_limit(void)
{
	const struct rlimit none = { 0, 0 };
	char path[] = "/tmp/ccs-log-XXXXXX";

	close(mkstemp(path));
	ccs_log_setup(CCS_LOG_INFO, path);
	unlink(path);
	setrlimit(RLIMIT_FSIZE, &none);
	ccs_log_setup(CCS_LOG_INFO, path);
	ccs_log(CCS_LOG_WARN, "too big");
	unlink(path);
}

CAUGHT(no_signal_is_delivered_to_the_application)
{
	assert_int_equal(in_child(write_to_closed_pipe), 0);
	assert_int_equal(in_child(keep_pending_sigpipe), 0);
	assert_int_equal(in_child(write_beyond_the_limit), 0);
}

/* A daemon's connection that got descriptor number 2. */
CAUGHT(network_socket_at_descriptor_2_is_not_written)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(any);
	int a = socket(AF_INET, SOCK_DGRAM, 0), b = socket(AF_INET, SOCK_DGRAM, 0);
	char text[64];

	assert_int_equal(bind(a, (struct sockaddr *)&any, sizeof(any)), 0);
	assert_int_equal(getsockname(a, (struct sockaddr *)&any, &len), 0);
	assert_int_equal(connect(b, (struct sockaddr *)&any, sizeof(any)), 0);
	assert_int_equal(dup2(b, STDERR_FILENO), STDERR_FILENO);
	ccs_log(CCS_LOG_ERROR, "not into your protocol");
	assert_int_equal(recv(a, text, sizeof(text), MSG_DONTWAIT), -1);
	close(a);
	close(b);
}

/* Open a file as descriptor 2 and log; returns the file's size. */
static long log_into_file(int flags)
{
	char path[] = "/tmp/ccs-log-XXXXXX";
	struct stat st;

	close(mkstemp(path));
	close(STDERR_FILENO);
	if (open(path, flags) != STDERR_FILENO)
		return -1;
	unlink(path);
	ccs_log(CCS_LOG_ERROR, "not into your data");
	return fstat(STDERR_FILENO, &st) ? -1 : st.st_size;
}

static void write_where_stderr_was_redirected(void)
{
	_exit(log_into_file(O_WRONLY | O_TRUNC) > 0 ? 0 : 1);
}

static void log_into_data_file(void)
{
	_exit(log_into_file(O_RDWR) ? 1 : 0);
}

static void log_into_file_of_a_library(void)
{
	_exit(log_into_file(O_WRONLY | O_CLOEXEC) ? 1 : 0);
}

static void start_without_stderr(void)
{
	char path[4096];
	const ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1); /* not valgrind's own */

	if (n < 0)
		return;
	path[n] = '\0';
	close(STDERR_FILENO);
	execl(path, "test_log", "without-stderr", NULL);
}

CAUGHT(file_of_the_program_at_descriptor_2_is_not_written)
{
	assert_int_equal(in_child(write_where_stderr_was_redirected), 0);
	assert_int_equal(in_child(log_into_data_file), 0);
	assert_int_equal(in_child(log_into_file_of_a_library), 0);
	assert_int_equal(in_child(start_without_stderr), 0);
}

static void *cancelled(void *arg)
{
	(void)arg;
	pthread_cancel(pthread_self());
	ccs_log(CCS_LOG_WARN, "survived"); /* write(2) is a cancellation point */
	*(bool *)arg = true;
	return NULL;
}

CAUGHT(logging_is_not_a_cancellation_point)
{
	pthread_t thread;
	bool survived = false;

	assert_int_equal(pthread_create(&thread, NULL, cancelled, &survived), 0);
	pthread_join(thread, NULL);
	assert_true(survived);
	assert_string_equal(caught(), "ccshim: warn: survived\n");
}

/* This must be the last test: warnings are counted per process. */
CAUGHT(number_of_warnings_is_limited)
{
	const char *text;
	unsigned lines = 0;

	ccs_log_setup(CCS_LOG_WARN, NULL);
	for (unsigned i = 0; i < 1000; i++)
		ccs_log(CCS_LOG_WARN, "again");
	text = caught();
	assert_non_null(strstr(text, "further ones are dropped"));
	for (; (text = strchr(text, '\n')); text++)
		lines++;
	assert_true(lines > 50 && lines <= 101);
	ccs_log_setup(CCS_LOG_INFO, NULL);
	ccs_log(CCS_LOG_WARN, "asked for all");
	assert_string_equal(caught(), "ccshim: warn: asked for all\n");
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "without-stderr") == 0)
		return log_into_file(O_WRONLY) ? 1 : 0;
	return test_run(NULL, NULL);
}
