/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_FILENAME_H
#define CCS_FILENAME_H
/* Names of files as options give them. */
#include <stddef.h>

/* %p in the name becomes the process id, so that many processes may share a setting. */
void ccs_filename_expand(const char *name, char *out, size_t len);

/* Absolute as of now: the application may change directory later. */
void ccs_filename_absolute(const char *name, char *out, size_t len);

#endif
