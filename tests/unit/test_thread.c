/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that threads of the library inherit neither CPUs, policy nor signals. */
#include "test.h"

#include <errno.h>
#include <fenv.h>
#include <sched.h>
#include <signal.h>

#include "base/thread.h"

struct seen {
	cpu_set_t cpus;
	sigset_t blocked;
	int policy, traps;               /* of floating-point exceptions */
};

static void *look(void *arg)
{
	struct seen *s = arg;

	sched_getaffinity(0, sizeof(s->cpus), &s->cpus);
	s->policy = sched_getscheduler(0);
	s->traps = fegetexcept();
	pthread_sigmask(SIG_SETMASK, NULL, &s->blocked);
	return NULL;
}

static struct seen seen_by_thread(void)
{
	struct seen s = { 0 };
	pthread_t thread;

	errno = 42;
	assert_int_equal(ccs_thread_create(&thread, look, &s), 0);
	assert_int_equal(errno, 42);
	pthread_join(thread, NULL);
	return s;
}

/* The mask of the creating thread is one CPU; its policy a real-time one if that is permitted. */
TEST(a_thread_does_not_inherit_cpus_policy_signals_and_traps)
{
	const struct sched_param priority = { .sched_priority = 1 }, none = { 0 };
	cpu_set_t all, one;
	struct seen s;

	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&one);
	for (size_t i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, &all))
			CPU_SET(i, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	if (sched_setscheduler(0, SCHED_FIFO, &priority))
		print_message("no real-time policy is permitted here\n");
	feenableexcept(FE_DIVBYZERO);
	s = seen_by_thread();
	fedisableexcept(FE_DIVBYZERO);
	sched_setscheduler(0, SCHED_OTHER, &none);
	sched_setaffinity(0, sizeof(all), &all);
	assert_int_equal(s.policy, SCHED_OTHER);
	assert_true(CPU_COUNT(&s.cpus) >= CPU_COUNT(&all));
	assert_int_equal(s.traps, 0);
	assert_true(sigismember(&s.blocked, SIGTERM) && sigismember(&s.blocked, SIGUSR1));
}
