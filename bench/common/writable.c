/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench/common/writable.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int file_obstacle(const char *path)
{
	char dir[PATH_MAX], *slash;
	struct stat st;

	if (stat(path, &st) == 0)
		return S_ISDIR(st.st_mode) ? EISDIR : access(path, W_OK) ? errno : 0;
	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (slash)
		slash[1] = '\0';
	return access(slash ? dir : ".", W_OK | X_OK) ? errno : 0;
}
