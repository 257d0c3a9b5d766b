/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the pointer map against an array, under churn, and with concurrent readers. */
#include "test.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "seed.h"
#include "preload/object/ptrmap.h"

enum { KEYS = 3000 };

/* Addresses like those of an allocator: most are close together, some distant. */
static const void *key_of(unsigned i)
{
	return (const void *)(uintptr_t)(i % 7 ? 0x7f0000001000ull + 16ull * i
					       : 0x550000000000ull + 4096ull * i);
}

static void *value_of(unsigned i, unsigned version)
{
	return (void *)(uintptr_t)(((uintptr_t)i << 20 | version) * 8 + 8);
}

TEST(an_empty_map_finds_nothing)
{
	static struct ccs_ptrmap m = CCS_PTRMAP_INIT;

	assert_null(ccs_ptrmap_get(&m, key_of(1)));
	ccs_ptrmap_del(&m, key_of(1), value_of(1, 0));
	assert_null(ccs_ptrmap_get(&m, key_of(1)));
	assert_int_equal(ccs_ptrmap_put(&m, key_of(2), value_of(2, 0)), 0);
	assert_null(ccs_ptrmap_get(&m, key_of(1)));
}

TEST(random_programs_match_an_array)
{
	static unsigned version[KEYS];
	static struct ccs_ptrmap m = CCS_PTRMAP_INIT;
	unsigned hits = 0, first_hits = 0;

	seed_start("ptrmap");
	for (unsigned step = 1; step < 100000; step++) {
		/*
		 * the number of keys grows and shrinks, so that tables are replaced by larger
		 * and smaller ones
		 */
		const unsigned keys = step / 12500 % 2 ? 40 : KEYS;
		const unsigned i = (unsigned)seed_below(keys);
		void *want = version[i] ? value_of(i, version[i]) : NULL;
		void *got = ccs_ptrmap_get(&m, key_of(i));
		void *first = ccs_ptrmap_get_first(&m, key_of(i));

		if (got != want || (first && first != want))
			fail_msg("step %u: key %u gives %p, in its first entry %p, not %p", step, i,
				 got, first, want);
		hits += !!got;
		first_hits += !!first;
		if (version[i] && seed_below(3)) {
			ccs_ptrmap_del(&m, key_of(i), value_of(i, version[i]));
			version[i] = 0;
		} else if (!version[i]) {
			version[i] = step;
			assert_int_equal(ccs_ptrmap_put(&m, key_of(i), value_of(i, step)), 0);
		}
	}
	assert_in_range(first_hits, 1000, hits);
	assert_true(hits > 1000);
	for (unsigned i = 0; i < KEYS; i++)
		assert_ptr_equal(ccs_ptrmap_get(&m, key_of(i)),
				 version[i] ? value_of(i, version[i]) : NULL);
}

/* Objects that are added and removed, while a few stay, do not make the map grow. */
TEST(churn_does_not_grow_the_map)
{
	static struct ccs_ptrmap m = CCS_PTRMAP_INIT;
	size_t before;

	if (!mallinfo2().uordblks)
		skip(); /* a sanitizer's allocator does not report it */
	for (unsigned i = 0; i < 20; i++)
		ccs_ptrmap_put(&m, key_of(i), value_of(i, 0));
	for (unsigned i = 100; i < 2000; i++) {
		ccs_ptrmap_put(&m, key_of(i), value_of(i, 0));
		ccs_ptrmap_del(&m, key_of(i), value_of(i, 0));
	}
	before = mallinfo2().uordblks;
	for (unsigned round = 0; round < 300; round++)
		for (unsigned i = 100; i < KEYS; i++) {
			ccs_ptrmap_put(&m, key_of(i), value_of(i, 0));
			ccs_ptrmap_del(&m, key_of(i), value_of(i, 0));
		}
	/* Replaced tables are kept, so a few rebuilds would be visible. */
	assert_true(mallinfo2().uordblks <= before + 16384);
	for (unsigned i = 0; i < 20; i++)
		assert_ptr_equal(ccs_ptrmap_get(&m, key_of(i)), value_of(i, 0));
}

/* An address that the allocator returns again must not give its former owner. */
TEST(a_reused_key_gives_its_new_value)
{
	static struct ccs_ptrmap m = CCS_PTRMAP_INIT;

	for (unsigned version = 1; version < 100000; version++) {
		const unsigned i = version % 5;

		assert_int_equal(ccs_ptrmap_put(&m, key_of(i), value_of(i, version)), 0);
		assert_ptr_equal(ccs_ptrmap_get(&m, key_of(i)), value_of(i, version));
		ccs_ptrmap_del(&m, key_of(i), value_of(i, version));
		assert_null(ccs_ptrmap_get(&m, key_of(i)));
	}
}

/*
 * The allocator returns an address again before its former owner was removed from the map: the
 * new owner is found from then on, and the removal has no effect.
 */
TEST(a_new_owner_replaces_the_old_one)
{
	static struct ccs_ptrmap m = CCS_PTRMAP_INIT;

	ccs_ptrmap_put(&m, key_of(1), value_of(1, 1));
	ccs_ptrmap_put(&m, key_of(1), value_of(1, 2));
	assert_ptr_equal(ccs_ptrmap_get(&m, key_of(1)), value_of(1, 2));
	ccs_ptrmap_del(&m, key_of(1), value_of(1, 1));
	assert_ptr_equal(ccs_ptrmap_get(&m, key_of(1)), value_of(1, 2));
	ccs_ptrmap_del(&m, key_of(1), value_of(1, 2));
	assert_null(ccs_ptrmap_get(&m, key_of(1)));
}

/* For keys that stay, readers always get their value, whatever else is added and removed. */
static struct ccs_ptrmap shared = CCS_PTRMAP_INIT;
static atomic_bool stop;
static atomic_uint wrong, looked;

static void *reader(void *arg)
{
	unsigned n = (unsigned)(uintptr_t)arg;

	while (!atomic_load(&stop)) {
		const unsigned i = n++ % 500;
		const uintptr_t got = (uintptr_t)ccs_ptrmap_get(&shared, key_of(i));

		if (i < 100 ? got != (uintptr_t)value_of(i, 0)
			    : got && (got / 8 - 1) / (1u << 20) < 100)
			atomic_fetch_add(&wrong, 1);
		atomic_fetch_add_explicit(&looked, 1, memory_order_relaxed);
	}
	return NULL;
}

TEST(readers_are_safe_during_writes)
{
	pthread_t thread[3];
	unsigned version = 0;

	for (unsigned i = 0; i < 100; i++)
		ccs_ptrmap_put(&shared, key_of(i), value_of(i, 0));
	for (unsigned t = 0; t < 3; t++)
		pthread_create(&thread[t], NULL, reader, (void *)(uintptr_t)(t * 100));
	/* Run until the readers have read often enough, whatever the load of the machine. */
	while (atomic_load(&looked) < 200000 || version < 200) {
		version++;
		for (unsigned i = 100; i < 500; i++)
			ccs_ptrmap_put(&shared, key_of(i), value_of(i, version % 1000));
		for (unsigned i = 100; i < 500; i++)
			ccs_ptrmap_del(&shared, key_of(i), value_of(i, version % 1000));
	}
	atomic_store(&stop, true);
	for (unsigned t = 0; t < 3; t++)
		pthread_join(thread[t], NULL);
	assert_int_equal(atomic_load(&wrong), 0);
}
