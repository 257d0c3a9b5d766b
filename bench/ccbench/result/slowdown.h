/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_SLOWDOWN_H
#define BENCH_SLOWDOWN_H
/*
 * Slowdown: the time of a message divided by the time of a message of its size to the same host
 * through an empty network. 1 is the optimum. Pure, except that it allocates memory.
 */
#include "bench/ccbench/scenario/figures.h"
#include "bench/ccbench/scenario/flow.h"

/* Times through the empty network to one host: the minimum for each size. */
struct unloaded {
	double us[LADDER_STEPS];  /* of sizes_ladder[]; NAN: not seen */
};

void unloaded_clear(struct unloaded *u);
void unloaded_add(struct unloaded *u, const struct flow_sample *s, size_t n);

/* us: straight between the sizes that were seen, and beyond the largest. NAN without two. */
double unloaded_us(const struct unloaded *u, uint64_t size);

/* Messages by size, and all. */
#define SIZE_CLASSES 6

struct slowdown {
	struct spread spread[SIZE_CLASSES]; /* by class; the last: all classes */
};

/* "<= 1 KB", ..., "all" */
const char *size_class_name(unsigned class);

/* The largest size of a class; 0: no limit. */
uint64_t size_class_limit(unsigned class);

/* One message's slowdown, and its size. */
struct slow { double slowdown; uint64_t size; };

/* 0, or -1 without memory. */
int slowdown_of(struct slowdown *to, const struct slow *v, size_t n);

#endif
