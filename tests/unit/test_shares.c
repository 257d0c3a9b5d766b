/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests weighted shares, and the advised rate with them. */
#include "test.h"

#include <math.h>
#include <string.h>

#include "cc/advice.h"
#include "cc/shares.h"

#define C 1e9
#define TAU_US 200

static void statements_about_a_tenant_are_merged(void **state)
{
	struct ccs_tenant_share s[] = { { 9, 4, 3 }, { 2, 1, 5 }, { 9, 3, 1 }, { 1, 8, 2 }, { 9, 5, 6 } };
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

static void the_smallest_factor_is_1(void **state)
{
	struct ccs_tenant_share s[] = { { 1, 1, 1 }, { 2, 2, 16 }, { 3, 4, 64 } };
	const double unit = ccs_shares_unit(s, 3);

	assert_float_equal(ccs_shares_factor(s, 3, unit, 3), 1, 1e-9);
	assert_float_equal(ccs_shares_factor(s, 3, unit, 2), 2, 1e-9);
	assert_float_equal(ccs_shares_factor(s, 3, unit, 1), 16, 1e-9);
	assert_float_equal(ccs_shares_units(s, 3), 16 + 16 * 2 + 64, 1e-9);
	assert_float_equal(ccs_shares_factor(s, 3, unit, 4), 1, 0);
}

static void without_tenants_all_flows_are_equal(void **state)
{
	assert_float_equal(ccs_shares_unit(NULL, 0), 1, 0);
	assert_float_equal(ccs_shares_units(NULL, 0), 0, 0);
	assert_float_equal(ccs_shares_factor(NULL, 0, 1, 7), 1, 0);
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

static void the_port_is_used_for_any_weights(void **state)
{
	static const struct ccs_tenant_share cases[][3] = {
		{ { 1, 1, 1 }, { 2, 2, 16 }, { 3, 4, 64 } },
		{ { 1, 100, 1 }, { 2, 1, 100 }, { 3, .01, 1 } },
		{ { 1, .01, 300 }, { 2, .02, 2 }, { 3, .03, 1 } },
		{ { 1, 1, 1000 }, { 2, 1, 1 }, { 3, 1, 30 } },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct loop l = begin(3, cases[i]);

		run(&l, 4000);
		assert_float_equal(sum(&l), 0.972, 0.015);
		assert_float_equal(l.late[1] / l.late[0], cases[i][1].weight / cases[i][0].weight, 1e-6);
	}
}

static void a_tenant_that_only_claims_takes_nothing(void **state)
{
	static const struct ccs_tenant_share share[] = { { 1, 1, 4 }, { 2, 2, 8 }, { 3, 100, 256 } };
	struct loop l = begin(3, share);

	l.silent[2] = true;
	run(&l, 4000);
	assert_float_equal(sum(&l), 0.972, 0.015);
	assert_float_equal(l.late[1] / l.late[0], 2, 1e-6);
}

/* More flows of a tenant change the unit, and no tenant's rate. */
static void a_change_of_the_unit_changes_no_rate(void **state)
{
	static const struct ccs_tenant_share share[] = { { 1, 1, 4 }, { 2, 2, 8 } };
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(statements_about_a_tenant_are_merged),
		cmocka_unit_test(the_smallest_factor_is_1),
		cmocka_unit_test(without_tenants_all_flows_are_equal),
		cmocka_unit_test(the_port_is_used_for_any_weights),
		cmocka_unit_test(a_tenant_that_only_claims_takes_nothing),
		cmocka_unit_test(a_change_of_the_unit_changes_no_rate),
	};

	return cmocka_run_group_tests_name("shares", tests, NULL, NULL);
}
