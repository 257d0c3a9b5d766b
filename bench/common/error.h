/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_ERROR_H
#define BENCH_ERROR_H
/* Errors that end the program: each function prints "PROGRAM: ..." on standard error and exits. */

/* Name the command whose --help die() refers to. */
void die_in_command(const char *name);

/* Further messages begin with this text and a colon; NULL: no longer. */
void die_about(const char *text);

/* A wrong option or input file: status 2. */
void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* Any other error: status 1. */
void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif
