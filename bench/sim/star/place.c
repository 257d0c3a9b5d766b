/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The network: a switch with a link to each host. Senders are the first hosts; in an incast
 * receivers follow. The victim's host is the last. A packet reaches its host at the end of its
 * transmission; the host adds the delay of the line.
 */
#include <math.h>
#include <stdlib.h>

#include "bench/sim/core/memory.h"
#include "priv.h"

enum { DOWN = 1 };               /* lowest bit of a switch's port; of a host's port it is 0 */

static void count_hosts(struct star *s)
{
	const struct sim_conf *c = s->conf;

	s->total = c->flows + c->guests.n + c->rivals;
	s->sources = c->hosts ? c->hosts : s->total;
	s->ports = c->pattern != SIM_INCAST ? s->sources : c->ports ? c->ports : 1;
	s->hosts = 1 + s->sources + (c->pattern == SIM_INCAST ? s->ports : 0);
}

static unsigned step(const struct star *s, unsigned flow)
{
	const unsigned n = s->sources;

	switch (s->conf->pattern) {
	case SIM_PERMUTATION: return n / 2;
	case SIM_ALL_TO_ALL: return 1 + flow / n % (n - 1);
	default: return 1;
	}
}

/* The hosts at the ends of a flow's data. */
static unsigned sender(const struct star *s, unsigned flow)
{
	return flow == s->total ? s->hosts - 1 : flow % s->sources;
}

static unsigned receiver(const struct star *s, unsigned flow)
{
	const bool incast = s->conf->pattern == SIM_INCAST, victim = flow == s->total;

	if (incast)
		return s->sources + (victim ? 0 : flow % s->ports);
	return victim ? 0 : (sender(s, flow) + step(s, flow)) % s->sources;
}

/* A longer distance is on the sender's link. */
static double delay_us(const struct star *s, unsigned host)
{
	const struct sim_conf *c = s->conf;
	const bool far = c->far_us > 0 && host % 2 && host < s->sources;

	return (far ? c->far_us : c->base_us) / 2 - c->base_us / 4;
}

static void build_topology(const struct star *s, struct topology *t)
{
	if (!topology_allocate(t, s->hosts + 1, s->hosts))
		mem_checked(NULL);
	t->is_switch[s->hosts] = true;
	for (unsigned i = 0; i < s->hosts; i++)
		t->link[i] = (struct topology_link){ i, s->hosts, star_nic_rate(s), delay_us(s, i) };
}

static void place(struct star *s, unsigned i)
{
	struct star_flow *f = &s->flow[i];
	const struct flow *placed = &s->net.flow[i];

	f->index = i;
	f->nic = placed->port;
	f->back_nic = placed->port_back;
	f->to = &s->port[placed->dst - (s->conf->pattern == SIM_INCAST ? s->sources : 0)];
	f->wire = s->net.port[f->nic].delay;
	f->back = f->wire + s->wire2;
}

static void set_ports(struct star *s)
{
	const unsigned first = s->conf->pattern == SIM_INCAST ? s->sources : 0;

	s->port = mem_zeroed(s->ports, sizeof(*s->port));
	s->received = mem_zeroed(s->net.ports, sizeof(*s->received));
	for (unsigned i = 0; i < s->ports; i++) {
		s->port[i].port = &s->net.port[2 * (first + i) + DOWN];
		s->port[i].port->ps_per_byte = 8e12 / s->conf->rate;
	}
}

void star_build(struct star *s)
{
	struct network *n = s->network = mem_zeroed(1, sizeof(*n));
	struct fab_flow_spec *spec;
	char err[1];

	count_hosts(s);
	build_topology(s, &n->topology);
	fab_routes_init(&n->routes, &n->topology);
	fab_routes_compute(&n->routes, &n->topology, NULL);
	spec = n->flows.flow = mem_zeroed(s->total + 1, sizeof(*spec));
	n->flows.n = s->total + 1;
	for (unsigned i = 0; i <= s->total; i++)
		spec[i] = (struct fab_flow_spec){ .src = sender(s, i), .dst = receiver(s, i), .size = 1,
						  .id = i };
	n->conf = (struct fab_conf){
		.topology = &n->topology, .routes = &n->routes, .flows = &n->flows, .spec = &s->spec,
		.wire = { .payload = 1, .tx_unit = 1, .queue_unit = 1 }, .buffer.bytes = INFINITY,
		.marking = { .red = s->conf->red, .always = true }, .ttl = FAB_TTL,
		.end = star_ps(s->conf->end_us),
	};
	network_init(&s->net, &n->conf, &n->result, err, sizeof(err));
	s->net.handler = star_handler;
	s->net.line = star_line;
	set_ports(s);
	s->flow = mem_zeroed(s->total + 1, sizeof(*s->flow));
	for (unsigned i = 0; i <= s->total; i++)
		place(s, i);
}

void star_demolish(struct star *s)
{
	struct network *n = s->network;

	network_finish(&s->net);
	fab_result_free(&n->result);
	fab_routes_free(&n->routes);
	topology_free(&n->topology);
	free(n->flows.flow);
	free(n);
	free(s->port);
	free(s->received);
	free(s->flow);
	free(s->call);
}
