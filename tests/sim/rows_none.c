/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows without control, as a check of everything else: N flows with a max_inflight each wait
 * for each other, RTT = N * max_inflight * 8 / C (eRPC 6.5, Table 5, gives 202, 524 and 1056
 * us), less the own segment.
 */
#include "grid.h"
#include "rows.h"

#define CAPPED(n) \
	"none, 32 KB outstanding at 25 Gb/s, N=" #n, \
	{ STEADY(n, 100e3), .driver = SIM_SHIM, .cc = "none", .rate = 25e9, .base_us = 6, \
	  .net.layer.segment = 1024, .net.layer.max_inflight = 32768 }
#define LAW(n) 0.99 * (n) * 32768 * 8e6 / 25e9, 1.01 * (n) * 32768 * 8e6 / 25e9

static const struct row rows[] = {
	{ CAPPED(20), { { RTT_AVG, LAW(20) }, { RTT_P99, LAW(20) }, { UTIL, 99, ALL }, { JAIN, 0.999, 1 } } },
	{ CAPPED(50), { { RTT_AVG, LAW(50) }, { RTT_P99, LAW(50) }, { UTIL, 99, ALL }, { JAIN, 0.999, 1 } } },
	{ CAPPED(100), { { RTT_AVG, LAW(100) }, { RTT_P99, LAW(100) }, { UTIL, 99, ALL }, { JAIN, 0.999, 1 } } },
	{ "none, soft, 8 segments outstanding, N=8",
	  { SOFT, STEADY(8, 4e6), .cc = "none", .net.layer.max_inflight = 8 * 16384 },
	  { { RTT_AVG, 8000, 8400 }, { UTIL, 99, ALL }, { JAIN, 0.999, 1 } } },
};

const struct group sim_none = { "none", rows, sizeof(rows) / sizeof(rows[0]) };
