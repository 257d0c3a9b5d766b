/* SPDX-License-Identifier: BSD-2-Clause */
/* The lock of posts and polls: one thread at a time holds it, and each sleeping thread gets it. */
#include "test.h"

#include <pthread.h>
#include <sched.h>

#include "base/lock.h"

enum { THREADS = 8, TURNS = 20000 };

static struct ccs_lock lock;
static unsigned long turns; /* not atomic: only the lock protects it */

TEST(one_thread_at_a_time)
{
	struct ccs_lock l = { 0 };

	assert_true(ccs_trylock(&l));
	assert_false(ccs_trylock(&l));
	ccs_unlock(&l);
	ccs_lock(&l);
	assert_false(ccs_trylock(&l));
	ccs_unlock(&l);
	assert_true(ccs_trylock(&l));
}

static void *count_turns(void *arg)
{
	for (unsigned i = 0; i < *(const unsigned *)arg; i++) {
		ccs_lock(&lock);
		turns++;
		if (i % 64 == 0)
			sched_yield(); /* threads that come now find it held, for long */
		ccs_unlock(&lock);
	}
	return NULL;
}

static void run_threads(unsigned each, bool held)
{
	pthread_t thread[THREADS];

	turns = 0;
	if (held)
		ccs_lock(&lock);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, count_turns, &each), 0);
	if (held) {
		while (atomic_load(&lock.sleepers) < THREADS)
			sched_yield();
		assert_int_equal(turns, 0);
		ccs_unlock(&lock);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(turns, (unsigned long)THREADS * each);
	assert_int_equal(atomic_load(&lock.sleepers), 0);
	assert_true(ccs_trylock(&lock));
	ccs_unlock(&lock);
}

TEST(no_increment_is_lost)
{
	run_threads(TURNS, false);
}

TEST(all_sleeping_threads_wake_up)
{
	run_threads(1, true);
}
