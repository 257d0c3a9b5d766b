/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_REPEATS_H
#define BENCH_REPEATS_H
/* A value of several repeats: median and range. Pure. */
#include <stddef.h>

struct repeats { double median, min, max; };

/* Sorts v. What is not known (NAN) is left out; NANs if nothing is known. */
struct repeats repeats_of(double *v, size_t n);

#endif
