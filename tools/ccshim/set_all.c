/* SPDX-License-Identifier: BSD-2-Clause */
#include "set_all.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ccshim.h"
#include "stat/stat.h"
#include "terminal.h"
#include "tools/common/seconds.h"

enum { AT_ONCE = 64, NOGROUP = 65534 };

struct target {
	const struct stat_process *p;
	pid_t child;
	int answer;                      /* the end of a pipe */
};

static int become(uid_t uid)
{
	char runtime[40];

	if (uid == geteuid())
		return 0;
	snprintf(runtime, sizeof(runtime), "/run/user/%ld", (long)uid);
	return setenv("XDG_RUNTIME_DIR", runtime, 1) || setgroups(0, NULL) ||
	       setresgid(NOGROUP, NOGROUP, NOGROUP) || setresuid(uid, uid, uid) ? -1 : 0;
}

/* A file in a container can be opened only before the rights are given up. */
static _Noreturn void run(const struct target *t, int out, set_sender *send, void *arg)
{
	const bool elsewhere = t->p->inner_pid || t->p->other_root;
	const int file = elsewhere ? stat_open(t->p, O_RDWR) : -1;
	int status = EXIT_FAILED;

	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	if (elsewhere && file < 0)
		printf("%s: %s\n", t->p->file, strerror(errno));
	else if (become(t->p->owner))
		printf("cannot act as user %ld: %s\n", (long)t->p->owner, strerror(errno));
	else
		status = send(t->p, file, arg);
	fflush(stdout);
	_exit(status);
}

/* 0, or an errno. */
static int start_sender(struct target *t, set_sender *send, void *arg)
{
	int end[2];

	fflush(stdout);
	if (pipe(end))
		return errno;
	t->child = fork();
	if (t->child < 0)
		return errno;
	if (!t->child) {
		close(end[0]);
		run(t, end[1], send, arg);
	}
	close(end[1]);
	t->answer = end[0];
	return 0;
}

static void print_line(const struct ccs_stats_header *h, char *line)
{
	static const char error[] = "ccshim set: ";

	if (strncmp(line, error, strlen(error)) == 0)
		line += strlen(error);
	terminal_print(stdout, "          ", "%7ld %s: %s", (long)h->pid, h->program, line);
}

/* Until its end; false: it has not ended in time. */
static bool read_answer(const struct target *t, FILE *text, double end_s)
{
	struct pollfd p = { .fd = t->answer, .events = POLLIN };
	char part[1024];
	ssize_t n = 1;

	while (n > 0) {
		const double left_s = end_s - seconds_now(CLOCK_MONOTONIC);

		if (poll(&p, 1, left_s > 0 ? (int)(left_s * 1e3) + 1 : 0) == 0)
			return false;
		n = read(t->answer, part, sizeof(part));
		if (n > 0)
			fwrite(part, 1, (size_t)n, text);
	}
	return true;
}

static void print_answer(const struct ccs_stats_header *h, char *text)
{
	terminal_replace_controls(text);
	for (char *line; (line = strsep(&text, "\n"));)
		if (*line || text)
			print_line(h, line);
}

/* Print the answer and return the status. */
static int finish(struct target *t, double end_s)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	int status;

	if (!f || !read_answer(t, f, end_s)) {
		kill(t->child, SIGKILL);
		if (f)
			fputs("the request took too long and was ended: maybe its user has stopped it\n", f);
	}
	if (f && fclose(f) == 0)
		print_answer(&t->p->h, text);
	free(text);
	close(t->answer);
	if (waitpid(t->child, &status, 0) < 0 || !WIFEXITED(status))
		return EXIT_FAILED;
	return WEXITSTATUS(status);
}

static int run_some(const struct stat_process *p, size_t n, set_sender *send, void *arg,
		    double wait_s)
{
	const double end_s = seconds_now(CLOCK_MONOTONIC) + wait_s;
	struct target target[AT_ONCE];
	size_t started = 0;
	int worst = EXIT_OK;

	for (; started < n; started++) {
		int error;

		target[started] = (struct target){ .p = &p[started] };
		error = start_sender(&target[started], send, arg);

		if (error) {
			tool_error("set", "cannot start a process: %s", strerror(error));
			worst = EXIT_FAILED;
			break;
		}
	}
	for (size_t i = 0; i < started; i++) {
		const int status = finish(&target[i], end_s);

		if (status && (!worst || status < worst))
			worst = status;
	}
	return worst;
}

int set_all(set_sender *send, void *arg, double wait_s)
{
	struct stat_snapshot s;
	int worst = EXIT_OK;

	stat_read(&s, 0);
	if (!s.count) {
		tool_error("set", "no process%s runs under ccshim with statistics and a queue pair",
			   geteuid() ? " of yours" : "");
		worst = EXIT_FAILED;
	}
	for (size_t i = 0; i < s.count; i += AT_ONCE) {
		const size_t n = s.count - i < AT_ONCE ? s.count - i : AT_ONCE;
		const int status = run_some(&s.process[i], n, send, arg, wait_s);

		if (status && (!worst || status < worst))
			worst = status;
	}
	stat_free(&s);
	return worst;
}
