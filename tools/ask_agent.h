/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_ASK_AGENT_H
#define CCS_TOOLS_ASK_AGENT_H

/* What the agent behind that socket tells of itself: a JSON object, malloc()ed. NULL and
 * errno: ECONNREFUSED or ENOENT if none is there; EPROTONOSUPPORT: of another version. */
char *ask_agent(const char *socket);

#endif
