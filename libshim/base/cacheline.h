/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_BASE_CACHELINE_H
#define CCS_BASE_CACHELINE_H
/*
 * calloc() for memory that one thread writes often. It is followed by an unused cache line, so
 * that no two blocks share one and threads with separate queues do not slow each other.
 */
#include <stdlib.h>

static inline void *ccs_calloc_padded(size_t n, size_t size)
{
	size += !size; /* an empty block is one byte */
	return calloc(n + (64 + size - 1) / size, size);
}

#endif
