/* SPDX-License-Identifier: BSD-2-Clause */
#include "routes.h"

#include <stdlib.h>
#include <string.h>

#include "bench/sim/core/memory.h"
#include "tools/common/words.h"

/* The ports of each node: port[first[node]] to port[first[node + 1] - 1]. */
struct ports {
	unsigned *first;
	uint32_t *port;
};

static struct ports list_ports(const struct topology *t)
{
	struct ports p = { mem_zeroed(t->nodes + 2, sizeof(*p.first)),
			   mem_zeroed(2 * (size_t)t->links, sizeof(*p.port)) };

	for (uint32_t i = 0; i < 2 * t->links; i++)
		p.first[fab_port_node(t, i) + 2]++;
	for (unsigned i = 2; i < t->nodes + 2; i++)
		p.first[i] += p.first[i - 1];
	for (uint32_t i = 0; i < 2 * t->links; i++)
		p.port[p.first[fab_port_node(t, i) + 1]++] = i;
	return p;
}

/* The node's set with these ports, which is added if necessary. */
static uint32_t find_set(struct fab_routes *r, unsigned node, const uint32_t *port, unsigned n)
{
	struct fab_next_hops *set;

	if (!n)
		return 0;
	for (uint32_t i = r->sets_of[node]; i; i = r->set[i].same_node)
		if (r->set[i].n == n && memcmp(r->set[i].port, port, n * sizeof(*port)) == 0)
			return i;
	if ((r->sets & (r->sets - 1)) == 0)
		r->set = mem_resized(r->set, 2 * (size_t)r->sets, sizeof(*r->set));
	set = &r->set[r->sets];
	*set = (struct fab_next_hops){ n, r->sets_of[node], mem_resized(NULL, n, sizeof(*port)) };
	memcpy(set->port, port, n * sizeof(*port));
	r->sets_of[node] = r->sets;
	return r->sets++;
}

void fab_routes_init(struct fab_routes *r, const struct topology *t)
{
	*r = (struct fab_routes){
		.nodes = t->nodes, .sets = 1,
		.host = mem_zeroed(t->nodes, sizeof(*r->host)),
		.node = mem_zeroed(t->nodes, sizeof(*r->node)),
		.sets_of = mem_zeroed(t->nodes, sizeof(*r->sets_of)),
		.set = mem_zeroed(1, sizeof(*r->set)),
	};
	for (unsigned i = 0; i < t->nodes; i++) {
		r->host[i] = t->is_switch[i] ? (unsigned)FAB_NO_HOST : r->hosts;
		if (!t->is_switch[i])
			r->node[r->hosts++] = i;
	}
	r->table = mem_zeroed((size_t)r->nodes * r->hosts, sizeof(*r->table));
}

struct search {
	const struct topology *t;
	const bool *failed;
	struct ports ports;
	unsigned *distance, *queue; /* of nodes from the host; nodes in the order of distance */
	uint32_t *port;
};

/* Breadth first from a host over switches. */
static unsigned measure(struct search *s, unsigned from)
{
	unsigned found = 0;

	memset(s->distance, 0xff, s->t->nodes * sizeof(*s->distance));
	s->distance[from] = 0;
	s->queue[found++] = from;
	for (unsigned i = 0; i < found; i++) {
		const unsigned node = s->queue[i];

		for (unsigned k = s->ports.first[node]; k < s->ports.first[node + 1]; k++) {
			const unsigned next = fab_port_peer(s->t, s->ports.port[k]);

			if ((s->failed && s->failed[s->ports.port[k] / 2]) ||
			    s->distance[next] != UINT32_MAX ||
			    (node != from && !s->t->is_switch[node]))
				continue;
			s->distance[next] = s->distance[node] + 1;
			s->queue[found++] = next;
		}
	}
	return found;
}

/* The node's ports to nodes that are nearer to the host. */
static unsigned nearer(struct search *s, unsigned node, unsigned host)
{
	unsigned n = 0;

	for (unsigned k = s->ports.first[node]; k < s->ports.first[node + 1]; k++) {
		const uint32_t port = s->ports.port[k];
		const unsigned next = fab_port_peer(s->t, port);

		if (!(s->failed && s->failed[port / 2]) && s->distance[next] != UINT32_MAX &&
		    s->distance[next] + 1 == s->distance[node] &&
		    (s->t->is_switch[next] || next == host))
			s->port[n++] = port;
	}
	return n;
}

