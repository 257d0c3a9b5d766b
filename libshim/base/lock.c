/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/lock.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SPINS = 64, SLEEP_NS = 1000000 };

static void futex(struct ccs_lock *l, int op, uint32_t value, const struct timespec *timeout)
{
	const int saved = errno; /* belongs to the application */

	syscall(SYS_futex, &l->held, op | FUTEX_PRIVATE_FLAG, value, timeout, NULL, 0);
	errno = saved;
}

static void pause_cpu(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static bool spin_for(struct ccs_lock *l)
{
	for (unsigned i = 0; i < SPINS; i++) {
		if (!atomic_load_explicit(&l->held, memory_order_relaxed) && ccs_trylock(l))
			return true;
		pause_cpu();
	}
	return false;
}

void ccs_lock_wait(struct ccs_lock *l)
{
	static const struct timespec sleep = { .tv_nsec = SLEEP_NS };

	if (spin_for(l))
		return;
	atomic_fetch_add(&l->sleepers, 1);
	while (!ccs_trylock(l))
		futex(l, FUTEX_WAIT, 1, &sleep);
	atomic_fetch_sub(&l->sleepers, 1);
}

int ccs_lock_wake(struct ccs_lock *l)
{
	futex(l, FUTEX_WAKE, 1, NULL);
	return 0;
}
