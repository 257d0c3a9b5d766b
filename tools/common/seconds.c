/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads clocks and sleeps in seconds. */
#include "seconds.h"

#include <errno.h>

#include "base/clock.h"

double seconds_now(clockid_t clock)
{
	return (double)ccs_clock_ns(clock) / 1e9;
}

void seconds_sleep(double seconds)
{
	struct timespec ts = { .tv_sec = (time_t)seconds };

	ts.tv_nsec = (long)((seconds - (double)ts.tv_sec) * 1e9);
	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}
