/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_CORE_H
#define CCS_AGENT_CORE_H
/* Functions for every component of the agent: time, warnings, the loop's descriptors, identity. */
#include "agent/host/priv.h"

/* Sets the agent's incarnation and its random keys. 0, or -1 and errno. */
int ccs_agent_init_identity(struct ccs_agent *a);

/*
 * The incarnation that this agent states towards that host. Its lower half is a keyed hash of
 * both addresses, which no other host can guess.
 */
uint64_t ccs_agent_incarnation(const struct ccs_agent *a, const struct ccs_ends *ends);

uint64_t ccs_agent_now(const struct ccs_agent *a);

/* The loop calls s->ready whenever s->fd is readable. 0, or -1 and errno. */
int ccs_agent_watch(struct ccs_agent *a, struct ccs_source *s);

/* Whether the agent serves that address of this host: see ccs_agent_config.addresses. */
bool ccs_agent_owns_address(const struct ccs_agent *a, const struct ccs_address *address);

/* Whether ccs_agent_warn() would pass that kind on now; if not, it is counted. Called first where a
 * flood of messages could cause the warning, because formatting the arguments is expensive. */
bool ccs_agent_warning_due(struct ccs_agent *a, enum ccs_agent_warning kind);
/* Pass a sentence to config.warn, at most once an hour per kind. */
void ccs_agent_warn(struct ccs_agent *a, enum ccs_agent_warning kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
