/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_BASE_ARRAY_H
#define CCS_BASE_ARRAY_H
/* Arrays that grow. One of more than 2^(n-1) elements has memory for 2^n. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* array: the address of the pointer to it. */
static inline bool ccs_grow(void *array, size_t count, size_t size)
{
	void *more;

	if (count & (count - 1))
		return true;
	memcpy(&more, array, sizeof(more));
	more = reallocarray(more, count ? 2 * count : 1, size);
	if (more)
		memcpy(array, &more, sizeof(more));
	return more;
}

/* Make space for one element after the first count. False: no memory, nothing has changed. */
#define CCS_GROW(array, count) ccs_grow(&(array), count, sizeof(*(array)))

#endif
