/* SPDX-License-Identifier: BSD-2-Clause */
/* Events with their functions and packets, the wake-ups of drivers, and growing rings. */
#include "bench/sim/core/memory.h"
#include "priv.h"

/* The kind of all events in the queue. It is not 0, so that the order of equal times is kept. */
enum { CALL = 1 };

void sim_at(struct sim *s, uint64_t at, void (*fire)(struct sim *, const struct event *),
	    void *who, const struct packet *p)
{
	struct event *e;
	uint32_t i;

	if (!s->unused_event)
		s->event = mem_pool(s->event, &s->events, &s->unused_event, sizeof(*s->event),
				    offsetof(struct event, next));
	i = s->unused_event;
	e = &s->event[i];
	s->unused_event = e->next;
	*e = (struct event){ .at = at, .fire = fire, .who = who };
	if (p)
		e->packet = *p;
	event_queue_set(&s->pending, at, CALL, i);
}

bool sim_pop(struct sim *s, struct event *e)
{
	struct queued_event first;
	uint32_t ahead;

	if (!event_queue_next(&s->pending, &first, &ahead))
		return false;
	*e = s->event[first.with];
	s->event[first.with].next = s->unused_event;
	s->unused_event = first.with;
	return true;
}

static void wake(struct sim *s, const struct event *e)
{
	struct sim_flow *f = e->who;

	if (e->at != f->wake_at)
		return; /* superseded by an earlier one */
	f->wake_at = NEVER;
	f->driver->wake(s, f);
}

void sim_wake_at(struct sim *s, struct sim_flow *f, uint64_t at)
{
	if (at >= f->wake_at)
		return; /* it is woken earlier in any case, and then checks again */
	f->wake_at = at;
	sim_at(s, at, wake, f, NULL);
}

/* Make space in the ring for one more. */
void *sim_grown(void *ring, uint64_t tail, uint64_t head, uint64_t *mask, size_t size)
{
	const uint64_t old = *mask, new = ring ? 2 * old + 1 : 63;
	char *bigger;

	if (ring && head - tail <= old)
		return ring;
	bigger = mem_zeroed((size_t)new + 1, size);
	for (uint64_t i = tail; i != head; i++)
		memcpy(bigger + (i & new) * size, (char *)ring + (i & old) * size, size);
	free(ring);
	*mask = new;
	return bigger;
}
