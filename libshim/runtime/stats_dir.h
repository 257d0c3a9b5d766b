/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_STATS_DIR_H
#define CCS_STATS_DIR_H
/*
 * Where statistics pages are, a file PID for each process: $XDG_RUNTIME_DIR/ccshim, or for
 * root /run/ccshim-stats, or where neither can be used /tmp/ccshim-UID. Not in /run/ccshim:
 * that is ccshimd's, whose unit gives it to a user of its own and removes it with all that
 * is in it. Shared by who writes them and who reads.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Which a process is: as long as it runs the same program. 0: not known. */
struct ccs_stats_identity {
	uint64_t start_ticks, exec_mark;
};

/* 0, or an errno: ENOENT: there is no such process. */
int ccs_stats_identify(pid_t pid, struct ccs_stats_identity *id);

/* Of this process; 0: not known. */
uint64_t ccs_stats_pid_namespace(void);

/*
 * The directory for pages of this process's own, made where there is none. An open
 * descriptor, and its name; or -1 and errno: that of the last place tried.
 */
int ccs_stats_dir_open(char *name, size_t len);

/* The n-th place where the caller's own pages may be, from 0; false: there are no more. */
bool ccs_stats_dir_name(unsigned n, char *name, size_t len);

/* The process that a file is called after; 0: it is no page's name. */
pid_t ccs_stats_pid_of(const char *name);

/*
 * Whether the process of that page is gone: for certain, and in the caller's PID namespace.
 * A page that was never finished counts as its process's for a minute.
 */
struct ccs_stats_header;
bool ccs_stats_is_stale(const struct ccs_stats_header *h);

/* Remove pages of processes that are gone; how many. */
unsigned ccs_stats_sweep(int dir);

#endif
