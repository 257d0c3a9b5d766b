/* SPDX-License-Identifier: BSD-2-Clause */
/* Error messages of the subcommands, and checks that print one. */
#include "ccshim.h"

#include <stdarg.h>

#include "config/plugin.h"
#include "tools/common/terminal.h"

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

int tool_check_cc(const char *cmd, const struct ccs_options *o)
{
	struct ccs_cc_spec spec;
	char err[1024];

	if (ccs_spec_parse(&spec, o->cc, err, sizeof(err)) == 0)
		return 0;
	tool_error(cmd, "cc: %s", err);
	return 1;
}
