/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_COUNTER_H
#define BENCH_COUNTER_H
/* Instructions that this process, and threads that it starts later, execute in user space. */
#include <linux/perf_event.h>
#include <math.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A descriptor, or -1 if the kernel or the machine does not let them be counted. */
static inline int counter_open(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE, .size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.exclude_kernel = 1, .exclude_hv = 1, .inherit = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* NAN without a counter. */
static inline double counter_read(int counter)
{
	uint64_t n;

	return counter >= 0 && read(counter, &n, sizeof(n)) == sizeof(n) ? (double)n : NAN;
}

#endif
