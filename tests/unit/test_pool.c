/* SPDX-License-Identifier: BSD-2-Clause */
/* The pool: blocks are zeroed, share no cache lines, and are reused. */
#include "test.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "base/pool.h"
#include "seed.h"

enum { BLOCKS = 500, STEPS = 20000, THREADS = 4 };

struct held {
	unsigned char *at;
	size_t n, size;
	unsigned char fill;
};

static void take(struct held *h)
{
	/* small ones mostly, and some that the C library allocates */
	h->n = 1 + seed_below(seed_below(10) ? 8 : 64);
	h->size = 1 + seed_below(seed_below(10) ? 300 : 3000);
	h->at = ccs_pool_calloc(h->n, h->size);
	assert_non_null(h->at);
	for (size_t i = 0; i < h->n * h->size; i++)
		assert_int_equal(h->at[i], 0);
	h->fill = (unsigned char)(1 + seed_below(255));
	memset(h->at, h->fill, h->n * h->size);
}

static void give_back(struct held *h)
{
	for (size_t i = 0; i < h->n * h->size; i++)
		assert_int_equal(h->at[i], h->fill);
	ccs_pool_free(h->at, h->n, h->size);
	h->at = NULL;
}

TEST(random_programs_get_zeroed_disjoint_blocks)
{
	static struct held held[BLOCKS];

	seed_start("pool");
	for (unsigned step = 0; step < STEPS; step++) {
		struct held *h = &held[seed_below(BLOCKS)];

		if (h->at)
			give_back(h);
		else
			take(h);
	}
	for (unsigned i = 0; i < BLOCKS; i++)
		if (held[i].at)
			give_back(&held[i]);
}

/* For each size, and one byte more or less, cache lines are not shared. */
TEST(no_line_is_shared)
{
	for (size_t size = 1; size < 70000; size += size < 600 ? 1 : 511) {
		char *a = ccs_pool_calloc(1, size), *b = ccs_pool_calloc(1, size);
		const uintptr_t first = (uintptr_t)(a < b ? a : b);
		const uintptr_t second = (uintptr_t)(a < b ? b : a);

		assert_true(a && b);
		assert_true((first + size - 1) / 64 < second / 64);
		ccs_pool_free(a, 1, size);
		ccs_pool_free(b, 1, size);
	}
}

TEST(empty_blocks_can_be_allocated_and_freed)
{
	ccs_pool_free(NULL, 1, 64);
	ccs_pool_free(ccs_pool_calloc(0, 64), 0, 64);
	ccs_pool_free(ccs_pool_calloc(64, 0), 64, 0);
}

static void *churn(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < STEPS; i++) {
		unsigned char *p = ccs_pool_calloc(1, 1000);

		if (!p || p[0] || p[999])
			return p ? p : (void *)&churn;
		memset(p, 0xff, 1000);
		ccs_pool_free(p, 1, 1000);
	}
	return NULL;
}

TEST(threads_can_use_it_at_once)
{
	pthread_t thread[THREADS];
	void *wrong;

	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, churn, NULL), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(thread[i], &wrong);
		assert_null(wrong);
	}
}
