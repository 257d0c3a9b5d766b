/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/telemetry/shares.h"

#include "agent/host/core.h"
#include "base/hash.h"
#include "cc/minmax.h"

/* The tenants that a subscriber states; returns the number of all its flows. */
static uint32_t stated(const struct ccs_agent *a, const struct ccs_subscriber *s,
		       struct ccs_tenant_list *list)
{
	if (s->inbound) {
		ccs_tenants_list(a, s->peer->inbound.active, list);
		return s->peer->inbound.request.active;
	}
	*list = s->peer->subscription.tenants;
	return s->peer->subscription.flows;
}

/* Whether the subscriber's statements concern all hosts' shares. */
static bool is_trusted(const struct ccs_agent *a, const struct ccs_subscriber *s)
{
	return s->inbound || a->config.auth;
}

/* The identity in the port's shares. Flows without a tenant, which have 0, are a tenant of their host. */
static uint64_t identity(const struct ccs_agent *a, const struct ccs_subscriber *s, uint64_t tenant)
{
	const uint64_t host = s->inbound ? 1 : ccs_address_hash(&s->peer->ends.remote, 128, a->salt);

	return tenant && is_trusted(a, s) ? tenant : ccs_mix(host ^ ccs_mix(tenant));
}

/* Hosts without a key could otherwise end the equality of flows here, where no tenants are configured. */
static bool has_tenants(const struct ccs_agent *a, const struct ccs_port *port)
{
	struct ccs_tenant_list list;

	if (a->flows.tenants)
		return true;
	for (unsigned i = 0; i < port->nsubs; i++)
		if (is_trusted(a, &port->sub[i]) && stated(a, &port->sub[i], &list) && list.n)
			return true;
	return false;
}

/* Add the subscriber's shares. Statements about more flows than it has do not count. */
static void add_shares(const struct ccs_agent *a, struct ccs_port *port, const struct ccs_subscriber *s)
{
	struct ccs_tenant_list list;
	struct ccs_tenant_share *first = port->shares.share + port->shares.n, *end = first;
	uint32_t flows = stated(a, s, &list);
	double sum = 0;

	for (unsigned i = 0; i < list.n && flows; i++) {
		const struct ccs_wire_tenant *t = &list.tenant[i];
		const uint32_t some = t->flows < flows ? t->flows : flows;

		*end++ = (struct ccs_tenant_share){
			.tenant = identity(a, s, t->tenant), .flows = some,
			.weight = ccs_min(t->weight / CCS_WEIGHT_UNITS, CCS_WEIGHT_MOST),
			.guarantee = is_trusted(a, s) ? t->guarantee * CCS_GUARANTEE_UNIT : 0,
			.floor = is_trusted(a, s) ? ccs_min(t->floor / CCS_FLOOR_UNITS, CCS_FLOOR_MOST) : 0,
		};
		flows -= some;
	}
	if (flows)
		*end++ = (struct ccs_tenant_share){ .tenant = identity(a, s, 0), .weight = 1, .flows = flows };
	for (struct ccs_tenant_share *h = first; h < end; h++)
		sum += h->weight;
	for (struct ccs_tenant_share *h = first; h < end && !is_trusted(a, s); h++)
		h->weight /= sum;
	port->shares.n += (unsigned)(end - first);
}

static bool allocate(struct ccs_port *port, unsigned most)
{
	struct ccs_tenant_share *more;

	if (most <= port->shares.max)
		return true;
	more = reallocarray(port->shares.share, most, sizeof(*more));
	if (!more)
		return false;
	port->shares.share = more;
	port->shares.max = most;
	return true;
}

void ccs_port_share(const struct ccs_agent *a, struct ccs_port *port)
{
	if (port->shares.current)
		return;
	port->shares.current = true;
	port->shares.n = 0;
	port->shares.unit = port->shares.units = port->shares.claimed = 0;
	if (port->publication || !has_tenants(a, port) ||
	    !allocate(port, port->nsubs * (CCS_WIRE_TENANTS + 1)))
		return;
	for (unsigned i = 0; i < port->nsubs; i++)
		add_shares(a, port, &port->sub[i]);
	port->shares.n = ccs_shares_merge(port->shares.share, port->shares.n);
	port->shares.claimed = ccs_shares_assign(port->shares.share, port->shares.n, port->capacity);
	port->shares.unit = ccs_shares_unit(port->shares.share, port->shares.n);
	port->shares.units = ccs_shares_units(port->shares.share, port->shares.n);
}

static uint64_t rate_of(const struct ccs_port *port, uint64_t tenant, uint64_t most)
{
	const double factor = ccs_shares_factor(port->shares.share, port->shares.n, port->shares.unit,
						tenant);
	const double rate = ccs_min((double)port->record.advised * factor, port->capacity);

	return (uint64_t)ccs_max(most ? ccs_min(rate, (double)most) : rate, 1);
}

/* While the port is not full, its rate binds no flow. */
uint64_t ccs_port_rates(const struct ccs_agent *a, const struct ccs_port *port,
			const struct ccs_subscriber *s, uint64_t most, struct ccs_tenant_list *rates)
{
	const uint64_t advised = port->record.advised;

	rates->n = 0;
	if (!advised || !port->shares.n || (double)advised >= CCS_ADVICE_FREE * port->capacity)
		return !advised || (most && most < advised) ? most : advised;
	stated(a, s, rates);
	for (unsigned i = 0; i < rates->n; i++)
		rates->tenant[i].advised = rate_of(port, identity(a, s, rates->tenant[i].tenant), most);
	return rate_of(port, identity(a, s, 0), most);
}
