/* SPDX-License-Identifier: BSD-2-Clause */
/* Cyclic buffer dependencies: routes, dependencies, Tarjan's components. */
#include "fabric/cbd.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
#define FOR_EACH_PORT(port, set) \
	for (uint64_t set_ = (set); set_ && ((port) = (unsigned)__builtin_ctzll(set_), true); \
	     set_ &= set_ - 1)

struct port {
	unsigned link, peer;
};

enum { BLOCKS = 13 };

struct ccs_cbd {
	const struct ccs_cbd_net *net;
	void *block[BLOCKS];            /* the arrays below */
	unsigned blocks;
	bool failed;                    /* to allocate one of them */
	unsigned destinations;
	unsigned *destination;          /* switches */
	unsigned *ports;                /* of each switch */
	struct port (*port)[CCS_CBD_PORTS];
	unsigned *distance, *queue;     /* per switch */
	unsigned *pending;              /* per switch: its predecessors in a loop check */
	uint64_t *next;                 /* per directed link: ports of the switch where it ends */
	bool *seen;                     /* per directed link */
	unsigned *stack;                /* per directed link */
	uint32_t *index, *low, *component, *parent;
	uint32_t indices, components, stacked;
	uint32_t found;                 /* a directed link in a component of several, or NONE */
};

static unsigned directed(const struct ccs_cbd *c, unsigned from, unsigned port)
{
	const unsigned link = c->port[from][port].link;

	return 2 * link + (c->net->link[link].b == from);
}

static unsigned end_of(const struct ccs_cbd *c, unsigned id)
{
	return id & 1 ? c->net->link[id / 2].a : c->net->link[id / 2].b;
}

static bool add_port(struct ccs_cbd *c, unsigned from, unsigned to, unsigned link)
{
	if (c->ports[from] == CCS_CBD_PORTS)
		return false;
	c->port[from][c->ports[from]++] = (struct port){ link, to };
	return true;
}

static bool add_ports(struct ccs_cbd *c)
{
	const struct ccs_cbd_net *net = c->net;

	for (unsigned i = 0; i < net->switches; i++)
		if (net->tier[i] == 0)
			c->destination[c->destinations++] = i;
	for (unsigned l = 0; l < net->links; l++)
		if (!add_port(c, net->link[l].a, net->link[l].b, l) ||
		    !add_port(c, net->link[l].b, net->link[l].a, l))
			return false;
	return true;
}

/* Allocate one byte at least, so that NULL always means a failure. */
static void *zeroed(struct ccs_cbd *c, size_t n, size_t size)
{
	void *p = calloc(n + 1, size);

	c->failed |= !p;
	c->block[c->blocks++] = p;
	return p;
}

struct ccs_cbd *ccs_cbd_new(const struct ccs_cbd_net *net)
{
	const size_t ids = 2 * (size_t)net->links, switches = net->switches;
	struct ccs_cbd *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->net = net;
	c->destination = zeroed(c, switches, sizeof(*c->destination));
	c->ports = zeroed(c, switches, sizeof(*c->ports));
	c->port = zeroed(c, switches, sizeof(*c->port));
	c->distance = zeroed(c, switches, sizeof(*c->distance));
	c->queue = zeroed(c, switches, sizeof(*c->queue));
	c->pending = zeroed(c, switches, sizeof(*c->pending));
	c->next = zeroed(c, ids, sizeof(*c->next));
	c->seen = zeroed(c, ids, sizeof(*c->seen));
	c->stack = zeroed(c, ids, sizeof(*c->stack));
	c->index = zeroed(c, ids, sizeof(*c->index));
	c->low = zeroed(c, ids, sizeof(*c->low));
	c->component = zeroed(c, ids, sizeof(*c->component));
	c->parent = zeroed(c, ids, sizeof(*c->parent));
	if (!c->failed && add_ports(c))
		return c;
	ccs_cbd_free(c);
	return NULL;
}

void ccs_cbd_free(struct ccs_cbd *c)
{
	for (unsigned i = 0; c && i < c->blocks; i++)
		free(c->block[i]);
	free(c);
}

unsigned ccs_cbd_table_len(const struct ccs_cbd *c)
{
	return c->destinations * c->net->switches;
}

static void measure(struct ccs_cbd *c, unsigned to, const bool *failed)
{
	unsigned head = 0, tail = 0;

	for (unsigned i = 0; i < c->net->switches; i++)
		c->distance[i] = NONE;
	c->distance[to] = 0;
	c->queue[tail++] = to;
	while (head < tail) {
		const unsigned s = c->queue[head++];

		for (unsigned i = 0; i < c->ports[s]; i++) {
			const struct port *port = &c->port[s][i];

			if (failed[port->link] || c->distance[port->peer] != NONE)
				continue;
			c->distance[port->peer] = c->distance[s] + 1;
			c->queue[tail++] = port->peer;
		}
	}
}

static bool is_next_hop(const struct ccs_cbd *c, unsigned s, unsigned peer, bool summary)
{
	if (summary)
		return c->net->tier[peer] < c->net->tier[s];
	return c->distance[peer] != NONE && c->distance[peer] + 1 == c->distance[s];
}

static uint64_t next_hops(const struct ccs_cbd *c, unsigned s, const bool *failed, bool summaries)
{
	const bool summary = summaries && c->net->tier[s] >= 2;
	uint64_t set = 0;

	if (c->distance[s] == 0 || c->distance[s] == NONE)
		return 0;
	for (unsigned i = 0; i < c->ports[s]; i++)
		if (!failed[c->port[s][i].link] && is_next_hop(c, s, c->port[s][i].peer, summary))
			set |= UINT64_C(1) << i;
	return set;
}

