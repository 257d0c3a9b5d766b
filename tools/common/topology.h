/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_COMMON_TOPOLOGY_H
#define CCS_COMMON_TOPOLOGY_H
/*
 * Topologies in the format of the HPCC simulator: a line "NODES SWITCHES LINKS", a line with the
 * numbers of the switches, and a line "NODE NODE RATE DELAY ERRORS" for each link.
 */
#include <stdbool.h>
#include <stdio.h>

enum { TOPOLOGY_NODES_MAX = 1 << 16, TOPOLOGY_LINKS_MAX = 1 << 20 };

/* Range of link rates, bit/s, which excludes a rate whose unit was forgotten. */
#define TOPOLOGY_RATE_MIN 1e3
#define TOPOLOGY_RATE_MAX 1e14
#define TOPOLOGY_RATES "1k to 100t"

static inline bool topology_rate_is_possible(double rate_bps)
{
	return rate_bps >= TOPOLOGY_RATE_MIN && rate_bps <= TOPOLOGY_RATE_MAX;
}

struct topology_link {
	unsigned from, to;
	double rate_bps, delay_us; /* one way */
};

struct topology {
	unsigned nodes, links;
	bool *is_switch;
	struct topology_link *link;
};

/* False with "FILE:LINE: what is wrong" in err. */
bool topology_read(struct topology *t, const char *path, char *err, size_t len);

/* Allocate memory for that number of nodes and links; false without memory. */
bool topology_allocate(struct topology *t, unsigned nodes, unsigned links);
void topology_free(struct topology *t);

#endif
