/* SPDX-License-Identifier: BSD-2-Clause */
/* The event queue (a binary heap), growing rings, random numbers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "priv.h"

static void *checked_alloc(void *p)
{
	if (!p) {
		fputs("sim: out of memory\n", stderr);
		abort();
	}
	return p;
}

static bool before(const struct event *a, const struct event *b)
{
	return a->at < b->at || (a->at == b->at && a->order < b->order);
}

void sim_at(struct sim *s, uint64_t at, void (*fire)(struct sim *, const struct event *),
	    void *who, const struct packet *p)
{
	struct event e = { .at = at, .order = s->order++, .fire = fire, .who = who };
	unsigned i = s->events++;

	if (p)
		e.packet = *p;
	if (s->events > s->heap_size) {
		s->heap_size = 2 * s->heap_size + 64;
		s->heap = checked_alloc(realloc(s->heap, s->heap_size * sizeof(*s->heap)));
	}
	for (; i && before(&e, &s->heap[(i - 1) / 2]); i = (i - 1) / 2)
		s->heap[i] = s->heap[(i - 1) / 2];
	s->heap[i] = e;
}

bool sim_pop(struct sim *s, struct event *e)
{
	struct event last;
	unsigned i = 0, child;

	if (!s->events)
		return false;
	*e = s->heap[0];
	last = s->heap[--s->events];
	while ((child = 2 * i + 1) < s->events) {
		if (child + 1 < s->events && before(&s->heap[child + 1], &s->heap[child]))
			child++;
		if (!before(&s->heap[child], &last))
			break;
		s->heap[i] = s->heap[child];
		i = child;
	}
	s->heap[i] = last;
	return true;
}

/* splitmix64 */
double sim_draw(struct sim *s)
{
	uint64_t z = s->random += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* Make space in the ring for one more. */
void *sim_grown(void *ring, uint64_t tail, uint64_t head, uint64_t *mask, size_t size)
{
	const uint64_t old = *mask, new = ring ? 2 * old + 1 : 63;
	char *bigger;

	if (ring && head - tail <= old)
		return ring;
	bigger = checked_alloc(calloc((size_t)new + 1, size));
	for (uint64_t i = tail; i != head; i++)
		memcpy(bigger + (i & new) * size, (char *)ring + (i & old) * size, size);
	free(ring);
	*mask = new;
	return bigger;
}
