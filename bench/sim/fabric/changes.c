/* SPDX-License-Identifier: BSD-2-Clause */
/* Links that fail and come back, and switches that get new tables after that, each at its time. */
#include <stdlib.h>

#include "bench/sim/core/memory.h"
#include "priv.h"

static void set_next(struct sim *s)
{
	if (s->changes < s->conf->changes)
		set_event(s, s->conf->change[s->changes].at, CHANGE, 0);
}

void changes_init(struct sim *s)
{
	const struct topology *t = s->conf->topology;

	s->routes = mem_zeroed(t->nodes, sizeof(*s->routes));
	for (unsigned i = 0; i < t->nodes; i++)
		s->routes[i] = s->conf->routes;
	s->path = mem_lines(PATHS, sizeof(*s->path));
	s->failed = mem_zeroed(t->links, sizeof(*s->failed));
	s->converged = mem_zeroed(s->conf->changes, sizeof(*s->converged));
	set_next(s);
}

/* Packets that wait for a failed link are lost, as are packets on it. */
static void fail(struct sim *s, uint32_t port)
{
	for (unsigned q = 0; q < QUEUES; q++)
		port_flush(s, port, q, &s->result->drops.link);
	s->port[port].down = true;
	s->port[port].paused = 0;
}

static void restore(struct sim *s, uint32_t port)
{
	s->port[port].down = false;
	port_kick(s, port);
}

/* A table for each set of failures, which switches that have converged share. */
static const struct fab_routes *tables(struct sim *s)
{
	struct fab_routes *r = &s->converged[s->convergences];

	if (!r->nodes) {
		fab_routes_init(r, s->conf->topology);
		fab_routes_compute(r, s->conf->topology, s->failed);
	}
	return r;
}

static void converge(struct sim *s, unsigned node)
{
	const struct fab_routes *r = tables(s);

	for (unsigned i = 0; i < s->conf->topology->nodes; i++)
		if (node == FAB_ALL_NODES || node == i)
			s->routes[i] = r;
	memset(s->path, 0, PATHS * sizeof(*s->path));
}

static void apply(struct sim *s, const struct fab_change *c)
{
	if (c->kind == FAB_CONVERGE) {
		converge(s, c->number);
		return;
	}
	if (s->converged[s->convergences].nodes)
		s->convergences++;
	s->failed[c->number] = c->kind == FAB_FAIL;
	for (uint32_t port = 2 * c->number; port <= 2 * c->number + 1; port++)
		(c->kind == FAB_FAIL ? fail : restore)(s, port);
	for (uint32_t port = 2 * c->number; c->kind != FAB_FAIL && port <= 2 * c->number + 1; port++)
		switch_restore(s, port);
}

void changes_apply(struct sim *s, uint32_t number)
{
	(void)number;
	while (s->changes < s->conf->changes && s->conf->change[s->changes].at <= s->now)
		apply(s, &s->conf->change[s->changes++]);
	set_next(s);
}

void changes_free(struct sim *s)
{
	for (unsigned i = 0; i < s->conf->changes; i++)
		fab_routes_free(&s->converged[i]);
	free(s->converged);
	free(s->failed);
	free(s->routes);
	free(s->path);
}
