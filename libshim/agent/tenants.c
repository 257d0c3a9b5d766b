/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/tenants.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "agent/telemetry/caps.h"
#include "agent/telemetry/telemetry.h"
#include "feedback/agent_conn.h"

/* The index of the tenant of the client's process, or -1. */
static int tenant_of(const struct ccs_agent *a, const struct ccs_client *c)
{
	const int found = a->flows.tenants ? a->config.tenant_of(a->config.tenant_arg, c->pid, c->uid) : -1;

	return found < 0 || ccs_peer_has_ended(c->source.fd) ? -1 : found;
}

int ccs_agent_send_caps(const struct ccs_client *c, enum ccs_ipc_type type)
{
	const struct ccs_ipc_result r = { .type = type, .version = CCS_IPC_VERSION };

	return ccs_ipc_send(c->source.fd, &r, sizeof(r), c->caps->fd);
}

void ccs_agent_tenants_find(struct ccs_agent *a, struct ccs_client *c)
{
	const int found = tenant_of(a, c);

	ccs_demand_forget(c);
	c->tenant = found >= 0 && (unsigned)found < a->flows.tenants ? 1 + (uint32_t)found : 0;
	/* The answer to the HELLO has the first page. A client that reads no answers connects again. */
	if (ccs_caps_attach(a, c) && c->hello_done && c->caps && ccs_agent_send_caps(c, CCS_IPC_CAPS))
		shutdown(c->source.fd, SHUT_RDWR);
	ccs_caps_renew_client(a, c);
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

/* As at the start: the sum of guarantees on the fastest port of the host. */
static bool exceeds_guarantees(const struct ccs_agent *a, const struct ccs_agent_tenant *t,
			       const struct ccs_ipc_tenant *m)
{
	double sum = m->guarantee;

	for (unsigned i = 0; i < a->flows.tenants; i++)
		sum += &a->flows.tenant[i] != t ? a->flows.tenant[i].terms.guarantee : 0;
	return m->set & CCS_TERM_GUARANTEE && m->guarantee > 0 && a->config.guarantees > 0 &&
	       sum > a->config.guarantees;
}

static struct ccs_agent_tenant *find_name(struct ccs_agent *a, const char name[64])
{
	for (unsigned i = 0; i < a->flows.tenants; i++)
		if (strncmp(a->flows.tenant[i].name, name, sizeof(a->flows.tenant[i].name)) == 0)
			return &a->flows.tenant[i];
	return NULL;
}

/* Whether a user may set these terms: lower ones, and only for the tenant of the caller's process. */
static bool lowers_own(struct ccs_agent *a, const struct ccs_client *c, const struct ccs_agent_tenant *t,
		       const struct ccs_ipc_tenant *m)
{
	const bool is_lower = !(m->set & CCS_TERM_CAP) ||
			      (m->cap > 0 && (!(t->terms.cap > 0) || m->cap <= t->terms.cap));

	return t->users_may_lower && tenant_of(a, c) == t - a->flows.tenant && is_lower &&
	       !(m->set & ~(uint32_t)(CCS_TERM_CAP | CCS_TERM_BACKGROUND));
}

/* Only root may raise: a user may not take more of a port than the rules give. */
int ccs_agent_tenants_set(struct ccs_agent *a, const struct ccs_client *c, const struct ccs_ipc_tenant *m)
{
	const struct ccs_terms terms = {
		.weight = m->weight, .cap = m->cap, .guarantee = m->guarantee, .floor = m->floor,
	};
	struct ccs_agent_tenant *t = find_name(a, m->name);
	struct ccs_terms before;

	if (c->standing != CCS_STANDING_ADMIN && !(t && lowers_own(a, c, t, m)))
		return EPERM;
	if (!t)
		return ENOENT;
	if (exceeds_guarantees(a, t, m))
		return ERANGE;
	before = t->terms;
	if (ccs_terms_set(&t->terms, &terms, m->set))
		return EINVAL;
	if (c->standing == CCS_STANDING_ADMIN)
		ccs_caps_renew(a, (unsigned)(t - a->flows.tenant));
	else
		ccs_caps_renew_soon(a, (unsigned)(t - a->flows.tenant));
	before.cap = t->terms.cap;
	if (memcmp(&before, &t->terms, sizeof(before)) == 0) /* other hosts do not get caps */
		return 0;
	for (uint32_t i = 0; i < a->peers.high; i++)
		a->peers.peer[i].hello.pending |= a->peers.peer[i].active[t - a->flows.tenant] != 0;
	for (struct ccs_port *port = a->port; port < a->port + CCS_AGENT_PORTS; port++)
		port->shares.current = false;
	a->due.demand_ns = 0;
	return 0;
}
