/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ccshim/shared/children.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/sysfs.h"
#include "tools/common/seconds.h"

enum { CHECK_MS = 100 };

struct child {
	size_t item;
	pid_t pid;
	int out;                         /* the end of a pipe */
	unsigned idle_ms;                /* since it ran or wrote */
	char *data;
	size_t len, size;                /* used; allocated */
};

struct pool {
	const struct children *c;
	struct child child[CHILDREN_AT_ONCE];
	unsigned running;
};

/* Children that were stuck, until they have ended: a caller that runs for long has no zombies. */
static pid_t stuck[CHILDREN_AT_ONCE];

static void reap_stuck(pid_t more)
{
	for (unsigned i = 0; i < CHILDREN_AT_ONCE; i++) {
		if (stuck[i] && waitpid(stuck[i], NULL, WNOHANG) != 0)
			stuck[i] = 0;
		if (!stuck[i] && more) {
			stuck[i] = more;
			more = 0;
		}
	}
}

void children_write(int out, const void *data, size_t len)
{
	const char *at = data;

	while (len) {
		const ssize_t n = write(out, at, len);

		if (n <= 0)
			_exit(1);
		at += n;
		len -= (size_t)n;
	}
}

static bool start(struct pool *p, size_t item)
{
	struct child *new = &p->child[p->running];
	int end[2];

	*new = (struct child){ .item = item };
	if (pipe2(end, O_CLOEXEC))
		return false;
	new->pid = fork();
	if (new->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(end[0]);
		p->c->run(p->c->arg, item, end[1]);
		_exit(0);
	}
	close(end[1]);
	new->out = end[0];
	if (new->pid > 0) {
		p->running++;
		return true;
	}
	close(end[0]);
	return false;
}

static void finish(struct pool *p, unsigned i, bool complete)
{
	struct child *c = &p->child[i];

	close(c->out);
	if (complete) {
		waitpid(c->pid, NULL, 0);
	} else {
		kill(c->pid, SIGKILL);
		reap_stuck(c->pid);
	}
	p->c->done(p->c->arg, c->item, c->data, c->len, complete);
	free(c->data);
	*c = p->child[--p->running];
}

/* False: the child has closed its end, or memory is missing. */
static bool receive(struct child *c)
{
	ssize_t n;

	if (c->len == c->size) {
		const size_t size = c->size ? 2 * c->size : 65536;
		char *more = realloc(c->data, size);

		if (!more)
			return false;
		c->data = more;
		c->size = size;
	}
	n = read(c->out, c->data + c->len, c->size - c->len);
	c->idle_ms = 0;
	c->len += n > 0 ? (size_t)n : 0;
	return n > 0;
}

/* A child that waits for a CPU on a busy host is not stuck. */
static bool is_running(pid_t pid)
{
	char name[40], text[256];
	const char *state;

	snprintf(name, sizeof(name), "/proc/%ld/stat", (long)pid);
	ccs_read_file(name, text, sizeof(text));
	state = strrchr(text, ')');
	return state && strncmp(state, ") R", 3) == 0;
}

static void check_progress(struct pool *p)
{
	for (unsigned i = p->running; i-- > 0;) {
		struct child *c = &p->child[i];

		c->idle_ms = is_running(c->pid) ? 0 : c->idle_ms + CHECK_MS;
		if (c->idle_ms > CHILDREN_STUCK_MS)
			finish(p, i, false);
	}
}

static void wait_for_some(struct pool *p)
{
	struct pollfd fd[CHILDREN_AT_ONCE];

	for (unsigned i = 0; i < p->running; i++)
		fd[i] = (struct pollfd){ .fd = p->child[i].out, .events = POLLIN };
	if (poll(fd, p->running, CHECK_MS) <= 0)
		return;
	for (unsigned i = p->running; i-- > 0;)
		if (fd[i].revents && !receive(&p->child[i]))
			finish(p, i, true);
}

void children_run(const struct children *c, size_t n)
{
	struct pool p = { .c = c };
	double check_s = seconds_now(CLOCK_MONOTONIC);
	size_t next = 0;

	reap_stuck(0);
	fflush(stdout);
	while (next < n || p.running) {
		for (; next < n && p.running < CHILDREN_AT_ONCE; next++)
			if (!start(&p, next))
				c->done(c->arg, next, NULL, 0, false);
		wait_for_some(&p);
		if (seconds_now(CLOCK_MONOTONIC) - check_s < CHECK_MS / 1e3)
			continue;
		check_s = seconds_now(CLOCK_MONOTONIC);
		check_progress(&p);
	}
}
