/* SPDX-License-Identifier: BSD-2-Clause */
/* The simulator from start to end. */
#include <math.h>
#include <stdlib.h>

#include "bench/sim/core/memory.h"
#include "priv.h"

enum { PROGRESS_EVENTS = 1 << 21 };

/* What the next event needs is fetched into the cache while the one before it is handled: its port,
 * the port's queues or the packet, and the path that the packet names. */
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
		__builtin_prefetch(&s->port[number].queue[s->conf->lossless]);
		__builtin_prefetch(&s->port[number].changed);
	}
}

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

static bool init(struct sim *s, const struct fab_conf *conf, struct fab_result *r, char *err,
		 size_t len)
{
	const unsigned flows = conf->flows->n;
	bool ok;

	*s = (struct sim){ .conf = conf, .result = r, .random = rng_of(conf->seed, 0),
			   .ports = 2 * conf->topology->links };
	*r = (struct fab_result){
		.flow = mem_zeroed(flows, sizeof(*r->flow)),
		.port = mem_zeroed(s->ports, sizeof(*r->port)),
		.first_pause = NEVER,
		.begin = flows ? conf->flows->flow[0].start : 0,
	};
	for (unsigned i = 0; i < flows; i++)
		r->flow[i].fct = NEVER;
	s->port = mem_lines(s->ports, sizeof(*s->port));
	s->stats = mem_zeroed(s->ports, sizeof(*s->stats));
	for (uint32_t i = 0; i < s->ports; i++) {
		init_port(s, i);
		s->slowest = s->port[i].ps_per_byte > s->slowest ? s->port[i].ps_per_byte : s->slowest;
	}
	ok = switch_init(s, err, len);
	changes_init(s);
	place_flows(s);
	order_init(s);
	agents_init(s);
	watch_init(s);
	series_init(s);
	s->measured_from = r->begin;
	s->delays = conf->delays ? mem_zeroed(1, sizeof(*s->delays)) : NULL;
	r->delays = s->delays;
	if (conf->warm)
		set_event(s, r->begin + conf->warm, WARM, 0);
	if (flows)
		set_event(s, r->begin, START, 0);
	return ok;
}

/* Flows are in the order of their starts: one event is set at a time. group: its next operation
 * begins; 0: flows do. */
static void start_flows(struct sim *s, uint32_t group)
{
	const struct fab_flows *flows = s->conf->flows;

	if (group) {
		order_resume(s, group);
		return;
	}
	while (s->started < flows->n && flows->flow[s->started].start <= s->now) {
		if (s->flow[s->started].port != FAB_NO_PORT)
			flow_start(s, &s->flow[s->started]);
		s->started++;
	}
	if (s->started < flows->n)
		set_event(s, flows->flow[s->started].start, START, 0);
}

/* A PAUSE frame takes effect at the port that it names. */
static void pause(struct sim *s, uint32_t packet)
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
			set_event(s, s->now + ps_of(s->conf->buffer.t0_us),
			       PAUSED, packet);
		else
			pause(s, packet);
	} else if (s->port[port].to_host) {
		host_receive(s, port, packet);
	} else {
		switch_receive(s, port, packet);
	}
}

static void warm(struct sim *s, uint32_t number)
{
	(void)number;
	for (uint32_t i = 0; i < s->ports; i++)
		port_warm(s, i);
	if (s->delays)
		*s->delays = (struct ccs_hist){ 0 };
	s->measured_from = s->now;
}

static void (*const handler[])(struct sim *s, uint32_t number) = {
	[FREE] = port_free, [DUE] = flow_due, [TIMER] = flow_timer, [TIMEOUT] = flow_timeout,
	[START] = start_flows, [CHANGE] = changes_apply, [WATCH] = watch, [RECORD] = agent_read,
	[SAMPLE] = series_sample, [WARM] = warm, [PAUSED] = pause, [SHAPED] = port_kick,
	[CREDITS] = credits_give, [CUT] = cut_check, [HELD] = host_held,
};

static void fire(struct sim *s, const struct queued_event *e)
{
	const uint32_t number = e->what >> KIND_BITS;

	if (event_is_arrival(e))
		arrive(s, number, e->with);
	else
		handler[e->what & ((1u << KIND_BITS) - 1)](s, number);
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
static void finish_network(struct sim *s)
{
	struct queued_event e;
	uint32_t ahead;

	for (uint32_t i = 0; i < s->ports; i++)
		for (unsigned q = 0; q < QUEUES; q++)
			s->result->under_way += count_data(s, s->port[i].queue[q].first);
	while (event_queue_next(&s->events, &e, &ahead))
		count_under_way(s, &e);
}

static void finish_flow(struct sim *s, struct flow *f)
{
	struct fab_flow_result *r = &s->result->flow[f->spec->id];

	s->result->acked += f->snd_una;
	r->acked = f->snd_una;
	r->rtt_us = f->acks ? (double)f->rtt_sum / (double)f->acks / FAB_PS_PER_US : NAN;
	if (f->control)
		flow_stop(f);
	fab_ranges_free(&f->have);
	fab_ranges_free(&f->sacked);
}

static void finish(struct sim *s)
{
	s->result->end = s->now;
	finish_network(s);
	for (uint32_t i = 0; i < s->ports; i++)
		port_finish(s, i, &s->result->port[i]);
	order_finish(s);
	for (unsigned i = 0; i < s->conf->flows->n; i++)
		finish_flow(s, &s->flow[i]);
	agents_free(s);
	order_free(s);
	credits_free(s);
	changes_free(s);
	event_queue_free(&s->events);
	free(s->port);
	free(s->stats);
	free(s->flow);
	free(s->packet);
	free(s->record);
	switch_free(s);
}

bool fab_run(const struct fab_conf *conf, struct fab_result *result, char *err, size_t len)
{
	struct sim s;
	struct queued_event e;
	uint32_t ahead;
	const bool ok = init(&s, conf, result, err, len);

	while (ok && !s.over && result->done < conf->flows->n &&
	       event_queue_next(&s.events, &e, &ahead)) {
		if (e.at > conf->end) {
			count_under_way(&s, &e);
			break;
		}
		fetch(&s, ahead);
		s.now = e.at;
		fire(&s, &e);
		if (++result->events % PROGRESS_EVENTS == 0 && conf->progress)
			conf->progress(s.now, result->done, conf->flows->n);
	}
	finish(&s);
	if (!ok)
		fab_result_free(result);
	return ok;
}

void fab_result_free(struct fab_result *result)
{
	free(result->flow);
	free(result->port);
	free(result->series.queue);
	free(result->operation);
	free(result->delays);
}
