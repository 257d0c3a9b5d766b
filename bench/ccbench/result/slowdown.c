/* SPDX-License-Identifier: BSD-2-Clause */
#include "slowdown.h"

#include <math.h>
#include <stdlib.h>

void unloaded_clear(struct unloaded *u)
{
	for (unsigned i = 0; i < LADDER_STEPS; i++)
		u->us[i] = NAN;
}

void unloaded_add(struct unloaded *u, const struct flow_sample *s, size_t n)
{

	for (size_t i = 0; i < n; i++)
		for (unsigned step = 0; step < LADDER_STEPS; step++)
			if (s[i].size == sizes_ladder[step] && s[i].latency >= 0)
				u->us[step] = fmin(u->us[step], (double)s[i].latency / 1e3);
}

double unloaded_us(const struct unloaded *u, uint64_t size)
{
	unsigned a = 0, b;

	/* A run may end before it reaches the later steps of the ladder. */
	while (a + 2 < LADDER_STEPS && sizes_ladder[a + 1] < size && !isnan(u->us[a + 2]))
		a++;
	b = a + 1;
	if (size <= sizes_ladder[0])
		return u->us[0];
	return u->us[a] + (u->us[b] - u->us[a]) * ((double)size - (double)sizes_ladder[a]) /
	       (double)(sizes_ladder[b] - sizes_ladder[a]);
}

static const struct { const char *name; uint64_t limit; } classes[SIZE_CLASSES] = {
	{ "<= 1 KB", 1 << 10 }, { "<= 10 KB", 10 << 10 }, { "<= 100 KB", 100 << 10 },
	{ "<= 1 MB", 1 << 20 }, { "> 1 MB", 0 }, { "all", 0 },
};

const char *size_class_name(unsigned class)
{
	return classes[class].name;
}

uint64_t size_class_limit(unsigned class)
{
	return classes[class].limit;
}

static unsigned class_of(uint64_t size)
{
	unsigned class = 0;

	while (classes[class].limit && size > classes[class].limit)
		class++;
	return class;
}

int slowdown_of(struct slowdown *to, const struct slow *v, size_t n)
{
	double *part = malloc((n + 1) * sizeof(*part));
	size_t i, k;

	if (!part)
		return -1;
	for (unsigned class = 0; class < SIZE_CLASSES; class++) {
		for (i = 0, k = 0; i < n; i++)
			if (!isnan(v[i].slowdown) &&
			    (class == SIZE_CLASSES - 1 || class_of(v[i].size) == class))
				part[k++] = v[i].slowdown;
		to->spread[class] = spread_of(part, k);
	}
	free(part);
	return 0;
}
