/* SPDX-License-Identifier: BSD-2-Clause */
#include "interrupt.h"

#include <stddef.h>

static volatile sig_atomic_t came;
static sigset_t outside; /* the mask before ours */

static void record_signal(int number)
{
	came = number;
}

void interrupt_setup(void)
{
	struct sigaction sa = { .sa_handler = record_signal };
	sigset_t held;

	sigemptyset(&held);
	sigaddset(&held, SIGINT);
	sigaddset(&held, SIGTERM);
	sigprocmask(SIG_BLOCK, &held, &outside);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
}

const sigset_t *interrupt_mask(void)
{
	return &outside;
}

int interrupted(void)
{
	sigset_t pending;

	if (!came && !sigpending(&pending)) {
		if (sigismember(&pending, SIGINT))
			came = SIGINT;
		else if (sigismember(&pending, SIGTERM))
			came = SIGTERM;
	}
	return came;
}
