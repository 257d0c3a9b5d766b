/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs the workers as processes of this machine: this very program, under the shim or bare. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/ccbench/place/preload.h"
#include "bench/ccbench/scenario/opts.h"
#include "bench/common/interrupt.h"
#include "tools/common/slurp.h"
#include "config/filename.h"
#include "place.h"

struct child {
	pid_t pid;              /* 0: not started, or reaped */
	struct xchg x;
};

struct local {
	struct place place;     /* first member, for casts */
	const char *preload;
	struct child child[MAX_HOSTS];
};

static struct child *child_of(struct place *p, unsigned host)
{
	return &((struct local *)p)->child[host];
}

static void report_name(const struct place *p, unsigned host, char *buf, size_t len)
{
	snprintf(buf, len, "%s/%u.json", p->dir, host);
}

static void set_environment(const struct setting *s, const char *preload, const char *report)
{
	char value[PATH_MAX + 1024], name[2 * PATH_MAX];

	preload_value(getenv("LD_PRELOAD"), s->preload ? preload : NULL, value, sizeof(value));
	if (*value)
		setenv("LD_PRELOAD", value, 1);
	else
		unsetenv("LD_PRELOAD");
	if (!s->preload)
		return;
	setenv("CCSHIM_MODE", s->mode, 1);
	ccs_filename_escape(report, name, sizeof(name)); /* at most doubles the length */
	setenv("CCSHIM_REPORT", name, 1);
	if (s->spec)
		setenv("CCSHIM_CC", s->spec, 1);
	else
		unsetenv("CCSHIM_CC");
}

/* Does not return. Executed by path, which is the name in ps; if it is unknown, /proc/self/exe works. */
static void become_worker(int fd)
{
	char number[16], self[PATH_MAX];
	const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n > 0 ? n : 0] = '\0';
	snprintf(number, sizeof(number), "%d", fd);
	execl(self, "ccbench", "worker", number, (char *)NULL);
	execl("/proc/self/exe", "ccbench", "worker", number, (char *)NULL);
	fprintf(stderr, "ccbench: cannot start a worker: %s\n", strerror(errno));
	_exit(127);
}

static int local_start(struct place *p, unsigned host, const struct setting *s)
{
	struct child *c = child_of(p, host);
	char report[PATH_MAX];
	pid_t pid;
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd))
		return -1;
	pid = fork();
	if (pid == 0) {
		sigprocmask(SIG_SETMASK, interrupt_mask(), NULL);
		fcntl(fd[1], F_SETFD, 0);
		report_name(p, host, report, sizeof(report));
		set_environment(s, ((struct local *)p)->preload, report);
		become_worker(fd[1]);
	}
	close(fd[1]);
	if (pid < 0) {
		close(fd[0]);
		return -1;
	}
	*c = (struct child){ .pid = pid, .x.fd = fd[0] };
	return 0;
}

static int64_t local_offset(struct place *p, unsigned host)
{
	(void)p;
	(void)host;
	return 0;
}

static int local_send(struct place *p, unsigned host, uint32_t type, const void *data, size_t len)
{
	return xchg_send(&child_of(p, host)->x, type, data, len);
}

static int local_wait(struct place *p, unsigned hosts, int64_t ns)
{
	struct xchg x[MAX_HOSTS];

	for (unsigned i = 0; i < hosts; i++)
		x[i] = child_of(p, i)->x;
	return xchg_wait_any(x, hosts, ns, interrupt_mask());
}

static int local_recv(struct place *p, unsigned host, struct xchg_msg *m)
{
	return xchg_recv(&child_of(p, host)->x, m);
}

static int reap(struct place *p, unsigned host, char *err, size_t errlen)
{
	struct child *c = child_of(p, host);
	int status = 0;

	while (c->pid > 0 && waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		;
	c->pid = 0;
	if (c->x.fd >= 0)
		close(c->x.fd);
	c->x.fd = -1;
	if (WIFSIGNALED(status))
		snprintf(err, errlen, "killed by signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status))
		snprintf(err, errlen, "ended with status %d", WEXITSTATUS(status));
	return status ? -1 : 0;
}

static void end_now(struct place *p, unsigned host)
{
	char unused[160];

	if (child_of(p, host)->pid > 0)
		kill(child_of(p, host)->pid, SIGKILL);
	reap(p, host, unused, sizeof(unused));
}

static char *report(struct place *p, unsigned host)
{
	char name[PATH_MAX], *text;

	report_name(p, host, name, sizeof(name));
	text = slurp(name);
	remove(name);
	return text;
}

static void release(struct place *p)
{
	free(p);
}

char *place_scratch(char *dir, size_t len)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(dir, len, "%s/ccbench.XXXXXX", tmp && *tmp ? tmp : "/tmp");
	return mkdtemp(dir);
}

struct place *place_local(const char *preload, const char *dir)
{
	struct local *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->place = (struct place){
		.start = local_start, .offset = local_offset,
		.send = local_send, .wait = local_wait, .recv = local_recv,
		.end = reap, .kill = end_now, .report = report, .release = release, .lead = 5000000,
		.dir = dir,
	};
	l->preload = preload;
	for (unsigned host = 0; host < MAX_HOSTS; host++)
		l->child[host].x.fd = -1;
	return &l->place;
}
