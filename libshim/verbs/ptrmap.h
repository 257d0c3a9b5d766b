/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_PTRMAP_H
#define CCS_PTRMAP_H
/*
 * From a libibverbs object to our record of it. Readers take no lock: a post
 * looks up its QP in one or two cache lines. Writers serialise among themselves.
 * Outgrown tables are kept, for a reader may be in one; they add up to less
 * than the live table.
 */
#include <pthread.h>
#include <stddef.h>

struct ccs_ptrmap {
	_Atomic(struct ccs_ptrtable *) table;
	pthread_mutex_t lock;
};

#define CCS_PTRMAP_INIT { .lock = PTHREAD_MUTEX_INITIALIZER }

void *ccs_ptrmap_get(struct ccs_ptrmap *m, const void *key);
/* Replaces what is there of that key. 0, or -1 without memory. */
int ccs_ptrmap_put(struct ccs_ptrmap *m, const void *key, void *value);
/* Only if it still has that value: the address may have been given to a successor since. */
void ccs_ptrmap_del(struct ccs_ptrmap *m, const void *key, const void *value);

#endif
