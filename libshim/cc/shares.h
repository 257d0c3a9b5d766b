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

/* The share of a port that a background tenant keeps. */
#define CCS_FLOOR_DEFAULT 0.01
#define CCS_FLOOR_LEAST 0.0001
#define CCS_FLOOR_MOST 0.2

#define CCS_TERM_RATE_LEAST 1e6          /* lowest cap and guarantee, bit/s */
#define CCS_TERM_RATE_MOST 1e15
#define CCS_GUARANTEES_MOST 0.9          /* their sum, as a share of a port's capacity */

/* A tenant's terms. */
struct ccs_terms {
	double weight;
	double cap, guarantee;   /* bit/s; 0: none */
	double floor;            /* of class background: share of a port that it keeps; 0: foreground */
};

/* Which terms are given. */
enum ccs_term {
	CCS_TERM_WEIGHT = 1 << 0, CCS_TERM_CAP = 1 << 1, CCS_TERM_GUARANTEE = 1 << 2,
	CCS_TERM_FOREGROUND = 1 << 3, CCS_TERM_BACKGROUND = 1 << 4, CCS_TERM_FLOOR = 1 << 5,
};

/* Set those terms. Returns NULL, or why the result is refused: *to is as before then. */
const char *ccs_terms_set(struct ccs_terms *to, const struct ccs_terms *from, unsigned set);

struct ccs_tenant_share {
	uint64_t tenant;         /* its identity */
	double weight;           /* above 0 */
	uint32_t flows;          /* active flows, at least 1 */
	double guarantee, floor; /* see struct ccs_terms */
};

/* Sort by tenant, and merge the statements about the same tenant: their flows are added, and the
 * lowest weight and guarantee count, and background if one states it, so that no host can raise them
 * alone. Returns the new number. */
unsigned ccs_shares_merge(struct ccs_tenant_share *s, unsigned n);

/*
 * Where tenants have guarantees, or background ones meet others, replace the weights of the merged
 * list by shares of a port of that capacity: guarantees first, then foreground by weight; background
 * keeps its floors. Guarantees above CCS_GUARANTEES_MOST in sum are reduced in proportion. Returns the
 * share that its tenants must have at once when their flows begin; 0: no weight is replaced.
 */
double ccs_shares_assign(struct ccs_tenant_share *s, unsigned n, double capacity);

/* The weight of a flow whose factor is 1; 1 if there are no tenants. */
double ccs_shares_unit(const struct ccs_tenant_share *s, unsigned n);

/* The sum of the factors of all flows. */
double ccs_shares_units(const struct ccs_tenant_share *s, unsigned n);

/* The factor of each flow of the tenant; 1 if it is not in the list. The list is merged. */
double ccs_shares_factor(const struct ccs_tenant_share *s, unsigned n, double unit, uint64_t tenant);

#endif
