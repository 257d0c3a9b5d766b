/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages of ccshimd. */
#include "ccshimd.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

void agent_error(const char *fmt, ...)
{
	char text[8192];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(stderr, "ccshimd: %s\n", ccs_make_printable(text, "\n"));
}

int agent_flush_stdout(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return EXIT_SUCCESS;
	agent_error("standard output: %s", strerror(errno));
	return EXIT_FAILURE;
}
