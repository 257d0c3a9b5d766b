/* SPDX-License-Identifier: BSD-2-Clause */
#include "progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define WIDTH 30u

static bool drawn;

bool progress_watched(void)
{
	return isatty(STDERR_FILENO);
}

char *progress_fill(char *buf, unsigned width, double fraction)
{
	double part = fraction > 1 ? 1 : fraction > 0 ? fraction : 0; /* NAN is 0 */
	unsigned full = (unsigned)(part * width + 0.5);

	buf[0] = '[';
	memset(buf + 1, '#', full);
	memset(buf + 1 + full, '.', width - full);
	memcpy(buf + 1 + width, "]", 2);
	return buf;
}

int terminal_columns(int fd)
{
	struct winsize size;

	return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void progress_bar(unsigned i, unsigned n, const char *what, double fraction)
{
	char bar[WIDTH + 3], line[WIDTH + 128];

	snprintf(line, sizeof(line), "%s run %u of %u, %.40s",
		 progress_fill(bar, WIDTH, (i + fraction) / n), i + 1, n, what);
	/* A line that wraps could not be drawn over. */
	fprintf(stderr, "\r%.*s\033[K", terminal_columns(STDERR_FILENO) - 1, line);
	drawn = true;
}

void progress_clear(void)
{
	if (drawn)
		fputs("\r\033[K", stderr);
	drawn = false;
}
