/* SPDX-License-Identifier: BSD-2-Clause */
/* Breaks lines at the width of the terminal, and decides on attributes. */
#include "terminal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/text.h"

enum { MIN_WIDTH = 20, MAX_WIDTH = 10000 };

bool terminal_obeys_sequences(FILE *out)
{
	const char *term = getenv("TERM");

	return term && *term && strcmp(term, "dumb") != 0 && isatty(fileno(out));
}

bool terminal_has_colour(FILE *out)
{
	const char *no = getenv("NO_COLOR");

	return (!no || !*no) && terminal_obeys_sequences(out);
}

size_t terminal_width(FILE *out)
{
	const char *columns = getenv("COLUMNS");
	const long given = columns ? strtol(columns, NULL, 10) : 0;
	struct winsize size;

	if (!isatty(fileno(out)))
		return 0;
	if (given >= MIN_WIDTH && given <= MAX_WIDTH)
		return (size_t)given;
	if (ioctl(fileno(out), TIOCGWINSZ, &size) || !size.ws_col)
		return 0;
	return size.ws_col > MIN_WIDTH ? size.ws_col : MIN_WIDTH;
}

/* The place to break a line that is longer than width: the last space after column `from` that
 * fits, or the first space if it does not. NULL: the line has no space there. */
static char *find_break(char *line, size_t from, size_t width)
{
	char *best = NULL;

	for (char *p = line + from; (p = strchr(p, ' ')); p++) {
		if (best && (size_t)(p - line) > width)
			break;
		if (p > line + from && p[-1] != ' ')
			best = p;
	}
	return best;
}

void terminal_replace_controls(char *text)
{
	ccs_make_printable(text, "\n");
}

static void print_line(FILE *out, const char *lead, char *line, size_t width)
{
	const size_t indent = strlen(lead);
	size_t from = strspn(line, " "), used = 0;
	char *end;

	terminal_replace_controls(line);
	while (width && used + strlen(line) > width &&
	       (end = find_break(line, from, width > used ? width - used : 0))) {
		fprintf(out, "%.*s\n%s", (int)(end - line), line, lead);
		line = end + strspn(end, " ");
		used = indent;
		from = 0;
	}
	fprintf(out, "%s\n", line);
}

static void __attribute__((format(printf, 4, 0)))
print_wrapped(FILE *out, size_t width, const char *lead, const char *fmt, va_list ap)
{
	char *line;

	if (vasprintf(&line, fmt, ap) < 0)
		return;
	print_line(out, lead, line, width);
	free(line);
}

void terminal_print(FILE *out, const char *lead, const char *fmt, ...)
{
	const int saved = errno; /* isatty(3) sets it, and %m prints it */
	const size_t width = terminal_width(out);
	va_list ap;

	va_start(ap, fmt);
	errno = saved;
	print_wrapped(out, width, lead, fmt, ap);
	va_end(ap);
	errno = saved;
}

void terminal_wrap(FILE *out, size_t width, const char *lead, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_wrapped(out, width, lead, fmt, ap);
	va_end(ap);
}
