/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The scenario as a configuration of a network: a switch with a link to each host. Senders are the
 * first hosts; in an incast receivers follow. The victim's host is the last.
 */
#include <math.h>

#include "bench/sim/core/memory.h"
#include "priv.h"

enum {
	READS = 16,              /* default of rdma_cm and ccbench */
	QUEUE = 2048,
	LEAST_ENTRIES = 15,      /* a device's queue has more (preload/datapath/qp.c) */
	WRITE_SEGMENTS = 64,
	MESSAGE = 1 << 20,       /* of an application without control */
};

#define RTO_US 4000.0            /* default */

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

/* Links of hosts are even, and the ports from the switch are odd. */
struct port *star_port(const struct star *s, unsigned i)
{
	return &s->net.port[2 * (i + (s->conf->pattern == SIM_INCAST ? s->sources : 0)) + 1];
}

/* A longer distance is on the sender's link. */
static double delay_us(const struct star *s, unsigned host)
{
	const struct sim_conf *c = s->conf;
	const bool far = c->far_us > 0 && host % 2 && host < s->sources;

	return (far ? c->far_us : c->base_us) / 2 - c->base_us / 4;
}

static void build_topology(struct star *s)
{
	struct topology *t = &s->topology;

	if (!topology_allocate(t, s->hosts + 1, s->hosts))
		mem_checked(NULL);
	t->is_switch[s->hosts] = true;
	for (unsigned i = 0; i < s->hosts; i++)
		t->link[i] = (struct topology_link){ i, s->hosts, star_nic_rate(s->conf), delay_us(s, i) };
	fab_routes_init(&s->routes, t);
	fab_routes_compute(&s->routes, t, NULL);
}

/* -- flows ----------------------------------------------------------------------------------- */

/* The messages that an application without control has outstanding: 1 MB. */
static unsigned depth(const struct sim_conf *c, uint64_t message)
{
	const unsigned reads = c->net.layer.reads ? c->net.layer.reads : READS;
	const unsigned of_1mb = (unsigned)(MESSAGE / message);
	const unsigned n = c->depth ? c->depth : of_1mb < 2 ? 2 : of_1mb > 128 ? 128 : of_1mb;

	return c->op == FAB_READ && n > reads ? reads : n;
}

static void add_flow(struct star *s, unsigned i, double start_us)
{
	const struct sim_conf *c = s->conf;
	const bool plain = i >= c->flows + c->guests.n || c->driver == SIM_PLAIN;
	const uint64_t message = c->message ? c->message
			       : plain ? MESSAGE : (uint64_t)WRITE_SEGMENTS * c->net.layer.segment;

	s->flow[i] = (struct star_flow){
		.stays = i < c->flows, .apart = i >= c->flows + c->guests.n, .start = ps_of(start_us),
	};
	fab_flows_add(&s->flows, (struct fab_flow_spec){
		.src = sender(s, i), .dst = receiver(s, i), .size = 1ull << 62,
		.start = ps_of(start_us), .verb = c->op, .message = message,
		.depth = plain ? depth(c, message) : 0,
		.max_rate = i < c->limited.flows ? c->limited.rate : 0,
		.first_rate = !i && c->first_rate > 0 ? c->first_rate : c->start_rate,
	});
}

/* Writes of 64 bytes, one after the other, from a separate host. */
static void add_victim(struct star *s)
{
	const unsigned i = s->total;

	s->flow[i].apart = true;
	fab_flows_add(&s->flows, (struct fab_flow_spec){
		.src = sender(s, i), .dst = receiver(s, i), .size = 1ull << 62, .message = 64, .depth = 1,
		.start = s->conf->victim ? 0 : UINT64_MAX, .unmeasured = true,
	});
}

static void add_flows(struct star *s)
{
	const struct sim_conf *c = s->conf;
	struct rng random = rng_of(s->network.seed, 1);

	s->flow = mem_zeroed(s->total + 1, sizeof(*s->flow));
	for (unsigned i = 0; i < s->total; i++) {
		const bool guest = i >= c->flows && i < c->flows + c->guests.n;

		add_flow(s, i, c->start_spread_us * rng_unit(&random) + (guest ? c->guests.join_us : 0));
	}
	add_victim(s);
	fab_flows_sort(&s->flows);
}

/* -- the configuration ----------------------------------------------------------------------- */

static void set_layer(const struct star *s, struct fab_layer *l)
{
	const unsigned entries = l->entries && l->entries < QUEUE ? l->entries : QUEUE;

	l->flows = (s->total + s->sources - 1) / s->sources;
	l->reads = l->reads ? l->reads : READS;
	l->waiting = 2;
	l->entries = entries;
	l->device_entries = entries < LEAST_ENTRIES ? LEAST_ENTRIES : entries;
	l->outstanding = s->conf->depth && s->conf->depth < entries ? s->conf->depth : entries;
}

/* Acknowledgements without length overtake data. CNPs and agents' messages do in any case. */
static void set_packets(const struct star *s, struct fab_conf *n)
{
	const uint32_t segment = n->layer.segment, message = s->conf->message;
	const uint32_t longest = segment > message ? segment : message;

	n->wire = (struct fab_wire){
		.payload = n->wire.payload ? n->wire.payload : longest ? longest : MESSAGE,
		.ack = n->wire.ack, .cnp = n->wire.ack, .tx_unit = 1, .queue_unit = 1,
	};
	n->ack_priority = n->wire.ack ? 0 : 1;
	n->cnp_priority = 1;
}

void star_place(struct star *s, uint64_t seed)
{
	const struct sim_conf *c = s->conf;
	struct fab_conf *n = &s->network;

	*n = c->net;
	n->seed = seed;
	count_hosts(s);
	build_topology(s);
	add_flows(s);
	n->topology = &s->topology;
	n->routes = &s->routes;
	n->flows = &s->flows;
	n->spec = &s->spec;
	n->shim = c->driver == SIM_SHIM;
	n->agents.present |= n->agents.record_us > 0;
	n->agents.of_switch = c->telemetry == SIM_INT;
	n->host.whole_segments = true;
	n->host.depth = n->host.depth ? n->host.depth : 1;
	n->host.echo = c->telemetry == SIM_ECHO && !n->agents.present;
	set_layer(s, &n->layer);
	set_packets(s, n);
	n->buffer.bytes = INFINITY;
	n->marking.always = true;
	n->ttl = FAB_TTL;
	n->rto_us = !n->limit && !(n->loss > 0) ? 0 : n->rto_us > 0 ? n->rto_us : RTO_US;
	if (c->driver != SIM_SHIM && !(n->base_rtt_us > 0))
		n->base_rtt_us = c->base_us;
	n->warm = ps_of(c->warm_us);
	n->end = ps_of(c->end_us);
}
