/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_CAPS_H
#define CCS_AGENT_CAPS_H
/* Caps of this host's tenants: the limits of their flows at each device and port. */
#include "agent/host/priv.h"

/* A flow was added, with the tenant of its client. */
void ccs_caps_join(struct ccs_agent *a, struct ccs_agent_flow *f);
/* The tenant of the client is about to change. */
void ccs_caps_forget(struct ccs_agent *a, struct ccs_client *c);
/* Terms of tenants have changed: divide the caps with the next ccs_caps_update(). */
void ccs_caps_renew(struct ccs_agent *a);
/* Divide the caps, if that is due. */
void ccs_caps_update(struct ccs_agent *a, uint64_t now_ns);

#endif
