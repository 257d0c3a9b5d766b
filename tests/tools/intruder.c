/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Preloaded into ccshimd: a thread that is older than the agent's filter, and when that is in force
 * makes system calls that the agent does not make. It prints a line for each, and "done".
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "tests/tools/forbidden_calls.h"

static void *intrude(void *arg)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	/* The filter refuses this call; no other one of a sandbox around it does. */
	while (prctl(PR_GET_SECCOMP) >= 0 || errno != EPERM)
		nanosleep(&pause, NULL);
	for (unsigned i = 0; i < nforbidden_calls; i++) {
		const long result = forbidden_calls[i].attempt();

		dprintf(2, "intruder: %s: %s\n", forbidden_calls[i].name,
			result >= 0 ? "not refused" : errno == EPERM ? "EPERM" : strerror(errno));
	}
	dprintf(2, "intruder: done\n");
	return arg;
}

__attribute__((constructor)) static void start(void)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, intrude, NULL))
		pthread_detach(thread);
}
