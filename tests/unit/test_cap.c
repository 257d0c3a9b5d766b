/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests a tenant's cap that flows share, in virtual time: rates, bursts at any time, and turns. */

#include "flow_fixture.h"
#include "test.h"

enum { FLOWS = 2000, US = 1000, MS = 1000000 };

static struct group {
	struct ccs_cap cap;
	struct ccs_flow flow[FLOWS];
	uint64_t sent[FLOWS];            /* bytes */
	double rate;                     /* of the cap, bit/s */
	double level, most;              /* bytes above the cap, as a leaky bucket; its maximum */
	uint64_t bytes, now;
	unsigned n, active;              /* flows; the first of them have data */
} g;

/* The spy lets each flow send at line rate, 8 Gbit/s. */
static void begin(unsigned n, double rate)
{
	const struct ccs_flow_config conf = flow_config(0);

	memset(&g, 0, sizeof(g));
	g.n = n;
	g.rate = rate;
	g.now = 10 * MS;
	for (unsigned i = 0; i < n; i++) {
		open_flow(&g.flow[i], &conf, 4, 64, g.now);
		end_slow_start(&g.flow[i]);
		ccs_flow_set_cap(&g.flow[i], &g.cap, rate, false);
		ccs_flow_set_max_rate(&g.flow[i], rate, g.now);
	}
}

static void end(void)
{
	for (unsigned i = 0; i < g.n; i++)
		ccs_flow_destroy(&g.flow[i]);
}

static void count(unsigned flow, uint64_t len)
{
	g.level += (double)len;
	g.most = fmax(g.most, g.level);
	g.sent[flow] += len;
	g.bytes += len;
}

/* Each segment is complete at once, so nothing but the cap and the flow's own rate delays data. */
static void step(unsigned flow)
{
	struct ccs_flow *f = &g.flow[flow];
	uint64_t number;
	const struct ccs_seg *seg;

	while (!ccs_flow_full(f))
		ccs_flow_accept(f, 1 << 20, CCS_WR_SPLIT);
	while ((seg = flow_next(f, g.now, &number))) {
		count(flow, seg->len);
		complete_up_to(f, number, g.now);
	}
}

/* Run for some time in steps of `every` ns; flows get the processor in turn. */
static void run(uint64_t ns, uint64_t every)
{
	const uint64_t until = g.now + ns;

	g.bytes = 0;
	memset(g.sent, 0, sizeof(g.sent));
	for (; g.now < until; g.now += every) {
		for (unsigned i = 0; i < g.active; i++)
			step(i);
		g.level = fmax(g.level - g.rate * (double)every / 8e9, 0);
	}
}

/* The greatest burst is below 1 ms of the cap, at any time. */
static void assert_no_burst(void)
{
	assert_float_equal(8e3 * g.most / g.rate, 0.5, 0.5);
}

/* The rate relative to the cap. */
static double share(uint64_t ns)
{
	return 8e9 * (double)g.bytes / (double)ns / g.rate;
}

TEST(flows_that_begin_at_once_do_not_exceed_the_cap)
{
	static const struct { unsigned n; double rate; } cases[] = {
		{ 1, 1e9 }, { 32, 2e9 }, { 16, 3e8 }, { 2000, 1e9 }, { 2000, 4e9 }, { 3, 5e7 },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		begin(cases[i].n, cases[i].rate);
		g.active = g.n;
		run(20 * MS, 10 * US);
		assert_float_equal(share(20 * MS), 1, 0.05);
		run(200 * MS, 10 * US);
		assert_float_equal(share(200 * MS), 1, 0.02);
		assert_no_burst();
		end();
	}
}

TEST(a_flow_has_what_idle_flows_leave_at_once)
{
	begin(500, 1e9);
	g.active = g.n;
	run(20 * MS, 10 * US);
	g.active = 1;
	run(20 * MS, 10 * US); /* the others end their turns, which they have reserved */
	run(5 * MS, 10 * US);
	assert_float_equal(share(5 * MS), 1, 0.02);
	g.active = 0;
	run(50 * MS, 10 * US);
	g.active = 1; /* after a pause of all */
	run(5 * MS, 10 * US);
	assert_float_equal(share(5 * MS), 1, 0.08);
	assert_no_burst();
	end();
}

