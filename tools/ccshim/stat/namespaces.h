/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_NAMESPACES_H
#define CCS_NAMESPACES_H
/*
 * Finds processes in other PID or mount namespaces, such as containers, and the files that they
 * see. The caller must be permitted to inspect them; root may inspect every process.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ns_process {
	pid_t pid;                       /* as the caller sees it */
	pid_t inner;                     /* ID in its PID namespace */
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

/* The ID, in the caller's namespace, of a process in another PID namespace; 0: not found. */
pid_t namespaces_find(const struct namespaces *n, uint64_t pid_ns, pid_t inner);

/* The ID of a process within its PID namespace. */
pid_t namespaces_inner(const struct namespaces *n, pid_t pid);

/* The mount namespace of a process; 0 if it is the caller's. */
uint64_t namespaces_mount(const struct namespaces *n, pid_t pid);

/*
 * Open a directory below the root directory of that process, by a path without symbolic links: the
 * process, which may be any user's, could have made one to a directory that only the caller may
 * search. A descriptor, or -1 and errno.
 */
int namespaces_open_dir(pid_t pid, const char *path);

#endif
