/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/clock.h"

#include <stdatomic.h>

#include "base/loaded.h"

#pragma weak sem_clockwait /* not in musl */

typedef int read_clock(clockid_t clock, struct timespec *ts);
typedef int wait_clock(sem_t *sem, clockid_t clock, const struct timespec *until);

static read_clock choose_read;
static wait_clock choose_wait;
static _Atomic(read_clock *) read_function = choose_read;
static _Atomic(wait_clock *) wait_function = choose_wait;

/* The first call finds the function. */
static int choose_read(clockid_t clock, struct timespec *ts)
{
	read_clock *found = CCS_LIBC(clock_gettime);

	atomic_store_explicit(&read_function, found, memory_order_relaxed);
	return found(clock, ts);
}

static int choose_wait(sem_t *sem, clockid_t clock, const struct timespec *until)
{
	wait_clock *found = CCS_LIBC(sem_clockwait);

	atomic_store_explicit(&wait_function, found, memory_order_relaxed);
	return found(sem, clock, until);
}

uint64_t ccs_clock_ns(clockid_t clock)
{
	struct timespec ts;

	atomic_load_explicit(&read_function, memory_order_relaxed)(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

struct timespec ccs_clock_timespec(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / 1000000000u),
				  .tv_nsec = (long)(ns % 1000000000u) };
}

void ccs_clock_sem_wait(sem_t *sem, uint64_t until_ns)
{
	const struct timespec ts = ccs_clock_timespec(until_ns);

	atomic_load_explicit(&wait_function, memory_order_relaxed)(sem, CLOCK_MONOTONIC, &ts);
}
