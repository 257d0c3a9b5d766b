/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages of the subcommands. */
#include "ccshim.h"

#include <stdarg.h>

#include "terminal.h"

void tool_error(const char *cmd, const char *fmt, ...)
{
	char text[8192];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	terminal_print(stderr, "  ", "ccshim%s%s: %s", *cmd ? " " : "", cmd, text);
}

int tool_usage_error(const char *cmd)
{
	fprintf(stderr, "Try 'ccshim%s%s -h'.\n", *cmd ? " " : "", cmd);
	return EXIT_USAGE;
}

void tool_complain(void *arg, const char *sentence)
{
	tool_error(arg, "%s", sentence);
}
