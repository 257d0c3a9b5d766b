/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that threads of the library inherit neither CPUs, policy nor signals. */
#include "test.h"

#include <errno.h>
#include <fenv.h>
#include <signal.h>
#include <string.h>

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

static void refuses(const char *text)
{
	cpu_set_t cpus;
	char err[100] = "";

	assert_int_equal(ccs_cpus_parse(text, &cpus, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "neither all nor a list of CPUs"));
}

static void lists_of_cpus_are_parsed(void **state)
{
	cpu_set_t cpus;
	char err[100];

	assert_int_equal(ccs_cpus_parse("0-3,8", &cpus, err, sizeof(err)), 0);
	assert_int_equal(CPU_COUNT(&cpus), 5);
	assert_true(CPU_ISSET(3, &cpus) && CPU_ISSET(8, &cpus));
	assert_int_equal(ccs_cpus_parse("1023", &cpus, err, sizeof(err)), 0);
	assert_int_equal(ccs_cpus_parse("all", &cpus, err, sizeof(err)), 0);
	assert_true(CPU_ISSET(0, &cpus));
	for (const char *const *bad = (const char *const[]){ "", ",", "1,", "-1", "3-1", "1-", "x",
							     "1024", "0-3;8", " 1", NULL }; *bad; bad++)
		refuses(*bad);
}

/* The mask of the creating thread is one CPU; its policy a real-time one if that is permitted. */
static void a_thread_does_not_inherit_cpus_policy_signals_and_traps(void **state)
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

static void threads_run_on_the_cpus_that_were_set(void **state)
{
	cpu_set_t all, one;
	struct seen s;
	char err[100];

	sched_getaffinity(0, sizeof(all), &all);
	if (!CPU_ISSET(0, &all))
		skip();
	assert_int_equal(ccs_cpus_parse("0", &one, err, sizeof(err)), 0);
	ccs_thread_set_cpus(&one);
	s = seen_by_thread();
	assert_true(CPU_EQUAL(&s.cpus, &one));
	CPU_ZERO(&one);
	CPU_SET(1023, &one); /* no such CPU: as the process's own */
	ccs_thread_set_cpus(&one);
	s = seen_by_thread();
	assert_true(CPU_EQUAL(&s.cpus, &all));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_of_cpus_are_parsed),
		cmocka_unit_test(a_thread_does_not_inherit_cpus_policy_signals_and_traps),
		cmocka_unit_test(threads_run_on_the_cpus_that_were_set),
	};

	return cmocka_run_group_tests_name("thread", tests, NULL, NULL);
}
