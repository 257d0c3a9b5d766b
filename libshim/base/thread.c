/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/thread.h"

#include <errno.h>
#include <fenv.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

#pragma weak pthread_attr_setaffinity_np /* not in musl */

static cpu_set_t allowed;
static bool given;

/* In whole words, as the kernel has them: older libraries refuse a set with more than it has. */
static void set_all(cpu_set_t *cpus)
{
	const long configured = sysconf(_SC_NPROCESSORS_CONF), word = 64;

	CPU_ZERO(cpus);
	for (long i = 0; i < (configured + word - 1) / word * word && i < CPU_SETSIZE; i++)
		CPU_SET((size_t)i, cpus);
}

/* "N" or "N-M"; returns what follows it, or NULL. */
static const char *parse_range(const char *text, cpu_set_t *cpus)
{
	const char *digits = "0123456789";
	char *end;
	unsigned long first, last;

	if (!*text || !strchr(digits, *text))
		return NULL;
	first = last = strtoul(text, &end, 10);
	if (*end == '-') {
		if (!end[1] || !strchr(digits, end[1]))
			return NULL;
		last = strtoul(end + 1, &end, 10);
	}
	if (first > last || last >= CPU_SETSIZE)
		return NULL;
	for (; first <= last; first++)
		CPU_SET(first, cpus);
	return end;
}

int ccs_cpus_parse(const char *text, cpu_set_t *cpus, char *err, size_t errlen)
{
	const char *rest = text;

	CPU_ZERO(cpus);
	if (strcmp(text, "all") == 0) {
		set_all(cpus);
		return 0;
	}
	while ((rest = parse_range(rest, cpus)) && *rest == ',')
		rest++;
	return rest && !*rest ? 0 :
	       ccs_refuse(err, errlen, "'%s' is neither all nor a list of CPUs, such as 0-3,8",
			  text);
}

void ccs_thread_set_cpus(const cpu_set_t *cpus)
{
	allowed = *cpus;
	given = true;
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

/* If the configured CPUs are not permitted, use the CPUs of the application. */
int ccs_thread_create(pthread_t *thread, void *(*function)(void *), void *arg)
{
	const int saved = errno;
	fenv_t env;
	sigset_t all, old;
	int rc;

	if (!given)
		set_all(&allowed);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old); /* inherited, as the next */
	fegetenv(&env);
	fesetenv(FE_DFL_ENV);
	rc = create(thread, &allowed, function, arg);
	if (rc == EINVAL) /* the process may not use these CPUs */
		rc = create(thread, NULL, function, arg);
	fesetenv(&env);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = saved;
	return rc;
}
