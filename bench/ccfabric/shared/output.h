/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCFABRIC_OUTPUT_H
#define CCFABRIC_OUTPUT_H
/*
 * Where results go: a file, or standard output, which is "-". What cannot be written ends the
 * program with a message.
 */
#include <stdbool.h>
#include <stdio.h>

/* Before a run that may take hours: whether path, unless it is NULL or "-", could be written. It is
 * neither opened, since a FIFO's reader would see that, nor truncated. */
void output_check(const char *path);

/* NULL: nothing is written. */
void output_write(const char *path, bool (*write)(const void *owner, FILE *f), const void *owner);

/* What was printed on standard output. */
void output_flush(void);

/* Print it and exit. */
_Noreturn void output_help(const char *usage);

#endif
