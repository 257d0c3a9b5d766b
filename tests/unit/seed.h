/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TESTS_SEED_H
#define CCS_TESTS_SEED_H
/* Random numbers for property tests. CCS_SEED=N repeats a run. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t seed_state;

/* Call first in each property; prints the seed as a TAP comment. */
static inline void seed_start(const char *property)
{
	const char *given = getenv("CCS_SEED");

	seed_state = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
	printf("# %s: CCS_SEED=%" PRIu64 "\n", property, seed_state);
}

/* splitmix64 */
static inline uint64_t seed_next(void)
{
	uint64_t z = seed_state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static inline uint64_t seed_below(uint64_t n)
{
	return seed_next() % n;
}

/* Random printable text similar to valid input, at most len - 1 long. */
static inline void seed_garbage(char *text, size_t len, const char *alphabet, size_t letters)
{
	size_t n = seed_below(len);

	for (size_t i = 0; i < n; i++)
		text[i] = seed_below(8) ? alphabet[seed_below(letters)]
					: (char)(1 + seed_below(255));
	text[n] = '\0';
}

#endif
