/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/apart.h"

enum {
	LINE = 64,
	STEPS = 4,                       /* sizes between two powers of two */
	LARGE = 1 << 16,                 /* what is larger is the C library's own */
	POOLS = 1 + 8 * STEPS + STEPS,   /* up to it */
	SMALL = 1 << 11,                 /* all of it is touched: worth large pages */
	CHUNK_MIN = 1 << 16,
	CHUNK_MAX = 1 << 21,             /* a large page */
};

/* A sanitizer wants to see each block by itself. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EACH_BY_ITSELF 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) && !defined(EACH_BY_ITSELF)
#define EACH_BY_ITSELF 1
#elif !defined(EACH_BY_ITSELF)
#define EACH_BY_ITSELF 0
#endif

struct block {
	struct block *next;
};

static struct pool {
	struct block *free;
	char *at, *end;                  /* of the newest chunk: never used yet */
	size_t chunk;                    /* size of the newest one */
} pools[POOLS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Up to the next size that there is; *pool is its number. */
static size_t round_up(size_t bytes, unsigned *pool)
{
	size_t step = LINE;

	for (*pool = 0; bytes >= 2 * STEPS * step; *pool += STEPS)
		step *= 2;
	bytes = (bytes + step - 1) / step;
	*pool += (unsigned)bytes;
	return bytes * step;
}

static bool grow(struct pool *p, size_t bytes)
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

static void *take(struct pool *p, size_t bytes)
{
	struct block *b = p->free;

	if (b) {
		p->free = b->next;
		return memset(b, 0, bytes);
	}
	if ((size_t)(p->end - p->at) < bytes && !grow(p, bytes))
		return NULL;
	p->at += bytes;
	return p->at - bytes;
}

static bool pooled(size_t n, size_t size, size_t *bytes)
{
	return !EACH_BY_ITSELF && !__builtin_mul_overflow(n, size, bytes) && *bytes <= LARGE;
}

void *ccs_pool_calloc(size_t n, size_t size)
{
	const int saved = errno;
	unsigned pool;
	size_t bytes;
	void *p;

	if (!pooled(n, size, &bytes))
		return ccs_calloc_apart(n, size);
	bytes = round_up(bytes ? bytes : 1, &pool);
	pthread_mutex_lock(&lock);
	p = take(&pools[pool], bytes);
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

	if (!p || !pooled(n, size, &bytes)) {
		free(p);
		return;
	}
	round_up(bytes ? bytes : 1, &pool);
	pthread_mutex_lock(&lock);
	b->next = pools[pool].free;
	pools[pool].free = b;
	pthread_mutex_unlock(&lock);
}
