/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests cyclic buffer dependencies of Clos networks, with failures and while tables change. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/cbd.h"

enum { MOST = 64 };

struct clos {
	struct ccs_cbd_link link[MOST];
	unsigned tier[MOST];
	struct ccs_cbd_net net;
	struct ccs_cbd *cbd;
	bool failed[MOST];
	unsigned cycle[2 * MOST];
};

/* ToRs first, then aggregates, then cores; the links of ToR 0 first. */
static void build(struct clos *k, unsigned tors, unsigned aggregates, unsigned cores)
{
	unsigned links = 0;

	memset(k, 0, sizeof(*k));
	for (unsigned t = 0; t < tors; t++)
		for (unsigned a = 0; a < aggregates; a++)
			k->link[links++] = (struct ccs_cbd_link){ t, tors + a };
	for (unsigned a = 0; a < aggregates; a++)
		for (unsigned c = 0; c < cores; c++)
			k->link[links++] = (struct ccs_cbd_link){ tors + a, tors + aggregates + c };
	for (unsigned i = 0; i < tors + aggregates + cores; i++)
		k->tier[i] = i < tors ? 0 : i < tors + aggregates ? 1 : 2;
	k->net = (struct ccs_cbd_net){ tors + aggregates + cores, links, k->link, k->tier };
	k->cbd = ccs_cbd_new(&k->net);
	assert_non_null(k->cbd);
}

static bool has_cycle(struct clos *k, bool summaries)
{
	uint64_t *table = calloc(ccs_cbd_table_len(k->cbd), sizeof(*table));
	bool cycle;

	ccs_cbd_routes(k->cbd, k->failed, summaries, table);
	ccs_cbd_depend(k->cbd, k->failed, table);
	cycle = ccs_cbd_cycle(k->cbd, k->cycle) > 0;
	free(table);
	return cycle;
}

/* All sets of `failures` links from `first` on. */
static void count(struct clos *k, unsigned first, unsigned failures, bool summaries, unsigned *cases,
		  unsigned *bad)
{
	if (!failures) {
		++*cases;
		*bad += has_cycle(k, summaries);
		return;
	}
	for (unsigned l = first; l < k->net.links; l++) {
		k->failed[l] = true;
		count(k, l + 1, failures - 1, summaries, cases, bad);
		k->failed[l] = false;
	}
}

TEST(published_claims_hold)
{
	static const struct { unsigned t, a, c, failures; bool summaries; unsigned cases, bad; } rows[] = {
		{ 4, 4, 0, 0, false, 1, 0 }, { 4, 4, 0, 1, false, 16, 0 }, { 4, 4, 0, 2, false, 120, 0 },
		{ 4, 4, 2, 0, false, 1, 0 }, { 4, 4, 2, 1, false, 24, 0 }, { 4, 4, 2, 2, false, 276, 0 },
		{ 4, 8, 0, 2, false, 496, 0 }, { 4, 2, 0, 2, false, 28, 12 }, { 4, 2, 2, 2, false, 66, 12 },
		{ 4, 4, 2, 1, true, 24, 16 }, { 4, 4, 2, 2, true, 276, 248 },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		unsigned cases = 0, bad = 0;
		struct clos k;

		build(&k, rows[i].t, rows[i].a, rows[i].c);
		count(&k, 0, rows[i].failures, rows[i].summaries, &cases, &bad);
		if (cases != rows[i].cases || bad != rows[i].bad)
			fail_msg("%ux%ux%u, %u failures: %u of %u", rows[i].t, rows[i].a, rows[i].c,
				 rows[i].failures, bad, cases);
		ccs_cbd_free(k.cbd);
	}
}

TEST(each_link_of_a_cycle_begins_where_the_last_one_ends)
{
	struct clos k;
	unsigned n;

	build(&k, 4, 2, 0);
	k.failed[0] = k.failed[3] = true; /* t0-a0, t1-a1 */
	assert_true(has_cycle(&k, false));
	n = ccs_cbd_cycle(k.cbd, k.cycle);
	assert_true(n >= 2);
	for (unsigned i = 0; i < n; i++) {
		const unsigned id = k.cycle[i], next = k.cycle[(i + 1) % n];
		const unsigned end = id & 1 ? k.link[id / 2].a : k.link[id / 2].b;
		const unsigned start = next & 1 ? k.link[next / 2].b : k.link[next / 2].a;

		assert_int_equal(end, start);
		assert_false(k.failed[id / 2]);
	}
	ccs_cbd_free(k.cbd);
}

/* t0-a0 fails in 4 x 4 x 2. Of the switches whose tables change, a0 is number 4. */
static unsigned mix(struct clos *k, bool *good, unsigned *changed, unsigned *changes)
{
	const unsigned len = ccs_cbd_table_len(k->cbd), switches = k->net.switches;
	uint64_t *old = calloc(len, 8), *new = calloc(len, 8), *mixed = calloc(len, 8);
	unsigned bad = 0;

	ccs_cbd_routes(k->cbd, k->failed, false, old);
	k->failed[0] = true;
	ccs_cbd_routes(k->cbd, k->failed, false, new);
	for (unsigned s = 0; s < switches; s++)
		for (unsigned i = s; i < len; i += switches)
			if (old[i] != new[i]) {
				changed[(*changes)++] = s;
				break;
			}
	for (unsigned m = 0; m < 1u << *changes; m++) {
		memcpy(mixed, old, len * sizeof(*old));
		for (unsigned c = 0; c < *changes; c++)
			for (unsigned i = changed[c]; m & 1u << c && i < len; i += switches)
				mixed[i] = new[i];
		good[m] = !ccs_cbd_depend(k->cbd, k->failed, mixed);
		good[m] &= !ccs_cbd_cycle(k->cbd, k->cycle);
		bad += !good[m];
	}
	free(old);
	free(new);
	free(mixed);
	return bad;
}

TEST(an_aggregate_must_change_last)
{
	unsigned changed[16], changes = 0;
	bool good[1 << 10];
	struct clos k;

	build(&k, 4, 4, 2);
	assert_int_equal(mix(&k, good, changed, &changes), 62);
	assert_int_equal(changes, 7);
	assert_int_equal(changed[4], 4);
	for (unsigned m = 0; m < 1u << changes; m++) /* all but t0 and a0 have changed, or a0 has not */
		assert_true(good[m] == (!(m & 1u << 4) || (m | 1u) == (1u << changes) - 1));
	ccs_cbd_free(k.cbd);
}

TEST(too_many_ports_are_refused)
{
	struct ccs_cbd_link link[CCS_CBD_PORTS + 1];
	unsigned tier[CCS_CBD_PORTS + 2] = { 1 };
	struct ccs_cbd_net net = { CCS_CBD_PORTS + 2, CCS_CBD_PORTS + 1, link, tier };

	for (unsigned i = 0; i <= CCS_CBD_PORTS; i++)
		link[i] = (struct ccs_cbd_link){ 0, i + 1 };
	assert_null(ccs_cbd_new(&net));
}
