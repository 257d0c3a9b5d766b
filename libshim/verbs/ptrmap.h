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
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct ccs_ptrentry {
	_Atomic(const void *) key;       /* NULL: never used; or that it is deleted */
	_Atomic(void *) value;
};

struct ccs_ptrtable {
	size_t mask, filled;             /* filled counts deleted entries too */
	struct ccs_ptrtable *outgrown;   /* kept reachable, never freed */
	struct ccs_ptrentry entry[];
};

struct ccs_ptrmap {
	_Atomic(struct ccs_ptrtable *) table;
	pthread_mutex_t lock;
};

#define CCS_PTRMAP_INIT { .lock = PTHREAD_MUTEX_INITIALIZER }

/*
 * Objects that were made one after the other are near each other here, too, so that who
 * goes through them goes through the table; where they are far apart, anywhere.
 */
static inline size_t ccs_ptrmap_hash(const void *key)
{
	const uint64_t x = (uintptr_t)key;

	return (size_t)((x >> 6) + ((x >> 14) * 0x9e3779b97f4a7c15ull >> 32));
}

/* NULL: it is not there. */
static inline void *ccs_ptrmap_get(struct ccs_ptrmap *m, const void *key)
{
	struct ccs_ptrtable *t = atomic_load_explicit(&m->table, memory_order_acquire);

	if (!t)
		return NULL;
	for (size_t i = ccs_ptrmap_hash(key);; i++) {
		struct ccs_ptrentry *e = &t->entry[i & t->mask];
		/* acquire: pairs with put(), which stores the value first */
		const void *k = atomic_load_explicit(&e->key, memory_order_acquire);

		if (k == key)
			return atomic_load_explicit(&e->value, memory_order_acquire);
		if (!k)
			return NULL;
	}
}

/* Replaces what is there of that key. 0, or -1 without memory. */
int ccs_ptrmap_put(struct ccs_ptrmap *m, const void *key, void *value);
/* Only if it still has that value: the address may have been given to a successor since. */
void ccs_ptrmap_del(struct ccs_ptrmap *m, const void *key, const void *value);

#endif
