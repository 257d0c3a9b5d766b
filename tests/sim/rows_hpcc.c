/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of HPCC: the paper's incast by W_AI, the grid, and the echo variant without switches. */
#include "grid.h"
#include "rows.h"

/*
 * HPCC 5.4, Fig. 14: 16 flows, 100 Gb/s, T 4 us, an acknowledgement per packet.
 * p95 of the queue is at most 4 KB up to a W_AI of 150 bytes, and 13 KB at 300.
 */
#define INCAST(wai, packet) \
	.cc = "hpcc:variant=paper,base_rtt=4us,min_window=1000,w_ai=" #wai, \
	.telemetry = SIM_INT, .flows = 16, .rate = 100e9, .base_us = 3.6, .net.layer.segment = packet, .start_spread_us = 4, \
	.warm_us = 5e3, .end_us = 15e3

/* T exceeds the RTT with noise: where the window limits, flows of few packets share unequally. */
#define PACKETS(v, tele) \
	FABRIC, .net.layer.segment = 1024, .telemetry = tele, .net.base_rtt_us = 24, .net.layer.rtt_jitter_us = 6, \
	.cc = "hpcc:variant=" v
#define GRID(v, tele, n) "hpcc " v ", fabric, N=" #n, { PACKETS(v, tele), STEADY(n, 100e3) }
#define GRID_JOIN(v, tele) "hpcc " v ", fabric, N=8+8", { PACKETS(v, tele), CHURN(8, 100e3) }

/*
 * An increase that is small compared with the differences in what flows measure leaves them
 * unequal: Jain's index is 0.75 for N=8 at 5 Mb/s, as with the paper's W_AI of the same size.
 * 20 Mb/s is the paper's rule, C*(1-eta)/N, for 25 flows.
 */
#define NS3 "ns3,rate_ai=20m"

/* The receiver's port is measured instead of the switch; it reports the number of flows, or not. */
#define ECHO .telemetry = SIM_ECHO, .cc = "hpcc:variant=echo"
#define COUNTED ECHO, .net.host.count_flows = true

/* SIM_BARE, as in the simulation of the derivation: 1 Gb/s with 16 KB and 100 Mb/s with 4 KB. */
#define AT_1G \
	.rate = 1e9, .base_us = 200, .net.layer.segment = 16384, .start_spread_us = 1000, \
	.net.host.noise = { .burst_share = 0.01, .burst_us = 5000 }
#define AT_100M .rate = 100e6, .base_us = 300, .net.layer.segment = 4096, .start_spread_us = 1000
#define PERIOD(us) .telemetry = SIM_ECHO, .cc = "hpcc:variant=echo,base_rtt=" #us "us"

/*
 * Telemetry of host agents, as in the lab: 200 Mb/s, of which echoes may use 2 %, so that each
 * of n flows gets a record every n*0.4 ms.
 */
#define LAB(n, tele) \
	.driver = SIM_SHIM, .rate = 200e6, .base_us = 47, .net.layer.segment = 4096, .start_spread_us = 1000, \
	.telemetry = tele, .net.agents.record_us = (n) < 4 ? 1550 : (n) * 388.0
#define AGENTS(v, tele, n) \
	"hpcc " v ", agents, N=" #n, { LAB(n, tele), .cc = "hpcc:variant=" v, STEADY(n, 4e6) }
#define AGENTS_JOIN(v, tele, n) \
	"hpcc " v ", agents, N=" #n "+" #n, \
	{ LAB(2 * n, tele), .cc = "hpcc:variant=" v, CHURN(n, 6e6) }

/* As above, with NICs faster than the port, and longer runs for more flows. */
#define SLOW_PORT(v, tele, times, n) \
	"hpcc " v ", agents, NIC of " #times " ports, N=" #n, \
	{ LAB(n, tele), .nic_rate = (times) * 200e6, .cc = "hpcc:variant=" v, \
	  STEADY(n, (n) < 100 ? 4e6 : 20e6) }

/* As above, 20 ms away: every record is old. */
#define FAR(v, tele) \
	"hpcc " v ", agents, far, N=4", \
	{ LAB(4, tele), .base_us = 20e3, .net.agents.record_us = 10e3, .cc = "hpcc:variant=" v, \
	  STEADY(4, 20e6) }

