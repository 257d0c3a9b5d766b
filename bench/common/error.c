/* SPDX-License-Identifier: BSD-2-Clause */
#include "error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"

static const char *command, *about;

void die_in_command(const char *name)
{
	command = name;
}

void die_about(const char *text)
{
	about = text;
}

__attribute__((format(printf, 1, 0)))
static void print_error(const char *format, va_list args)
{
	char text[8192];

	vsnprintf(text, sizeof(text), format, args);
	fprintf(stderr, "%s: %s%s%s\n", program_invocation_short_name, about ? about : "", about ? ": " : "",
		ccs_make_printable(text, "\n"));
}

void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_error(format, args);
	va_end(args);
	fprintf(stderr, "Try '%s %s%s--help'.\n", program_invocation_short_name, command ? command : "",
		command ? " " : "");
	exit(2);
}

void fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_error(format, args);
	va_end(args);
	exit(1);
}
