/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCFABRIC_OUTPUT_H
#define CCFABRIC_OUTPUT_H
/*
 * Results go to a file, or to standard output, which is "-". If they cannot be written the program
 * ends with a message.
 */
#include <stdbool.h>
#include <stdio.h>

/* Check before a long run that a path, unless it is NULL or "-", can be written. The file is not opened,
 * because a FIFO's reader would see that, and not truncated. */
void output_check(const char *path);

/* path: may be NULL. */
void output_write(const char *path, bool (*write)(const void *owner, FILE *f), const void *owner);

/* Flush standard output. */
void output_flush(void);

/* Print it and exit. */
_Noreturn void output_help(const char *usage);

#endif
