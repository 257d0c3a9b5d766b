/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Deadlocks. A paused port waits for its peer's buffer, which waits for the peer's ports that queue the
 * paused port's packets. Where all of these are paused and wait in turn, no
 * packet will ever move. The queues themselves are searched, so this is exact; the watchdog
 * of switches knows only how long a port is paused.
 */
#include <stdlib.h>

#include "bench/sim/core/memory.h"
#include "priv.h"

#define WATCH_PS 10000000ull /* 10 us */

void watch_init(struct sim *s)
{
	s->result->deadlock_at = NEVER;
	if (s->has_mmu && s->conf->buffer.pfc)
		set_event(s, s->result->begin + WATCH_PS, WATCH, 0);
}

static bool waits(const struct sim *s, uint32_t port, unsigned q)
{
	const struct port *p = &s->port[port];

	return !p->of_host && p->queue[q].first && (p->paused & ~p->ignored & 1u << q);
}

/* A port that may send frees all whose packets it has: they are not stuck. Queues may be long, so
 * the search ends with the last stuck port that waits for this switch, of which there are n. */
static unsigned release_origins(const struct sim *s, uint32_t port, unsigned q, bool *stuck,
				unsigned n)
{
	unsigned released = 0;

	for (uint32_t i = s->port[port].queue[q].first; i && released < n; i = s->packet[i].next) {
		const uint32_t origin = s->packet[i].port;

		released += stuck[origin];
		stuck[origin] = false;
	}
	return released;
}

/* A round over the ports that may send. Returns the number of ports that they free. */
static unsigned release(const struct sim *s, unsigned q, bool *stuck, bool *moves,
			unsigned *stuck_at)
{
	unsigned all = 0;

	for (uint32_t i = 0; i < s->ports; i++) {
		const uint32_t node = s->port[i].node;

		if (!stuck[i] && !moves[i]) {
			const unsigned released = release_origins(s, i, q, stuck, stuck_at[node]);

			moves[i] = true;
			stuck_at[node] -= released;
			all += released;
		}
	}
	return all;
}

/* Ports of switches that have not sent lately, and whose queue of this priority no event can free
 * any more. */
static unsigned count_stuck(const struct sim *s, unsigned q)
{
	bool *stuck = mem_zeroed(s->ports, sizeof(*stuck));
	bool *moves = mem_zeroed(s->ports, sizeof(*moves));
	unsigned *stuck_at = mem_zeroed(s->conf->topology->nodes, sizeof(*stuck_at));
	unsigned n = 0, released = 1;

	for (uint32_t i = 0; i < s->ports; i++) {
		stuck[i] = waits(s, i, q) && s->stats[i].watched_tx == s->port[i].tx_bytes;
		stuck_at[s->port[i].peer] += stuck[i];
		n += stuck[i];
	}
	while (released && n) {
		released = release(s, q, stuck, moves, stuck_at);
		n -= released;
	}
	free(stuck);
	free(moves);
	free(stuck_at);
	return n;
}

/* As in SONiC: a queue that is paused without a break acts as if it were in a storm of PAUSE frames,
 * and is restored when these have stopped for some time. */
static void watchdog(struct sim *s, uint32_t port, unsigned q)
{
	const struct fab_watchdog *w = &s->conf->watchdog;
	struct port *p = &s->port[port];
	uint64_t *watched_at = &s->stats[port].queue[q].watched_at;
	const uint8_t bit = (uint8_t)(1u << q);

	if (p->storm & bit) {
		if (p->paused & bit)
			*watched_at = s->now;
		else if (s->now >= *watched_at + ps_of(w->restore_us))
			p->storm &= (uint8_t)~bit, p->ignored &= (uint8_t)~bit;
	} else if (!(p->paused & bit) || !p->queue[q].first) {
		*watched_at = s->now;
	} else if (s->now >= *watched_at + ps_of(w->detect_us)) {
		p->storm |= bit;
		p->ignored |= w->forward ? bit : 0;
		s->result->storms++;
		if (w->forward)
			port_kick(s, port);
		else
			port_flush(s, port, q, &s->result->drops.watchdog);
	}
}

/* No packet can move any more: a deadlock without a watchdog. */
static bool stands_still(struct sim *s)
{
	const double slowest = s->slowest * UINT16_MAX, rto = s->conf->rto_us * FAB_PS_PER_US;

	if (s->result->hops != s->watched.hops || !s->result->deadlocked ||
	    s->started < s->conf->flows->n || s->changes < s->conf->changes) {
		s->watched.hops = s->result->hops;
		s->watched.moved_at = s->now;
	}
	return (double)(s->now - s->watched.moved_at) > 10 * (slowest + rto + (double)WATCH_PS);
}

static void watch_priority(struct sim *s, unsigned q)
{
	unsigned waiting = 0;

	for (uint32_t i = 0; i < s->ports; i++) {
		waiting += waits(s, i, q) && s->stats[i].watched_tx == s->port[i].tx_bytes;
		if (s->conf->watchdog.detect_us > 0 && !s->port[i].of_host)
			watchdog(s, i, q);
	}
	s->result->deadlocked += waiting > 1 ? count_stuck(s, q) : 0;
}

void watch(struct sim *s, uint32_t number)
{
	(void)number;
	s->result->deadlocked = 0;
	for (unsigned q = 0; q < FAB_PRIORITIES; q++)
		if (is_lossless(s, q))
			watch_priority(s, q);
	for (uint32_t i = 0; i < s->ports; i++)
		s->stats[i].watched_tx = s->port[i].tx_bytes;
	if (s->result->deadlocked && s->result->deadlock_at == NEVER)
		s->result->deadlock_at = s->now;
	if (stands_still(s))
		s->over = true;
	set_event(s, s->now + WATCH_PS, WATCH, 0);
}
