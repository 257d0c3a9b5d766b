/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_HOST_TENANTS_H
#define CCS_AGENT_HOST_TENANTS_H
/* The tenants of this host in messages. */
#include "agent/host/priv.h"

#define CCS_WEIGHT_UNITS 100.0           /* in a weight of 1 */
#define CCS_GUARANTEE_UNIT 1e6           /* bit/s */
#define CCS_FLOOR_UNITS 10000.0          /* in a whole port */

/* This host's tenants that have some of these flows. */
void ccs_tenants_list(const struct ccs_agent *a, const uint32_t active[CCS_AGENT_TENANTS],
		      struct ccs_tenant_list *list);

/* The rate of the client's flows: the rate of its tenant if *rates has one, or `advised`. */
double ccs_tenant_rate(const struct ccs_agent *a, const struct ccs_client *c,
		       const struct ccs_tenant_list *rates, double advised);

#endif