void ccs_cbd_routes(struct ccs_cbd *c, const bool *failed, bool summaries, uint64_t *table)
{
	for (unsigned d = 0; d < c->destinations; d++) {
		measure(c, c->destination[d], failed);
		for (unsigned s = 0; s < c->net->switches; s++)
			table[d * c->net->switches + s] = next_hops(c, s, failed, summaries);
	}
}

static uint64_t without_failed(const struct ccs_cbd *c, unsigned s, uint64_t set, const bool *failed)
{
	unsigned port;

	FOR_EACH_PORT(port, set)
		if (failed[c->port[s][port].link])
			set &= ~(UINT64_C(1) << port);
	return set;
}

/* Push the links by which packets leave s, if they are new. */
static unsigned push_links(struct ccs_cbd *c, unsigned s, uint64_t set, unsigned depth)
{
	unsigned port;

	FOR_EACH_PORT(port, set) {
		const unsigned id = directed(c, s, port);

		if (!c->seen[id]) {
			c->seen[id] = true;
			c->stack[depth++] = id;
		}
	}
	return depth;
}

/* Add the dependencies of packets to one destination. c->seen has their links afterwards. */
static void depend_on(struct ccs_cbd *c, unsigned to, const bool *failed, const uint64_t *row)
{
	unsigned depth = 0;

	memset(c->seen, 0, 2 * (size_t)c->net->links * sizeof(*c->seen));
	for (unsigned s = 0; s < c->net->switches; s++)
		if (s != to && c->net->tier[s] != 1)
			depth = push_links(c, s, without_failed(c, s, row[s], failed), depth);
	while (depth) {
		const unsigned id = c->stack[--depth], s = end_of(c, id);
		const uint64_t set = s == to ? 0 : without_failed(c, s, row[s], failed);

		c->next[id] |= set;
		depth = push_links(c, s, set, depth);
	}
}

/* Remove switches without predecessors repeatedly; the remaining switches contain a loop. */
static bool has_loop(struct ccs_cbd *c)
{
	const unsigned ids = 2 * c->net->links;
	unsigned head = 0, tail = 0, links = 0;

	memset(c->pending, 0, c->net->switches * sizeof(*c->pending));
	for (unsigned id = 0; id < ids; id++) {
		c->pending[end_of(c, id)] += c->seen[id];
		links += c->seen[id];
	}
	for (unsigned s = 0; s < c->net->switches; s++)
		if (!c->pending[s])
			c->queue[tail++] = s;
	while (head < tail) {
		const unsigned s = c->queue[head++];

		for (unsigned i = 0; i < c->ports[s]; i++) {
			if (!c->seen[directed(c, s, i)])
				continue;
			links--;
			if (!--c->pending[c->port[s][i].peer])
				c->queue[tail++] = c->port[s][i].peer;
		}
	}
	return links > 0;
}

bool ccs_cbd_depend(struct ccs_cbd *c, const bool *failed, const uint64_t *table)
{
	bool loop = false;

	memset(c->next, 0, 2 * (size_t)c->net->links * sizeof(*c->next));
	for (unsigned d = 0; d < c->destinations; d++) {
		depend_on(c, c->destination[d], failed, table + d * c->net->switches);
		loop |= has_loop(c);
	}
	return loop;
}

static void pop_component(struct ccs_cbd *c, unsigned id)
{
	const uint32_t number = ++c->components;
	unsigned member, members = 0;

	do {
		member = c->stack[--c->stacked];
		c->component[member] = number;
		members++;
	} while (member != id);
	if (members > 1)
		c->found = id;
}

/* Tarjan. The depth of the recursion is at most the number of directed links. */
static void visit(struct ccs_cbd *c, unsigned id)
{
	const unsigned s = end_of(c, id);
	unsigned port;

	c->index[id] = c->low[id] = ++c->indices;
	c->stack[c->stacked++] = id;
	FOR_EACH_PORT(port, c->next[id]) {
		const unsigned to = directed(c, s, port);

		if (!c->index[to])
			visit(c, to);
		if (!c->component[to] && c->low[to] < c->low[id])
			c->low[id] = c->low[to];
	}
	if (c->low[id] == c->index[id])
		pop_component(c, id);
}

/* The shortest way from c->found back to it, within its component. */
static unsigned trace_cycle(struct ccs_cbd *c, unsigned *cycle)
{
	unsigned head = 0, tail = 0, n = 0, id = NONE, port;

	for (unsigned i = 0; i < 2 * c->net->links; i++)
		c->parent[i] = NONE;
	c->stack[tail++] = c->found;
	while (c->parent[c->found] == NONE) {
		id = c->stack[head++];
		FOR_EACH_PORT(port, c->next[id]) {
			const unsigned to = directed(c, end_of(c, id), port);

			if (c->component[to] != c->component[id] || c->parent[to] != NONE)
				continue;
			c->parent[to] = id;
			c->stack[tail++] = to;
		}
	}
	for (id = c->parent[c->found]; id != c->found; id = c->parent[id])
		cycle[n++] = id;
	cycle[n++] = c->found;
	for (unsigned i = 0; i < n / 2; i++) {
		const unsigned other = cycle[i];

		cycle[i] = cycle[n - 1 - i];
		cycle[n - 1 - i] = other;
	}
	return n;
}

unsigned ccs_cbd_cycle(struct ccs_cbd *c, unsigned *cycle)
{
	const unsigned ids = 2 * c->net->links;

	memset(c->index, 0, ids * sizeof(*c->index));
	memset(c->component, 0, ids * sizeof(*c->component));
	c->indices = c->components = c->stacked = 0;
	c->found = NONE;
	for (unsigned id = 0; id < ids && c->found == NONE; id++)
		if (!c->index[id])
			visit(c, id);
	return c->found == NONE ? 0 : trace_cycle(c, cycle);
}
