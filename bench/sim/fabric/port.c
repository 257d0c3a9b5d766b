/* SPDX-License-Identifier: BSD-2-Clause */
/* One direction of a link: queues by priority, the transmitter, the line, and pauses. */
#include <math.h>

#include "bench/sim/core/agent.h"
#include "bench/sim/core/memory.h"
#include "priv.h"

static void append(struct sim *s, struct queue *f, uint32_t packet)
{
	s->packet[packet].next = 0;
	if (f->first)
		s->packet[f->last].next = packet;
	else
		f->first = packet;
	f->last = packet;
}

/* -- lengths of the queue over time ---------------------------------------------------------- */

static unsigned level_of(uint64_t bytes)
{
	const unsigned top = 63u - (unsigned)__builtin_clzll(bytes | 8);

	return 8 * (top - 3) + (unsigned)(bytes >> (top - 3));
}

/* The middle of a level; exact below 16 bytes. */
static double level_bytes(unsigned level)
{
	const unsigned doublings = level < 16 ? 0 : level / 8 - 1;
	const double low = ldexp(level - 8.0 * doublings, (int)doublings);

	return doublings ? low + ldexp(0.5, (int)doublings) : low;
}

/* The bytes that wait times their time: each adds the time at which it leaves, less that at which
 * it came. */
enum { AREA_SHIFT = 10 };

static uint64_t area_since_0(const struct sim *s, uint32_t bytes)
{
	return (s->now >> AREA_SHIFT) * bytes;
}

static void warm_queue(const struct sim *s, struct queue *q, struct queue_stats *st)
{
	q->area = -area_since_0(s, q->waiting);
	q->max = q->waiting;
	st->drops = st->marks = 0;
}

static struct fab_queue_result finish_queue(const struct sim *s, const struct queue *q,
					    const struct queue_stats *st)
{
	const double whole = (double)(s->now - s->measured_from);
	const uint64_t area = q->area + area_since_0(s, q->waiting);

	return (struct fab_queue_result){
		.mean = whole > 0 ? ldexp((double)area, AREA_SHIFT) / whole : 0, .max = q->max,
		.drops = st->drops, .marks = st->marks,
	};
}

/* The time of an empty queue is not counted: it is the rest of the run. */
static void count_queue(const struct sim *s, struct port *p)
{
	if (p->bytes && s->now > p->changed) {
		const double ps = (double)(s->now - p->changed);

		if (!p->level)
			p->level = mem_zeroed(LEVELS, sizeof(*p->level));
		p->area += ps * p->bytes;
		p->level[level_of(p->bytes)] += ps;
	}
	p->changed = s->now;
}

static double percentile(const struct port *p, double whole, double q)
{
	double above = 0;

	for (unsigned i = LEVELS; p->level && i-- > 0;) {
		above += p->level[i];
		if (above > (1 - q) * whole)
			return fmin(level_bytes(i), (double)p->max_bytes);
	}
	return 0;
}

void port_warm(struct sim *s, uint32_t port)
{
	struct port *p = &s->port[port];
	struct port_stats *st = &s->stats[port];

	if (p->level)
		memset(p->level, 0, LEVELS * sizeof(*p->level));
	p->area = 0;
	for (unsigned q = 0; q < FAB_PRIORITIES; q++)
		warm_queue(s, &p->queue[q], &st->queue[q]);
	st->pauses = st->paused_ps = st->drops = st->marks = 0;
	st->paused_at = s->now;
	st->warm_tx = p->tx_bytes;
	p->max_bytes = p->bytes;
	p->changed = s->now;
}

void port_finish(struct sim *s, uint32_t port, struct fab_port_result *r)
{
	struct port *p = &s->port[port];
	struct port_stats *st = &s->stats[port];
	const double whole = (double)(s->now - s->measured_from);
	const uint64_t bytes = p->tx_bytes - st->warm_tx;

	count_queue(s, p);
	if (p->paused)
		st->paused_ps += s->now - st->paused_at;
	*r = (struct fab_port_result){
		.queue_mean = whole > 0 ? p->area / whole : 0,
		.queue_p50 = percentile(p, whole, 0.5), .queue_p95 = percentile(p, whole, 0.95),
		.queue_p99 = percentile(p, whole, 0.99),
		.queue_max = p->max_bytes, .pauses = st->pauses, .paused_ps = st->paused_ps,
		.drops = st->drops, .marks = st->marks, .bytes = bytes,
		.utilisation = whole > 0 ? (double)bytes * p->ps_per_byte / whole : 0,
	};
	for (unsigned q = 0; q < FAB_PRIORITIES; q++)
		r->queue[q] = finish_queue(s, &p->queue[q], &st->queue[q]);
	free(p->level);
}

