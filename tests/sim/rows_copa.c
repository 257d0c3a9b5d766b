/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows of Copa: one set of parameters from 1 to 256 flows, and the conditions in which drains
 * and pacing matter.
 */
#include "grid.h"
#include "rows.h"

/* At one port, with NICs of a multiple of its rate; segments are sized for the NIC. */
#define AT(n, port, nic, bytes) \
	.cc = "copa", .driver = SIM_SHIM, .rate = port, .nic_rate = nic, .base_us = 50, .net.wire.payload = 4096, \
	.net.layer.segment = bytes, .start_spread_us = 20, .net.host.noise = { .exp_us = 1 }, .flows = n
#define GIGABIT(n, us) AT(n, 1e9, 1e9, 4096), .warm_us = 0.4 * (us), .end_us = us
#define TENTH(n, us) AT(n, 1e9, 10e9, 8192), .warm_us = 0.4 * (us), .end_us = us

/* Data in both directions, as with Soft-RoCE: acknowledgements wait behind data. */
#define TWO_WAY(shape, port, bytes) \
	AT(6, port, port, bytes), .hosts = 6, .pattern = shape, .net.wire.ack = 80, .net.host.depth = 64, \
	.warm_us = 40e3, .end_us = 100e3

#define SHORT_QUEUE(n, port, nic_rate, bytes) \
	AT(n, port, nic_rate, 4096), .net.limit = bytes, .message = 65536, .net.wire.ack = 80, .net.host.depth = 64, \
	.net.host.unacked = 128, .end_us = 1500 * 8e6 * 4096 * (n) / (port), \
	.warm_us = 500 * 8e6 * 4096 * (n) / (port)

#define POLLED(n) \
	AT(n, 10e9, 10e9, 8192), .net.host.poll_us = 100, .warm_us = 40e3, .end_us = 100e3

#define SENDS(n, bytes, us) \
	AT(n, 1e9, 1e9, 0), .op = FAB_SEND, .message = bytes, .warm_us = 0.4 * (us), .end_us = us

