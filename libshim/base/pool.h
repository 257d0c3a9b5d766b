/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_BASE_POOL_H
#define CCS_BASE_POOL_H
/*
 * Memory for objects of which there may be thousands. Blocks of about one size are adjacent, in
 * whole cache lines, and not between the application's own: an application that iterates over its
 * queue pairs finds its memory and ours as close together as without the shim.
 *
 * Freed blocks are reused for blocks of that size, and only those of more than 64 KB returned to
 * the system. Thread-safe. malloc() is not called.
 */
#include <stddef.h>
#include <stdlib.h>

/* n objects of that size, zeroed; NULL: no memory. */
void *ccs_pool_calloc(size_t n, size_t size);

/* n and size must be the same as at the allocation; p may be NULL. */
void ccs_pool_free(void *p, size_t n, size_t size);

/*
 * calloc() for memory that one thread writes often. It is followed by an unused cache line, so
 * that no two blocks share one and threads with separate queues do not slow each other.
 */
static inline void *ccs_calloc_padded(size_t n, size_t size)
{
	size += !size; /* an empty block is one byte */
	return calloc(n + (64 + size - 1) / size, size);
}

#endif
