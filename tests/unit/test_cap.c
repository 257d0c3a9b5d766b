/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the division of a tenant's cap among its flows, which send what their limits and their demand allow. */
#include "test.h"

#include <math.h>
#include <string.h>

#include "cc/cap.h"

enum { FLOWS = 40, MS = 1000000 };

#define CAP 1e9

struct group {
	struct ccs_cap_flow flow[FLOWS], *at[FLOWS];
	double wants[FLOWS], bytes[FLOWS]; /* bit/s; sent so far */
	double sent;                     /* bits of all, in the last run */
	double most;                     /* the greatest sum of limits so far */
	unsigned n, segment;
	uint64_t now_ns;
};

static void begin(struct group *g, unsigned n, unsigned segment, double wants)
{
	*g = (struct group){ .n = n, .segment = segment, .now_ns = MS };
	for (unsigned i = 0; i < n; i++) {
		g->at[i] = &g->flow[i];
		g->wants[i] = wants;
		ccs_cap_begin(&g->flow[i], CAP, 0, g->now_ns);
	}
}

static void run(struct group *g, unsigned ms)
{
	double sum;

	g->sent = 0;
	for (unsigned k = 0; k < ms; k++) {
		for (unsigned i = 0; i < g->n; i++) {
			const double rate = fmin(g->flow[i].limit, g->wants[i]);

			g->bytes[i] += rate / 8e3;
			g->sent += rate / 1e3;
		}
		g->now_ns += MS;
		sum = 0;
		for (unsigned i = 0; i < g->n; i++)
			ccs_cap_measure(&g->flow[i], (uint64_t)(g->bytes[i] / g->segment) * g->segment,
					g->segment, g->now_ns);
		ccs_cap_divide(g->at, g->n, CAP);
		for (unsigned i = 0; i < g->n; i++)
			sum += g->flow[i].limit;
		g->most = fmax(g->most, sum);
	}
}

static void assert_rate(const struct group *g, unsigned ms, double rate)
{
	assert_float_equal(g->sent / (ms / 1e3) / rate, 1, 0.02);
	assert_true(g->most <= CAP * (1 + 1e-9));
}

static void flows_that_send_all_the_time_have_the_cap(void **state)
{
	static const struct { unsigned n, segment; } cases[] = { { 1, 65536 }, { 2, 65536 }, { 32, 65536 },
								 { 40, 4096 }, { 7, 1 << 20 } };
	struct group g;

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		begin(&g, cases[i].n, cases[i].segment, INFINITY);
		run(&g, 20);
		run(&g, 200);
		assert_rate(&g, 200, CAP);
		for (unsigned k = 0; k < g.n; k++)
			assert_float_equal(g.flow[k].limit / (CAP / g.n), 1, 0.01);
	}
}

static void a_flow_gets_what_idle_flows_leave(void **state)
{
	struct group g;

	begin(&g, 40, 65536, 0);
	g.wants[7] = INFINITY;
	run(&g, 20);
	run(&g, 100);
	assert_rate(&g, 100, 0.98 * CAP);
}

/* 30 flows use half of the cap; the others share the rest. */
static void flows_get_what_slower_flows_leave(void **state)
{
	struct group g;

	begin(&g, 32, 16384, CAP / 60);
	g.wants[0] = g.wants[1] = INFINITY;
	run(&g, 400);
	run(&g, 400);
	assert_true(g.sent / 0.4 > 0.85 * CAP);
	assert_true(g.most <= CAP * (1 + 1e-9));
	assert_true(g.flow[0].limit > 0.15 * CAP);
}

static void flows_that_begin_together_do_not_exceed_the_cap(void **state)
{
	struct group g;

	begin(&g, 40, 65536, 0);
	run(&g, 300);
	for (unsigned i = 0; i < g.n; i++)
		g.wants[i] = INFINITY;
	run(&g, 10);
	assert_true(g.sent / 10e-3 <= CAP * (1 + 1e-9));
	run(&g, 200);
	run(&g, 200);
	assert_rate(&g, 200, CAP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flows_that_send_all_the_time_have_the_cap),
		cmocka_unit_test(a_flow_gets_what_idle_flows_leave),
		cmocka_unit_test(flows_get_what_slower_flows_leave),
		cmocka_unit_test(flows_that_begin_together_do_not_exceed_the_cap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