static const struct row rows[] = {
	{ "copa, 1 Gb/s, N=1", { GIGABIT(1, 100e3) }, { { UTIL, 96, ALL } } },
	{ "copa, 1 Gb/s, N=2", { GIGABIT(2, 300e3) },
	  { { UTIL, 96, ALL }, { JAIN, 0.95, 1 }, { Q_P95, 0, 42 } } },
	{ "copa, 1 Gb/s, N=12", { GIGABIT(12, 300e3) },
	  { { UTIL, 97, ALL }, { JAIN, 0.97, 1 }, { Q_P95, 0, 197 } } },
	{ "copa, 1 Gb/s, N=64", { GIGABIT(64, 900e3) },
	  { { UTIL, 97, ALL }, { JAIN, 0.97, 1 }, { Q_P95, 0, 1049 } } },
	{ "copa, 1 Gb/s, N=256", { GIGABIT(256, 3e6) },
	  { { UTIL, 97, ALL }, { JAIN, 0.97, 1 }, { Q_P95, 0, 4195 } } },
	{ "copa, 10 Gb/s into 1 Gb/s, N=2", { TENTH(2, 300e3) },
	  { { UTIL, 96, ALL }, { JAIN, 0.96, 1 }, { Q_P95, 0, 82 } } },
	{ "copa, 10 Gb/s into 1 Gb/s, N=31", { TENTH(31, 900e3) },
	  { { UTIL, 97, ALL }, { JAIN, 0.96, 1 }, { Q_P95, 0, 1016 } } },
	{ "copa, 10 Gb/s into 1 Gb/s, N=100", { TENTH(100, 2e6) },
	  { { UTIL, 97, ALL }, { JAIN, 0.96, 1 }, { Q_P95, 0, 3277 } } },

	/* a new flow measures the path in a drain; without drains it keeps several shares */
	{ "copa, 1 Gb/s, N=30+30", { GIGABIT(30, 900e3), .guests = { 30, 300e3, 800e3 }, .bin_us = 10e3 },
	  { { UTIL, 96, ALL }, { JOIN_MS, 0, 350 }, { LEAVE_MS, 0, 20 } } },
	{ "copa, 1 ms of RTT, N=5", { GIGABIT(5, 900e3), .base_us = 1000 },
	  { { UTIL, 95, ALL }, { JAIN, 0.96, 1 }, { Q_P95, 0, 98 } } },
	{ "copa, 50 us and 1 ms of RTT, N=8", { GIGABIT(8, 900e3), .far_us = 1000 },
	  { { UTIL, 95, ALL }, { JAIN, 0.9, 1 }, { Q_P95, 0, 164 } } },

	{ "copa, permutation, 1 Gb/s", { TWO_WAY(SIM_PERMUTATION, 1e9, 4096) },
	  { { UTIL, 94, ALL }, { JAIN, 0.99, 1 } } },
	{ "copa, permutation, 10 Gb/s", { TWO_WAY(SIM_PERMUTATION, 10e9, 8192) },
	  { { UTIL, 96, ALL }, { JAIN, 0.99, 1 } } },
	{ "copa, ring, 10 Gb/s", { TWO_WAY(SIM_RING, 10e9, 8192) },
	  { { UTIL, 96, ALL }, { JAIN, 0.99, 1 } } },
	/* several flows a host, whose queue delays acknowledgements for as long as data */
	{ "copa, ring, 10 Gb/s, 4 flows a host", { TWO_WAY(SIM_RING, 10e9, 8192), .flows = 24 },
	  { { UTIL, 94, ALL }, { JAIN, 0.98, 1 } } },
	/* rates that followed the RTT would send a wave of full and empty queues round the ring */
	{ "copa, ring, 10 Gb/s, 12 flows a host", { TWO_WAY(SIM_RING, 10e9, 8192), .flows = 60,
	  .hosts = 5 }, { { UTIL, 97, ALL }, { JAIN, 0.98, 1 } } },
	{ "copa, ring, 40 into 10 Gb/s, 12 flows a host", { TWO_WAY(SIM_RING, 10e9, 32768),
	  .nic_rate = 40e9, .flows = 60, .hosts = 5 }, { { UTIL, 96, ALL }, { JAIN, 0.98, 1 } } },

	{ "copa, SENDs of 64 KB, N=12", { SENDS(12, 65536, 1500e3) },
	  { { UTIL, 97, ALL }, { JAIN, 0.95, 1 } } },
	{ "copa, SENDs of 256 KB, N=2", { SENDS(2, 262144, 1500e3) },
	  { { UTIL, 97, ALL }, { JAIN, 0.95, 1 } } },
	{ "copa, SENDs of 4 MB, N=2", { SENDS(2, 4194304, 8e6) },
	  { { UTIL, 97, ALL }, { JAIN, 0.95, 1 } } },

	/* A queue of 1.3 segments per flow: those with more in flight have no timeouts. One seed in 40
	 * is below 0.97. */
	{ "copa, 32 KB of queue, 100 Mb/s, N=6", { SHORT_QUEUE(6, 100e6, 100e6, 32768), .net.rto_us = 12e3 },
	  { { UTIL, 90, ALL }, { JAIN, 0.9, 1 } } },
	{ "copa, 32 KB of queue, 4 into 1 Gb/s, N=5", { SHORT_QUEUE(5, 1e9, 4e9, 32768) },
	  { { UTIL, 92, ALL }, { JAIN, 0.9, 1 } } },

	/* A segment or two of each flow wait longer than the timeout, and the devices repeat them: .08
	 * before flows reduced their rates below a segment per RTT, .74 now. */
	{ "copa, 10 Gb/s into 1 Gb/s, N=100, timeouts of 4 ms",
	  { TENTH(100, 4e6), .message = 65536, .net.limit = 20000000, .net.rto_us = 4e3 },
	  { { UTIL, 65, ALL }, { JAIN, 0.75, 1 } } },

	/* a jitter of 20 us costs nothing at 1 Gb/s, and a lone flow a fifth at 10 Gb/s */
	{ "copa, jitter of 20 us, 1 Gb/s, N=2", { GIGABIT(2, 600e3), .net.host.noise = { .exp_us = 20 } },
	  { { UTIL, 95, ALL }, { JAIN, 0.95, 1 } } },
	/* of 200 us, acknowledgements arrive closer than data leave, which no queue explains */
	{ "copa, jitter of 200 us, 1 Gb/s, N=1", { GIGABIT(1, 50e3), .net.wire.ack = 80,
	  .net.host.noise = { .uniform_us = 200 } }, { { UTIL, 95, ALL } } },

	/* hosts that poll every 100 us delay more than the path; several flows keep a longer queue */
	{ "copa, polls every 100 us, 10 Gb/s, N=1", { POLLED(1) }, { { UTIL, 95, ALL } } },
	{ "copa, polls every 100 us, 10 Gb/s, N=8", { POLLED(8) },
	  { { UTIL, 95, ALL }, { JAIN, 0.8, 1 }, { Q_P95, 0, 820 } } },
};

const struct group sim_copa = { "copa", rows, sizeof(rows) / sizeof(rows[0]) };
