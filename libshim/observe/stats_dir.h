/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_STATS_DIR_H
#define CCS_STATS_DIR_H
/*
 * The directory of statistics files, one file per process, named PID or, where a process in another
 * PID namespace has that name, PID.NAMESPACE. It is DIR/ccshim-UID with option stats_dir, else
 * $XDG_RUNTIME_DIR/ccshim, or for root /run/ccshim-stats, or where neither can be used
 * /tmp/ccshim-UID, or where another user has taken that name /tmp/ccshim-UID.XXXXXX, of random
 * letters. It is not /run/ccshim, which belongs to ccshimd: its unit assigns that directory to a
 * separate user and removes it with all its files. Used by writers and readers.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Identifies a process as long as it runs the same program. 0: unknown. */
struct ccs_stats_identity {
	uint64_t start_ticks, exec_mark;
};

/* 0, or an errno; ENOENT: the process does not exist. */
int ccs_stats_identify(pid_t pid, struct ccs_stats_identity *id);

/* The inode of this process's PID namespace; 0: unknown. */
uint64_t ccs_stats_pid_namespace(void);

/* Set the directory of option stats_dir; "": not set. Once, before other threads use the rest. */
void ccs_stats_dir_set(const char *dir);

/*
 * Open the directory for this process's file; create it if necessary. A descriptor, and the
 * name of the directory; or -1 and the errno of the last candidate.
 */
int ccs_stats_dir_open(char *name, size_t len);

/* Why processes of this user cannot use dir as option stats_dir; NULL: they can, or it is "". */
const char *ccs_stats_dir_obstacle(const char *dir);

/* The n-th candidate for the caller's directory, counted from 0; false after the last. */
bool ccs_stats_dir_name(unsigned n, char *name, size_t len);

/* The process ID in a file name; 0: it is not the name of a statistics file. */
pid_t ccs_stats_pid_of(const char *name);

/* Whether the process that wrote the file can be the identified one. */
struct ccs_stats_header;
bool ccs_stats_same(const struct ccs_stats_header *h, const struct ccs_stats_identity *id);

/*
 * Whether the process of that file has certainly ended; false if it is in another PID namespace
 * than the caller.
 */
bool ccs_stats_is_stale(const struct ccs_stats_header *h);

/*
 * Open a regular file of that directory, with O_RDONLY or O_RDWR; a descriptor, or -1 and errno.
 * Other kinds of files, and links, are not opened: the owner of the directory chooses what is
 * there, and to open a device can have an effect, or wait.
 */
int ccs_stats_open_file(int dir, const char *name, int flags);

/* Whether its process has certainly ended, or it has had no header for a minute. */
bool ccs_stats_is_stale_file(int dir, const char *name);

/* Remove files of ended processes, and files without a header that are older than a minute. Only
 * the first 16384 are read, as the directory may be another user's. Returns the number removed. */
unsigned ccs_stats_sweep(int dir);

#endif
