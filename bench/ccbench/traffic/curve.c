/* SPDX-License-Identifier: BSD-2-Clause */
#include "curve.h"

void curve_start(struct curve *c, int64_t t, int64_t resolution)
{
	c->resolution = resolution;
	c->n = 1;
	c->p[0] = (struct curve_point){ t, 0 };
}

/* Keep points with a distance of at least two resolutions, and the last point. */
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

	/* One point per instant; the last point moves while it is close to its predecessor. */
	if (c->n >= 2 && (t == last->t || t - last[-1].t < c->resolution)) {
		*last = (struct curve_point){ t, bytes };
		return;
	}
	while (c->n == CURVE_POINTS)
		curve_thin(c);
	c->p[c->n++] = (struct curve_point){ t, bytes };
}

/* The point before t or at it; t is within the curve, before its last point. */
static const struct curve_point *before(const struct curve *c, int64_t t)
{
	uint32_t lo = 0, hi = c->n - 1;

	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (c->p[mid].t <= t)
			lo = mid;
		else
			hi = mid;
	}
	return &c->p[lo];
}

double curve_at(const struct curve *c, int64_t t)
{
	const struct curve_point *a;

	if (c->n == 0 || t <= c->p[0].t)
		return 0;
	if (t >= c->p[c->n - 1].t)
		return (double)c->p[c->n - 1].bytes;
	a = before(c, t);
	return (double)a->bytes + (double)(a[1].bytes - a->bytes) *
	       (double)(t - a->t) / (double)(a[1].t - a->t);
}

double curve_rate(const struct curve *c, int64_t from, int64_t to)
{
	if (to <= from)
		return 0;
	return (curve_at(c, to) - curve_at(c, from)) * 8e9 / (double)(to - from);
}
