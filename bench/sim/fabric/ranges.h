/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_SIM_RANGES_H
#define BENCH_SIM_RANGES_H
/* A set of byte ranges, in order, none of which touches another. All zero is the empty set. */
#include <stdint.h>

struct fab_range {
	uint64_t from, to;       /* [from, to) */
};

struct fab_ranges {
	struct fab_range *range;
	uint32_t n, capacity;
};

void fab_ranges_add(struct fab_ranges *r, uint64_t from, uint64_t to);

/* Forget what is below `at`. */
void fab_ranges_drop(struct fab_ranges *r, uint64_t at);

/* The first byte from `at` on that is not in the set. */
uint64_t fab_ranges_gap(const struct fab_ranges *r, uint64_t at);

/* The first byte from `at` on that is, or UINT64_MAX. */
uint64_t fab_ranges_next(const struct fab_ranges *r, uint64_t at);

void fab_ranges_free(struct fab_ranges *r);

#endif
