/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_ADVISE_H
#define CCS_AGENT_ADVISE_H
/* The advised rate of a port. */
#include "agent/telemetry/ports.h"

/* Pass the newest record to the port's controller, if a flow requests advice; sets
 * record.advised. */
void ccs_port_advise(const struct ccs_agent *a, struct ccs_port *port);
/* `more` flows of a subscriber have become active; their data have not arrived yet. */
void ccs_port_joined(struct ccs_agent *a, struct ccs_port *port, uint32_t more);
/* The rate to advise to a subscriber's flows without a tenant, from all records of their path, bit/s;
 * 0: no advice. *rates: to its tenants' flows. */
uint64_t ccs_port_advised(const struct ccs_agent *a, const struct ccs_port *port,
			  const struct ccs_subscriber *s, struct ccs_tenant_list *rates);
/* The same for that peer's flows towards this host. */
uint64_t ccs_ports_advised(const struct ccs_agent *a, struct ccs_peer *p,
			   struct ccs_tenant_list *rates);

#endif
