/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_BASE_APART_H
#define CCS_BASE_APART_H
/*
 * calloc() for what one thread writes often: followed by a cache line of nothing, so that
 * no two of these share one, and threads with queues of their own do not slow each other.
 */
#include <stdlib.h>

static inline void *ccs_calloc_apart(size_t n, size_t size)
{
	size += !size; /* nothing is there, too */
	return calloc(n + (64 + size - 1) / size, size);
}

#endif
