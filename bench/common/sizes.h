/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_SIZES_H
#define BENCH_SIZES_H
/* How large messages are: published distributions of flow sizes. Pure. */
#include <stdint.h>

#include "bench/common/rng.h"

enum sizes { SIZES_FIXED, SIZES_WEBSEARCH, SIZES_HADOOP, SIZES_LADDER };

/* "fixed", "websearch", "hadoop"; NULL for others. */
const char *sizes_name(enum sizes s);

/* The next size: drawn, but for SIZES_FIXED, where it is `fixed`, and SIZES_LADDER,
 * whose n-th message has the n-th size of a fixed row, again and again. At least 1. */
uint64_t sizes_next(enum sizes s, uint64_t fixed, uint64_t n, struct rng *rng);

/* Mean size, bytes. */
double sizes_mean(enum sizes s, uint64_t fixed);

/* The ladder's steps, from the smallest. */
#define LADDER_STEPS 7
extern const uint64_t sizes_ladder[LADDER_STEPS];

#endif
