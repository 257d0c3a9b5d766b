/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of Swift: the grid, more flows than segments on the wire, known base RTTs, slow ports. */
#include "grid.h"
#include "rows.h"

#define GRID_FABRIC(n) "swift, fabric, N=" #n, { FABRIC, STEADY(n, 200e3), .cc = "swift" }
#define GRID_BASE(n) \
	"swift, soft, N=" #n, { SOFT, STEADY(n, 8e6), .net.base_rtt_us = 200, .cc = "swift" }
/*
 * A flow that learns the base RTT and joins a standing queue mistakes the queue for the path:
 * its target is higher, and so is its share.
 */
#define GRID_LEARNT(n) "swift, soft, N=" #n ", base learnt", { SOFT, STEADY(n, 8e6), .cc = "swift" }

/* A port that serialises behind faster NICs; path and bottleneck are known. */
#define SLOW_PORT(n, times) \
	"swift, NIC of " #times " ports, N=" #n, \
	{ .driver = SIM_SHIM, .rate = 1e9, .nic_rate = (times) * 1e9, .base_us = 50, .net.layer.segment = 4096, \
	  .net.host.noise = { .exp_us = 1 }, .start_spread_us = 100, .net.base_rtt_us = 50, \
	  .net.layer.bottleneck = 1e9, .cc = "swift", STEADY(n, (n) < 100 ? 400e3 : 1600e3) }

/*
 * Six hosts each send to the next, as Soft-RoCE does: acknowledgements wait in the NIC behind
 * the host's data. Paced at 1.2 windows per RTT they left in bursts: 68 % of the ports.
 */
#define RING \
	.driver = SIM_SHIM, .pattern = SIM_RING, .hosts = 6, .flows = 6, .rate = 10e9, .nic_rate = 10e9, \
	.base_us = 20, .net.layer.segment = 8192, .net.wire.payload = 4096, .net.wire.ack = 80, \
	.net.host.depth = 64, .net.host.unacked = 128, \
	.net.host.noise = { .exp_us = 1 }, .start_spread_us = 20, .warm_us = 10e3, .end_us = 30e3, .cc = "swift"

static const struct row rows[] = {
	{ GRID_FABRIC(2), { { UTIL, 98, ALL }, { JAIN, 0.98, 1 }, { RTT_P99, 0, 60 } } },
	{ GRID_FABRIC(8), { { UTIL, 98, ALL }, { JAIN, 0.98, 1 }, { RTT_P99, 0, 75 } } },
	{ GRID_FABRIC(40), { { UTIL, 95, ALL }, { JAIN, 0.9, 1 }, { RTT_P99, 0, 170 } } },
	{ "swift, fabric, N=8+8", { FABRIC, CHURN(8, 300e3), .cc = "swift" },
	  { { UTIL, 95, ALL }, { JOIN_MS, 0, 50 }, { LEAVE_MS, 0, 20 } } },

	{ GRID_BASE(2), { { UTIL, 94, ALL }, { JAIN, 0.98, 1 }, { RTT_AVG, 0, 1300 } } },
	{ GRID_BASE(8), { { UTIL, 99, ALL }, { JAIN, 0.98, 1 }, { RTT_P99, 0, 3000 } } },
	{ GRID_BASE(16), { { UTIL, 98.5, ALL }, { JAIN, 0.98, 1 }, { RTT_P99, 0, 2800 } } },
	{ GRID_BASE(40), { { UTIL, 98, ALL }, { JAIN, 0.97, 1 }, { RTT_P99, 0, 3700 } } },
	{ "swift, soft, N=8+8", { SOFT, CHURN(8, 6e6), .net.base_rtt_us = 200, .cc = "swift" },
	  { { UTIL, 98, ALL }, { JOIN_MS, 0, 300 }, { LEAVE_MS, 0, 300 } } },
	{ GRID_LEARNT(2), { { UTIL, 94, ALL }, { JAIN, 0.95, 1 }, { RTT_AVG, 0, 1300 } } },
	{ GRID_LEARNT(8), { { UTIL, 98, ALL }, { JAIN, 0.85, 1 }, { RTT_AVG, 0, 1900 } } },
	{ GRID_LEARNT(16), { { UTIL, 98, ALL }, { JAIN, 0.8, 1 }, { RTT_AVG, 0, 2300 } } },
	{ "swift, 100 Mb/s, N=8",
	  { SOFT, STEADY(8, 8e6), .driver = SIM_BARE, .rate = 100e6, .base_us = 300, .net.layer.segment = 4096,
	    .cc = "swift" },
	  { { UTIL, 99, ALL }, { JAIN, 0.98, 1 }, { RTT_P99, 0, 4000 } } },
	{ "swift, ring, 10 Gb/s", { RING }, { { UTIL, 93, ALL }, { JAIN, 0.95, 1 } } },
	{ SLOW_PORT(1, 10), { { UTIL, 97, ALL }, { JAIN, 0.99, 1 }, { Q_P95, 0, 13 } } },
	{ SLOW_PORT(2, 4), { { UTIL, 97, ALL }, { JAIN, 0.98, 1 }, { Q_P95, 0, 17 } } },
	{ SLOW_PORT(8, 10), { { UTIL, 97, ALL }, { JAIN, 0.98, 1 }, { Q_P95, 0, 33 } } },
	{ SLOW_PORT(31, 10), { { UTIL, 97, ALL }, { JAIN, 0.97, 1 }, { Q_P95, 0, 63 } } },
	{ SLOW_PORT(100, 10), { { UTIL, 97, ALL }, { JAIN, 0.85, 1 }, { Q_P95, 0, 100 } } },
	{ SLOW_PORT(256, 10), { { UTIL, 97, ALL }, { JAIN, 0.75, 1 }, { Q_P95, 0, 150 } } },
};

const struct group sim_swift = { "swift", rows, sizeof(rows) / sizeof(rows[0]) };
