/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_REPEATS_H
#define BENCH_REPEATS_H
/* A value of several repeats: median and range. Pure. */
#include <stddef.h>

struct repeats { double median, min, max; };

/* Sorts v. NANs are left out; the result is NAN without other values. */
struct repeats repeats_of(double *v, size_t n);

#endif
