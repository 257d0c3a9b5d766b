/* SPDX-License-Identifier: BSD-2-Clause */
#include "ranges.h"

#include <string.h>

#include "bench/sim/core/memory.h"

/* The first range that ends at `at` or later. */
static uint32_t find(const struct fab_ranges *r, uint64_t at)
{
	uint32_t i = 0;

	while (i < r->n && r->range[i].to < at)
		i++;
	return i;
}

/* Replace n ranges from index i by at most one range. */
static void replace(struct fab_ranges *r, uint32_t i, uint32_t n, const struct fab_range *by)
{
	const uint32_t rest = r->n - i - n;

	if (r->n - n + 1 > r->capacity) {
		r->capacity = 2 * r->capacity + 4;
		r->range = mem_resized(r->range, r->capacity, sizeof(*r->range));
	}
	memmove(&r->range[i + (by ? 1 : 0)], &r->range[i + n], rest * sizeof(*r->range));
	if (by)
		r->range[i] = *by;
	r->n = i + (by ? 1 : 0) + rest;
}

void fab_ranges_add(struct fab_ranges *r, uint64_t from, uint64_t to)
{
	const uint32_t i = find(r, from);
	struct fab_range whole = { from, to };
	uint32_t n = 0;

	while (i + n < r->n && r->range[i + n].from <= to) {
		const struct fab_range *old = &r->range[i + n++];

		whole.from = old->from < whole.from ? old->from : whole.from;
		whole.to = old->to > whole.to ? old->to : whole.to;
	}
	replace(r, i, n, &whole);
}

void fab_ranges_drop(struct fab_ranges *r, uint64_t at)
{
	uint32_t n = 0;

	while (n < r->n && r->range[n].to <= at)
		n++;
	if (n)
		replace(r, 0, n, NULL);
	if (r->n && r->range[0].from < at)
		r->range[0].from = at;
}

uint64_t fab_ranges_gap(const struct fab_ranges *r, uint64_t at)
{
	const uint32_t i = find(r, at);

	return i < r->n && r->range[i].from <= at && r->range[i].to > at ? r->range[i].to : at;
}

uint64_t fab_ranges_next(const struct fab_ranges *r, uint64_t at)
{
	for (uint32_t i = find(r, at); i < r->n; i++)
		if (r->range[i].to > at)
			return r->range[i].from > at ? r->range[i].from : at;
	return UINT64_MAX;
}

void fab_ranges_free(struct fab_ranges *r)
{
	free(r->range);
	*r = (struct fab_ranges){ 0 };
}
