/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_CAPS_H
#define CCS_AGENT_CAPS_H
/* Caps of this host's tenants, at each device and port that their flows use. */
#include "agent/host/priv.h"

/* The tenants were read: keep pages by the names of their tenants. */
void ccs_caps_read(struct ccs_agent *a);
/* The page of the client's tenant, or NULL. */
struct ccs_cap_page *ccs_caps_page(struct ccs_agent *a, const struct ccs_client *c);
/* Write the flow's cap and class into its slot. */
void ccs_caps_join(struct ccs_agent *a, struct ccs_agent_flow *f);
/* The tenant of the client, or its page, has changed. */
void ccs_caps_renew_client(struct ccs_agent *a, struct ccs_client *c);
/* The tenant's cap or class has changed. */
void ccs_caps_renew(struct ccs_agent *a, unsigned tenant);
void ccs_caps_close(struct ccs_agent *a);

#endif
