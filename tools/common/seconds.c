/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads clocks and sleeps in seconds. */
#include "seconds.h"

#include <errno.h>

double seconds_now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

void seconds_sleep(double seconds)
{
	struct timespec ts = { .tv_sec = (time_t)seconds };

	ts.tv_nsec = (long)((seconds - (double)ts.tv_sec) * 1e9);
	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}
