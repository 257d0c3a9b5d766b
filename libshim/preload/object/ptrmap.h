/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_PTRMAP_H
#define CCS_PTRMAP_H
/*
 * A hash map from a libibverbs object to its record. Readers take no lock: a post finds its QP in
 * one or two cache lines. Writers take the lock. Outgrown tables are kept, because a reader may
 * still use them; together they are smaller than the current table.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct ccs_ptrentry {
	_Atomic(const void *) key;       /* NULL: never used; or a mark: deleted */
	_Atomic(void *) value;
};

struct ccs_ptrtable {
	size_t span;                     /* offset of the last entry: masks the bits of a hash */
	size_t mask, filled;             /* filled counts deleted entries too */
	struct ccs_ptrtable *outgrown;   /* kept reachable, never freed */
	struct ccs_ptrentry entry[];
};

struct ccs_ptrmap {
	_Atomic(struct ccs_ptrtable *) table;
	_Atomic(struct ccs_ptrtable *) first; /* the same; or empty, from ccs_ptrmap_hide() on */
	pthread_mutex_t lock;
};

/* Without an entry. Lookups need no check for a map without a table. */
extern struct ccs_ptrtable ccs_ptrmap_empty;

#define CCS_PTRMAP_INIT { .table = &ccs_ptrmap_empty, .first = &ccs_ptrmap_empty, \
			  .lock = PTHREAD_MUTEX_INITIALIZER }

/*
 * Objects at neighbouring addresses get neighbouring entries, so that a caller that goes through
 * its objects goes through the table in order; distant addresses are scattered. The result is an
 * offset of an entry, with more bits on both sides: few instructions find the entry.
 */
static inline size_t ccs_ptrmap_hash(const void *key)
{
	const uint64_t x = (uintptr_t)key;

	return (size_t)(x * ((1u << 25) + 0xc391) >> 28); /* x >> 3, and more of distant addresses */
}

/* NULL: the key's first entry has another key, or the map is hidden. */
static inline void *ccs_ptrmap_get_first(struct ccs_ptrmap *m, const void *key)
{
	struct ccs_ptrtable *t = atomic_load_explicit(&m->first, memory_order_acquire);
	struct ccs_ptrentry *e = (void *)((char *)t->entry + (ccs_ptrmap_hash(key) & t->span));
	void *value;

	/* acquire: pairs with put(), which stores the value first */
	if (__builtin_expect(atomic_load_explicit(&e->key, memory_order_acquire) != key, 0))
		return NULL;
	value = atomic_load_explicit(&e->value, memory_order_acquire);
	if (!value)
		__builtin_unreachable(); /* put() stores no NULL */
	return value;
}

/* NULL: not found. */
void *ccs_ptrmap_get(struct ccs_ptrmap *m, const void *key);

/* From now on ccs_ptrmap_get_first() finds nothing. Only in a child, which adds no object. */
static inline void ccs_ptrmap_hide(struct ccs_ptrmap *m)
{
	atomic_store(&m->first, &ccs_ptrmap_empty);
}

/* Replaces an existing value. 0, or -1: no memory. */
int ccs_ptrmap_put(struct ccs_ptrmap *m, const void *key, void *value);
/* Only if it still has that value: a new object may have got the address since. */
void ccs_ptrmap_del(struct ccs_ptrmap *m, const void *key, const void *value);

#endif
