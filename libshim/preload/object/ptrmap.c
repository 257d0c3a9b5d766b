/* SPDX-License-Identifier: BSD-2-Clause */
/* A hash map from pointers to pointers with linear probing: insertion and deletion. */
#include "preload/object/ptrmap.h"

#include <stdlib.h>

static const char deleted;
#define DELETED ((const void *)&deleted)

enum { SIZE_MIN = 64 };

struct ccs_ptrtable ccs_ptrmap_empty = { .entry = { { NULL, NULL } } };

/* Where the search for a key begins. */
static size_t home_of(const void *key)
{
	return ccs_ptrmap_hash(key) / sizeof(struct ccs_ptrentry);
}

/* The key's entry, or NULL. */
static struct ccs_ptrentry *find_entry(struct ccs_ptrtable *t, const void *key)
{
	for (size_t i = home_of(key);; i++) {
		struct ccs_ptrentry *e = &t->entry[i & t->mask];
		const void *k = atomic_load_explicit(&e->key, memory_order_acquire);

		if (k == key)
			return e;
		if (!k)
			return NULL;
	}
}

void *ccs_ptrmap_get(struct ccs_ptrmap *m, const void *key)
{
	struct ccs_ptrtable *t = atomic_load_explicit(&m->table, memory_order_acquire);
	struct ccs_ptrentry *e = find_entry(t, key);

	return e ? atomic_load_explicit(&e->value, memory_order_acquire) : NULL;
}

/* key must not be in the table. A deleted entry can be reused. */
static void insert_entry(struct ccs_ptrtable *t, const void *key, void *value)
{
	for (size_t i = home_of(key);; i++) {
		struct ccs_ptrentry *e = &t->entry[i & t->mask];
		const void *k = atomic_load_explicit(&e->key, memory_order_relaxed);

		if (k && k != DELETED)
			continue;
		atomic_store_explicit(&e->value, value, memory_order_relaxed);
		atomic_store_explicit(&e->key, key, memory_order_release);
		t->filled += !k;
		return;
	}
}

/*
 * Make a table of which at most a quarter is in use, and which has no deleted entries. Each table
 * is at least twice as large as the previous, so the newest is larger than all others together.
 */
static struct ccs_ptrtable *make_larger(struct ccs_ptrtable *old)
{
	size_t live = 0, size = 2 * (old->mask + 1);
	struct ccs_ptrtable *t;

	for (size_t i = 0; i <= old->mask; i++) {
		const void *k = old->entry[i].key;

		live += k && k != DELETED;
	}
	if (size < SIZE_MIN)
		size = SIZE_MIN;
	while (size < 4 * (live + 1))
		size *= 2;
	t = calloc(1, sizeof(*t) + size * sizeof(t->entry[0]));
	if (!t)
		return NULL;
	t->mask = size - 1;
	t->span = t->mask * sizeof(t->entry[0]);
	t->outgrown = old;
	for (size_t i = 0; i <= old->mask; i++) {
		const void *k = old->entry[i].key;

		if (k && k != DELETED)
			insert_entry(t, k, old->entry[i].value);
	}
	return t;
}

int ccs_ptrmap_put(struct ccs_ptrmap *m, const void *key, void *value)
{
	struct ccs_ptrtable *t;
	struct ccs_ptrentry *e;
	int rc = 0;

	pthread_mutex_lock(&m->lock);
	t = atomic_load_explicit(&m->table, memory_order_relaxed);
	e = find_entry(t, key);
	if (e) {
		atomic_store_explicit(&e->value, value, memory_order_release);
		pthread_mutex_unlock(&m->lock);
		return 0;
	}
	if (2 * (t->filled + 1) > t->mask + 1) {
		t = make_larger(t);
		if (t) {
			atomic_store_explicit(&m->table, t, memory_order_release);
			atomic_store_explicit(&m->first, t, memory_order_release);
		} else {
			rc = -1;
		}
	}
	if (t)
		insert_entry(t, key, value);
	pthread_mutex_unlock(&m->lock);
	return rc;
}

static const void *key_at(const struct ccs_ptrtable *t, size_t i)
{
	return atomic_load_explicit(&t->entry[i & t->mask].key, memory_order_relaxed);
}

static void clear_entry(struct ccs_ptrtable *t, size_t i)
{
	atomic_store_explicit(&t->entry[i & t->mask].key, NULL, memory_order_release);
	t->filled--;
}

/*
 * A deleted entry must not end a reader's search for a key that follows it. Deleted entries that no
 * search passes, in the run around entry i, become empty again, so that creating and destroying
 * objects does not fill the table.
 */
static void clear_deleted_run(struct ccs_ptrtable *t, size_t i)
{
	size_t first = i + t->mask + 1, last = first, needed = SIZE_MAX;

	while (key_at(t, first - 1))
		first--;
	while (key_at(t, last + 1))
		last++;
	for (size_t p = last; p >= first; p--) {
		const void *k = key_at(t, p);
		const size_t home = p - ((p - home_of(k)) & t->mask);

		if (k != DELETED && home < needed)
			needed = home;
		if (k == DELETED && p < needed)
			clear_entry(t, p);
	}
}

void ccs_ptrmap_del(struct ccs_ptrmap *m, const void *key, const void *value)
{
	struct ccs_ptrtable *t;
	struct ccs_ptrentry *e;

	pthread_mutex_lock(&m->lock);
	t = atomic_load_explicit(&m->table, memory_order_relaxed);
	e = find_entry(t, key);
	if (e && atomic_load_explicit(&e->value, memory_order_relaxed) == value) {
		atomic_store_explicit(&e->key, DELETED, memory_order_release);
		clear_deleted_run(t, (size_t)(e - t->entry));
	}
	pthread_mutex_unlock(&m->lock);
}
