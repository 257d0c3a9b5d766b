/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_NAMESPACES_H
#define CCS_NAMESPACES_H
/*
 * Reads the processes of this host from /proc: their users and namespaces, and the files that those
 * in other mount namespaces see. Root may inspect every process, other users only theirs.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ns_process {
	pid_t pid;                       /* as the caller sees it */
	pid_t inner;                     /* ID in its PID namespace */
	uid_t effective, saved;          /* users */
	uint64_t pid_ns, mount_ns;       /* inodes; mount_ns 0: it may not be inspected */
	bool abandoned;                  /* killed, but waiting in the kernel */
	char name[16];
};

struct namespaces {
	uint64_t pid_ns, mount_ns, user_ns; /* the caller's */
	bool complete;                   /* no process of the host is missing */
	int64_t read_s;                  /* CLOCK_REALTIME, in seconds */
	struct ns_process *process;      /* by mount namespace */
	size_t count;
};

/* Read all processes, or only process `only` if it is not 0. Without memory, no process is found. */
void namespaces_read(struct namespaces *n, pid_t only);
void namespaces_free(struct namespaces *n);

/* The ID, in the caller's namespace, of a process in another PID namespace; 0: not found. */
pid_t namespaces_find(const struct namespaces *n, uint64_t pid_ns, pid_t inner);

/* Whether it is in another mount namespace than the caller. */
bool namespaces_is_in_other_mount(const struct namespaces *n, const struct ns_process *p);

/*
 * The user that made that process's mount namespace, or the outermost user namespace that contains
 * it. 0: root did, or it is unknown.
 */
uid_t namespaces_mount_owner(const struct namespaces *n, const struct ns_process *p);

/*
 * Open a directory below the root directory of that process, by a path without symbolic links: the
 * process, which may be any user's, could have made one to a directory that only the caller may
 * search. A descriptor, or -1 and errno. It may wait for a file system of that process's user.
 */
int namespaces_open_dir(pid_t pid, const char *path);

/* Open a directory of `dir` that is not a symbolic link or a mount point. Does not wait. */
int namespaces_open_beneath(int dir, const char *name);

#endif
