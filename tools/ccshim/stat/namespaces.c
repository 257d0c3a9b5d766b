/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the namespaces of processes from /proc. */
#include "namespaces.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "observe/stats_dir.h"

#ifndef SYS_openat2 /* the C library of Debian 11 has no name for it; its number is the same on all */
#define SYS_openat2 437
#endif

/* The initial PID namespace: the kernel's PROC_PID_INIT_INO. */
static const uint64_t first_pid_ns = 0xeffffffc;

/* 0, and errno: it may not be read, or the process has ended. */
static uint64_t read_inode(const char *pid, const char *which)
{
	char name[64];
	struct stat st;

	snprintf(name, sizeof(name), "/proc/%.16s/ns/%s", pid, which);
	return stat(name, &st) ? 0 : st.st_ino;
}

/* The last number of the line NSpid in /proc/PID/status: the ID in the innermost namespace. 0: the
 * process has ended. *own: it is the only number, so the process is in the caller's namespace. */
static pid_t read_inner(const char *pid, bool *own)
{
	char name[64], line[256];
	pid_t inner = 0;
	int len = 0;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%.16s/status", pid);
	f = fopen(name, "re");
	while (f && !inner && fgets(line, sizeof(line), f))
		if (sscanf(line, "NSpid: %*d %n", &len) != EOF && len) {
			*own = !line[len];
			inner = (pid_t)strtol(strrchr(line, '\t'), NULL, 10);
		}
	if (f)
		fclose(f);
	return inner;
}

static bool add(struct namespaces *n, const struct ns_process *p)
{
	struct ns_process *more = n->process;

	if ((n->count & (n->count - 1)) == 0)
		more = reallocarray(more, n->count ? 2 * n->count : 1, sizeof(*more));
	if (!more)
		return false;
	n->process = more;
	more[n->count++] = *p;
	return true;
}

static void read_process(struct namespaces *n, const char *pid)
{
	struct ns_process p = { .pid = ccs_stats_pid_of(pid) };
	bool own = true;

	if (!p.pid)
		return;
	p.pid_ns = read_inode(pid, "pid");
	p.mount_ns = p.pid_ns ? read_inode(pid, "mnt") : 0;
	if (!p.mount_ns) { /* it may not be inspected */
		read_inner(pid, &own);
		n->complete &= own;
		return;
	}
	if (p.pid_ns == n->pid_ns && p.mount_ns == n->mount_ns)
		return;
	p.inner = p.pid_ns == n->pid_ns ? p.pid : read_inner(pid, &own);
	if (p.inner && !add(n, &p))
		n->complete = false;
}

void namespaces_read(struct namespaces *n)
{
	DIR *proc = opendir("/proc");
	const struct dirent *e;
	struct timespec now;

	*n = (struct namespaces){ .pid_ns = read_inode("self", "pid"), .mount_ns = read_inode("self", "mnt") };
	clock_gettime(CLOCK_REALTIME, &now);
	n->read_s = now.tv_sec;
	n->complete = proc && n->pid_ns == first_pid_ns;
	while (proc && n->pid_ns && (e = readdir(proc)))
		read_process(n, e->d_name);
	if (proc)
		closedir(proc);
}

void namespaces_free(struct namespaces *n)
{
	free(n->process);
	*n = (struct namespaces){ 0 };
}

pid_t namespaces_find(const struct namespaces *n, uint64_t pid_ns, pid_t inner)
{
	for (size_t i = 0; i < n->count; i++)
		if (n->process[i].pid_ns == pid_ns && n->process[i].inner == inner)
			return n->process[i].pid;
	return 0;
}

pid_t namespaces_inner(const struct namespaces *n, pid_t pid)
{
	for (size_t i = 0; i < n->count; i++)
		if (n->process[i].pid == pid)
			return n->process[i].inner;
	return pid;
}

uint64_t namespaces_mount(const struct namespaces *n, pid_t pid)
{
	for (size_t i = 0; i < n->count; i++)
		if (n->process[i].pid == pid && n->process[i].mount_ns != n->mount_ns)
			return n->process[i].mount_ns;
	return 0;
}

int namespaces_open_dir(pid_t pid, const char *path)
{
	const struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS,
	};
	char name[40];
	int root, dir, error;

	snprintf(name, sizeof(name), "/proc/%ld/root", (long)pid);
	root = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -1;
	dir = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	error = errno;
	close(root);
	errno = error;
	return dir;
}
