/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows of DCQCN: the paper's incast and the grid. The result depends on where packets are
 * marked. If marking uses the queue that a packet leaves behind, as here, 20 flows hold the
 * queue at Kmax. If it uses the queue that the packet finds, a whole Kmax of marked packets is
 * in flight when the queue is under Kmax again, all flows cut once more, and 94 % is left.
 */
#include "grid.h"
#include "rows.h"

#define RED .net.marking.red = { 5e3, 200e3, 0.01 }, .net.cnp_us = 50

/* DCQCN 6: more than 39 of 40 Gb/s. */
#define INCAST(v, n) \
	"dcqcn " v " " #n ":1, 40 Gb/s", \
	{ .cc = "dcqcn:variant=" v, .flows = n, .rate = 40e9, .base_us = 8, .net.layer.segment = 1000, RED, \
	  .start_spread_us = 50, .warm_us = 20e3, .end_us = 80e3 }
#define NINETY_SEVEN { UTIL, 97, ALL }, { JAIN, 0.93, 1 }

#define PACKETS(v) FABRIC, .net.layer.segment = 1024, RED, .cc = "dcqcn:variant=" v
#define GRID(v, n) "dcqcn " v ", fabric, N=" #n, { PACKETS(v), STEADY(n, 300e3) }
#define GRID_JOIN(v) "dcqcn " v ", fabric, N=8+8", { PACKETS(v), CHURN(8, 600e3) }

#define SHAPED(v) \
	SOFT, .net.marking.red = { 30e3, 400e3, 0.1 }, .net.cnp_us = 100, .cc = "dcqcn:variant=" v
#define GRID_SOFT(v, n) "dcqcn " v ", soft, N=" #n, { SHAPED(v), STEADY(n, 8e6) }
#define GRID_SOFT_JOIN(v) "dcqcn " v ", soft, N=8+8", { SHAPED(v), CHURN(8, 9e6) }

/* Soft-RoCE in ci/lab/lab: a segment is a packet, and the port marks as ccshim-cc(7) recommends. */
#define LAB(n, c, t) \
	"dcqcn lab " #c " Gb/s, " #n ":1", \
	{ .driver = SIM_SHIM, .rate = (c) * 1e9, .base_us = 50, .net.layer.segment = 4096, .net.cnp_us = 50, \
	  .net.marking.red = { 20480, 81920, 1 }, .net.host.noise = { .exp_us = 1 }, \
	  .start_spread_us = 1000, .cc = "dcqcn", .flows = n, .warm_us = (t) / 3, .end_us = t }

/*
 * More flows than CNPs can control with the timers of a lone flow, with NICs of that multiple
 * of the port's rate.
 */
#define MANY(n, times) \
	"dcqcn many, NIC of " #times " ports, " #n ":1", \
	{ .driver = SIM_SHIM, .rate = 1e9, .nic_rate = (times) * 1e9, .base_us = 50, .net.layer.segment = 4096, \
	  .net.cnp_us = 50, .net.marking.red = { 20480, 81920, 1 }, .net.host.noise = { .exp_us = 1 }, \
	  .start_spread_us = 1000, .net.base_rtt_us = 50, .cc = "dcqcn", .flows = n, .warm_us = 1e6, \
	  .end_us = 2e6 }
#define FAR_SLOW(n) \
	"dcqcn 100 Mb/s, 1 ms, " #n ":1", \
	{ .driver = SIM_SHIM, .rate = 100e6, .base_us = 1000, .net.layer.segment = 4096, .net.cnp_us = 50, \
	  .net.marking.red = { 20480, 81920, 1 }, .start_spread_us = 1000, .cc = "dcqcn", .flows = n, \
	  .warm_us = 300e3, .end_us = 1e6 }

