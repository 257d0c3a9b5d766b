/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/tenants.h"

#include <errno.h>

#include "agent/telemetry/demand.h"
#include "agent/telemetry/ports.h"

void ccs_agent_tenants_find(struct ccs_agent *a, struct ccs_client *c)
{
	const int found = a->flows.tenants ? a->config.tenant_of(a->config.tenant_arg, c->pid, c->uid) : -1;

	ccs_demand_forget(c);
	c->tenant = found >= 0 && (unsigned)found < a->flows.tenants ? 1 + (uint32_t)found : 0;
}

void ccs_agent_tenants_read(struct ccs_agent *a)
{
	if (!a->config.tenants)
		return;
	for (struct ccs_client *c = a->client; c < a->client + CCS_AGENT_CLIENTS; c++)
		if (c->source.fd >= 0)
			ccs_demand_forget(c);
	a->flows.tenants = a->config.tenants(a->config.tenant_arg, a->flows.tenant);
	for (struct ccs_client *c = a->client; c < a->client + CCS_AGENT_CLIENTS; c++)
		if (c->source.fd >= 0)
			ccs_agent_tenants_find(a, c);
	for (struct ccs_port *port = a->port; port < a->port + CCS_AGENT_PORTS; port++)
		port->shares.current = false;
	a->due.demand_ns = 0;
}

static struct ccs_agent_tenant *find_name(struct ccs_agent *a, const char name[64])
{
	for (unsigned i = 0; i < a->flows.tenants; i++)
		if (strncmp(a->flows.tenant[i].name, name, sizeof(a->flows.tenant[i].name)) == 0)
			return &a->flows.tenant[i];
	return NULL;
}

/* Only root's processes: a user may not take more of a port than the rules give. */
int ccs_agent_tenants_set(struct ccs_agent *a, const struct ccs_client *c, const struct ccs_ipc_tenant *m)
{
	struct ccs_agent_tenant *t = find_name(a, m->name);

	if (c->standing != CCS_STANDING_ADMIN)
		return EPERM;
	if (!t)
		return ENOENT;
	if (!(m->weight >= CCS_WEIGHT_LEAST && m->weight <= CCS_WEIGHT_MOST))
		return EINVAL;
	t->weight = m->weight;
	for (uint32_t i = 0; i < a->peers.high; i++)
		a->peers.peer[i].hello.pending |= a->peers.peer[i].active[t - a->flows.tenant] != 0;
	for (struct ccs_port *port = a->port; port < a->port + CCS_AGENT_PORTS; port++)
		port->shares.current = false;
	a->due.demand_ns = 0;
	return 0;
}
