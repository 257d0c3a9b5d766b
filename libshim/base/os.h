/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_BASE_OS_H
#define CCS_BASE_OS_H
#include <errno.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

static inline uint64_t ccs_clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* errno is kept. -1: no effect. */
static inline void ccs_close(int fd)
{
	const int saved = errno;

	if (fd >= 0)
		close(fd);
	errno = saved;
}

#endif
