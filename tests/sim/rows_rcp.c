/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows of rcp: agents advise shares of a full port, from the receiver's record alone (SIM_ECHO) or
 * from a switch's (SIM_INT). The same bounds apply to all links, NICs, RTTs and numbers of flows:
 * at most 2 segments of each flow and 2 more are in the queue, which flows of equal rate reach by
 * chance. An RTT of a millisecond at 10 Gb/s is the exception.
 */
#include "rows.h"

#define MAX(a, b) ((a) > (b) ? (a) : (b))
/* Messages of 98 bytes to each of n hosts take 2 % of the link. */
#define RECORD(rate, n) MAX(200, 98 * 8e6 * (n) / (0.02 * (rate)))
#define SEGMENTS_US(rate, n, segment) (8e6 * (n) * (segment) / (rate))
#define ROUND(rate, n, hosts, segment, base) \
	MAX(MAX(RECORD(rate, hosts), SEGMENTS_US(rate, n, segment)), base)

#define PLACE(rate_, R, n, base, size, tele) \
	.cc = "rcp", .driver = SIM_SHIM, .telemetry = tele, .net.agents.advise = true, \
	.rate = rate_, .nic_rate = (R) * (rate_), .base_us = base, .net.wire.payload = 4096, .net.layer.segment = size, \
	.net.agents.record_us = MAX(RECORD(rate_, n), base), .start_spread_us = 1000, .flows = n, \
	.end_us = 60 * ROUND(rate_, n, n, size, base) + 20e3, \
	.warm_us = 15 * ROUND(rate_, n, n, size, base) + 5e3

/* A segment more in the measured time is .16 % at 100 Mb/s. */
#define WITHIN(jain, q_kb) { { UTIL, 93, 100.3 }, { JAIN, jain, 1 }, { Q_P99, 0, q_kb } }
#define FAIR(n, size, jain) WITHIN(jain, (2 * (n) + 2) * (size) / 1e3)
#define BOUNDS(n, size) FAIR(n, size, 0.98)

#define BOTH(label, rate, R, n, base, size, ...) \
	{ "rcp " label ", x" #R ", N=" #n ", " #base " us, receiver's", \
	  { PLACE(rate, R, n, base, size, SIM_ECHO) }, __VA_ARGS__ }, \
	{ "rcp " label ", x" #R ", N=" #n ", " #base " us, switch's", \
	  { PLACE(rate, R, n, base, size, SIM_INT) }, __VA_ARGS__ }
#define ROW(label, rate, R, n, base, size) BOTH(label, rate, R, n, base, size, BOUNDS(n, size))

/* 12 flows at 50 us, with settings that a row changes. */
#define USUAL(rate, tele) PLACE(rate, 1, 12, 50, 4096, tele)
#define ODD(label, ...) \
	{ "rcp 1 Gb/s, N=12, " label ", receiver's", { USUAL(1e9, SIM_ECHO), __VA_ARGS__ }, \
	  BOUNDS(12, 4096) }, \
	{ "rcp 1 Gb/s, N=12, " label ", switch's", { USUAL(1e9, SIM_INT), __VA_ARGS__ }, \
	  BOUNDS(12, 4096) }

/* 16 hosts with many flows each. */
#define MANY(label, rate, n) \
	{ "rcp " label ", N=" #n ", receiver's", \
	  { PLACE(rate, 1, n, 50, 4096, SIM_ECHO), .net.agents.record_us = RECORD(rate, 16) }, \
	  BOUNDS(n, 4096) }

#define JOINS(label, tele) \
	{ "rcp 10 Gb/s, N=16+16, " label, \
	  { PLACE(10e9, 1, 16, 50, 8192, tele), .guests = { 16, 20e3, 40e3 }, \
	    .end_us = 60e3, .warm_us = 10e3, .bin_us = 1e3 }, \
	  { { UTIL, 95, ALL }, { JOIN_MS, 0, 5 }, { LEAVE_MS, 0, 3 } } }

