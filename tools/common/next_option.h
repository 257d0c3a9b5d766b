/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_COMMON_NEXT_OPTION_H
#define CCS_COMMON_NEXT_OPTION_H
/* getopt_long() of all programs: with --version, and a hint for a mistyped long option. */
#include <getopt.h>
#include <stddef.h>

/*
 * As getopt_long(). After an unknown long option it also prints the name that is near. --version
 * prints the version of the program, the first word of argv[0], and exits, unless the table has
 * an option whose name begins so.
 */
int next_option(int argc, char **argv, const char *letters, const struct option *longs, int *index);

/* "; did you mean '--NAME'?", or "": for a word that begins with "--". */
char *option_hint(const char *word, const struct option *longs, char *buf, size_t len);

/* Print "PROGRAM VERSION"; 0. The caller flushes. */
int print_version(const char *program);

#endif
