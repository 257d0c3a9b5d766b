/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_SIM_ROUTES_H
#define BENCH_SIM_ROUTES_H
/*
 * Forwarding tables: at each node, the set of ports towards each host. By default all ports on
 * shortest paths (ECMP). A port is the end of a link at which a node sends: 2 * link from the
 * link's a to its b, 2 * link + 1 back.
 */
#include <stdbool.h>
#include <stdint.h>

#include "topology.h"

enum { FAB_NO_HOST = ~0u };

#define FAB_NO_PORT UINT32_MAX

struct fab_next_hops {
	unsigned n;
	uint32_t same_node;      /* the next set of the same node, or 0 */
	uint32_t *port;
};

struct fab_routes {
	unsigned nodes, hosts;
	unsigned *host;          /* per node: its number among the hosts, or FAB_NO_HOST */
	unsigned *node;          /* per host */
	uint32_t *sets_of;       /* the first set of each node */
	struct fab_next_hops *set; /* [0] is empty */
	unsigned sets;
	uint32_t *table;         /* the set at table[node * hosts + host] */
};

void fab_routes_init(struct fab_routes *r, const struct topology *t);

/* Shortest paths without the failed links; failed: one per link, or NULL. May be called again. */
void fab_routes_compute(struct fab_routes *r, const struct topology *t, const bool *failed);

/*
 * Put lines "ROUTE NODE -> HOST via NODE NODE..." of a file in force, which name the next hops and
 * their order. False with a sentence in err.
 */
bool fab_routes_read(struct fab_routes *r, const struct topology *t, const char *path,
		     char *err, size_t len);
void fab_routes_free(struct fab_routes *r);

/* The nodes at which a port sends and receives. */
static inline unsigned fab_port_node(const struct topology *t, uint32_t port)
{
	return port & 1 ? t->link[port / 2].to : t->link[port / 2].from;
}

static inline unsigned fab_port_peer(const struct topology *t, uint32_t port)
{
	return fab_port_node(t, port ^ 1);
}

/* The port of the first link from one node to another; FAB_NO_PORT: they have no link. */
uint32_t fab_find_port(const struct topology *t, unsigned from, unsigned to);

static inline const struct fab_next_hops *fab_next_hops(const struct fab_routes *r, unsigned node,
							unsigned host)
{
	return &r->set[r->table[(size_t)node * r->hosts + host]];
}

/* Addresses and port numbers, by which one of several next hops is chosen. */
struct fab_key {
	uint32_t src, dst, ports;
};

/* MurmurHash3 of the key, as the HPCC simulator chooses; the seed is the node's number. */
uint32_t fab_hash(const struct fab_key *key, uint32_t seed);

#endif
