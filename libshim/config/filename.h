/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_FILENAME_H
#define CCS_FILENAME_H
/* Expands the file names given by options. */
#include <stddef.h>

enum { CCS_FILENAME_MAX = 1024 };        /* size of an expanded, absolute name, with its NUL */

/*
 * Names have escapes, with which all processes can share a setting: %h host, %j job, %t task,
 * %r rank (job.h), %p process ID, %% a percent sign. An unknown value becomes "none".
 */
struct ccs_job;

/* 0; or -1 with a sentence in err: the name has another escape. */
int ccs_filename_check(const char *name, char *err, size_t errlen);

/* Replace the escapes of a checked name; 0, or -1 with errno: the result does not fit. */
int ccs_filename_expand(const char *name, const struct ccs_job *job, char *out, size_t len);

/* The inverse: double each percent sign; 0, or -1 with errno: the result does not fit. */
int ccs_filename_escape(const char *name, char *out, size_t len);

/* Make name absolute, as seen from the current directory, which the application may change. */
void ccs_filename_absolute(const char *name, char *out, size_t len);

/*
 * Open it, with flags of open(2), for its user alone if it is created. A symbolic link of another
 * user is refused (EPERM), also in the directories on the way: it may lead to any file of ours. A
 * FIFO without a peer is an error, or is empty, instead of a wait for one.
 */
int ccs_open_path(const char *path, int flags);

#endif
