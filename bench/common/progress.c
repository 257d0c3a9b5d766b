/* SPDX-License-Identifier: BSD-2-Clause */
#include "progress.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/common/terminal.h"

#define WIDTH 30u

#define ERASE "\r\033[K"

static volatile sig_atomic_t drawn;
static pid_t drawer; /* the process that drew first, not its children */

bool progress_watched(void)
{
	return terminal_obeys_sequences(stderr);
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

/* Erase the bar, so that the shell's prompt begins a line, and end as without a handler. */
static void end_line(int number)
{
	ssize_t ignored = 0; /* cannot be handled */

	if (drawn && getpid() == drawer)
		ignored = write(STDERR_FILENO, ERASE, strlen(ERASE));
	(void)ignored;
	raise(number);
}

/* Programs that handle signals themselves erase the bar themselves. */
static void handle_signals(void)
{
	static const int numbers[] = { SIGINT, SIGTERM };
	const struct sigaction ours = { .sa_handler = end_line, .sa_flags = (int)SA_RESETHAND };
	struct sigaction now;

	drawer = getpid();
	for (unsigned i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
			sigaction(numbers[i], &ours, NULL);
}

void progress_bar(unsigned i, unsigned n, const char *what, double fraction)
{
	const size_t columns = terminal_width(stderr);
	char bar[WIDTH + 3], line[WIDTH + 128];

	if (!drawer)
		handle_signals();
	snprintf(line, sizeof(line), "%s run %u of %u, %.40s",
		 progress_fill(bar, WIDTH, (i + fraction) / n), i + 1, n, what);
	/* A line that wraps could not be drawn over. */
	fprintf(stderr, "\r%.*s\033[K", columns ? (int)columns - 1 : 79, line);
	drawn = true;
}

void progress_clear(void)
{
	if (drawn)
		fputs(ERASE, stderr);
	drawn = false;
}
