/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_SIM_DELAYS_H
#define BENCH_SIM_DELAYS_H
/* Delays of packets from their NIC to the receiver, counted in steps of at most 1/32. Pure. */
#include <stdint.h>

enum { FAB_DELAY_STEPS = 32 * 60 };

struct fab_delays {
	uint64_t count[FAB_DELAY_STEPS];
	uint64_t n, sum_ns, max_ns;
};

void fab_delays_add(struct fab_delays *d, uint64_t ns);

/* The delay that a share q of the packets did not exceed, us; the end of its step. NAN: no packet. */
double fab_delays_quantile(const struct fab_delays *d, double q);
double fab_delays_mean(const struct fab_delays *d);

#endif
