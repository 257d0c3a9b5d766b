/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCFABRIC_EVENTS_H
#define CCFABRIC_EVENTS_H
/*
 * The queue of events: hierarchical timing wheels over 64-bit times, a digit of 8 bits per wheel.
 * An event lies in the wheel of the highest digit in which its time differs from the queue's, and
 * moves down as that time comes near, so that setting and taking one costs the same however many
 * there are. (Varghese and Lauck, Hashed and Hierarchical Timing Wheels, scheme 7.) Events of the
 * same time are taken in the order in which they were set, but arrivals, those whose `what` has
 * only zeroes in its lowest FAB_KIND_BITS, before all others: they began a link's delay earlier.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { FAB_WHEELS = 8, FAB_SLOTS = 256, FAB_KIND_BITS = 4 };

struct fab_event {
	uint64_t at;
	uint32_t what;           /* the owner's */
	uint32_t next;           /* index; 0: none */
};

struct fab_slot {
	uint32_t first, last;
};

struct fab_events {
	uint64_t now;            /* no event is before it */
	struct fab_event *pool;  /* [1, capacity) */
	uint32_t capacity, unused;
	struct fab_slot slot[FAB_WHEELS][FAB_SLOTS];
	struct fab_slot arrivals[FAB_SLOTS]; /* of the lowest wheel, whose slots are single times */
	uint64_t used[FAB_WHEELS][FAB_SLOTS / 64]; /* a bit for each slot that is not empty */
	/* Called for what an event names shortly before it is due: to fetch it into the cache. */
	void (*soon)(const void *owner, uint32_t what);
	const void *owner;
};

/* Makes space for more; aborts if there is no memory. */
void fab_events_grow(struct fab_events *q);
void fab_events_free(struct fab_events *q);

static inline void fab_events_put(struct fab_events *q, uint32_t i)
{
	struct fab_event *e = &q->pool[i];
	const uint64_t differ = e->at ^ q->now;
	const unsigned wheel = differ ? (63u - (unsigned)__builtin_clzll(differ)) / 8 : 0;
	const unsigned digit = (unsigned)(e->at >> (8 * wheel)) & (FAB_SLOTS - 1);
	struct fab_slot *s = wheel || e->what & ((1u << FAB_KIND_BITS) - 1)
		? &q->slot[wheel][digit] : &q->arrivals[digit];

	e->next = 0;
	if (s->first)
		q->pool[s->last].next = i;
	else
		s->first = i;
	s->last = i;
	q->used[wheel][digit / 64] |= 1ull << (digit % 64);
}

/* `at` is not before the time of the event that was taken last. */
static inline void fab_at(struct fab_events *q, uint64_t at, uint32_t what)
{
	uint32_t i;

	if (!q->unused)
		fab_events_grow(q);
	i = q->unused;
	q->unused = q->pool[i].next;
	q->pool[i].at = at;
	q->pool[i].what = what;
	fab_events_put(q, i);
}

/* The first slot of a wheel that is not empty; FAB_SLOTS: all are. */
static inline unsigned fab_first_slot(const uint64_t *used)
{
	for (unsigned w = 0; w < FAB_SLOTS / 64; w++)
		if (used[w])
			return 64 * w + (unsigned)__builtin_ctzll(used[w]);
	return FAB_SLOTS;
}

/* Move the events of the nearest slot of a higher wheel down. False: there are none. */
static inline bool fab_events_turn(struct fab_events *q)
{
	for (unsigned wheel = 1; wheel < FAB_WHEELS; wheel++) {
		const unsigned digit = fab_first_slot(q->used[wheel]);
		struct fab_slot *s;
		uint32_t i;

		if (digit == FAB_SLOTS)
			continue;
		s = &q->slot[wheel][digit];
		q->now = q->pool[s->first].at >> (8 * wheel) << (8 * wheel);
		i = s->first;
		*s = (struct fab_slot){ 0 };
		q->used[wheel][digit / 64] &= ~(1ull << (digit % 64));
		while (i) {
			const uint32_t next = q->pool[i].next;

			if (wheel == 1)
				q->soon(q->owner, q->pool[i].what);
			fab_events_put(q, i);
			i = next;
		}
		return true;
	}
	return false;
}

/* Take the next event. False: there is none. */
static inline bool fab_next(struct fab_events *q, uint64_t *at, uint32_t *what)
{
	unsigned digit;
	struct fab_slot *s;
	uint32_t i;

	while ((digit = fab_first_slot(q->used[0])) == FAB_SLOTS)
		if (!fab_events_turn(q))
			return false;
	s = q->arrivals[digit].first ? &q->arrivals[digit] : &q->slot[0][digit];
	i = s->first;
	s->first = q->pool[i].next;
	if (!q->arrivals[digit].first && !q->slot[0][digit].first)
		q->used[0][digit / 64] &= ~(1ull << (digit % 64));
	*at = q->now = q->pool[i].at;
	*what = q->pool[i].what;
	q->pool[i].next = q->unused;
	q->unused = i;
	return true;
}

#endif
