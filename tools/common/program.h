/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_PROGRAM_H
#define CCS_TOOLS_PROGRAM_H
#include <stdbool.h>
#include <stdio.h>

/*
 * Run a program, found as execvp(3) finds it, and wait for its end. Its standard input is the
 * descriptor `in`, or /dev/null if that is -1. Its standard output, and with `errors` its standard
 * error, go to *out through a pipe; out NULL: nowhere. It blocks no signal and ignores no SIGPIPE.
 * Returns its status as waitpid(2) does, or -1 and errno if it cannot be started.
 */
int program_run(const char *file, char *const *argv, int in, bool errors, FILE *out);

#endif
