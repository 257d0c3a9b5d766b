/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests weighted shares, and the advised rate with them. */
#include "test.h"

#include <math.h>
#include <string.h>

#include "cc/advice.h"
#include "cc/shares.h"

#define C 1e9
#define TAU_US 200
#define SHARE(id, w, n) { .tenant = (id), .weight = (w), .flows = (n) }

TEST(statements_about_a_tenant_are_merged)
{
	struct ccs_tenant_share s[] = { SHARE(9, 4, 3), SHARE(2, 1, 5), SHARE(9, 3, 1), SHARE(1, 8, 2), SHARE(9, 5, 6) };
	const unsigned n = ccs_shares_merge(s, 5);

	assert_int_equal(n, 3);
	assert_int_equal(s[0].tenant, 1);
	assert_int_equal(s[1].tenant, 2);
	assert_int_equal(s[2].tenant, 9);
	assert_int_equal(s[2].flows, 10);
	assert_float_equal(s[2].weight, 3, 0);
	assert_int_equal(ccs_shares_merge(s, 0), 0);
	assert_int_equal(ccs_shares_merge(s, 1), 1);
}

TEST(the_smallest_factor_is_1)
{
	struct ccs_tenant_share s[] = { SHARE(1, 1, 1), SHARE(2, 2, 16), SHARE(3, 4, 64) };
	const double unit = ccs_shares_unit(s, 3);

	assert_float_equal(ccs_shares_factor(s, 3, unit, 3), 1, 1e-9);
	assert_float_equal(ccs_shares_factor(s, 3, unit, 2), 2, 1e-9);
	assert_float_equal(ccs_shares_factor(s, 3, unit, 1), 16, 1e-9);
	assert_float_equal(ccs_shares_units(s, 3), 16 + 16 * 2 + 64, 1e-9);
	assert_float_equal(ccs_shares_factor(s, 3, unit, 4), 1, 0);
}

TEST(without_tenants_all_flows_are_equal)
{
	assert_float_equal(ccs_shares_unit(NULL, 0), 1, 0);
	assert_float_equal(ccs_shares_units(NULL, 0), 0, 0);
	assert_float_equal(ccs_shares_factor(NULL, 0, 1, 7), 1, 0);
}

/* -- guarantees and background ------------------------------------------------------------ */

#define C10 10e9

/* The share of a tenant of the list. */
static double part(const struct ccs_tenant_share *s, unsigned n, unsigned i)
{
	double all = 0;

	for (unsigned k = 0; k < n; k++)
		all += s[k].weight;
	return s[i].weight / all;
}

TEST(guarantees_come_first_and_the_rest_is_by_weight)
{
	struct ccs_tenant_share s[] = { SHARE(1, 1, 63), SHARE(2, .01, 1), SHARE(3, 2, 5), SHARE(4, 1, 1) };

	s[1].guarantee = 2e9;
	s[3].guarantee = 1e9; /* it has more by its weight */
	assert_float_equal(ccs_shares_assign(s, 4, C10), 2 / 9.8, 1e-9);
	assert_float_equal(part(s, 4, 1), 2 / 9.8, 1e-9);
	assert_float_equal(part(s, 4, 0), (1 - 2 / 9.8) / 4, 1e-9);
	assert_float_equal(part(s, 4, 2), (1 - 2 / 9.8) / 2, 1e-9);
	assert_float_equal(part(s, 4, 3), (1 - 2 / 9.8) / 4, 1e-9);
	assert_float_equal(s[1].guarantee, 2e9, 0);
}

/* A guarantee leaves others less, so another tenant may need its guarantee then. */
TEST(guarantees_that_others_make_necessary_are_given)
{
	struct ccs_tenant_share s[] = { SHARE(1, 1, 1), SHARE(2, 1, 1), SHARE(3, 1, 1) };

	s[0].guarantee = 7e9;
	s[1].guarantee = 1.8e9;
	ccs_shares_assign(s, 3, C10);
	assert_float_equal(part(s, 3, 0), 7 / 9.8, 1e-9);
	assert_float_equal(part(s, 3, 1), 1.8 / 9.8, 1e-9);
	assert_float_equal(part(s, 3, 2), 1 / 9.8, 1e-9);
}

