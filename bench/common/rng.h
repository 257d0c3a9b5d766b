/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_RNG_H
#define BENCH_RNG_H
/*
 * Every random choice of a run (PSNs, pauses, start times) comes from its seed,
 * so that runs in virtual time repeat to the digit. splitmix64.
 */
#include <stdint.h>

struct rng { uint64_t state; };

static inline uint64_t rng_next(struct rng *r)
{
	uint64_t z = (r->state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* Streams of different ranks of one seed have nothing in common. */
static inline struct rng rng_of(uint64_t seed, unsigned rank)
{
	struct rng r = { seed };

	r.state = rng_next(&r) + rank;
	r.state = rng_next(&r);
	return r;
}

/* Uniform in [0, 1). */
static inline double rng_unit(struct rng *r)
{
	return (double)(rng_next(r) >> 11) * 0x1p-53;
}

#endif
