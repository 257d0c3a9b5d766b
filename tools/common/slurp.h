/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_SLURP_H
#define BENCH_SLURP_H

/* All of a small text file, to be freed; NULL if it cannot be read. */
char *slurp(const char *name);

#endif
