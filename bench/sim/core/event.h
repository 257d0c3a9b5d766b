/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCFABRIC_EVENTS_H
#define CCFABRIC_EVENTS_H
/*
 * The queue of events. Most are due within a link's delay: a ring of sorted buckets has those of the
 * current block of 2^20 ps and of the next one, so that they are put and taken once. Later events lie
 * in hierarchical timing wheels over the blocks' numbers, a digit of 8 bits per wheel: in the wheel
 * of the highest digit in which their block differs from the ring's last one, and they move down as
 * that block comes near. (Varghese and Lauck, Hashed and Hierarchical Timing Wheels, scheme 7.)
 * Events of the same time are taken in the order in which they were set, but arrivals, those whose
 * `what` has only zeroes in its lowest FAB_KIND_BITS, before all others: they began a link's delay
 * earlier.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
	FAB_KIND_BITS = 4,
	FAB_BUCKET_BITS = 8, FAB_BLOCK_BITS = 20, /* of times in ps */
	FAB_BUCKETS = 1 << (FAB_BLOCK_BITS - FAB_BUCKET_BITS), /* of a block */
	FAB_WORDS = FAB_BUCKETS / 64,
	FAB_WHEELS = 6, FAB_SLOTS = 256,
};

struct fab_event {
	uint64_t at;
	uint32_t what, with;     /* the owner's */
	uint32_t next;           /* index; 0: none */
	uint32_t rank;           /* within a bucket, in which higher bits of times are the same */
};

struct fab_slot {
	uint32_t first, last;
};

struct fab_events {
	uint64_t now;            /* the current block's number; no event is before it */
	struct fab_event *pool;  /* [1, capacity) */
	uint32_t capacity, unused;
	/* The blocks `now` and `now` + 1, by the lowest bit of their numbers, one behind the other. */
	uint64_t words[2];       /* a bit for each of the block's `used` that is not 0 */
	uint64_t ring_used[2 * FAB_WORDS]; /* a bit for each bucket that is not empty */
	struct fab_slot bucket[2 * FAB_BUCKETS];
	struct fab_slot slot[FAB_WHEELS][FAB_SLOTS];
	uint64_t used[FAB_WHEELS][FAB_SLOTS / 64]; /* a bit for each slot that is not empty */
};

/* Makes space for more; aborts if there is no memory. */
__attribute__((cold)) void fab_events_grow(struct fab_events *q);
void fab_events_free(struct fab_events *q);

/* An event that is later than the ring's blocks. */
__attribute__((cold)) void fab_events_defer(struct fab_events *q, uint32_t i);

/* The current block is empty: go to the next one that has events. False: there are none. */
bool fab_events_turn(struct fab_events *q);

static inline bool fab_is_arrival(const struct fab_event *e)
{
	return !(e->what & ((1u << FAB_KIND_BITS) - 1));
}

/* Before the first event with a higher rank; the last one has such a rank. */
static inline void fab_insert(struct fab_events *q, struct fab_slot *s, uint32_t i, uint32_t rank)
{
	uint32_t *to = &s->first;

	while (q->pool[*to].rank <= rank)
		to = &q->pool[*to].next;
	q->pool[i].next = *to;
	*to = i;
}

/* Into its bucket of the ring. */
static inline void fab_events_put(struct fab_events *q, uint32_t i)
{
	struct fab_event *e = &q->pool[i];
	const unsigned b = (unsigned)(e->at >> FAB_BUCKET_BITS) & (2 * FAB_BUCKETS - 1);
	struct fab_slot *s = &q->bucket[b];

	if (!s->first) {
		e->next = 0;
		*s = (struct fab_slot){ i, i };
		q->words[b / FAB_BUCKETS] |= 1ull << (b / 64 % FAB_WORDS);
		q->ring_used[b / 64] |= 1ull << (b % 64);
	} else if (q->pool[s->last].rank <= e->rank) {
		e->next = 0;
		q->pool[s->last].next = i;
		s->last = i;
	} else {
		fab_insert(q, s, i, e->rank);
	}
}

/* `at` is not before the time of the event that was taken last. */
static inline void fab_at(struct fab_events *q, uint64_t at, uint32_t what, uint32_t with)
{
	struct fab_event *e;
	uint32_t i;

	if (!q->unused)
		fab_events_grow(q);
	i = q->unused;
	e = &q->pool[i];
	q->unused = e->next;
	*e = (struct fab_event){ .at = at, .what = what, .with = with };
	e->rank = (uint32_t)at << 1 | !fab_is_arrival(e);
	if ((at >> FAB_BLOCK_BITS) - q->now <= 1)
		fab_events_put(q, i);
	else
		fab_events_defer(q, i);
}

/* The first bucket of one of the two blocks, which has some. */
static inline unsigned fab_first(const struct fab_events *q, unsigned block)
{
	const unsigned w = block * FAB_WORDS + (unsigned)__builtin_ctzll(q->words[block]);

	return 64 * w + (unsigned)__builtin_ctzll(q->ring_used[w]);
}

/* Take the next event. False: there is none. `ahead` is the index of the one after it, as long as no
 * more are set, or 0: it is not in this block. */
static inline bool fab_next(struct fab_events *q, struct fab_event *taken, uint32_t *ahead)
{
	unsigned block = q->now & 1, b;
	uint32_t i;

	if (!q->words[block]) {
		if (!fab_events_turn(q))
			return false;
		block = q->now & 1;
	}
	b = fab_first(q, block);
	i = q->bucket[b].first;
	*taken = q->pool[i];
	*ahead = q->bucket[b].first = taken->next;
	if (!taken->next) {
		q->ring_used[b / 64] &= q->ring_used[b / 64] - 1;
		if (!q->ring_used[b / 64])
			q->words[block] &= q->words[block] - 1;
		if (q->words[block])
			*ahead = q->bucket[fab_first(q, block)].first;
	}
	q->pool[i].next = q->unused;
	q->unused = i;
	return true;
}

#endif
