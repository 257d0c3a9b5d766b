/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the namespaces of processes from /proc. */
#include "namespaces.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/sysfs.h"
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

/* The text after that name at the start of a line of /proc/PID/status; "": no such line. */
static const char *find_line(const char *status, const char *name)
{
	const char *at = strstr(status, name);

	return at ? at + strlen(name) : "";
}

/* Whether SIGKILL is pending, for the process or its first thread. */
static bool is_killed(const char *status)
{
	const unsigned long long sigkill = 1ull << (SIGKILL - 1);

	return (strtoull(find_line(status, "\nSigPnd:\t"), NULL, 16) & sigkill) ||
	       (strtoull(find_line(status, "\nShdPnd:\t"), NULL, 16) & sigkill);
}

/*
 * Parse /proc/PID/status, which never waits for the process. *own: the ID in its innermost PID
 * namespace is the only one, so the process is in the caller's namespace. False: it has ended.
 */
static bool read_status(const char *pid, struct ns_process *p, bool *own)
{
	char name[64], status[4096];
	const char *ids;
	int n, numbers = 0;

	snprintf(name, sizeof(name), "/proc/%.16s/status", pid);
	ccs_read_file(name, status, sizeof(status));
	sscanf(status, "Name: %15s", p->name);
	ids = find_line(status, "\nNSpid:");
	while (sscanf(ids, " %d%n", &p->inner, &n) == 1) {
		ids += n;
		numbers++;
	}
	*own = numbers <= 1;
	p->abandoned = is_killed(status) && *find_line(status, "\nState:\t") != 'Z';
	return sscanf(find_line(status, "\nUid:"), "%*u %u %u", &p->effective, &p->saved) == 2;
}

static void read_process(struct namespaces *n, const char *pid)
{
	struct ns_process p = { .pid = ccs_stats_pid_of(pid) };
	bool own;

	if (!p.pid || !read_status(pid, &p, &own))
		return;
	p.pid_ns = read_inode(pid, "pid");
	p.mount_ns = p.pid_ns ? read_inode(pid, "mnt") : 0;
	if (!p.mount_ns) { /* it may not be inspected */
		p.pid_ns = own ? n->pid_ns : 0;
		n->complete &= own;
	}
	if (CCS_GROW(n->process, n->count))
		n->process[n->count++] = p;
	else
		n->complete = false;
}

static int by_mount_ns(const void *a, const void *b)
{
	const struct ns_process *x = a, *y = b;

	return x->mount_ns != y->mount_ns ? (x->mount_ns < y->mount_ns ? -1 : 1)
					  : (x->pid > y->pid) - (x->pid < y->pid);
}

static void read_all(struct namespaces *n)
{
	DIR *proc = opendir("/proc");
	const struct dirent *e;

	n->complete = proc && n->pid_ns == first_pid_ns;
	while (proc && n->pid_ns && (e = readdir(proc)))
		read_process(n, e->d_name);
	if (proc)
		closedir(proc);
	if (n->count)
		qsort(n->process, n->count, sizeof(*n->process), by_mount_ns);
}

void namespaces_read(struct namespaces *n, pid_t only)
{
	struct timespec now;
	char name[24];

	*n = (struct namespaces){ .pid_ns = read_inode("self", "pid"), .mount_ns = read_inode("self", "mnt"),
				  .user_ns = read_inode("self", "user") };
	clock_gettime(CLOCK_REALTIME, &now);
	n->read_s = now.tv_sec;
	snprintf(name, sizeof(name), "%ld", (long)only);
	if (only)
		read_process(n, name);
	else
		read_all(n);
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

bool namespaces_is_in_other_mount(const struct namespaces *n, const struct ns_process *p)
{
	return p->mount_ns && p->mount_ns != n->mount_ns;
}

/* The outermost user namespace that contains `ns` and is not the caller's; -1: it is the caller's. Takes ns. */
static int find_outermost(const struct namespaces *n, int ns)
{
	int inside = -1;
	struct stat st;

	while (ns >= 0 && fstat(ns, &st) == 0 && st.st_ino != n->user_ns) {
		if (inside >= 0)
			close(inside);
		inside = ns;
		ns = ioctl(ns, NS_GET_PARENT);
	}
	if (ns >= 0)
		close(ns);
	return inside;
}

uid_t namespaces_mount_owner(const struct namespaces *n, const struct ns_process *p)
{
	char name[64];
	uid_t owner;
	int mount, user;

	snprintf(name, sizeof(name), "/proc/%ld/ns/mnt", (long)p->pid);
	mount = open(name, O_RDONLY | O_CLOEXEC);
	if (mount < 0)
		return 0;
	user = find_outermost(n, ioctl(mount, NS_GET_USERNS));
	close(mount);
	if (user < 0)
		return 0;
	if (ioctl(user, NS_GET_OWNER_UID, &owner))
		owner = 0;
	close(user);
	return owner;
}

static int open_at(int dir, const char *path, uint64_t resolve)
{
	const struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS | resolve,
	};

	return (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
}

int namespaces_open_dir(pid_t pid, const char *path)
{
	char name[40];
	int root, dir, error;

	snprintf(name, sizeof(name), "/proc/%ld/root", (long)pid);
	root = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -1;
	dir = open_at(root, path, RESOLVE_IN_ROOT);
	error = errno;
	close(root);
	errno = error;
	return dir;
}

/* Before Linux 5.6, a mount point is opened as well. */
int namespaces_open_beneath(int dir, const char *name)
{
	const int fd = open_at(dir, name, RESOLVE_BENEATH | RESOLVE_NO_XDEV);

	return fd < 0 && errno == ENOSYS
		? openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : fd;
}