static const struct row rows[] = {
	ROW("100 Mb/s", 100e6, 1, 12, 10, 4096),
	/* The trial of the first shares ends before their data, and a queue of 12 segments remains. */
	BOTH("100 Mb/s", 100e6, 10, 4, 1000, 4096, WITHIN(0.98, 12 * 4.1 + 0.1)),
	ROW("1 Gb/s", 1e9, 1, 4, 50, 4096),
	ROW("1 Gb/s", 1e9, 4, 31, 10, 4096),
	/* Few segments leave in an RTT, so the shares of a short run vary more. */
	BOTH("1 Gb/s", 1e9, 10, 12, 1000, 8192, FAIR(12, 8192, 0.92)),
	ROW("10 Gb/s", 10e9, 1, 1, 10, 8192),
	/* Copa fills the port once before a share is in force. */
	BOTH("10 Gb/s", 10e9, 1, 12, 1000, 8192, WITHIN(0.98, 6 * 12 * 8192 / 1e3)),
	ROW("10 Gb/s", 10e9, 4, 31, 50, 32768),
	ROW("10 Gb/s", 10e9, 10, 100, 10, 65536),
	ROW("100 Gb/s", 100e9, 1, 12, 50, 65536),
	ROW("100 Gb/s", 100e9, 4, 100, 10, 65536),
	MANY("1 Gb/s", 1e9, 256), MANY("10 Gb/s", 10e9, 1000),
	ODD("half of them counted", .net.agents.count_factor = 0.5),
	ODD("too many counted", .net.agents.count_factor = 1.5),
	ODD("30 % of messages lost", .net.agents.loss = 0.3),
	ODD("messages late by 4 RTT", .net.agents.delay_us = 200),
	ODD("messages late by 40 RTT", .net.agents.delay_us = 2000),
	{ "rcp 1 Gb/s, 4 of 12 limited, receiver's",
	  { USUAL(1e9, SIM_ECHO), .limited.flows = 4, .limited.rate = 10e6 },
	  { { UTIL, 95, ALL }, { Q_P99, 0, 26 * 4.1 } } },
	{ "rcp 1 Gb/s, 11 of 12 limited, switch's",
	  { USUAL(1e9, SIM_INT), .limited.flows = 11, .limited.rate = 10e6 },
	  { { UTIL, 95, ALL }, { Q_P99, 0, 26 * 4.1 } } },
	/* 31 segments of the length that the NICs' rate gives exceed the queue. */
	{ "rcp 10 Gb/s, x10, N=31, a queue of 1 MB, switch's",
	  { PLACE(10e9, 10, 31, 20, 65536, SIM_INT), .net.layer.segment = 0, .message = 65536, .net.limit = 1000000, .net.rto_us = 8e3,
	    .start_spread_us = 400, .warm_us = 300e3, .end_us = 600e3 },
	  { { UTIL, 93, 100.1 }, { JAIN, 0.98, 1 } } },
	/* A flow whose last packet is lost waits for the timeout, 100 ms. */
	{ "rcp 1 Gb/s, N=12, 0.1 % of packets lost, receiver's",
	  { USUAL(1e9, SIM_ECHO), .net.loss = 0.001, .net.rto_us = 100e3, .end_us = 600e3 },
	  BOUNDS(12, 4096) },
	/* The same as in rows_copa.c: .02, and .70 to .77 now. A packet of each flow takes 98 ms. */
	{ "rcp 100 Mb/s, x10, N=300, timeouts of 67 ms, receiver's",
	  { PLACE(100e6, 10, 300, 20, 4096, SIM_ECHO), .message = 65536, .net.limit = 100000000, .net.rto_us = 67e3,
	    .start_spread_us = 1, .warm_us = 15e6, .end_us = 25e6 },
	  { { UTIL, 60, 100.1 }, { JAIN, 0.8, 1 } } },
	/* With seeds 1 and 2 .44 and .56; a copa without knowledge of the port uses .28. */
	{ "rcp 10 Gb/s, N=1, completions late by up to 200 us, switch's",
	  { PLACE(10e9, 1, 1, 20, 8192, SIM_INT), .net.host.noise = { .uniform_us = 200 },
	    .warm_us = 5e3, .end_us = 16e3 },
	  { { UTIL, 42, 100.1 }, { JAIN, 0.98, 1 } } },
	/* Flows that send in one burst per round, 31 segments, must part within 200 rounds. */
	{ "rcp 10 Gb/s, x4, N=31, in step at first, switch's",
	  { PLACE(10e9, 4, 31, 20, 32768, SIM_INT), .net.host.noise = { .exp_us = 1 },
	    .start_spread_us = 200, .net.agents.record_us = 620, .warm_us = 170e3, .end_us = 500e3 },
	  { { UTIL, 95, 100.1 }, { JAIN, 0.98, 1 }, { Q_P99, 0, 10 * 32.8 } } },
	JOINS("receiver's", SIM_ECHO), JOINS("switch's", SIM_INT),
};

const struct group sim_rcp = { "rcp", rows, sizeof(rows) / sizeof(rows[0]) };
