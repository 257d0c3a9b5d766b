/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages of ccshimd. */
#include "ccshimd.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void agent_error(const char *fmt, ...)
{
	va_list ap;

	fputs("ccshimd: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	putc('\n', stderr);
}

int agent_flush_stdout(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return EXIT_SUCCESS;
	agent_error("standard output: %s", strerror(errno));
	return EXIT_FAILURE;
}
