/* SPDX-License-Identifier: BSD-2-Clause */
/* The network: ports, the packets between them, and the loop over events. */
#include <math.h>
#include <stdlib.h>

#include "bench/sim/core/memory.h"
#include "priv.h"

enum { PROGRESS_EVENTS = 1 << 21 };

static double scaled(double threshold, double rate, double of)
{
	return of > 0 ? threshold * rate / of : threshold;
}

static void init_marks(struct sim *s, uint32_t port, unsigned q)
{
	const struct fab_conf *c = s->conf;
	const struct fab_marking *m = c->priority_marking[q] ? c->priority_marking[q] : &c->marking;
	const double rate = 8e12 / s->port[port].ps_per_byte;

	s->stats[port].queue[q].red = (struct ccs_red){
		scaled(m->red.kmin, rate, m->rate), scaled(m->red.kmax, rate, m->rate), m->red.pmax,
	};
	s->stats[port].average[q] = (struct ccs_polled_queue){
		.interval_us = c->marking.poll_us, .weight = c->marking.weight,
	};
	s->port[port].marks |= (uint8_t)((m->red.pmax > 0) << q);
}

static void init_port(struct sim *s, uint32_t i)
{
	const struct fab_conf *c = s->conf;
	const struct topology_link *l = &c->topology->link[i / 2];

	s->port[i] = (struct port){
		.delay = (uint64_t)llround(l->delay_us * FAB_PS_PER_US),
		.ps_per_byte = 8e12 / l->rate_bps,
		.node = fab_port_node(c->topology, i), .peer = fab_port_peer(c->topology, i),
	};
	for (unsigned q = 0; q < FAB_PRIORITIES; q++)
		init_marks(s, i, q);
	s->port[i].of_host = !c->topology->is_switch[s->port[i].node];
	s->port[i].to_host = !c->topology->is_switch[s->port[i].peer];
}

bool network_init(struct sim *s, const struct fab_conf *conf, struct fab_result *r, char *err,
		  size_t len)
{
	bool ok;

	*s = (struct sim){ .conf = conf, .result = r, .random = rng_of(conf->seed, 0),
			   .ports = 2 * conf->topology->links };
	*r = (struct fab_result){
		.flow = mem_zeroed(conf->flows->n, sizeof(*r->flow)),
		.port = mem_zeroed(s->ports, sizeof(*r->port)),
		.first_pause = NEVER,
	};
	s->port = mem_lines(s->ports, sizeof(*s->port));
	s->stats = mem_zeroed(s->ports, sizeof(*s->stats));
	for (uint32_t i = 0; i < s->ports; i++) {
		init_port(s, i);
		s->slowest = s->port[i].ps_per_byte > s->slowest ? s->port[i].ps_per_byte : s->slowest;
	}
	ok = switch_init(s, err, len);
	changes_init(s);
	place_flows(s);
	return ok;
}

/* A PAUSE frame takes effect at the port that it names. */
void network_pause(struct sim *s, uint32_t packet)
{
	const struct packet k = s->packet[packet];

	free_packet(s, packet);
	port_pause(s, k.port, k.priority, k.ce);
}

static void arrive(struct sim *s, uint32_t port, uint32_t packet)
{
	const struct packet *k = &s->packet[packet];

	port_arrived(s, port, packet);
	if (s->port[port].down) {
		drop_packet(s, port, packet, &s->result->drops.link);
	} else if (k->kind == PAUSE) {
		s->packet[packet].port = port ^ 1;
		if (s->conf->buffer.t0_us > 0)
			set_event(s, s->now + ps_of(s->conf->buffer.t0_us), PAUSED, packet);
		else
			network_pause(s, packet);
	} else if (s->port[port].to_host) {
		host_receive(s, port, packet);
	} else {
		switch_receive(s, port, packet);
	}
}

/* Fetch the memory of the next event into the cache while the current event is handled: its port,
 * the port's queues or the packet, and the path of the packet. */
static void fetch(const struct sim *s, uint32_t event)
{
	const struct queued_event *e = &s->events.pool[event];
	const uint32_t number = e->what >> KIND_BITS;

	if (!event)
		return;
	if (event_is_arrival(e)) {
		__builtin_prefetch(&s->port[number]);
		__builtin_prefetch(path_of(s, &s->packet[e->with]));
	} else if ((e->what & ((1u << KIND_BITS) - 1)) == FREE) {
		__builtin_prefetch(&s->port[number]);
		__builtin_prefetch(&s->port[number].queue[__builtin_ctz(s->conf->lossless | 1u << (QUEUES - 1))]);
		__builtin_prefetch(&s->port[number].changed);
	}
}

static void fire(struct sim *s, const struct queued_event *e)
{
	const uint32_t number = e->what >> KIND_BITS;

	if (event_is_arrival(e))
		arrive(s, number, e->with);
	else
		s->handler[e->what & ((1u << KIND_BITS) - 1)](s, number);
}

/* The data packets of a queue or a line, beginning with this packet. */
static uint64_t count_data(const struct sim *s, uint32_t packet)
{
	uint64_t n = 0;

	for (; packet; packet = s->packet[packet].next)
		n += s->packet[packet].kind == DATA;
	return n;
}

static void count_under_way(struct sim *s, const struct queued_event *e)
{
	if (event_is_arrival(e))
		s->result->under_way += count_data(s, e->with);
}

/* Count packets that were neither received nor dropped. */
static void count_all_under_way(struct sim *s)
{
	struct queued_event e;
	uint32_t ahead;

	for (uint32_t i = 0; i < s->ports; i++)
		for (unsigned q = 0; q < QUEUES; q++)
			s->result->under_way += count_data(s, s->port[i].queue[q].first);
	while (event_queue_next(&s->events, &e, &ahead))
		count_under_way(s, &e);
}

void network_run(struct sim *s)
{
	struct fab_result *r = s->result;
	struct queued_event e;
	uint32_t ahead;

	while (!s->over && r->done < s->conf->flows->n &&
	       event_queue_next(&s->events, &e, &ahead)) {
		if (e.at > s->conf->end) {
			count_under_way(s, &e);
			break;
		}
		fetch(s, ahead);
		s->now = e.at;
		fire(s, &e);
		if (++r->events % PROGRESS_EVENTS == 0 && s->conf->progress)
			s->conf->progress(s->now, r->done, s->conf->flows->n);
	}
}

void network_finish(struct sim *s)
{
	count_all_under_way(s);
	for (uint32_t i = 0; i < s->ports; i++)
		port_finish(s, i, &s->result->port[i]);
	changes_free(s);
	event_queue_free(&s->events);
	free(s->port);
	free(s->stats);
	free(s->flow);
	free(s->packet);
	free(s->record);
	switch_free(s);
}
