/* SPDX-License-Identifier: BSD-2-Clause */
#include "output.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"

int output_obstacle(const char *path)
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

static bool is_stdout(const char *path)
{
	return strcmp(path, "-") == 0;
}

void output_check(const char *path)
{
	const int error = path && !is_stdout(path) ? output_obstacle(path) : 0;

	if (error)
		fail("%s: %s", path, strerror(error));
}

void output_write(const char *path, bool (*write)(const void *owner, FILE *f), const void *owner)
{
	FILE *f;
	bool written;

	if (!path)
		return;
	f = is_stdout(path) ? stdout : fopen(path, "w");
	if (!f)
		fail("%s: %s", path, strerror(errno));
	written = write(owner, f);
	if ((f == stdout ? fflush(f) : fclose(f)) || !written)
		fail("%s: %s", path, strerror(errno));
}

void output_flush(void)
{
	if (fflush(stdout) || ferror(stdout))
		fail("standard output: %s", strerror(errno));
}

void output_help(const char *usage)
{
	fputs(usage, stdout);
	output_flush();
	exit(0);
}
