/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_ROWS_H
#define BENCH_ROWS_H
/* The values of a run that are compared, in tables and as spreads in JSON. */
#include "bench/ccbench/scenario/figures.h"
#include "report.h"

struct row {
	const char *title, *key;
	size_t offset;            /* place of a double in struct report */
	char *(*format)(double v, char *buf, size_t len);
	size_t samples;           /* place of its number of samples, a size_t; percentiles only */
	double q;                 /* the percentile, as a share; 0: not a percentile */
};

/* All rows; a row without a title ends the list. */
extern const struct row rows[];

/* Whether any of the n reports has the value. */
bool row_known(const struct row *row, const struct report *p, unsigned n);

/* How many samples the shortest repeat has, if they are too few for this percentile; or 0. */
size_t row_too_few(const struct row *row, const struct report *p, unsigned setting,
		   unsigned settings, unsigned repeats);

/* A row's figure over the repeats of one setting: p[setting], p[setting + settings], ... */
struct repeats row_repeats(const struct row *row, const struct report *p, unsigned setting,
			   unsigned settings, unsigned repeats);

#endif
