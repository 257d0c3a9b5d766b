/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_SIM_DELAYS_H
#define BENCH_SIM_DELAYS_H
/* Delays of packets from their NIC to the receiver, in ns. Pure. */
#include "base/hist.h"

/* The delay that a share q of the packets did not exceed, us; the end of its bucket, which is at most
 * 1/32 more. NAN: no packet. */
double fab_delays_quantile(const struct ccs_hist *ns, double q);

#endif