static const struct row rows[] = {
	{ INCAST("ccshim", 2), { NINETY_SEVEN, { Q_P95, 0, 110 } } },
	{ INCAST("ccshim", 4), { NINETY_SEVEN, { Q_P95, 0, 180 } } },
	{ INCAST("ccshim", 8), { NINETY_SEVEN, { Q_P95, 0, 215 } } },
	{ INCAST("ccshim", 12), { NINETY_SEVEN, { Q_P95, 0, 215 } } },
	{ INCAST("ccshim", 16), { NINETY_SEVEN, { Q_P95, 0, 215 } } },
	{ INCAST("ccshim", 20), { NINETY_SEVEN, { Q_P95, 0, 215 } } },
	{ INCAST("paper", 2), { NINETY_SEVEN, { Q_P95, 0, 110 } } },
	{ INCAST("paper", 20), { NINETY_SEVEN, { Q_P95, 0, 215 } } },
	{ INCAST("mlx", 2), { NINETY_SEVEN, { Q_P95, 0, 130 } } },

	{ GRID("ccshim", 2), { { UTIL, 97, ALL }, { JAIN, 0.97, 1 }, { Q_P95, 0, 215 } } },
	{ GRID("ccshim", 8), { { UTIL, 97, ALL }, { JAIN, 0.97, 1 }, { Q_P95, 0, 230 } } },
	{ GRID_JOIN("ccshim"), { { UTIL, 96, ALL }, { JOIN_MS, 0, 60 }, { LEAVE_MS, 0, 40 } } },
	{ GRID("mlx", 2), { { UTIL, 97, ALL }, { JAIN, 0.97, 1 }, { Q_P95, 0, 215 } } },
	{ GRID("mlx", 8), { { UTIL, 97, ALL }, { JAIN, 0.97, 1 }, { Q_P95, 0, 240 } } },

	{ GRID_SOFT("ccshim", 2), { { UTIL, 96, ALL }, { JAIN, 0.97, 1 }, { Q_P95, 0, 400 } } },
	{ GRID_SOFT("ccshim", 8), { { UTIL, 97, ALL }, { JAIN, 0.97, 1 }, { Q_P95, 0, 520 } } },
	{ GRID_SOFT_JOIN("ccshim"), { { UTIL, 96, ALL }, { JOIN_MS, 0, 1500 }, { LEAVE_MS, 0, 500 } } },

	{ LAB(2, 0.2, 2e6), { { UTIL, 97, ALL }, { JAIN, 0.95, 1 }, { Q_P95, 0, 82 } } },
	{ LAB(4, 0.2, 2e6), { { UTIL, 97, ALL }, { JAIN, 0.95, 1 }, { Q_P95, 0, 82 } } },
	{ LAB(16, 0.2, 2e6), { { UTIL, 97, ALL }, { JAIN, 0.95, 1 }, { Q_P95, 0, 82 } } },
	{ LAB(32, 0.2, 2e6), { { UTIL, 95, ALL }, { JAIN, 0.91, 1 }, { Q_P95, 0, 120 } } },
	{ LAB(4, 1, 1e6), { { UTIL, 97, ALL }, { JAIN, 0.95, 1 }, { Q_P95, 0, 82 } } },
	{ LAB(16, 1, 1e6), { { UTIL, 97, ALL }, { JAIN, 0.95, 1 }, { Q_P95, 0, 82 } } },
	{ MANY(2, 10), { { UTIL, 95, ALL }, { JAIN, 0.95, 1 }, { Q_P95, 0, 82 } } },
	{ MANY(8, 10), { { UTIL, 95, ALL }, { JAIN, 0.95, 1 }, { Q_P95, 0, 140 } } },
	{ MANY(31, 4), { { UTIL, 95, ALL }, { JAIN, 0.95, 1 }, { Q_P95, 0, 82 } } },
	{ MANY(31, 10), { { UTIL, 95, ALL }, { JAIN, 0.95, 1 }, { Q_P95, 0, 82 } } },
	{ MANY(100, 1), { { UTIL, 95, ALL }, { JAIN, 0.6, 1 }, { Q_P95, 0, 180 } } },
	{ MANY(100, 10), { { UTIL, 94, ALL }, { JAIN, 0.5, 1 }, { Q_P95, 0, 200 } } },
	{ MANY(256, 1), { { UTIL, 95, ALL }, { JAIN, 0.3, 1 }, { Q_P95, 0, 230 } } },
	/* A packet is 0.047 % of what the port sends in this row. */
	{ FAR_SLOW(2), { { UTIL, 95, 100.05 }, { JAIN, 0.9, 1 }, { Q_P95, 0, 82 } } },
};

const struct group sim_dcqcn = { "dcqcn", rows, sizeof(rows) / sizeof(rows[0]) };
