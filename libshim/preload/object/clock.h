/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CLOCK_H
#define CCS_CLOCK_H
/* The clock of the flows: CLOCK_MONOTONIC. */
#include <stdint.h>

#include "flow/flow.h"

uint64_t ccs_now_ns(void);

/* UTC minus that clock. NTP disciplines both, so this changes only when UTC is stepped. */
int64_t ccs_epoch_ns(void);

/* Time that a reading of the clock takes, us. */
double ccs_clock_cost_us(void);

/* A tick of the kernel, us. */
double ccs_tick_us(void);

/* Read the clock if *now_ns is CCS_TIME_UNKNOWN: at most once per call of the application. */
static inline uint64_t ccs_now(uint64_t *now_ns)
{
	if (*now_ns == CCS_TIME_UNKNOWN)
		*now_ns = ccs_now_ns();
	return *now_ns;
}

#endif
