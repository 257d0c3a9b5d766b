/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes that run programs with or without the shim; see server.h. */
#include "server.h"

#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../verbs/rig.h"
#include "virtual.h"
#include "world.h"

enum { LONGEST_PROGRAM = 1 << 16, HANG_S = 3600, TRACE = 1u << 31, LAST = TRACE };

#define SLOW(algorithm) "CCSHIM_CC=" algorithm, "CCSHIM_SEGMENT=256", "CCSHIM_MAX_INFLIGHT=256", \
	"CCSHIM_BASE_RTT=20us"
const struct setting settings[] = {
	{ "bare", { NULL } },
	{ "off", { "CCSHIM_MODE=off", NULL } },
	{ "observe", { "CCSHIM_MODE=observe", "CCSHIM_CC=timely", "CCSHIM_SEGMENT=512", NULL } },
	{ "none", { SLOW("none"), NULL } },
	{ "fixed", { "CCSHIM_CC=fixed:rate=20m", "CCSHIM_SEGMENT=512", "CCSHIM_MAX_INFLIGHT=1k",
		     "CCSHIM_BASE_RTT=20us", NULL } },
	{ "timely", { SLOW("timely"), NULL } },
	{ "dcqcn", { "CCSHIM_CC=dcqcn", "CCSHIM_SEGMENT=300", "CCSHIM_MAX_INFLIGHT=2k", NULL } },
	{ "hpcc", { "CCSHIM_CC=hpcc", "CCSHIM_SEGMENT=1k", "CCSHIM_MAX_RATE=50m", NULL } },
	{ "swift", { SLOW("swift"), "CCSHIM_MAX_RATE=100m", NULL } },
	{ "clock", { SLOW("timely"), "FAKERDMA_CLOCK=1000000", NULL } },
	{ "whole", { "CCSHIM_CC=timely", "CCSHIM_SPLIT=n", "CCSHIM_MAX_RATE=10m", NULL } },
	{ NULL, { NULL } },
};

static void child(const struct server *s, int in, int out)
{
	char *argv[] = { (char *)(uintptr_t)"diff", (char *)(uintptr_t)"serve",
			 (char *)(uintptr_t)(s->mutant ? s->mutant : ""), NULL };
	const char *exe = getenv("CCS_DIFF_SERVER");

	dup2(in, 0);
	dup2(out, 1);
	for (int fd = 3; fd < 256; fd++)
		close(fd);
	for (char **e = environ; *e;) {
		char name[128];

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(*e, "="), *e);
		if (strncmp(name, "CCSHIM_", 7) && strncmp(name, "FAKERDMA_", 9) &&
		    strcmp(name, "LD_PRELOAD") && strcmp(name, "RIG_AGAIN")) {
			e++;
			continue;
		}
		unsetenv(name);
		e = environ;
	}
	for (unsigned i = 0; s->setting->env[i]; i++)
		putenv((char *)(uintptr_t)s->setting->env[i]);
	setenv("RIG_KEEP", "1", 1);
	setenv("CCSHIM_LOG_LEVEL", "error", 1);
	setenv("FAKERDMA_PROFILE", s->profile, 1);
	if (!s->setting->env[0])
		setenv("RIG_BARE", "1", 1);
	execv(exe ? exe : "/proc/self/exe", argv);
	_exit(99);
}

static void start(struct server *s)
{
	int in[2], out[2];

	signal(SIGPIPE, SIG_IGN);
	if (pipe(in) || pipe(out))
		abort();
	fflush(stdout);
	s->pid = fork();
	if (s->pid < 0)
		abort();
	if (!s->pid)
		child(s, in[0], out[1]);
	close(in[0]);
	close(out[1]);
	s->to = in[1];
	s->from = out[0];
}

void server_hang_up(struct server *s)
{
	if (!s->pid || s->to < 0)
		return;
	close(s->to);
	s->to = -1;
}

void server_stop(struct server *s)
{
	if (!s->pid)
		return;
	server_hang_up(s);
	close(s->from);
	waitpid(s->pid, NULL, 0);
	s->pid = 0;
}

static bool full_read(int fd, void *to, size_t len)
{
	for (size_t at = 0; at < len;) {
		const ssize_t n = read(fd, (char *)to + at, len - at);

		if (n <= 0)
			return false;
		at += (size_t)n;
	}
	return true;
}

static bool full_write(int fd, const void *from, size_t len)
{
	for (size_t at = 0; at < len;) {
		const ssize_t n = write(fd, (const char *)from + at, len - at);

		if (n <= 0)
			return false;
		at += (size_t)n;
	}
	return true;
}

static bool receive(struct server *s)
{
	bool last;
	uint32_t back;

	if (!full_read(s->from, &back, sizeof(back)))
		return false;
	last = back & LAST;
	back &= ~LAST;
	if (back + 1 > s->size) {
		s->size = 2 * back + 1024;
		s->text = realloc(s->text, s->size);
		if (!s->text)
			abort();
	}
	s->text[back] = '\0';
	if (!full_read(s->from, s->text, back))
		return false;
	if (last)
		server_stop(s);
	return true;
}

void server_request(struct server *s, const uint8_t *program, size_t len, bool trace)
{
	const uint32_t head = (uint32_t)len | (trace ? TRACE : 0);

	if (!s->pid)
		start(s);
	/* if it has died, the answer is also missing */
	if (full_write(s->to, &head, sizeof(head)))
		full_write(s->to, program, len);
}

const char *server_answer(struct server *s)
{
	static char died[64];
	int status = 0;

	if (receive(s))
		return s->text;
	close(s->to);
	close(s->from);
	waitpid(s->pid, &status, 0);
	s->pid = 0;
	snprintf(died, sizeof(died), "VIOLATION: died, signal %d, status %d\n",
		 WIFSIGNALED(status) ? WTERMSIG(status) : 0,
		 WIFEXITED(status) ? WEXITSTATUS(status) : 0);
	return died;
}

const char *server_ask(struct server *s, const uint8_t *program, size_t len, bool trace)
{
	server_request(s, program, len, trace);
	return server_answer(s);
}

static bool answer(const uint8_t *program, uint32_t head)
{
	char *steps = NULL;
	size_t nsteps = 0;
	FILE *trace = head & TRACE ? open_memstream(&steps, &nsteps) : NULL;
	const struct text *t;
	uint32_t back;
	bool ok;

	alarm(HANG_S);
	t = run_program(program, head & ~TRACE, trace);
	alarm(0);
	if (trace)
		fclose(trace);
	/* after a hang the result is undefined */
	back = (uint32_t)(nsteps + t->len) | (w.hung ? LAST : 0);
	ok = full_write(1, &back, sizeof(back)) && full_write(1, steps, nsteps) &&
	     full_write(1, t->at, t->len);
	free(steps);
	return ok && !w.hung;
}

int server_main(char **argv)
{
	static uint8_t program[LONGEST_PROGRAM];
	uint32_t head;

	rig_exec(argv, NULL);
	mallopt(M_TRIM_THRESHOLD, 1 << 30); /* each program allocates the same memory again */
	virtual_feedback();
	mutant_choose(argv[2] ? argv[2] : "");
	while (full_read(0, &head, sizeof(head)) && (head & ~TRACE) <= sizeof(program) &&
	       full_read(0, program, head & ~TRACE) && answer(program, head))
		;
	return 0;
}
