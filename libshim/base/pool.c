/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

enum {
	LINE = 64,
	STEPS = 4,                       /* sizes between two powers of two */
	LARGE = 1 << 16,                 /* larger blocks are mapped one by one */
	POOLS = 1 + 8 * STEPS + STEPS,   /* for sizes up to LARGE */
	SMALL = 1 << 11,                 /* blocks up to this are touched as a whole */
	CHUNK_MIN = 1 << 16,
	CHUNK_MAX = 1 << 21,             /* a large page */
};

/* A sanitizer can check only blocks that are allocated one by one. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define NO_POOLS 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) && !defined(NO_POOLS)
#define NO_POOLS 1
#elif !defined(NO_POOLS)
#define NO_POOLS 0
#endif

struct block {
	struct block *next;
};

static struct pool {
	struct block *free;
	char *at, *end;                  /* the unused part of the newest chunk */
	size_t chunk;                    /* size of the newest one */
} pools[POOLS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Round up to the next size that has a pool; *pool is its number. */
static size_t round_up(size_t bytes, unsigned *pool)
{
	size_t step = LINE;

	for (*pool = 0; bytes >= 2 * STEPS * step; *pool += STEPS)
		step *= 2;
	bytes = (bytes + step - 1) / step;
	*pool += (unsigned)bytes;
	return bytes * step;
}

static bool add_chunk(struct pool *p, size_t bytes)
{
	const size_t twice = 2 * p->chunk, chunk = !p->chunk ? CHUNK_MIN :
						   twice < CHUNK_MAX ? twice : CHUNK_MAX;
	char *new = mmap(NULL, chunk, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (new == MAP_FAILED)
		return false;
	if (chunk == CHUNK_MAX && bytes <= SMALL)
		madvise(new, chunk, MADV_HUGEPAGE);
	p->at = new;
	p->end = new + chunk;
	p->chunk = chunk;
	return true;
}

static void *pop_block(struct pool *p, size_t bytes)
{
	struct block *b = p->free;

	if (b) {
		p->free = b->next;
		return memset(b, 0, bytes);
	}
	if ((size_t)(p->end - p->at) < bytes && !add_chunk(p, bytes))
		return NULL;
	p->at += bytes;
	return p->at - bytes;
}

static void *map_block(size_t n, size_t size)
{
	size_t bytes;
	void *p;

	if (NO_POOLS)
		return ccs_calloc_padded(n, size);
	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

static void unmap_block(void *p, size_t bytes)
{
	const int saved = errno;

	if (NO_POOLS)
		free(p);
	else
		munmap(p, bytes);
	errno = saved;
}

static bool is_pooled(size_t n, size_t size, size_t *bytes)
{
	return !NO_POOLS && !__builtin_mul_overflow(n, size, bytes) && *bytes <= LARGE;
}

void *ccs_pool_calloc(size_t n, size_t size)
{
	const int saved = errno;
	unsigned pool;
	size_t bytes;
	void *p;

	if (!is_pooled(n, size, &bytes))
		return map_block(n, size);
	bytes = round_up(bytes ? bytes : 1, &pool);
	pthread_mutex_lock(&lock);
	p = pop_block(&pools[pool], bytes);
	pthread_mutex_unlock(&lock);
	if (p)
		errno = saved;
	return p;
}

void ccs_pool_free(void *p, size_t n, size_t size)
{
	struct block *b = p;
	unsigned pool;
	size_t bytes;

	if (!p)
		return;
	if (!is_pooled(n, size, &bytes)) {
		unmap_block(p, n * size);
		return;
	}
	round_up(bytes ? bytes : 1, &pool);
	pthread_mutex_lock(&lock);
	b->next = pools[pool].free;
	pools[pool].free = b;
	pthread_mutex_unlock(&lock);
}
