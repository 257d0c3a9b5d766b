/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_CAPS_H
#define CCS_AGENT_CAPS_H
/* Caps of this host's tenants, at each device and port that their flows use. */
#include "agent/host/priv.h"

/* Give the client the page of its tenant and user, if there is memory for it. True: the page has changed. */
bool ccs_caps_attach(struct ccs_agent *a, struct ccs_client *c);
/* The client is closed. */
void ccs_caps_detach(struct ccs_agent *a, struct ccs_client *c);
/* Write the flow's cap and class into its slot. */
void ccs_caps_join(struct ccs_agent *a, struct ccs_agent_flow *f);
/* The tenant of the client, or its page, has changed. */
void ccs_caps_renew_client(struct ccs_agent *a, struct ccs_client *c);
/* The tenant's cap or class has changed. */
void ccs_caps_renew(struct ccs_agent *a, unsigned tenant);
/* The same, at the next tick. */
void ccs_caps_renew_soon(struct ccs_agent *a, unsigned tenant);
/* All clients are closed. */
void ccs_caps_close(struct ccs_agent *a);
/* Renew what is due, divide caps among users that have come or gone, and close unused pages. */
void ccs_caps_tick(struct ccs_agent *a);

#endif
