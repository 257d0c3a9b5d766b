/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TESTS_SIM_ROWS_H
#define CCS_TESTS_SIM_ROWS_H
/* The rows that are tested and tabulated, with the bounds of their results. */
#include <stdio.h>

#include "bench/sim/star/sim.h"

enum figure { UTIL, JAIN, RTT_AVG, RTT_P99, Q_AVG, Q_P95, Q_P99, JOIN_MS, LEAVE_MS, FIGURES };

#define ALL 100.01           /* utilisation, allowing for rounding */

/* A bound holds for each seed. */
struct bound {
	enum figure figure;
	double least, most;
};

struct row {
	const char *name;
	struct sim_conf conf;
	struct bound bound[6];   /* ends at the first whose `most` is 0 */
};

struct group {
	const char *name;
	const struct row *row;
	unsigned rows;
};

extern const struct group sim_timely, sim_dcqcn, sim_hpcc, sim_swift, sim_copa, sim_rcp, sim_none;
extern const struct group *const sim_groups[];  /* NULL-terminated */

void row_figures(const struct row *row, uint64_t seed, double figure[FIGURES]);

/*
 * Print one line of results after `lead`; returns the number of bounds that do not hold, each
 * printed on its own line.
 */
void row_heading(FILE *out, const char *lead);
unsigned row_print(FILE *out, const char *lead, const struct row *row, uint64_t seed,
		   const double figure[FIGURES]);

#endif
