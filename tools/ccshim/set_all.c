/* SPDX-License-Identifier: BSD-2-Clause */
#include "set_all.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ccshim.h"
#include "stat/stat.h"
#include "terminal.h"

enum { AT_ONCE = 64, NOGROUP = 65534 };

struct target {
	const struct stat_process *p;
	pid_t child;
	FILE *answer;
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
static int start(struct target *t, set_sender *send, void *arg)
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
	t->answer = fdopen(end[0], "r");
	return t->answer ? 0 : errno;
}

/* The text is that of another user's process: print no control characters. */
static void print_line(const struct ccs_stats_header *h, char *line)
{
	static const char error[] = "ccshim set: ";

	line[strcspn(line, "\n")] = '\0';
	for (char *c = line; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
	if (strncmp(line, error, strlen(error)) == 0)
		line += strlen(error);
	terminal_print(stdout, "          ", "%7ld %s: %s", (long)h->pid, h->program, line);
}

/* Print the answer and return the status. */
static int finish(struct target *t)
{
	char line[1024];
	int status;

	while (fgets(line, sizeof(line), t->answer))
		print_line(&t->p->h, line);
	fclose(t->answer);
	if (waitpid(t->child, &status, 0) < 0 || !WIFEXITED(status))
		return EXIT_FAILED;
	return WEXITSTATUS(status);
}

static int run_some(const struct stat_process *p, size_t n, set_sender *send, void *arg)
{
	struct target target[AT_ONCE];
	size_t started = 0;
	int worst = EXIT_OK;

	for (; started < n; started++) {
		int error;

		target[started] = (struct target){ .p = &p[started] };
		error = start(&target[started], send, arg);

		if (error) {
			tool_error("set", "cannot start a process: %s", strerror(error));
			worst = EXIT_FAILED;
			break;
		}
	}
	for (size_t i = 0; i < started; i++) {
		const int status = finish(&target[i]);

		if (status && (!worst || status < worst))
			worst = status;
	}
	return worst;
}

int set_all(set_sender *send, void *arg)
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
		const int status = run_some(&s.process[i], n, send, arg);

		if (status && (!worst || status < worst))
			worst = status;
	}
	stat_free(&s);
	return worst;
}
