/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_BASE_POOL_H
#define CCS_BASE_POOL_H
/*
 * Memory for what there may be thousands of. Blocks of about one size lie one after the
 * other, in whole cache lines, and not between the application's own: who goes through
 * its queue pairs finds them, its own and ours, as close together as without us.
 *
 * What is freed is used again for blocks of that size, not given back. From any thread.
 */
#include <stddef.h>

/* n of that size, zeroed; NULL: no memory. */
void *ccs_pool_calloc(size_t n, size_t size);

/* The same n and size as it was asked for; p may be NULL. */
void ccs_pool_free(void *p, size_t n, size_t size);

#endif
