/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_SIM_MEMORY_H
#define BENCH_SIM_MEMORY_H
/* Memory for arrays; the program ends with a message if there is none. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void *mem_checked(void *p)
{
	if (!p) {
		fputs("out of memory\n", stderr);
		exit(1);
	}
	return p;
}

/* The new part of a grown array has any contents. */
static inline void *mem_resized(void *p, size_t n, size_t size)
{
	return mem_checked(n <= SIZE_MAX / size ? realloc(p, n * size) : NULL);
}

static inline void *mem_zeroed(size_t n, size_t size)
{
	return mem_checked(calloc(n ? n : 1, size));
}

/* Zeroes, from the beginning of a cache line; n * size is a multiple of one. */
static inline void *mem_lines(size_t n, size_t size)
{
	void *p = mem_checked(n <= SIZE_MAX / size ? aligned_alloc(64, (n ? n : 1) * size) : NULL);

	return memset(p, 0, (n ? n : 1) * size);
}

/*
 * A larger copy of an array of *n items, which is freed. The items from number 1 on that are not in
 * use are linked by the uint32_t at offset `next`, up to a 0; *unused is the first.
 */
static inline void *mem_pool(void *items, uint32_t *n, uint32_t *unused, size_t size, size_t next)
{
	const uint32_t old = *n ? *n : 1, new = *n ? 2 * *n : 1024;
	char *larger = mem_lines(new, size);

	if (items)
		memcpy(larger, items, old * size);
	free(items);
	for (uint32_t i = new - 1; i >= old; i--) {
		memcpy(larger + i * size + next, unused, sizeof(*unused));
		*unused = i;
	}
	*n = new;
	return larger;
}

#endif
