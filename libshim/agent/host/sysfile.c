/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/host/sysfile.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

bool ccs_sysfile_read(int fd, uint64_t *value)
{
	char text[32], *end;
	const ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return false;
	text[n] = '\0';
	errno = 0;
	*value = strtoull(text, &end, 10);
	return !errno && end != text;
}
