/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_PROGRESS_H
#define BENCH_PROGRESS_H
/* How far it is: a bar on a terminal, elsewhere a line for each run. On stderr. */
#include <stdbool.h>

/* Is there somebody to watch a bar? */
bool progress_watched(void);

/* Run i of n is at that fraction. Redrawn in place. */
void progress_bar(unsigned i, unsigned n, const char *what, double fraction);

/* Take the bar away, if there is one. */
void progress_clear(void);

/* "[####....]" of that many characters between the brackets; buf has room for them. Pure. */
char *progress_fill(char *buf, unsigned width, double fraction);

#endif
