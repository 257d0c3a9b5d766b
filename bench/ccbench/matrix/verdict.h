/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_MATRIX_VERDICT_H
#define BENCH_MATRIX_VERDICT_H
/*
 * The goals of `ccfabric matrix`, scaled to the base RTT of this network, from the JSON of a
 * scenario's runs: the port is used to 95 %; it drops nothing after the warm-up, where a lossless
 * one would send PAUSE frames; the p99 of delays, which is that of the port's queue and the base
 * RTT, or that of the victim where no queue is sampled.
 */
#include <stdbool.h>

#include "bench/ccbench/settings.h"

#define UTILISATION_MIN 0.95
#define DELAY_MAX_RTTS 29        /* 80 us, where the base RTT of a ToR of 25 Gb/s is 2.76 us */
#define DELAY_MOST_RTTS 14.5     /* 40 us */
#define DELAY_MOST_SHARE 0.9     /* of the models */

struct verdict {
	bool run;
	char cc[SETTING_LEN];
	double utilisation, drops, p99_us, victim_p99_us; /* NAN: unknown */
	double errors;           /* flows that failed */
	bool g1, g2, g3, pass;   /* G2 without a count of drops: reached if no flow failed */
};

/* The time of a message of 64 bytes through the empty network, us; NAN if the text has none. */
double verdict_base_us(const char *json);

/* Of the first max runs: how many there are, 0 if the text is no such JSON. */
unsigned verdicts_read(struct verdict *v, unsigned max, const char *json, double base_us);

#endif