/* -- sending --------------------------------------------------------------------------------- */

static void wait_until_free(struct sim *s, uint32_t port)
{
	struct port *p = &s->port[port];

	if (!p->due) {
		p->due = true;
		set_event(s, p->free_at, FREE, port);
	}
}

static void set_arrival(struct sim *s, uint32_t port, uint64_t at, uint32_t packet)
{
	event_queue_set(&s->events, at, port << KIND_BITS | ARRIVE, packet);
}

/* A line has a single event, for the first packet on it. */
static void put_on_line(struct sim *s, uint32_t port, uint64_t at, uint32_t packet)
{
	struct port *p = &s->port[port];
	struct packet *before = &s->packet[p->on_line];

	s->packet[packet].next = 0;
	if (p->on_line) {
		before->next = packet;
		before->next_at = at;
	} else {
		set_arrival(s, port, at, packet);
	}
	p->on_line = packet;
}

void port_arrived(struct sim *s, uint32_t port, uint32_t packet)
{
	const struct packet *k = &s->packet[packet];

	if (k->next) {
		set_arrival(s, port, k->next_at, k->next);
		__builtin_prefetch(&s->packet[k->next]); /* fetch() would be too late */
	} else {
		s->port[port].on_line = 0;
	}
}

void port_send(struct sim *s, uint32_t port, uint32_t packet)
{
	struct port *p = &s->port[port];
	const uint32_t len = s->packet[packet].len;

	p->free_at = s->now + after(s, p->ps_per_byte * len);
	p->tx_bytes += len;
	s->result->hops++;
	put_on_line(s, port, p->free_at + p->delay, packet);
}

static bool marked(struct sim *s, const struct port *p, unsigned q)
{
	const bool polled = s->conf->marking.poll_us > 0;
	struct port_stats *st;
	double queue;

	if (!s->conf->marking.always && !p->bytes && !polled) /* without a cache miss for the curve */
		return false;
	st = stats_of(s, p);
	queue = p->queue[q].waiting;
	if (polled)
		queue = ccs_polled_queue(&st->average[q], us_of(s->now), queue);
	return (s->conf->marking.always || queue > st->queue[q].red.kmin) &&
	       ccs_red_mark(&st->queue[q].red, queue, rng_unit(&s->random));
}

/* Marks and telemetry are of the queue that the packet leaves behind. False: it is to be dropped,
 * since it should be marked and cannot be. */
static bool stamp(struct sim *s, struct port *p, struct packet *k)
{
	if (p->marks & 1u << k->priority && marked(s, p, k->priority)) {
		if (!k->ect)
			return false;
		k->ce = true;
		stats_of(s, p)->marks++;
		stats_of(s, p)->queue[k->priority].marks++;
		s->result->marks++;
	}
	if (k->record) {
		struct record *r = &s->record[k->record];
		const uint64_t bytes = p->tx_bytes + (s->conf->wire.count_received ? p->bytes : 0);

		if (r->n < CCS_CC_MAX_HOPS)
			r->hop[r->n++] = (struct ccs_cc_hop){
				.ts_ns = s->now / 1000 + 1,
				.tx_bytes = bytes - bytes % s->conf->wire.tx_unit,
				.qlen_bytes = p->bytes - p->bytes % s->conf->wire.queue_unit,
				.capacity = 8e12 / p->ps_per_byte,
			};
	}
	return true;
}

void drop_packet(struct sim *s, uint32_t port, uint32_t packet, uint64_t *reason)
{
	const enum kind kind = (enum kind)s->packet[packet].kind;

	s->stats[port].drops += kind != PAUSE;
	s->stats[port].queue[s->packet[packet].priority].drops += kind != PAUSE;
	if (kind == DATA) {
		s->result->dropped++;
		++*reason;
	} else if (kind != PAUSE) {
		s->result->dropped_control++;
	}
	if (kind == HELLO)
		set_event(s, s->now + ps_of(AGENT_RETRY_US), ANNOUNCE, s->packet[packet].flow);
	free_packet(s, packet);
}

