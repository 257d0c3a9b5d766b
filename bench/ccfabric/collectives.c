/* SPDX-License-Identifier: BSD-2-Clause */
#include "collectives.h"

/* A flow from one of the group's hosts to another. */
static void add(struct fab_flows *f, const struct fab_group *g, unsigned src, unsigned dst,
		struct fab_flow_spec flow)
{
	flow.src = g->host[src];
	flow.dst = g->host[dst];
	fab_flows_add(f, flow);
}

/* After N - 1 steps each host has a part that is reduced, after as many again all parts. What is
 * sent in a step came in the one before. */
bool fab_allreduce_ring(struct fab_flows *f, const struct fab_group *g)
{
	const unsigned n = g->hosts, first = f->n + 1;
	struct fab_flow_spec flow = g->like;

	if (g->size < n)
		return false;
	flow.message = (g->size + n - 1) / n;
	flow.size = 2 * (uint64_t)(n - 1) * flow.message;
	flow.lag = 1;
	for (unsigned i = 0; i < n; i++) {
		flow.after[0] = first + (i + n - 1) % n;
		add(f, g, i, (i + 1) % n, flow);
	}
	return true;
}

/* Node i of a tree, whose parent is (i - 1) / 2, is host i, or the last but i. */
static unsigned host_of(const struct fab_group *g, unsigned tree, unsigned i)
{
	return tree ? g->hosts - 1 - i : i;
}

/* up[i]: from node i to its parent. A piece goes up when the children's are there, and down when it
 * came from above; the root's when all children's are there. */
static void add_tree(struct fab_flows *f, const struct fab_group *g, unsigned tree, uint64_t size)
{
	const unsigned n = g->hosts, up = f->n; /* node i's flow is up + n - i */
	struct fab_flow_spec flow = g->like;

	flow.message = g->piece ? g->piece : FAB_PIECE;
	flow.size = size;
	for (unsigned i = n - 1; i; i--) {
		flow.after[0] = 2 * i + 1 < n ? up + n - (2 * i + 1) : 0;
		flow.after[1] = 2 * i + 2 < n ? up + n - (2 * i + 2) : 0;
		add(f, g, host_of(g, tree, i), host_of(g, tree, (i - 1) / 2), flow);
	}
	for (unsigned i = 1; i < n; i++) {
		const unsigned parent = (i - 1) / 2, down = up + n - 1;

		flow.after[0] = parent ? down + parent : up + n - 1;
		flow.after[1] = parent || n < 3 ? 0 : up + n - 2;
		add(f, g, host_of(g, tree, parent), host_of(g, tree, i), flow);
	}
}

bool fab_allreduce_tree(struct fab_flows *f, const struct fab_group *g)
{
	if (g->size < 2)
		return false;
	add_tree(f, g, 0, g->size / 2);
	add_tree(f, g, 1, g->size - g->size / 2);
	return true;
}

/* Step k of each host: with the partner that differs in one bit, first the highest, then back. */
bool fab_allreduce_halving(struct fab_flows *f, const struct fab_group *g)
{
	const unsigned n = g->hosts, before = f->n + 1;
	struct fab_flow_spec flow = g->like;
	unsigned steps = 0, bit = n / 2, last = 0;

	if ((n & (n - 1)) != 0 || g->size < n)
		return false;
	flow.message = 0;
	for (flow.size = g->size / 2; bit; bit /= 2, flow.size /= 2)
		for (unsigned i = 0; i < n; i++) {
			flow.after[0] = last ? before + (steps - 1) * n + (i ^ last) : 0;
			add(f, g, i, i ^ bit, flow);
			if (i == n - 1)
				last = bit, steps++;
		}
	for (bit = 1, flow.size = g->size / n; bit < n; bit *= 2, flow.size *= 2)
		for (unsigned i = 0; i < n; i++) {
			flow.after[0] = before + (steps - 1) * n + (i ^ last);
			add(f, g, i, i ^ bit, flow);
			if (i == n - 1)
				last = bit, steps++;
		}
	return true;
}
