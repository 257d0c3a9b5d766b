/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TESTS_SIM_GRID_H
#define CCS_TESTS_SIM_GRID_H
/*
 * Two environments in which every algorithm must work, for the initialisers of a row's conf: a
 * fabric port with the bare algorithm, and a shaped Soft-RoCE path with the flow layer and the
 * jitter of laboratory hosts.
 */
#define FABRIC \
	.rate = 10e9, .base_us = 20, .net.wire.payload = 1024, .net.layer.segment = 8192, .net.host.noise = { .exp_us = 1 }, \
	.start_spread_us = 100, .net.host.gap_jitter = 0.05

#define SOFT \
	.driver = SIM_SHIM, .rate = 1e9, .base_us = 200, .net.layer.segment = 16384, .net.layer.rtt_jitter_us = 300, \
	.net.host.noise = { .exp_us = 100, .burst_share = 0.01, .burst_us = 5000 }, .start_spread_us = 1000

/* n flows all the time; results exclude the first quarter. */
#define STEADY(n, us) .flows = n, .end_us = us, .warm_us = (us) / 4

/* n flows stay, and n more join after a third of the time and leave after two thirds. */
#define CHURN(n, us) \
	.flows = n, .guests = { n, (us) / 3, 2 * (us) / 3 }, .end_us = us, \
	.warm_us = (us) / 6, .bin_us = (us) / 60

#endif
