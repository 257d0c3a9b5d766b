/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_INDEX_H
#define CCS_AGENT_INDEX_H
/* A hash table whose entries embed the chain's node. The caller compares keys. */
#include <stdint.h>
#include <stdlib.h>

#include "base/hash.h"

struct ccs_hash_node {
	struct ccs_hash_node *next, **at; /* at: the pointer to this node */
	uint64_t hash;
};

struct ccs_index {
	struct ccs_hash_node **bucket;
	uint64_t mask;
	uint64_t salt;                   /* random: other hosts cannot cause collisions */
};

/* buckets: a power of two. 0, or -1 if out of memory. */
static inline int ccs_index_init(struct ccs_index *x, uint64_t buckets, uint64_t salt)
{
	x->bucket = calloc(buckets, sizeof(*x->bucket));
	x->mask = buckets - 1;
	x->salt = salt;
	return x->bucket ? 0 : -1;
}

static inline uint64_t ccs_index_hash(const struct ccs_index *x, uint64_t a, uint32_t b)
{
	return ccs_mix(x->salt ^ (a << 32 | b));
}

static inline void ccs_index_add(struct ccs_index *x, struct ccs_hash_node *e, uint64_t hash)
{
	struct ccs_hash_node **at = &x->bucket[hash & x->mask];

	*e = (struct ccs_hash_node){ .next = *at, .at = at, .hash = hash };
	if (e->next)
		e->next->at = &e->next;
	*at = e;
}

/* e must be in a table. The time does not depend on how many entries have its hash. */
static inline void ccs_index_remove(struct ccs_hash_node *e)
{
	*e->at = e->next;
	if (e->next)
		e->next->at = e->at;
}

/* The next entry with that hash after e; e NULL: the first entry. */
static inline struct ccs_hash_node *ccs_index_next(const struct ccs_index *x,
						   const struct ccs_hash_node *e, uint64_t hash)
{
	struct ccs_hash_node *l = e ? e->next : x->bucket[hash & x->mask];

	while (l && l->hash != hash)
		l = l->next;
	return l;
}

#endif
