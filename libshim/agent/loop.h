/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_LOOP_H
#define CCS_AGENT_LOOP_H
/* One turn of the agent's loop, for tests; agent/agent.h has the rest of loop.c. */
#include "agent/agent.h"

/* Handle descriptors that become ready within timeout_ns (negative: no limit), then run
 * everything that is due. */
void ccs_agent_turn(struct ccs_agent *a, int64_t timeout_ns);

#endif
