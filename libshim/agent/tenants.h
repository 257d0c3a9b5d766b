/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_OWN_TENANTS_H
#define CCS_AGENT_OWN_TENANTS_H
/* The tenants of this host: which processes are theirs, and their terms. */
#include "agent/host/priv.h"
#include "feedback/ipc.h"

/* Read the configured tenants, and find each client's. */
void ccs_agent_tenants_read(struct ccs_agent *a);
/* Find the client's tenant. */
void ccs_agent_tenants_find(struct ccs_agent *a, struct ccs_client *c);
/* Send a message of that type with the descriptor of the client's caps. 0 or an errno. */
int ccs_agent_send_caps(const struct ccs_client *c, enum ccs_ipc_type type);
/* Set terms until the next ccs_agent_tenants_read(). 0 or an errno: ERANGE: the guarantees are too high. */
int ccs_agent_tenants_set(struct ccs_agent *a, const struct ccs_client *c, const struct ccs_ipc_tenant *m);

#endif
