/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_SIM_EVENT_H
#define BENCH_SIM_EVENT_H
/*
 * The event queue of the simulators. Events of equal time are taken in the order in which they were
 * set, except that arrivals come first. An arrival is an event whose `what` has zeroes in its
 * lowest EVENT_KIND_BITS bits; it was set a link's delay earlier.
 *
 * Most events are due within a link's delay. A ring of sorted buckets holds the events of the
 * current block of 2^20 ps and of the next block. Later events are in hierarchical timing wheels
 * over block numbers, with 8 bits per wheel (Varghese and Lauck, Hashed and Hierarchical Timing
 * Wheels, scheme 7). They move down when their block becomes the next block.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
	EVENT_KIND_BITS = 4,
	EVENT_BUCKET_BITS = 8, EVENT_BLOCK_BITS = 20, /* of times in ps */
	EVENT_BUCKETS = 1 << (EVENT_BLOCK_BITS - EVENT_BUCKET_BITS), /* of a block */
	EVENT_WORDS = EVENT_BUCKETS / 64,
	EVENT_WHEELS = 6, EVENT_SLOTS = 256,
};

struct queued_event {
	uint64_t at;
	uint32_t what, with;     /* the owner's */
	uint32_t next;           /* index, or 0 */
	uint32_t rank;           /* within a bucket, in which higher bits of times are the same */
};

struct event_slot {
	uint32_t first, last;
};

struct event_queue {
	uint64_t now;            /* the current block's number; no event is before it */
	struct queued_event *pool;  /* [1, capacity) */
	uint32_t capacity, unused;
	/* The blocks `now` and `now` + 1, by the lowest bit of their numbers. */
	uint64_t words[2];       /* a bit for each of the block's `used` that is not 0 */
	uint64_t ring_used[2 * EVENT_WORDS]; /* a bit for each bucket that is not empty */
	struct event_slot bucket[2 * EVENT_BUCKETS];
	struct event_slot slot[EVENT_WHEELS][EVENT_SLOTS];
	uint64_t used[EVENT_WHEELS][EVENT_SLOTS / 64]; /* a bit for each slot that is not empty */
};

/* Make space for more events. The program ends if there is no memory. */
__attribute__((cold)) void event_queue_grow(struct event_queue *q);
void event_queue_free(struct event_queue *q);

/* An event that is later than the ring's blocks. */
__attribute__((cold)) void event_queue_defer(struct event_queue *q, uint32_t i);

/* The current block is empty: go to the next block with events. False if no event is left. */
bool event_queue_turn(struct event_queue *q);

static inline bool event_is_arrival(const struct queued_event *e)
{
	return !(e->what & ((1u << EVENT_KIND_BITS) - 1));
}

/* Insert before the first event with a higher rank. The last event must have a higher rank. */
static inline void event_queue_insert(struct event_queue *q, struct event_slot *s, uint32_t i,
				      uint32_t rank)
{
	uint32_t *to = &s->first;

	while (q->pool[*to].rank <= rank)
		to = &q->pool[*to].next;
	q->pool[i].next = *to;
	*to = i;
}

/* Put the event into its bucket of the ring. */
static inline void event_queue_put(struct event_queue *q, uint32_t i)
{
	struct queued_event *e = &q->pool[i];
	const unsigned b = (unsigned)(e->at >> EVENT_BUCKET_BITS) & (2 * EVENT_BUCKETS - 1);
	struct event_slot *s = &q->bucket[b];

	if (!s->first) {
		e->next = 0;
		*s = (struct event_slot){ i, i };
		q->words[b / EVENT_BUCKETS] |= 1ull << (b / 64 % EVENT_WORDS);
		q->ring_used[b / 64] |= 1ull << (b % 64);
	} else if (q->pool[s->last].rank <= e->rank) {
		e->next = 0;
		q->pool[s->last].next = i;
		s->last = i;
	} else {
		event_queue_insert(q, s, i, e->rank);
	}
}

/* `at` must not be before the time of the event that was taken last. */
static inline void event_queue_set(struct event_queue *q, uint64_t at, uint32_t what, uint32_t with)
{
	struct queued_event *e;
	uint32_t i;

	if (!q->unused)
		event_queue_grow(q);
	i = q->unused;
	e = &q->pool[i];
	q->unused = e->next;
	*e = (struct queued_event){ .at = at, .what = what, .with = with };
	e->rank = (uint32_t)at << 1 | !event_is_arrival(e);
	if ((at >> EVENT_BLOCK_BITS) - q->now <= 1)
		event_queue_put(q, i);
	else
		event_queue_defer(q, i);
}

/* The first bucket that is not empty; the block must have events. */
static inline unsigned event_queue_first(const struct event_queue *q, unsigned block)
{
	const unsigned w = block * EVENT_WORDS + (unsigned)__builtin_ctzll(q->words[block]);

	return 64 * w + (unsigned)__builtin_ctzll(q->ring_used[w]);
}

/* Take the next event. False if the queue is empty. `ahead` is the index of the event after it,
 * 0 if that event is in a later block; it is valid until another event is set. */
static inline bool event_queue_next(struct event_queue *q, struct queued_event *taken,
				    uint32_t *ahead)
{
	unsigned block = q->now & 1, b;
	uint32_t i;

	if (!q->words[block]) {
		if (!event_queue_turn(q))
			return false;
		block = q->now & 1;
	}
	b = event_queue_first(q, block);
	i = q->bucket[b].first;
	*taken = q->pool[i];
	*ahead = q->bucket[b].first = taken->next;
	if (!taken->next) {
		q->ring_used[b / 64] &= q->ring_used[b / 64] - 1;
		if (!q->ring_used[b / 64])
			q->words[block] &= q->words[block] - 1;
		if (q->words[block])
			*ahead = q->bucket[event_queue_first(q, block)].first;
	}
	q->pool[i].next = q->unused;
	q->unused = i;
	return true;
}

#endif
