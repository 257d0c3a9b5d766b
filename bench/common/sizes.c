/* SPDX-License-Identifier: BSD-2-Clause */
#include "sizes.h"

#include <stddef.h>

struct point { double bytes, percent; };

/*
 * Web search: Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, Figure 4, with the
 * points that Li et al., "HPCC", SIGCOMM 2019 used (their traffic_gen, WebSearch_distribution).
 */
static const struct point websearch[] = {
	{ 0, 0 }, { 10e3, 15 }, { 20e3, 20 }, { 30e3, 30 }, { 50e3, 40 }, { 80e3, 53 },
	{ 200e3, 60 }, { 1e6, 70 }, { 2e6, 80 }, { 5e6, 90 }, { 10e6, 97 }, { 30e6, 100 },
};

/*
 * Hadoop: Roy et al., "Inside the Social Network's (Datacenter) Network", SIGCOMM 2015,
 * Figure 6, with the points of HPCC's traffic_gen (FbHdp_distribution).
 */
static const struct point hadoop[] = {
	{ 0, 0 }, { 100, 1 }, { 200, 2 }, { 300, 5 }, { 350, 15 }, { 400, 20 }, { 500, 30 },
	{ 600, 40 }, { 700, 50 }, { 1e3, 60 }, { 2e3, 67 }, { 7e3, 70 }, { 30e3, 72 },
	{ 50e3, 82 }, { 80e3, 87 }, { 120e3, 90 }, { 300e3, 95 }, { 1e6, 97.5 }, { 2e6, 99 },
	{ 10e6, 100 },
};

const uint64_t sizes_ladder[LADDER_STEPS] = {
	64, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20,
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct cdf {
	const char *name;
	const struct point *p;
	size_t n;
} cdfs[] = {
	[SIZES_FIXED] = { "fixed", NULL, 0 },
	[SIZES_WEBSEARCH] = { "websearch", websearch, COUNT(websearch) },
	[SIZES_HADOOP] = { "hadoop", hadoop, COUNT(hadoop) },
	[SIZES_LADDER] = { NULL, NULL, 0 },
};

const char *sizes_name(enum sizes s)
{
	return (size_t)s < COUNT(cdfs) ? cdfs[s].name : NULL;
}

/* Straight between the points: the inverse of the CDF. */
static uint64_t draw(const struct cdf *c, double percent)
{
	const struct point *p = c->p;
	double bytes;

	while (p[1].percent < percent)
		p++;
	bytes = p[0].bytes + (p[1].bytes - p[0].bytes) * (percent - p[0].percent) /
			     (p[1].percent - p[0].percent);
	return bytes < 1 ? 1 : (uint64_t)bytes;
}

uint64_t sizes_next(enum sizes s, uint64_t fixed, uint64_t n, struct rng *rng)
{
	if (s == SIZES_LADDER)
		return sizes_ladder[n % LADDER_STEPS];
	return cdfs[s].p ? draw(&cdfs[s], 100 * rng_unit(rng)) : fixed;
}

double sizes_mean(enum sizes s, uint64_t fixed)
{
	const struct cdf *c = &cdfs[s];
	double sum = 0;

	if (s == SIZES_LADDER) {
		for (size_t i = 0; i < LADDER_STEPS; i++)
			sum += (double)sizes_ladder[i] / LADDER_STEPS;
		return sum;
	}
	for (size_t i = 1; i < c->n; i++)
		sum += (c->p[i].bytes + c->p[i - 1].bytes) / 2 *
		       (c->p[i].percent - c->p[i - 1].percent) / 100;
	return c->p ? sum : (double)fixed;
}
