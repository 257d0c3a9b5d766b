/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_FABRIC_CBD_H
#define CCS_FABRIC_CBD_H
/*
 * Cyclic buffer dependencies of a network of switches with PFC: a link depends on the links that
 * its packets take next, since a pause of those pauses it. A cycle of dependencies is necessary for
 * a deadlock. Pure.
 */
#include <stdbool.h>
#include <stdint.h>

enum { CCS_CBD_PORTS = 64 }; /* at most, of a switch to other switches */

struct ccs_cbd_link {
	unsigned a, b;       /* switches */
};

/* Switches of tier 0 are destinations and sources. Switches of tier 2 and above are sources
 * for packets from outside. */
struct ccs_cbd_net {
	unsigned switches, links;
	const struct ccs_cbd_link *link;
	const unsigned *tier;
};

struct ccs_cbd;

/* NULL: out of memory, or a switch has more than CCS_CBD_PORTS links. The net must remain. */
struct ccs_cbd *ccs_cbd_new(const struct ccs_cbd_net *net);
void ccs_cbd_free(struct ccs_cbd *c);

/* Forwarding tables: for destination d and switch s, the set of ports at table[d * switches + s].
 * Destinations are numbered in the order of the switches of tier 0. */
unsigned ccs_cbd_table_len(const struct ccs_cbd *c);

/* Converged tables: ECMP over shortest paths without the failed links. With summaries, switches of
 * tier 2 and above know only that all switches below lead to all destinations. */
void ccs_cbd_routes(struct ccs_cbd *c, const bool *failed, bool summaries, uint64_t *table);

/* The dependencies of these tables; failed links are not used. Returns whether a destination has a
 * forwarding loop. */
bool ccs_cbd_depend(struct ccs_cbd *c, const bool *failed, const uint64_t *table);

/* A cycle of the dependencies: links as 2 * link + (1 if from b to a), in order. Returns its
 * length, 0 if there is no cycle. cycle holds 2 * links. */
unsigned ccs_cbd_cycle(struct ccs_cbd *c, unsigned *cycle);

#endif
