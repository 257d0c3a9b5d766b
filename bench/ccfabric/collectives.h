/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCFABRIC_COLLECTIVES_H
#define CCFABRIC_COLLECTIVES_H
/* The flows of collective operations, which wait for each other. */
#include "bench/sim/fabric/flows.h"

struct fab_group {
	const unsigned *host;    /* nodes */
	unsigned hosts;          /* at least 2 */
	uint64_t size;           /* bytes of the data that are reduced, at each host */
	uint64_t piece;          /* of a tree's pipeline; 0: FAB_PIECE */
	struct fab_flow_spec like; /* priority, port, start */
};

enum { FAB_PIECE = 128 << 10 };

/*
 * All-reduce: each host sends parts of the data to the next one in a ring; or along two binary trees,
 * each for a half, in whose inner nodes a host is at most once; or halves of what is left to partners
 * that are ever closer, and back. False: the last needs a power of two of hosts, all need so many
 * bytes.
 */
bool fab_allreduce_ring(struct fab_flows *f, const struct fab_group *g);
bool fab_allreduce_tree(struct fab_flows *f, const struct fab_group *g);
bool fab_allreduce_halving(struct fab_flows *f, const struct fab_group *g);

#endif
