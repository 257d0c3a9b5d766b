/* SPDX-License-Identifier: BSD-2-Clause */
#include "curve.h"

void curve_start(struct curve *c, int64_t t, int64_t resolution)
{
	c->resolution = resolution;
	c->n = 1;
	c->p[0] = (struct curve_point){ t, 0 };
}

/* Keep the points that are at least two resolutions apart, and the last one. */
static void curve_thin(struct curve *c)
{
	uint32_t i, n = 1;

	c->resolution = c->resolution > 0 ? c->resolution * 2 : 1;
	for (i = 1; i + 1 < c->n; i++)
		if (c->p[i].t - c->p[n - 1].t >= c->resolution)
			c->p[n++] = c->p[i];
	c->p[n++] = c->p[c->n - 1];
	c->n = n;
}

void curve_add(struct curve *c, int64_t t, uint64_t bytes)
{
	struct curve_point *last = &c->p[c->n - 1];

	/* One instant is one point, and the last moves while it is close to the one before it. */
	if (c->n >= 2 && (t == last->t || t - last[-1].t < c->resolution)) {
		*last = (struct curve_point){ t, bytes };
		return;
	}
	while (c->n == CURVE_POINTS)
		curve_thin(c);
	c->p[c->n++] = (struct curve_point){ t, bytes };
}

double curve_at(const struct curve *c, int64_t t)
{
	uint32_t lo = 0, hi;
	const struct curve_point *a, *b;

	if (c->n == 0 || t <= c->p[0].t)
		return 0;
	if (t >= c->p[c->n - 1].t)
		return (double)c->p[c->n - 1].bytes;
	for (hi = c->n - 1; hi - lo > 1; ) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (c->p[mid].t <= t)
			lo = mid;
		else
			hi = mid;
	}
	a = &c->p[lo];
	b = &c->p[hi];
	return (double)a->bytes + (double)(b->bytes - a->bytes) *
	       (double)(t - a->t) / (double)(b->t - a->t);
}

double curve_rate(const struct curve *c, int64_t from, int64_t to)
{
	if (to <= from)
		return 0;
	return (curve_at(c, to) - curve_at(c, from)) * 8e9 / (double)(to - from);
}
