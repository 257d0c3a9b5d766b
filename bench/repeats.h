/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_REPEATS_H
#define BENCH_REPEATS_H
/* A figure of several runs alike: its middle, and how far they lie apart. Pure. */
#include <stddef.h>

struct repeats { double median, min, max; };

/* Sorts v. What is not known (NAN) is left out; NANs if nothing is known. */
struct repeats repeats_of(double *v, size_t n);

#endif
