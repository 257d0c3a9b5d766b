/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCFABRIC_MEMORY_H
#define CCFABRIC_MEMORY_H
/* Memory for arrays; the program ends with a message if there is none. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static inline void *fab_memory(void *p)
{
	if (!p) {
		fputs("ccfabric: out of memory\n", stderr);
		exit(1);
	}
	return p;
}

/* The new part of a grown array has any contents. */
static inline void *fab_resized(void *p, size_t n, size_t size)
{
	return fab_memory(n <= SIZE_MAX / size ? realloc(p, n * size) : NULL);
}

static inline void *fab_zeroed(size_t n, size_t size)
{
	return fab_memory(calloc(n ? n : 1, size));
}

#endif
