/* SPDX-License-Identifier: BSD-2-Clause */
#include "displace.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "ccshimd.h"
#include "tools/common/ask_agent.h"

enum { TRIES = 500 };                    /* 10 s: a thread notices it within 0.1 s of CPU time */

struct ccs_agent *open_displacing(const struct ccs_agent_config *config, char *err, size_t len)
{
	const char *path = config->socket ? config->socket : CCS_IPC_SOCKET;
	const struct timespec pause = { .tv_nsec = 20000000 };
	struct ccs_agent *a = ccs_agent_open(config, err, len);

	if (a || errno != EADDRINUSE || !is_agent_thread(path))
		return a;
	agent_error("replacing the agent that is a thread of another process");
	for (int i = 0; i < TRIES; i++) {
		if (is_agent_thread(path) && unlink(path)) /* a further one may have been faster */
			break;
		a = ccs_agent_open(config, err, len);
		if (a || errno != EADDRINUSE)
			break;
		nanosleep(&pause, NULL);
	}
	return a;
}
