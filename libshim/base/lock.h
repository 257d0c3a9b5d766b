/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_BASE_LOCK_H
#define CCS_BASE_LOCK_H
/*
 * The lock that every post and poll acquires: one atomic exchange to lock and a plain store to
 * unlock, a fraction of the cost of pthread_mutex without contention. A waiting thread spins for a
 * moment and then sleeps. Not recursive; all zeroes is unlocked; it need not be destroyed.
 *
 * The store may become visible after the following check for sleepers, so a thread that is about
 * to sleep may be missed: threads therefore sleep for at most a millisecond at a time.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct ccs_lock {
	_Atomic uint32_t held;
	_Atomic uint32_t sleepers;
};

/* Called if another thread holds the lock; if a thread sleeps for it. Not inlined, so that those
 * that lock and unlock save no registers for it. */
__attribute__((noinline, cold)) void ccs_lock_wait(struct ccs_lock *l);
__attribute__((noinline, cold)) int ccs_lock_wake(struct ccs_lock *l); /* returns 0 */

static inline bool ccs_trylock(struct ccs_lock *l)
{
	return !atomic_exchange_explicit(&l->held, 1, memory_order_acquire);
}

static inline void ccs_lock(struct ccs_lock *l)
{
	if (!ccs_trylock(l))
		ccs_lock_wait(l);
}

/* A thread that begins to sleep now may be missed, like one that does so during ccs_unlock(). */
static inline bool ccs_lock_has_sleepers(struct ccs_lock *l)
{
	return atomic_load_explicit(&l->sleepers, memory_order_relaxed);
}

/* Without a call, for a thread that has found no sleepers. */
static inline void ccs_unlock_quietly(struct ccs_lock *l)
{
	atomic_store_explicit(&l->held, 0, memory_order_release);
}

/* The compiler reads members of *object again after this. Otherwise it would keep them in registers that
 * the data path must save. */
#define CCS_READ_AGAIN(object) __asm__("" : "+r"(object))

static inline void ccs_unlock(struct ccs_lock *l)
{
	ccs_unlock_quietly(l);
	if (ccs_lock_has_sleepers(l))
		ccs_lock_wake(l);
}

#endif
