/* SPDX-License-Identifier: BSD-2-Clause */
#include "output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/writable.h"
#include "error.h"

static bool is_stdout(const char *path)
{
	return strcmp(path, "-") == 0;
}

void output_check(const char *path)
{
	const int error = path && !is_stdout(path) ? file_obstacle(path) : 0;

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
