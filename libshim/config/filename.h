/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_FILENAME_H
#define CCS_FILENAME_H
/* Expands the file names given by options. */
#include <stddef.h>

/* Replace %p in the name by the process ID, so that many processes can share a setting. */
void ccs_filename_expand(const char *name, char *out, size_t len);

/* Make name absolute, as seen from the current directory, which the application may change. */
void ccs_filename_absolute(const char *name, char *out, size_t len);

/*
 * Open it for writing, with further flags of open(2), for its user alone if it is created. A
 * symbolic link of another user is refused (EPERM): in a shared directory it may lead to any file
 * of ours. A FIFO without a reader is an error, instead of a wait for one.
 */
int ccs_filename_open(const char *name, int flags);

#endif
