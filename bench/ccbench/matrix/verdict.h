/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_MATRIX_VERDICT_H
#define BENCH_MATRIX_VERDICT_H
/*
 * Judges a scenario's runs by the goals of `ccfabric matrix`, scaled to the base RTT of
 * this network: the port's utilisation is 95 %; it drops no packet after the warm-up, where a
 * lossless port would send PAUSE frames; and the p99 of delays. The delay is the base RTT plus the
 * delay of the port's queue, or the victim's delay if no queue is sampled.
 */
#include <stdbool.h>
#include <stdint.h>

#include "bench/ccbench/scenario/settings.h"

#define UTILISATION_MIN 0.95
#define DELAY_MAX_RTTS 29        /* 80 us, where the base RTT of a ToR of 25 Gb/s is 2.76 us */
#define DELAY_MOST_RTTS 14.5     /* 40 us */
#define DELAY_MOST_SHARE 0.9     /* share of the models */

struct verdict {
	bool run;
	char cc[SETTING_LEN];
	double utilisation, drops, victim_p99_us; /* NAN: unknown */
	uint64_t errors;         /* flows that failed */
	double p99_us;           /* of delays; NAN: unknown */
	bool g1, g2, g3, pass;   /* G2 without a count of drops: reached if no flow failed */
};

/* Set the members from p99_us on. queue_us: p99 of the delay of the port's queue; NAN: not sampled. */
void verdict_judge(struct verdict *v, double queue_us, double base_us);

#endif
