/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_BASE_OS_H
#define CCS_BASE_OS_H
#include <errno.h>
#include <unistd.h>

/* errno is kept. -1: no effect. */
static inline void ccs_close(int fd)
{
	const int saved = errno;

	if (fd >= 0)
		close(fd);
	errno = saved;
}

#endif
