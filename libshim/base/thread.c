/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/thread.h"

#include <errno.h>
#include <fenv.h>
#include <signal.h>
#include <unistd.h>

#pragma weak pthread_attr_setaffinity_np /* not in musl */

/* In whole words, as the kernel has them: older libraries refuse a set with more than it has. */
static void set_all(cpu_set_t *cpus)
{
	const long configured = sysconf(_SC_NPROCESSORS_CONF), word = 64;

	CPU_ZERO(cpus);
	for (long i = 0; i < (configured + word - 1) / word * word && i < CPU_SETSIZE; i++)
		CPU_SET((size_t)i, cpus);
}

/* NULL: as the process's own. */
static int create(pthread_t *thread, const cpu_set_t *cpus, void *(*function)(void *), void *arg)
{
	static const struct sched_param none = { 0 };
	pthread_attr_t attr;
	int rc = pthread_attr_init(&attr);

	if (rc)
		return rc;
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, SCHED_OTHER);
	pthread_attr_setschedparam(&attr, &none);
	if (cpus && pthread_attr_setaffinity_np)
		rc = pthread_attr_setaffinity_np(&attr, sizeof(*cpus), cpus);
	if (!rc)
		rc = pthread_create(thread, &attr, function, arg);
	pthread_attr_destroy(&attr);
	return rc;
}

int ccs_thread_create(pthread_t *thread, void *(*function)(void *), void *arg)
{
	const int saved = errno;
	cpu_set_t cpus;
	fenv_t env;
	sigset_t all, old;
	int rc;

	set_all(&cpus);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old); /* inherited, as the next */
	fegetenv(&env);
	fesetenv(FE_DFL_ENV);
	rc = create(thread, &cpus, function, arg);
	if (rc == EINVAL) /* a C library that knows fewer CPUs */
		rc = create(thread, NULL, function, arg);
	fesetenv(&env);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = saved;
	return rc;
}
