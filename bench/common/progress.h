/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_PROGRESS_H
#define BENCH_PROGRESS_H
/* Progress on stderr: a bar on a terminal, or a line for each run. */
#include <stdbool.h>

/* Is stderr a terminal? */
bool progress_watched(void);

/* Draw the bar, or redraw it in place: a fraction of run i of n is done. If a signal without a handler
 * ends the process, the bar is erased first. */
void progress_bar(unsigned i, unsigned n, const char *what, double fraction);

/* Erase the bar if it is drawn. */
void progress_clear(void);

/* "[####....]" with `width` characters between the brackets, into buf. Pure. */
char *progress_fill(char *buf, unsigned width, double fraction);

#endif