TEST(a_port_of_unknown_capacity_has_weights_only)
{
	struct ccs_tenant_share s[] = { SHARE(1, 1, 1), SHARE(2, 3, 1) };

	s[0].guarantee = 1e9;
	assert_float_equal(ccs_shares_assign(s, 2, 0), 0, 0);
	assert_float_equal(part(s, 2, 1), 0.75, 1e-9);
}

TEST(guarantees_above_the_port_are_reduced)
{
	struct ccs_tenant_share s[] = { SHARE(1, 1, 1), SHARE(2, 1, 1), SHARE(3, 1, 9) };

	s[0].guarantee = 30e9;
	s[1].guarantee = 60e9;
	ccs_shares_assign(s, 3, C10);
	assert_float_equal(part(s, 3, 0), 3 / 9.8, 1e-6);
	assert_float_equal(part(s, 3, 1), 6 / 9.8, 1e-6);
	assert_true(part(s, 3, 2) > 0.05);
}

TEST(background_keeps_its_floor_beside_others_and_has_the_port_alone)
{
	struct ccs_tenant_share s[] = { SHARE(1, 100, 8), SHARE(2, 1, 1) };

	s[0].floor = 0.01;
	assert_float_equal(ccs_shares_assign(s, 2, C10), 0.99, 1e-9);
	assert_float_equal(part(s, 2, 0), 0.01, 1e-9);
	s[0].weight = 3;
	s[1].floor = 0.01;
	s[1].weight = 1;
	assert_float_equal(ccs_shares_assign(s, 2, C10), 0, 0);
	assert_float_equal(part(s, 2, 0), 0.75, 1e-9);
}

TEST(without_guarantees_and_background_weights_stay)
{
	struct ccs_tenant_share s[] = { SHARE(1, 1, 1), SHARE(2, 3, 16) };

	assert_float_equal(ccs_shares_assign(s, 2, C10), 0, 0);
	assert_float_equal(s[1].weight, 3, 0);
	assert_float_equal(ccs_shares_assign(s, 0, C10), 0, 0);
}

TEST(the_lowest_statement_of_a_tenant_counts)
{
	struct ccs_tenant_share s[] = { SHARE(1, 1, 1), SHARE(1, 3, 16) };

	s[0].guarantee = 5e9;
	s[1].floor = 0.02;
	assert_int_equal(ccs_shares_merge(s, 2), 1);
	assert_float_equal(s[0].guarantee, 0, 0);
	assert_float_equal(s[0].floor, 0.02, 0);
}

TEST(terms_that_contradict_each_other_change_nothing)
{
	static const struct { struct ccs_terms from; unsigned set; } cases[] = {
		{ { .cap = 1e9 }, CCS_TERM_CAP }, { { .cap = (double)NAN }, CCS_TERM_CAP },
		{ { .cap = -2e9 }, CCS_TERM_CAP }, { { .cap = INFINITY }, CCS_TERM_CAP },
		{ { .guarantee = 6e9 }, CCS_TERM_GUARANTEE }, { { .guarantee = NAN }, CCS_TERM_GUARANTEE },
		{ { .guarantee = 1e5 }, CCS_TERM_GUARANTEE }, { { .weight = NAN }, CCS_TERM_WEIGHT },
		{ { .weight = 0 }, CCS_TERM_BACKGROUND }, { { .floor = .1 }, CCS_TERM_FLOOR },
		{ { .floor = .5 }, CCS_TERM_FLOOR | CCS_TERM_BACKGROUND | CCS_TERM_GUARANTEE },
		{ { .floor = NAN }, CCS_TERM_FLOOR | CCS_TERM_BACKGROUND | CCS_TERM_GUARANTEE },
	};
	const struct ccs_terms before = { .weight = 2, .cap = 5e9, .guarantee = 2e9 };
	struct ccs_terms t = before;

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_non_null(ccs_terms_set(&t, &cases[i].from, cases[i].set));
		assert_memory_equal(&t, &before, sizeof(t));
	}
	assert_null(ccs_terms_set(&t, &(struct ccs_terms){ 0 }, CCS_TERM_GUARANTEE | CCS_TERM_BACKGROUND));
	assert_float_equal(t.floor, CCS_FLOOR_DEFAULT, 0);
	assert_null(ccs_terms_set(&t, &(struct ccs_terms){ .floor = .2 }, CCS_TERM_FLOOR));
	assert_float_equal(t.floor, .2, 0);
	assert_null(ccs_terms_set(&t, &(struct ccs_terms){ 0 }, CCS_TERM_FOREGROUND | CCS_TERM_CAP));
	assert_float_equal(t.floor + t.cap, 0, 0);
}

