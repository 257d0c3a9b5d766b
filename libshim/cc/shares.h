/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CC_SHARES_H
#define CCS_CC_SHARES_H
/*
 * Weighted shares of a port. Tenants have weights; a tenant's share is divided equally among its active
 * flows, on whatever hosts they are. The controller of the port (advice.h) computes a rate for a unit;
 * a flow's rate is that rate times its tenant's factor. The smallest factor is 1, so a port without
 * tenants, where all flows are equal, is the case that all factors are 1. Claims of a tenant change the
 * factors, and not the measurement from which the rate of the unit follows.
 *
 * Pure functions.
 */
#include <stdbool.h>
#include <stdint.h>

/* The limits of a weight. */
#define CCS_WEIGHT_LEAST 0.01
#define CCS_WEIGHT_MOST 100.0

struct ccs_tenant_share {
	uint64_t tenant;         /* its identity */
	double weight;           /* above 0 */
	uint32_t flows;          /* active flows, at least 1 */
};

/* Sort by tenant, and merge the statements about the same tenant: their flows are added, and the
 * lowest weight counts, so that no host can raise it alone. Returns the new number. */
unsigned ccs_shares_merge(struct ccs_tenant_share *s, unsigned n);

/* The weight of a flow whose factor is 1; 1 if there are no tenants. */
double ccs_shares_unit(const struct ccs_tenant_share *s, unsigned n);

/* The sum of the factors of all flows. */
double ccs_shares_units(const struct ccs_tenant_share *s, unsigned n);

/* The factor of each flow of the tenant; 1 if it is not in the list. The list is merged. */
double ccs_shares_factor(const struct ccs_tenant_share *s, unsigned n, double unit, uint64_t tenant);

#endif
