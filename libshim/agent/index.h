/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_INDEX_H
#define CCS_AGENT_INDEX_H
/* A hash table of chains through the entries themselves. Its user compares keys. */
#include <stdint.h>
#include <stdlib.h>

struct ccs_link {
	struct ccs_link *next;
	uint64_t hash;
};

struct ccs_index {
	struct ccs_link **bucket;
	uint64_t mask;
	uint64_t salt;                   /* so that nobody outside can aim at one chain */
};

/* splitmix64's finish: every bit of x in every bit of the result. */
static inline uint64_t ccs_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	return x ^ (x >> 31);
}

/* buckets: a power of two. 0, or -1 without memory. */
static inline int ccs_index_init(struct ccs_index *x, uint64_t buckets, uint64_t salt)
{
	x->bucket = calloc(buckets, sizeof(*x->bucket));
	x->mask = buckets - 1;
	x->salt = salt;
	return x->bucket ? 0 : -1;
}

static inline void ccs_index_add(struct ccs_index *x, struct ccs_link *e, uint64_t hash)
{
	struct ccs_link **at = &x->bucket[hash & x->mask];

	e->hash = hash;
	e->next = *at;
	*at = e;
}

/* e is in it. */
static inline void ccs_index_remove(struct ccs_index *x, struct ccs_link *e)
{
	struct ccs_link **at = &x->bucket[e->hash & x->mask];

	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
}

/* The next entry of that hash after e; NULL: the first one. */
static inline struct ccs_link *ccs_index_next(const struct ccs_index *x, const struct ccs_link *e,
					      uint64_t hash)
{
	struct ccs_link *l = e ? e->next : x->bucket[hash & x->mask];

	while (l && l->hash != hash)
		l = l->next;
	return l;
}

#endif
