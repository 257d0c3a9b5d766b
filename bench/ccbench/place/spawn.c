/* SPDX-License-Identifier: BSD-2-Clause */
#include "spawn.h"

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

#include "bench/common/interrupt.h"
#include "config/filename.h"
#include "tools/common/installed.h"
#include "tools/common/preload_list.h"

#define SHIM "libccshim.so"

/* Whether the entry is libccshim.so, in any directory. */
static bool is_shim(const char *entry, size_t len)
{
	const char *slash = memrchr(entry, '/', len);
	size_t dir = slash ? (size_t)(slash + 1 - entry) : 0;

	return len - dir == strlen(SHIM) && !memcmp(entry + dir, SHIM, len - dir);
}

/* The other entries. */
static void remove_shim(const char *list, char *buf, size_t len)
{
	size_t word, n = 0;

	buf[0] = '\0';
	for (; list && *list; list += word + strspn(list + word, ": ")) {
		word = strcspn(list, ": ");
		if (word && !is_shim(list, word) && n < len)
			n += (size_t)snprintf(buf + n, len - n, "%s%.*s", n ? ":" : "", (int)word, list);
	}
}

void preload_value(const char *old, const char *lib, char *buf, size_t len)
{
	char *value;

	remove_shim(old, buf, len);
	value = lib ? preload_list_add(buf, lib) : NULL;
	if (value)
		snprintf(buf, len, "%s", value);
	free(value);
}

int preload_find(char *buf, size_t len)
{
	ssize_t n = readlink("/proc/self/exe", buf, len - 1);
	char *slash, moved[PATH_MAX];

	if (n > 0) {
		buf[n] = '\0';
		/* .../bench/ccbench/ccbench -> .../.libs/libccshim.so */
		for (int up = 0; up < 3 && (slash = strrchr(buf, '/')); up++)
			*slash = '\0';
		n = (ssize_t)strlen(buf);
		snprintf(buf + n, len - (size_t)n, "/.libs/" SHIM);
		if (!access(buf, R_OK))
			return 0;
	}
	snprintf(buf, len, "%s", installed_path(CCS_PKGLIBDIR "/" SHIM, moved, sizeof(moved)));
	return access(buf, R_OK);
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

int spawn_worker(struct child *c, const struct setting *s, const char *preload,
		 const char *report)
{
	int fd[2];
	char number[16], self[PATH_MAX];
	ssize_t n;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd))
		return -1;
	c->x.fd = fd[0];
	c->pid = fork();
	if (c->pid < 0) {
		c->pid = 0;
		close(fd[0]);
		close(fd[1]);
		c->x.fd = -1;
		return -1;
	}
	if (c->pid == 0) {
		sigprocmask(SIG_SETMASK, interrupt_mask(), NULL);
		fcntl(fd[1], F_SETFD, 0);
		snprintf(number, sizeof(number), "%d", fd[1]);
		set_environment(s, preload, report);
		/* Execute by path, which is the name in ps. If it is unknown, /proc/self/exe works as well. */
		n = readlink("/proc/self/exe", self, sizeof(self) - 1);
		self[n > 0 ? n : 0] = '\0';
		execl(self, "ccbench", "worker", number, (char *)NULL);
		execl("/proc/self/exe", "ccbench", "worker", number, (char *)NULL);
		fprintf(stderr, "ccbench: cannot start a worker: %s\n", strerror(errno));
		_exit(127);
	}
	close(fd[1]);
	return 0;
}

int spawn_reap(struct child *c, char *err, size_t errlen)
{
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

void spawn_kill(struct child *c)
{
	char unused[160];

	if (c->pid > 0)
		kill(c->pid, SIGKILL);
	spawn_reap(c, unused, sizeof(unused));
}
