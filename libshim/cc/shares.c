/* SPDX-License-Identifier: BSD-2-Clause */
#include "cc/shares.h"

#include <stdlib.h>

#include "cc/minmax.h"

static int by_tenant(const void *a, const void *b)
{
	const struct ccs_tenant_share *x = a, *y = b;

	return x->tenant < y->tenant ? -1 : x->tenant > y->tenant;
}

unsigned ccs_shares_merge(struct ccs_tenant_share *s, unsigned n)
{
	unsigned to = 0;

	if (n)
		qsort(s, n, sizeof(*s), by_tenant);
	for (unsigned i = 1; i < n; i++) {
		if (s[i].tenant != s[to].tenant) {
			s[++to] = s[i];
			continue;
		}
		s[to].flows += s[i].flows;
		s[to].weight = ccs_min(s[to].weight, s[i].weight);
	}
	return n ? to + 1 : 0;
}

double ccs_shares_unit(const struct ccs_tenant_share *s, unsigned n)
{
	double least = n ? s->weight / s->flows : 1;

	for (unsigned i = 1; i < n; i++)
		least = ccs_min(least, s[i].weight / s[i].flows);
	return least;
}

double ccs_shares_units(const struct ccs_tenant_share *s, unsigned n)
{
	double weights = 0;

	for (unsigned i = 0; i < n; i++)
		weights += s[i].weight;
	return weights / ccs_shares_unit(s, n);
}

double ccs_shares_factor(const struct ccs_tenant_share *s, unsigned n, double unit, uint64_t tenant)
{
	const struct ccs_tenant_share key = { .tenant = tenant };
	const struct ccs_tenant_share *found = n ? bsearch(&key, s, n, sizeof(*s), by_tenant) : NULL;

	return found ? found->weight / found->flows / unit : 1;
}
