/* SPDX-License-Identifier: BSD-2-Clause */
/* The clock of the flows: CLOCK_MONOTONIC. */
#include "preload/object/clock.h"

#include <time.h>

#include "base/clock.h"

uint64_t ccs_now_ns(void)
{
	return ccs_clock_ns(CLOCK_MONOTONIC);
}

int64_t ccs_epoch_ns(void)
{
	return (int64_t)(ccs_clock_ns(CLOCK_REALTIME) - ccs_now_ns());
}

/* The minimum of eight readings: this thread may lose the CPU between two of them. */
double ccs_clock_cost_us(void)
{
	uint64_t before = ccs_now_ns(), least = UINT64_MAX;

	for (int i = 0; i < 8; i++) {
		const uint64_t now = ccs_now_ns();

		least = now - before < least ? now - before : least;
		before = now;
	}
	return (double)least / 1e3;
}

/* The coarse clock advances by ticks. */
double ccs_tick_us(void)
{
	struct timespec ts;

	if (clock_getres(CLOCK_MONOTONIC_COARSE, &ts))
		return 1e4; /* the longest tick of Linux */
	return (double)ts.tv_nsec / 1e3;
}
