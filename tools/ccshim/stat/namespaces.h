/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_NAMESPACES_H
#define CCS_NAMESPACES_H
/*
 * Processes in other PID or mount namespaces than the caller, as those of containers, and the files
 * that they see. Only processes that the caller may inspect are found: as root all.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ns_process {
	pid_t pid;                       /* as the caller sees it */
	pid_t inner;                     /* in its own PID namespace */
	uint64_t pid_ns, mount_ns;       /* inodes */
};

struct namespaces {
	uint64_t pid_ns, mount_ns;       /* the caller's */
	bool complete;                   /* no process of the host is missing */
	int64_t read_s;                  /* CLOCK_REALTIME, in seconds */
	struct ns_process *process;
	size_t count;
};

/* Read /proc. Without memory, no process is found. */
void namespaces_read(struct namespaces *n);
void namespaces_free(struct namespaces *n);

/* The process with that ID in that PID namespace, as the caller sees it; 0: none is found. */
pid_t namespaces_find(const struct namespaces *n, uint64_t pid_ns, pid_t inner);

/* The process ID within its own namespace. */
pid_t namespaces_inner(const struct namespaces *n, pid_t pid);

/* The mount namespace of a process that is in another one than the caller; 0: it is not. */
uint64_t namespaces_mount(const struct namespaces *n, pid_t pid);

/*
 * Open a directory below the root directory of that process, by a path without symbolic links: the
 * process, which may be any user's, could have made one to a directory that only the caller may
 * search. A descriptor, or -1 and errno.
 */
int namespaces_open_dir(pid_t pid, const char *path);

#endif
