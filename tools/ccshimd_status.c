/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshimd --status: asks, and prints the answer as it is. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/ask_agent.h"
#include "tools/ccshimd.h"

int daemon_status(const char *socket)
{
	char *text = ask_agent(socket);
	bool ok;

	if (!text) {
		daemon_error("no answer from an agent at %s: %s", socket, strerror(errno));
		return EXIT_FAILURE;
	}
	ok = fputs(text, stdout) >= 0 && fflush(stdout) == 0;
	free(text);
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
