/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_DEMAND_H
#define CCS_AGENT_DEMAND_H
/* Scan of clients' slots for flows that request telemetry. */
#include "agent/host/priv.h"

/* Register a new flow, which may be the first to request telemetry of its peer. */
void ccs_demand_join(struct ccs_agent *a, struct ccs_agent_flow *f);
/* A flow ends. */
void ccs_demand_leave(const struct ccs_agent *a, struct ccs_agent_flow *f);
/* The tenant of the client is about to change. */
void ccs_demand_forget(struct ccs_client *c);
/* Scan the slots of clients that are due, and send changed requests to peers. */
void ccs_demand_update(struct ccs_agent *a, uint64_t now_ns);

#endif
