/* SPDX-License-Identifier: BSD-2-Clause */
#include "cc/shares.h"

#include <math.h>
#include <stdlib.h>

#include "cc/minmax.h"

#define USED 0.98            /* share of a port that is advised to all flows together, see advice.c */
#define FLOORS_MOST 0.5      /* sum for background tenants */
#define FLOORS_BESIDE 0.05   /* the same beside guarantees */

static bool is_within(double value, double least, double most)
{
	return value >= least && value <= most;
}

static bool is_rate(double value)
{
	return !(value > 0 || value < 0) || is_within(value, CCS_TERM_RATE_LEAST, CCS_TERM_RATE_MOST);
}

const char *ccs_terms_set(struct ccs_terms *to, const struct ccs_terms *from, unsigned set)
{
	struct ccs_terms t = *to;

	t.weight = set & CCS_TERM_WEIGHT ? from->weight : t.weight;
	t.cap = set & CCS_TERM_CAP ? from->cap : t.cap;
	t.guarantee = set & CCS_TERM_GUARANTEE ? from->guarantee : t.guarantee;
	if (set & CCS_TERM_FOREGROUND)
		t.floor = 0;
	if (set & CCS_TERM_BACKGROUND && !(t.floor > 0))
		t.floor = CCS_FLOOR_DEFAULT;
	if (set & CCS_TERM_FLOOR && !(t.floor > 0))
		return "a floor needs class = background";
	t.floor = set & CCS_TERM_FLOOR ? from->floor : t.floor;
	if (!is_within(t.weight, CCS_WEIGHT_LEAST, CCS_WEIGHT_MOST))
		return "the weight is not from 0.01 to 100";
	if (!is_rate(t.cap) || !is_rate(t.guarantee) || isnan(t.cap) || isnan(t.guarantee))
		return "a cap or guarantee is not from 1 Mb/s to 1000 Tb/s";
	if (set & CCS_TERM_FLOOR && !is_within(t.floor, CCS_FLOOR_LEAST, CCS_FLOOR_MOST))
		return "the floor is not from 0.01% to 20%";
	if (t.cap > 0 && t.cap < t.guarantee)
		return "the cap is below the guarantee";
	if (t.floor > 0 && t.guarantee > 0)
		return "class background has no guarantee";
	*to = t;
	return NULL;
}

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
		s[to].guarantee = ccs_min(s[to].guarantee, s[i].guarantee);
		s[to].floor = ccs_max(s[to].floor, s[i].floor);
	}
	return n ? to + 1 : 0;
}

/* Sums over a list. */
struct sums {
	double guarantees, floors, weights; /* weights: foreground tenants */
	bool foreground;
};

static struct sums add_up(const struct ccs_tenant_share *s, unsigned n)
{
	struct sums sum = { 0 };

	for (const struct ccs_tenant_share *t = s; t < s + n; t++) {
		sum.floors += t->floor;
		sum.foreground |= !(t->floor > 0);
		if (t->floor > 0)
			continue;
		sum.guarantees += t->guarantee;
		sum.weights += t->weight;
	}
	return sum;
}

/*
 * Give guarantees to tenants that have less by their weight, until the others have more. Tenants
 * that got one have a negative guarantee then. scale: from bit/s to shares. Returns their sum.
 */
static double give_guarantees(struct ccs_tenant_share *s, unsigned n, double scale, double *left,
			      double *weights)
{
	double given = 0, before = -1;

	while (given > before) {
		before = given;
		for (struct ccs_tenant_share *t = s; t < s + n; t++) {
			const double share = t->guarantee * scale;

			if (t->floor > 0 || !(share > 0) || share * *weights < t->weight * *left)
				continue;
			*weights -= t->weight;
			*left -= share;
			given += share;
			t->weight = share;
			t->guarantee = -t->guarantee;
		}
	}
	return given;
}

double ccs_shares_assign(struct ccs_tenant_share *s, unsigned n, double capacity)
{
	struct sums sum = add_up(s, n);
	const double most = CCS_GUARANTEES_MOST * capacity;
	const double scale = ccs_min(1, most / ccs_max(sum.guarantees, 1)) / (USED * capacity);
	const double floors = ccs_min(sum.floors, sum.guarantees > 0 ? FLOORS_BESIDE : FLOORS_MOST);
	double left = 1 - floors, given;

	if (!sum.foreground || !(sum.guarantees + sum.floors > 0) || !(capacity > 0))
		return 0;
	given = give_guarantees(s, n, scale, &left, &sum.weights);
	for (struct ccs_tenant_share *t = s; t < s + n; t++)
		if (t->floor > 0)
			t->weight = t->floor * floors / sum.floors;
		else if (t->guarantee < 0)
			t->guarantee = -t->guarantee;
		else
			t->weight *= left / sum.weights;
	return floors > 0 ? 1 - floors : given;
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