void fab_routes_compute(struct fab_routes *r, const struct topology *t, const bool *failed)
{
	struct search s = {
		.t = t, .failed = failed, .ports = list_ports(t),
		.distance = mem_zeroed(t->nodes, sizeof(*s.distance)),
		.queue = mem_zeroed(t->nodes, sizeof(*s.queue)),
		.port = mem_zeroed(2 * (size_t)t->links, sizeof(*s.port)),
	};

	memset(r->table, 0, (size_t)r->nodes * r->hosts * sizeof(*r->table));
	for (unsigned h = 0; h < r->hosts; h++) {
		const unsigned found = measure(&s, r->node[h]);

		for (unsigned i = 1; i < found; i++) {
			const unsigned node = s.queue[i], n = nearer(&s, node, r->node[h]);

			r->table[(size_t)node * r->hosts + h] = find_set(r, node, s.port, n);
		}
	}
	free(s.ports.first);
	free(s.ports.port);
	free(s.distance);
	free(s.queue);
	free(s.port);
}

uint32_t fab_find_port(const struct topology *t, unsigned from, unsigned to)
{
	for (uint32_t i = 0; i < 2 * t->links; i++)
		if (fab_port_node(t, i) == from && fab_port_peer(t, i) == to)
			return i;
	return FAB_NO_PORT;
}

static bool expect(struct words *w, const char *word)
{
	const char *next = words_next(w);

	return (next && strcmp(next, word) == 0) ||
	       words_refuse(w, "'%.40s' is not '%s': ROUTE NODE -> HOST via NODE...",
			    next ? next : "", word);
}

static bool read_route(struct words *w, struct fab_routes *r, const struct topology *t)
{
	unsigned long long node, host, via;
	uint32_t port[64];
	unsigned n = 0;

	if (!expect(w, "ROUTE") || !words_number(w, "a node", t->nodes, &node) || !expect(w, "->") ||
	    !words_number(w, "a host", t->nodes, &host) || !expect(w, "via"))
		return false;
	if (t->is_switch[host])
		return words_refuse(w, "node %llu is not a host", host);
	do {
		if (!words_number(w, "a node", t->nodes, &via))
			return false;
		if (n < 64)
			port[n] = fab_find_port(t, (unsigned)node, (unsigned)via);
		if (n == 64 || port[n] == FAB_NO_PORT)
			return words_refuse(w, "nodes %llu and %llu have no link", node, via);
		if (!t->is_switch[via] && via != host)
			return words_refuse(w, "node %llu is a host, which forwards nothing", via);
		n++;
	} while (words_more(w));
	r->table[node * r->hosts + r->host[host]] = find_set(r, (unsigned)node, port, n);
	return true;
}

bool fab_routes_read(struct fab_routes *r, const struct topology *t, const char *path, char *err,
		     size_t len)
{
	struct words w;
	bool ok = words_open(&w, path, err, len);

	while (ok && words_line(&w, NULL))
		ok = read_route(&w, r, t);
	ok = ok && !w.refused;
	words_close(&w);
	return ok;
}

void fab_routes_free(struct fab_routes *r)
{
	for (unsigned i = 1; i < r->sets; i++)
		free(r->set[i].port);
	free(r->host);
	free(r->node);
	free(r->sets_of);
	free(r->set);
	free(r->table);
	*r = (struct fab_routes){ 0 };
}

static uint32_t rotate(uint32_t x, unsigned by)
{
	return x << by | x >> (32 - by);
}

uint32_t fab_hash(const struct fab_key *key, uint32_t seed)
{
	const uint32_t word[] = { key->src, key->dst, key->ports };
	uint32_t h = seed;

	for (unsigned i = 0; i < 3; i++) {
		h ^= rotate(word[i] * 0xcc9e2d51u, 15) * 0x1b873593u;
		h = rotate(h, 13) * 5 + 0xe6546b64u;
	}
	h ^= sizeof(word);
	h = (h ^ h >> 16) * 0x85ebca6bu;
	h = (h ^ h >> 13) * 0xc2b2ae35u;
	return h ^ h >> 16;
}
