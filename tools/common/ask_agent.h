/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_ASK_AGENT_H
#define CCS_TOOLS_ASK_AGENT_H
#include <stdbool.h>

/* The status of the agent at a socket: a JSON object, malloc()ed. NULL and errno: ECONNREFUSED or
 * ENOENT if no agent runs; EPROTONOSUPPORT if it has another version. */
char *ask_agent(const char *socket);

struct ccs_terms;

/* Set those terms of a tenant (enum ccs_term). 0, or an errno: EPERM for users, ENOENT if the tenant is
 * unknown, EINVAL or ERANGE if the terms are refused. *reached: whether an agent has answered. */
int agent_set_tenant(const char *socket, const char *name, const struct ccs_terms *terms, unsigned set,
		     bool *reached);

#endif
