/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/thread.h"

#include <errno.h>
#include <fenv.h>
#include <link.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#pragma weak pthread_attr_setaffinity_np /* not in musl */

atomic_uint ccs_threads;

/* In whole words, as the kernel has them: older libraries refuse a set with more than it has. */
static void set_all(cpu_set_t *cpus)
{
	const long configured = sysconf(_SC_NPROCESSORS_CONF), word = 64;

	CPU_ZERO(cpus);
	for (long i = 0; i < (configured + word - 1) / word * word && i < CPU_SETSIZE; i++)
		CPU_SET((size_t)i, cpus);
}

static bool is_pinned(void)
{
	cpu_set_t cpus;

	return sched_getaffinity(0, sizeof(cpus), &cpus) ||
	       CPU_COUNT(&cpus) < sysconf(_SC_NPROCESSORS_ONLN);
}

/* A program that locks its memory locks all of it, and more than the default may not be permitted. */
enum { STACK = 1 << 20 };

/* The C library places the thread-local variables of all objects in the stack. */
static int add_thread_locals(struct dl_phdr_info *object, size_t size, void *stack)
{
	(void)size;
	for (int i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_TLS)
			*(size_t *)stack += object->dlpi_phdr[i].p_memsz;
	return 0;
}

/* Policy and CPUs are set only where they must change: a sandbox may forbid these calls (systemd's
 * @resources), and a thread may lack the privilege to leave SCHED_IDLE. */
static int create(pthread_t *thread, void *(*function)(void *), void *arg)
{
	static const struct sched_param none = { 0 };
	const int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
	pthread_attr_t attr;
	size_t stack = STACK;
	cpu_set_t cpus;
	int rc = pthread_attr_init(&attr);

	if (rc)
		return rc;
	dl_iterate_phdr(add_thread_locals, &stack);
	pthread_attr_setstacksize(&attr, stack);
	if (policy == SCHED_FIFO || policy == SCHED_RR) {
		pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
		pthread_attr_setschedpolicy(&attr, SCHED_OTHER);
		pthread_attr_setschedparam(&attr, &none);
	}
	set_all(&cpus);
	if (is_pinned() && pthread_attr_setaffinity_np)
		rc = pthread_attr_setaffinity_np(&attr, sizeof(cpus), &cpus);
	if (!rc)
		rc = pthread_create(thread, &attr, function, arg);
	pthread_attr_destroy(&attr);
	return rc;
}

int ccs_thread_create(pthread_t *thread, void *(*function)(void *), void *arg)
{
	const int saved = errno;
	fenv_t env;
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old); /* inherited, as the next */
	fegetenv(&env);
	fesetenv(FE_DFL_ENV);
	rc = create(thread, function, arg);
	if (rc == EINVAL) /* a C library that knows fewer CPUs, or wants a larger stack */
		rc = pthread_create(thread, NULL, function, arg);
	if (!rc)
		atomic_fetch_add(&ccs_threads, 1); /* late, so that none is counted that does not exist */
	fesetenv(&env);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = saved;
	return rc;
}