static const struct row rows[] = {
	{ "hpcc paper 16:1, W_AI 25", { INCAST(25, 1000) },
	  { { Q_P95, 0, 4 }, { UTIL, 92, ALL }, { JAIN, 0.98, 1 } } },
	{ "hpcc paper 16:1, W_AI 80", { INCAST(80, 1000) },
	  { { Q_P95, 0, 4 }, { UTIL, 94, ALL }, { JAIN, 0.98, 1 } } },
	{ "hpcc paper 16:1, W_AI 150", { INCAST(150, 1000) },
	  { { Q_P95, 0, 4 }, { UTIL, 96, ALL }, { JAIN, 0.98, 1 } } },
	{ "hpcc paper 16:1, W_AI 300", { INCAST(300, 1000) },
	  { { Q_P95, 4, 13 }, { UTIL, 97, ALL }, { JAIN, 0.98, 1 } } },
	{ "hpcc paper 16:1, W_AI 80, max_stage 0",
	  { INCAST(80, 1000), .cc = "hpcc:variant=paper,base_rtt=4us,w_ai=80,"
				    "min_window=1000,max_stage=0" },
	  { { Q_P95, 0, 5 }, { UTIL, 94, ALL }, { JAIN, 0.98, 1 } } },
	{ "hpcc paper 16:1, W_AI 80, packets of 2 KB", { INCAST(80, 2000) },
	  { { Q_P95, 0, 5 }, { UTIL, 94, ALL }, { JAIN, 0.85, 1 } } },
	{ "hpcc paper 16:1, W_AI 80, packets of 4 KB", { INCAST(80, 4000) },
	  { { Q_P95, 0, 16 }, { UTIL, 90, ALL }, { JAIN, 0.93, 1 } } },
	{ "hpcc ns3 16:1", { INCAST(0, 1000), .cc = "hpcc:variant=ns3,base_rtt=4us" },
	  { { Q_P95, 0, 8 }, { UTIL, 91, ALL }, { JAIN, 0.98, 1 } } },

	{ GRID("ccshim", SIM_INT, 2), { { UTIL, 92, ALL }, { JAIN, 0.97, 1 }, { RTT_P99, 0, 30 } } },
	{ GRID("ccshim", SIM_INT, 8), { { UTIL, 92, ALL }, { JAIN, 0.98, 1 }, { RTT_P99, 0, 30 } } },
	{ GRID("ccshim", SIM_INT, 40), { { UTIL, 92, ALL }, { JAIN, 0.98, 1 }, { RTT_P99, 0, 35 } } },
	{ GRID_JOIN("ccshim", SIM_INT), { { UTIL, 91, ALL }, { JOIN_MS, 0, 10 }, { LEAVE_MS, 0, 6 } } },
	{ GRID(NS3, SIM_INT, 2), { { UTIL, 92, ALL }, { JAIN, 0.95, 1 }, { RTT_P99, 0, 30 } } },
	{ GRID(NS3, SIM_INT, 8), { { UTIL, 92, ALL }, { JAIN, 0.97, 1 }, { RTT_P99, 0, 30 } } },
	{ GRID(NS3, SIM_INT, 40), { { UTIL, 92, ALL }, { JAIN, 0.97, 1 }, { RTT_P99, 0, 35 } } },
	{ GRID_JOIN(NS3, SIM_INT), { { UTIL, 91, ALL }, { JOIN_MS, 0, 15 }, { LEAVE_MS, 0, 6 } } },
	{ GRID("echo", SIM_ECHO, 2), { { UTIL, 92, ALL }, { JAIN, 0.98, 1 }, { RTT_P99, 0, 30 } } },
	{ GRID("echo", SIM_ECHO, 8), { { UTIL, 92, ALL }, { JAIN, 0.98, 1 }, { RTT_P99, 0, 30 } } },
	{ GRID("echo", SIM_ECHO, 40), { { UTIL, 92, ALL }, { JAIN, 0.98, 1 }, { RTT_P99, 0, 40 } } },
	{ GRID_JOIN("echo", SIM_ECHO), { { UTIL, 91, ALL }, { JOIN_MS, 0, 12 }, { LEAVE_MS, 0, 8 } } },

	{ "hpcc echo, 1 Gb/s, N=16, T=2.6 ms", { AT_1G, STEADY(16, 4e6), PERIOD(2600) },
	  { { UTIL, 94, ALL }, { JAIN, 0.98, 1 }, { Q_P95, 0, 100 } } },
	{ "hpcc echo, 1 Gb/s, N=16, counted", { AT_1G, STEADY(16, 4e6), COUNTED },
	  { { UTIL, 94, ALL }, { JAIN, 0.98, 1 }, { Q_P95, 0, 100 } } },
	{ "hpcc echo, 100 Mb/s, N=8, T=0.93 ms", { AT_100M, STEADY(8, 8e6), PERIOD(930) },
	  { { UTIL, 89, ALL }, { JAIN, 0.98, 1 }, { Q_P95, 0, 12 } } },
	{ "hpcc echo, 100 Mb/s, N=8, T=1.86 ms", { AT_100M, STEADY(8, 8e6), PERIOD(1860) },
	  { { UTIL, 94, ALL }, { JAIN, 0.98, 1 }, { Q_P95, 0, 16 } } },
	{ "hpcc echo, 100 Mb/s, N=8, T=3.7 ms", { AT_100M, STEADY(8, 8e6), PERIOD(3700) },
	  { { UTIL, 92, ALL }, { JAIN, 0.98, 1 }, { Q_P95, 0, 18 } } },
	{ "hpcc echo, 100 Mb/s, N=8, counted", { AT_100M, STEADY(8, 8e6), COUNTED },
	  { { UTIL, 94, ALL }, { JAIN, 0.98, 1 }, { Q_P95, 0, 12 } } },
	{ "hpcc echo, 100 Mb/s, 16 KB, N=8, T=7.6 ms",
	  { AT_100M, .net.layer.segment = 16384, STEADY(8, 8e6), PERIOD(7600) },
	  { { UTIL, 94, ALL }, { JAIN, 0.98, 1 }, { Q_P95, 0, 66 } } },

	{ "hpcc echo, soft, N=2", { SOFT, STEADY(2, 8e6), ECHO },
	  { { UTIL, 78, ALL }, { JAIN, 0.97, 1 }, { RTT_AVG, 0, 700 } } },
	{ "hpcc echo, soft, N=8", { SOFT, STEADY(8, 8e6), ECHO },
	  { { UTIL, 90, ALL }, { JAIN, 0.98, 1 }, { RTT_AVG, 0, 700 } } },
	{ "hpcc echo, soft, N=40", { SOFT, STEADY(40, 8e6), ECHO },
	  { { UTIL, 95, ALL }, { JAIN, 0.98, 1 }, { RTT_AVG, 0, 2400 } } },
	{ "hpcc echo, soft, N=8+8", { SOFT, CHURN(8, 6e6), ECHO },
	  { { UTIL, 92, ALL }, { JOIN_MS, 0, 400 }, { LEAVE_MS, 0, 500 } } },
	{ "hpcc echo, soft, N=2, counted", { SOFT, STEADY(2, 8e6), COUNTED },
	  { { UTIL, 90, ALL }, { JAIN, 0.97, 1 }, { RTT_AVG, 0, 850 } } },
	{ "hpcc echo, soft, N=8, counted", { SOFT, STEADY(8, 8e6), COUNTED },
	  { { UTIL, 95, ALL }, { JAIN, 0.98, 1 }, { RTT_AVG, 0, 750 } } },
	{ "hpcc echo, soft, N=40, counted", { SOFT, STEADY(40, 8e6), COUNTED },
	  { { UTIL, 94, ALL }, { JAIN, 0.98, 1 }, { RTT_AVG, 0, 1100 } } },
	{ "hpcc echo, soft, N=8+8, counted", { SOFT, CHURN(8, 6e6), COUNTED },
	  { { UTIL, 93, ALL }, { JOIN_MS, 0, 700 }, { LEAVE_MS, 0, 500 } } },

	{ AGENTS("ccshim", SIM_INT, 2), { { UTIL, 93, ALL }, { JAIN, 0.98, 1 }, { Q_P95, 0, 40 } } },
	{ AGENTS("ccshim", SIM_INT, 4), { { UTIL, 93, ALL }, { JAIN, 0.98, 1 }, { Q_P95, 0, 40 } } },
	{ AGENTS("ccshim", SIM_INT, 8), { { UTIL, 93, ALL }, { JAIN, 0.98, 1 }, { Q_P95, 0, 40 } } },
	{ AGENTS("ccshim", SIM_INT, 16), { { UTIL, 93, ALL }, { JAIN, 0.98, 1 }, { Q_P95, 0, 40 } } },
	{ AGENTS("ccshim", SIM_INT, 32), { { UTIL, 93, ALL }, { JAIN, 0.98, 1 }, { Q_P95, 0, 40 } } },
	{ AGENTS_JOIN("ccshim", SIM_INT, 4),
	  { { UTIL, 93, ALL }, { JOIN_MS, 0, 400 }, { LEAVE_MS, 0, 400 } } },
	{ AGENTS("echo", SIM_ECHO, 2), { { UTIL, 93, ALL }, { JAIN, 0.98, 1 }, { Q_P95, 0, 40 } } },
	{ AGENTS("echo", SIM_ECHO, 4), { { UTIL, 93, ALL }, { JAIN, 0.98, 1 }, { Q_P95, 0, 40 } } },
	{ AGENTS("echo", SIM_ECHO, 8), { { UTIL, 93, ALL }, { JAIN, 0.98, 1 }, { Q_P95, 0, 40 } } },
	{ AGENTS("echo", SIM_ECHO, 16), { { UTIL, 93, ALL }, { JAIN, 0.98, 1 }, { Q_P95, 0, 40 } } },
	{ AGENTS("echo", SIM_ECHO, 32), { { UTIL, 93, ALL }, { JAIN, 0.98, 1 }, { Q_P95, 0, 40 } } },
	{ AGENTS_JOIN("echo", SIM_ECHO, 4), { { UTIL, 93, ALL }, { JOIN_MS, 0, 400 }, { LEAVE_MS, 0, 400 } } },
	{ SLOW_PORT("ccshim", SIM_INT, 10, 1),
	  { { UTIL, 94, 98 }, { JAIN, 0.98, 1 }, { Q_P95, 0, 20 } } },
	{ SLOW_PORT("ccshim", SIM_INT, 10, 8),
	  { { UTIL, 94, 98 }, { JAIN, 0.98, 1 }, { Q_P95, 0, 40 } } },
	{ SLOW_PORT("ccshim", SIM_INT, 10, 31),
	  { { UTIL, 94, 98 }, { JAIN, 0.98, 1 }, { Q_P95, 0, 45 } } },
	{ SLOW_PORT("ccshim", SIM_INT, 4, 128),
	  { { UTIL, 94, 98 }, { JAIN, 0.98, 1 }, { Q_P95, 0, 130 } } },
	{ SLOW_PORT("ccshim", SIM_INT, 10, 128),
	  { { UTIL, 94, 98 }, { JAIN, 0.98, 1 }, { Q_P95, 0, 130 } } },
	{ SLOW_PORT("echo", SIM_ECHO, 10, 1),
	  { { UTIL, 94, 98 }, { JAIN, 0.98, 1 }, { Q_P95, 0, 20 } } },
	{ SLOW_PORT("echo", SIM_ECHO, 10, 8),
	  { { UTIL, 94, 98 }, { JAIN, 0.98, 1 }, { Q_P95, 0, 40 } } },
	{ SLOW_PORT("echo", SIM_ECHO, 10, 31),
	  { { UTIL, 94, 98 }, { JAIN, 0.98, 1 }, { Q_P95, 0, 45 } } },
	{ SLOW_PORT("echo", SIM_ECHO, 4, 128),
	  { { UTIL, 94, 98 }, { JAIN, 0.98, 1 }, { Q_P95, 0, 130 } } },
	{ SLOW_PORT("echo", SIM_ECHO, 10, 128),
	  { { UTIL, 94, 98 }, { JAIN, 0.98, 1 }, { Q_P95, 0, 130 } } },
	{ FAR("ccshim", SIM_INT), { { UTIL, 90, ALL }, { JAIN, 0.98, 1 }, { Q_P95, 0, 40 } } },
	{ FAR("echo", SIM_ECHO), { { UTIL, 90, ALL }, { JAIN, 0.98, 1 }, { Q_P95, 0, 40 } } },
};

const struct group sim_hpcc = { "hpcc", rows, sizeof(rows) / sizeof(rows[0]) };