/* The first packet of a queue, which leaves the switch's buffer. */
static uint32_t take(struct sim *s, uint32_t port, unsigned q)
{
	struct port *p = &s->port[port];
	const uint32_t packet = p->queue[q].first;
	struct packet *k = &s->packet[packet];

	p->queue[q].first = k->next;
	__builtin_prefetch(&s->packet[k->next]);
	if (!k->next)
		p->ready &= (uint16_t)~(1u << q);
	if (q == CONTROL)
		return packet;
	count_queue(s, p);
	p->bytes -= k->len;
	p->queue[q].waiting -= k->len;
	p->queue[q].area += area_since_0(s, k->len);
	if (!p->of_host)
		switch_release(s, port, k);
	return packet;
}

void port_flush(struct sim *s, uint32_t port, unsigned q, uint64_t *reason)
{
	while (s->port[port].queue[q].first)
		drop_packet(s, port, take(s, port, q), reason);
}

/* False: it was dropped. */
static bool send_first(struct sim *s, uint32_t port, unsigned q)
{
	const uint32_t packet = take(s, port, q);

	if (!s->port[port].of_host && s->packet[packet].kind == DATA &&
	    !stamp(s, &s->port[port], &s->packet[packet])) {
		drop_packet(s, port, packet, &s->result->drops.red);
		return false;
	}
	port_send(s, port, packet);
	if (s->port[port].of_host && s->packet[packet].kind == DATA)
		host_sent(s, s->packet[packet].flow);
	return true;
}

/* Queues that have something and may send. */
static unsigned sendable(const struct port *p)
{
	return p->ready & ~(p->paused & ~p->ignored);
}

/* Returns QUEUES if there is not one. */
static unsigned next_queue(struct sim *s, uint32_t port)
{
	const struct port *p = &s->port[port];
	const unsigned ready = sendable(p);

	return !ready ? (unsigned)QUEUES
		: s->conf->queue && !p->of_host ? schedule(s, port, ready)
		: 31u - (unsigned)__builtin_clz(ready);
}

/* The transmitter is idle: the highest priority first. A host's flows come after its queues. */
void port_free(struct sim *s, uint32_t port)
{
	struct port *p = &s->port[port];
	unsigned q = next_queue(s, port);

	p->due = false;
	while (q < QUEUES && !send_first(s, port, q))
		q = next_queue(s, port);
	if (q == QUEUES && (!p->of_host || !host_send(s, port)))
		return;
	if (sendable(p) || p->flows)
		wait_until_free(s, port);
}

void port_kick(struct sim *s, uint32_t port)
{
	struct port *p = &s->port[port];

	if (p->due)
		return;
	if (p->free_at <= s->now)
		port_free(s, port);
	else
		wait_until_free(s, port);
}

void port_pass(struct sim *s, uint32_t port, uint32_t packet)
{
	struct port *p = &s->port[port];
	struct packet *k = &s->packet[packet];

	if (k->len > p->max_bytes)
		p->max_bytes = k->len;
	if (k->kind == DATA && !stamp(s, p, k))
		drop_packet(s, port, packet, &s->result->drops.red);
	else
		port_send(s, port, packet);
}

void port_put(struct sim *s, uint32_t port, uint32_t packet)
{
	struct port *p = &s->port[port];
	const struct packet *k = &s->packet[packet];
	const unsigned q = k->kind == PAUSE ? CONTROL : k->priority;

	if (p->down || p->storm & ~p->ignored & 1u << q) {
		if (q != CONTROL && !p->of_host)
			switch_release(s, port, k);
		drop_packet(s, port, packet,
			    p->down ? &s->result->drops.link : &s->result->drops.watchdog);
		return;
	}
	if (q != CONTROL) {
		struct queue *f = &p->queue[q];

		count_queue(s, p);
		p->bytes += k->len;
		f->waiting += k->len;
		f->area -= area_since_0(s, k->len);
		if (f->waiting > f->max)
			f->max = f->waiting;
		if (p->bytes > p->max_bytes)
			p->max_bytes = p->bytes;
	}
	append(s, &p->queue[q], packet);
	p->ready |= (uint16_t)(1u << q);
	if (sendable(p) & 1u << q)
		port_kick(s, port);
}

void port_pause(struct sim *s, uint32_t port, unsigned priority, bool xoff)
{
	struct port *p = &s->port[port];
	struct port_stats *st = &s->stats[port];

	if (xoff) {
		st->pauses++;
		if (!p->paused)
			st->paused_at = s->now;
		p->paused |= (uint16_t)(1u << priority);
		return;
	}
	p->paused &= (uint16_t)~(1u << priority);
	if (!p->paused)
		st->paused_ps += s->now - st->paused_at;
	port_kick(s, port);
}
