/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/common/installed.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *installed_path(const char *path, char *buf, size_t len)
{
	static const char prefix[] = CCS_PREFIX "/";
	char self[PATH_MAX];
	const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n <= 0 || strncmp(path, prefix, strlen(prefix)) != 0)
		return path;
	self[n] = '\0';
	for (unsigned up = 0; up < 2; up++) {
		char *slash = strrchr(self, '/');

		if (!slash)
			return path;
		*slash = '\0';
	}
	if ((size_t)snprintf(buf, len, "%s/%s", self, path + strlen(prefix)) >= len)
		return path;
	return access(buf, R_OK) == 0 ? buf : path;
}