TEST(flows_send_in_turn)
{
	begin(40, 2e9);
	g.active = g.n;
	run(100 * MS, 10 * US);
	for (unsigned i = 0; i < g.n; i++)
		assert_float_equal((double)g.sent[i] * g.n / (double)g.bytes, 1, 0.02);
	end();
}

/* The turns of a process that does not get the processor pass, and others do not wait for it. */
TEST(a_host_that_is_late_loses_nothing)
{
	begin(8, 2e9);
	g.active = g.n;
	run(100 * MS, 100 * US);
	assert_float_equal(share(100 * MS), 1, 0.02);
	end();
}

/* Also while flows wait for a turn of a low cap. */
TEST(another_rate_applies_at_once)
{
	begin(64, 1e7);
	g.active = g.n;
	run(20 * MS, 10 * US);
	g.rate = 2e9;
	g.level = g.most = 0;
	g.cap.free_ns = g.now; /* as the agent */
	for (unsigned i = 0; i < g.n; i++)
		ccs_flow_set_cap(&g.flow[i], &g.cap, g.rate, false);
	for (unsigned i = 0; i < g.n; i++)
		ccs_flow_set_max_rate(&g.flow[i], g.rate, g.now);
	run(20 * MS, 10 * US);
	assert_float_equal(share(20 * MS), 1, 0.05);
	assert_no_burst();
	for (unsigned i = 0; i < g.n; i++)
		ccs_flow_set_cap(&g.flow[i], NULL, 0, false);
	for (unsigned i = 0; i < g.n; i++)
		ccs_flow_set_max_rate(&g.flow[i], INFINITY, g.now);
	run(1 * MS, 10 * US);
	assert_in_range((uint64_t)share(1 * MS), 2, UINT64_MAX);
	end();
}

TEST(small_messages_and_unsplit_ones_count)
{
	static const uint64_t len[] = { 64, 4096, 30000 };
	uint64_t number;

	for (unsigned k = 0; k < 3; k++) {
		begin(4, 1e9);
		for (uint64_t until = g.now + 50 * MS; g.now < until; g.now += 5 * US) {
			for (unsigned i = 0; i < g.n; i++) {
				while (!ccs_flow_full(&g.flow[i]))
					ccs_flow_accept(&g.flow[i], len[k], CCS_WR_SIGNALED);
				while (flow_next(&g.flow[i], g.now, &number)) {
					count(i, len[k]);
					complete_up_to(&g.flow[i], number, g.now);
				}
			}
			g.level = fmax(g.level - g.rate * 5 * US / 8e9, 0);
		}
		assert_float_equal(share(50 * MS), 0.95, 0.06);
		assert_no_burst();
		end();
	}
}

/* Any of the tenant's processes may write there: it delays data, and neither stops others for good nor
 * overflows. */
TEST(a_reservation_is_never_before_the_burst)
{
	struct ccs_cap cap = { 0 };

	assert_int_equal(ccs_cap_reserve(&cap, 8e9, 1000, 5 * MS), 5 * MS - CCS_CAP_BURST_NS);
	assert_int_equal(ccs_cap_reserve(&cap, 8e9, 1000, 5 * MS), 5 * MS - CCS_CAP_BURST_NS + 1000);
	cap.free_ns = 0;
	assert_int_equal(ccs_cap_reserve(&cap, 1, 1, 0), 0);
	cap.free_ns = UINT64_MAX;
	assert_int_equal(ccs_cap_reserve(&cap, 8e9, 1, 5 * MS), UINT64_MAX);
	assert_int_equal(ccs_cap_reserve(&cap, 8e9, 1, 5 * MS), 5 * MS - CCS_CAP_BURST_NS);
}
