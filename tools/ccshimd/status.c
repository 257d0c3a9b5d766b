/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshimd --status: requests the agent's state and prints the reply unchanged. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/ask_agent.h"
#include "ccshimd.h"

int agent_print_status(const char *socket)
{
	char *text = ask_agent(socket);

	if (!text) {
		agent_error("no reply from an agent at %s: %s; start ccshimd, or give "
			     "the --socket of the running agent", socket, strerror(errno));
		return EXIT_FAILURE;
	}
	fputs(text, stdout);
	free(text);
	return agent_flush_stdout();
}