/* -- the rate -------------------------------------------------------------------------- */

struct loop {
	struct ccs_advice a;
	struct ccs_advice_port port;
	struct ccs_tenant_share share[4];
	bool silent[4];                  /* it is stated, but does not send */
	unsigned n;
	double late[4];                  /* rate of each tenant in force at the port */
	double bits;
};

static void count(struct loop *l)
{
	l->port.flows = 0;
	for (unsigned i = 0; i < l->n; i++)
		l->port.flows += l->share[i].flows;
	l->port.unit = ccs_shares_unit(l->share, l->n);
	l->port.units = ccs_shares_units(l->share, l->n);
}

static void step(struct loop *l)
{
	const double rate = ccs_advice_feed(&l->a, &l->port);
	double offered = 0;

	for (unsigned i = 0; i < l->n; i++)
		offered += l->silent[i] ? 0 : l->late[i] * TAU_US / 1e6;
	l->bits += fmin(offered, C * TAU_US / 1e6);
	for (unsigned i = 0; i < l->n; i++)
		l->late[i] = l->share[i].flows *
			     fmin(C, rate * (rate < CCS_ADVICE_FREE * C
					     ? ccs_shares_factor(l->share, l->n, l->port.unit,
								 l->share[i].tenant) : 1));
	l->port.now_ns += 1000 * TAU_US;
	l->port.bytes = (uint64_t)(l->bits / 8);
}

static struct loop begin(unsigned n, const struct ccs_tenant_share *share)
{
	struct loop l = { .n = n, .port = { .now_ns = 1000, .capacity = C, .rtt_us = TAU_US } };

	memcpy(l.share, share, n * sizeof(*share));
	for (unsigned i = 0; i < n; i++)
		l.late[i] = C;
	count(&l);
	return l;
}

static void run(struct loop *l, unsigned steps)
{
	while (steps--)
		step(l);
}

static double sum(const struct loop *l)
{
	double all = 0;

	for (unsigned i = 0; i < l->n; i++)
		all += l->silent[i] ? 0 : l->late[i];
	return all / C;
}

TEST(the_port_is_used_for_any_weights)
{
	static const struct ccs_tenant_share cases[][3] = {
		{ SHARE(1, 1, 1), SHARE(2, 2, 16), SHARE(3, 4, 64) },
		{ SHARE(1, 100, 1), SHARE(2, 1, 100), SHARE(3, .01, 1) },
		{ SHARE(1, .01, 300), SHARE(2, .02, 2), SHARE(3, .03, 1) },
		{ SHARE(1, 1, 1000), SHARE(2, 1, 1), SHARE(3, 1, 30) },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct loop l = begin(3, cases[i]);

		run(&l, 4000);
		assert_float_equal(sum(&l), 0.972, 0.015);
		assert_float_equal(l.late[1] / l.late[0], cases[i][1].weight / cases[i][0].weight, 1e-6);
	}
}

TEST(a_tenant_that_only_claims_takes_nothing)
{
	static const struct ccs_tenant_share share[] = { SHARE(1, 1, 4), SHARE(2, 2, 8), SHARE(3, 100, 256) };
	struct loop l = begin(3, share);

	l.silent[2] = true;
	run(&l, 4000);
	assert_float_equal(sum(&l), 0.972, 0.015);
	assert_float_equal(l.late[1] / l.late[0], 2, 1e-6);
}

/* More flows of a tenant change the unit, and no tenant's rate. */
TEST(a_change_of_the_unit_changes_no_rate)
{
	static const struct ccs_tenant_share share[] = { SHARE(1, 1, 4), SHARE(2, 2, 8) };
	struct loop l = begin(2, share);
	double before;

	run(&l, 4000);
	before = l.late[0];
	l.share[0].flows = 64;
	count(&l);
	run(&l, 1);
	assert_float_equal(l.late[0] / before, 1, 0.05);
	assert_float_equal(sum(&l), 0.972, 0.03);
	run(&l, 1000);
	assert_float_equal(l.late[0] / before, 1, 0.03);
}
