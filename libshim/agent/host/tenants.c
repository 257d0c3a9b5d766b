/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/host/tenants.h"

#include <math.h>

void ccs_tenants_list(const struct ccs_agent *a, const uint32_t active[CCS_AGENT_TENANTS],
		      struct ccs_tenant_list *list)
{
	list->n = 0;
	for (unsigned i = 0; i < a->flows.tenants && list->n < CCS_WIRE_TENANTS; i++)
		if (active[i])
			list->tenant[list->n++] = (struct ccs_wire_tenant){
				.tenant = a->flows.tenant[i].identity, .flows = active[i],
				.weight = (uint32_t)lround(a->flows.tenant[i].terms.weight * CCS_WEIGHT_UNITS),
				.guarantee = (uint32_t)(a->flows.tenant[i].terms.guarantee / CCS_GUARANTEE_UNIT),
				.floor = (uint32_t)lround(a->flows.tenant[i].terms.floor * CCS_FLOOR_UNITS),
			};
}

double ccs_tenant_rate(const struct ccs_agent *a, const struct ccs_client *c,
		       const struct ccs_tenant_list *rates, double advised)
{
	if (!c->tenant)
		return advised;
	for (unsigned i = 0; i < rates->n; i++)
		if (rates->tenant[i].tenant == a->flows.tenant[c->tenant - 1].identity)
			return (double)rates->tenant[i].advised;
	return advised;
}
