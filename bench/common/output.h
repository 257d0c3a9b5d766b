/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_OUTPUT_H
#define BENCH_OUTPUT_H
/*
 * Results go to a file, or to standard output, which is "-". If they cannot be written the program
 * ends with a message.
 */
#include <stdbool.h>
#include <stdio.h>

/* 0, or the errno with which writing the file would fail: to be known before hours of runs. The file
 * is not opened: a FIFO's reader would see an end of file. */
int output_obstacle(const char *path);

/* The same for a path that may be NULL or "-". */
void output_check(const char *path);

/* path: may be NULL. */
void output_write(const char *path, bool (*write)(const void *owner, FILE *f), const void *owner);

/* Flush standard output. */
void output_flush(void);

/* Print it and exit. */
_Noreturn void output_help(const char *usage);

#endif
