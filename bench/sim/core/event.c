/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench/sim/core/event.h"

#include <stddef.h>

#include "bench/sim/core/memory.h"

void event_queue_grow(struct event_queue *q)
{
	q->pool = mem_pool(q->pool, &q->capacity, &q->unused, sizeof(*q->pool),
			   offsetof(struct queued_event, next));
}

void event_queue_free(struct event_queue *q)
{
	free(q->pool);
	memset(q, 0, sizeof(*q));
}

static unsigned digit_of(uint64_t block, unsigned wheel)
{
	return (unsigned)(block >> (8 * wheel)) & (EVENT_SLOTS - 1);
}

void event_queue_defer(struct event_queue *q, uint32_t i)
{
	struct queued_event *e = &q->pool[i];
	const uint64_t block = e->at >> EVENT_BLOCK_BITS;
	const unsigned wheel = (63u - (unsigned)__builtin_clzll(block ^ (q->now + 1))) / 8;
	const unsigned digit = digit_of(block, wheel);
	struct event_slot *s = &q->slot[wheel][digit];

	e->next = 0;
	if (s->first)
		q->pool[s->last].next = i;
	else
		s->first = i;
	s->last = i;
	q->used[wheel][digit / 64] |= 1ull << (digit % 64);
}

static void move_down(struct event_queue *q, unsigned wheel, unsigned digit)
{
	uint32_t i = q->slot[wheel][digit].first;

	q->slot[wheel][digit] = (struct event_slot){ 0 };
	q->used[wheel][digit / 64] &= ~(1ull << (digit % 64));
	while (i) {
		const uint32_t next = q->pool[i].next;

		if (q->pool[i].at >> EVENT_BLOCK_BITS == q->now + 1)
			event_queue_put(q, i);
		else
			event_queue_defer(q, i);
		i = next;
	}
}

/* Make this block the current one, and fetch the events of the next block. */
static void enter(struct event_queue *q, uint64_t block)
{
	const uint64_t last = block + 1;
	unsigned wheel = 0;

	q->now = block;
	while (wheel + 1 < EVENT_WHEELS && !(last & ((256ull << (8 * wheel)) - 1)))
		wheel++;
	for (;; wheel--) {
		move_down(q, wheel, digit_of(last, wheel));
		if (!wheel)
			return;
	}
}

/* The first slot of a wheel that is not empty; EVENT_SLOTS: all are. */
static unsigned first_slot(const uint64_t *used)
{
	for (unsigned w = 0; w < EVENT_SLOTS / 64; w++)
		if (used[w])
			return 64 * w + (unsigned)__builtin_ctzll(used[w]);
	return EVENT_SLOTS;
}

/* The first block at which a slot of the wheels must be moved down; 0: all wheels are empty. */
static uint64_t next_block(const struct event_queue *q)
{
	for (unsigned wheel = 0; wheel < EVENT_WHEELS; wheel++) {
		const unsigned digit = first_slot(q->used[wheel]);

		if (digit < EVENT_SLOTS)
			return ((q->now + 1) >> (8 * wheel) >> 8 << 8 | digit) << (8 * wheel);
	}
	return 0;
}

bool event_queue_turn(struct event_queue *q)
{
	while (!q->words[q->now & 1]) {
		const uint64_t next = q->words[(q->now + 1) & 1] ? q->now + 2 : next_block(q);

		if (!next)
			return false;
		enter(q, next - 1);
	}
	return true;
}
