/* SPDX-License-Identifier: BSD-2-Clause */
/* Queues with weights and caps: strict priorities, then deficit round robin (Shreedhar and Varghese,
 * Efficient Fair Queueing using Deficit Round Robin). */
#include "priv.h"

enum { QUANTUM = 16384 }; /* bytes per turn and unit of weight; at least the longest packet */

static bool is_capped(const struct sim *s, unsigned q)
{
	return q < CONTROL && s->conf->queue[q].cap > 0;
}

/* Those whose cap allows a packet now; the port is kicked when the first of the others may. */
static unsigned allowed(struct sim *s, uint32_t port, unsigned ready)
{
	const uint64_t *shaped = s->stats[port].shaped;
	uint64_t next = NEVER;

	for (unsigned q = 0; q < CONTROL; q++)
		if (ready & 1u << q && is_capped(s, q) && shaped[q] > s->now) {
			ready &= ~(1u << q);
			next = shaped[q] < next ? shaped[q] : next;
		}
	if (!ready && next != NEVER)
		set_event(s, next, SHAPED, port);
	return ready;
}

static unsigned weighted(const struct sim *s)
{
	unsigned mask = 0;

	for (unsigned q = 0; q < CONTROL; q++)
		mask |= s->conf->queue[q].weight > 0 ? 1u << q : 0;
	return mask;
}

/* A queue sends what its deficit allows, and gets more when its turn comes again. */
static unsigned round_robin(struct sim *s, uint32_t port, unsigned ready)
{
	struct port_stats *st = &s->stats[port];

	for (;;) {
		const unsigned q = st->turn;
		const uint32_t first = s->port[port].queue[q].first;

		if (!(ready & 1u << q)) {
			st->deficit[q] = 0;
		} else if (st->deficit[q] >= s->packet[first].len) {
			st->deficit[q] -= s->packet[first].len;
			return q;
		}
		st->turn = (q + 1) % CONTROL;
		st->deficit[st->turn] += QUANTUM * s->conf->queue[st->turn].weight;
	}
}

/* The time that a packet takes at the cap is added to the queue's. */
static void charge(struct sim *s, uint32_t port, unsigned q)
{
	uint64_t *shaped = &s->stats[port].shaped[q];
	const uint32_t len = s->packet[s->port[port].queue[q].first].len;

	*shaped = (*shaped > s->now ? *shaped : s->now) +
		  (uint64_t)(8e12 * len / s->conf->queue[q].cap);
}

unsigned schedule(struct sim *s, uint32_t port, unsigned ready)
{
	unsigned q;

	ready = allowed(s, port, ready);
	if (!ready)
		return QUEUES;
	if (ready & ~weighted(s))
		q = 31u - (unsigned)__builtin_clz(ready & ~weighted(s));
	else
		q = round_robin(s, port, ready);
	if (is_capped(s, q))
		charge(s, port, q);
	return q;
}
