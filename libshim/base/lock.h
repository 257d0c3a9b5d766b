/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_BASE_LOCK_H
#define CCS_BASE_LOCK_H
/*
 * A lock for what every post and poll takes: one atomic exchange to get it and a plain
 * store to leave it, a fraction of what pthread_mutex costs where nobody else wants it.
 * Whoever has to wait spins for a moment and then sleeps. Not recursive; all zeroes is
 * free; nothing to destroy.
 *
 * That store may be seen later than the look for sleepers that follows it, so one who is
 * just going to sleep may be missed: nobody sleeps for longer than a millisecond at once.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct ccs_lock {
	_Atomic uint32_t held;
	_Atomic uint32_t sleepers;
};

/* When somebody else has it; when somebody sleeps for it. */
void ccs_lock_wait(struct ccs_lock *l);
void ccs_lock_wake(struct ccs_lock *l);

static inline bool ccs_trylock(struct ccs_lock *l)
{
	return !atomic_exchange_explicit(&l->held, 1, memory_order_acquire);
}

static inline void ccs_lock(struct ccs_lock *l)
{
	if (!ccs_trylock(l))
		ccs_lock_wait(l);
}

static inline void ccs_unlock(struct ccs_lock *l)
{
	atomic_store_explicit(&l->held, 0, memory_order_release);
	if (atomic_load_explicit(&l->sleepers, memory_order_relaxed))
		ccs_lock_wake(l);
}

#endif
