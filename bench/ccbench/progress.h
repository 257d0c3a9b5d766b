/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_PROGRESS_H
#define BENCH_PROGRESS_H
/* Progress on stderr: a bar if that is a terminal, else a line for each run. */
#include <stdbool.h>

/* Is stderr a terminal? */
bool progress_watched(void);

/* The width of the terminal at fd; 80 if it is none. */
int terminal_columns(int fd);

/* Draw the bar, or draw it again in place: run i of n is done to that fraction. If a signal for
 * which there is no handler ends the process, the bar is erased first. */
void progress_bar(unsigned i, unsigned n, const char *what, double fraction);

/* Erase the bar if there is one. */
void progress_clear(void);

/* "[####....]" with `width` characters between the brackets, into buf. Pure. */
char *progress_fill(char *buf, unsigned width, double fraction);

#endif
