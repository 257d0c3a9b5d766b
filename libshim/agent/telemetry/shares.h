/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_TELEMETRY_SHARES_H
#define CCS_AGENT_TELEMETRY_SHARES_H
/*
 * Tenants' shares of a port, where this host has tenants or a host with the key states some. A sender's
 * agent states the active flows and the weights of its tenants; this host's flows that READ are known.
 * Flows without a tenant are one tenant of weight 1 on each host. Without a key, statements of another
 * host divide only the share of that host, which has weight 1.
 */
#include "agent/host/tenants.h"
#include "agent/telemetry/telemetry.h"

/* Update port->shares, if it is not current. */
void ccs_port_share(const struct ccs_agent *a, struct ccs_port *port);

/*
 * The advised rate of a subscriber's flows without a tenant, and in *rates the rates of its tenants;
 * most: a limit on all, 0: no limit. Without advice all are 0.
 */
uint64_t ccs_port_rates(const struct ccs_agent *a, const struct ccs_port *port,
			const struct ccs_subscriber *s, uint64_t most, struct ccs_tenant_list *rates);

#endif
