/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench/sim/core/event.h"

#include <stdlib.h>

#include "bench/sim/core/memory.h"

void fab_events_grow(struct fab_events *q)
{
	const uint32_t old = q->capacity, new = old ? 2 * old : 1024;

	q->pool = fab_resized(q->pool, new, sizeof(*q->pool));
	for (uint32_t i = new - 1; i >= (old ? old : 1); i--) {
		q->pool[i].next = q->unused;
		q->unused = i;
	}
	q->capacity = new;
}

void fab_events_free(struct fab_events *q)
{
	free(q->pool);
	memset(q, 0, sizeof(*q));
}

static unsigned digit_of(uint64_t block, unsigned wheel)
{
	return (unsigned)(block >> (8 * wheel)) & (FAB_SLOTS - 1);
}

void fab_events_defer(struct fab_events *q, uint32_t i)
{
	struct fab_event *e = &q->pool[i];
	const uint64_t block = e->at >> FAB_BLOCK_BITS;
	const unsigned wheel = (63u - (unsigned)__builtin_clzll(block ^ (q->now + 1))) / 8;
	const unsigned digit = digit_of(block, wheel);
	struct fab_slot *s = &q->slot[wheel][digit];

	e->next = 0;
	if (s->first)
		q->pool[s->last].next = i;
	else
		s->first = i;
	s->last = i;
	q->used[wheel][digit / 64] |= 1ull << (digit % 64);
}

static void move_down(struct fab_events *q, unsigned wheel, unsigned digit)
{
	uint32_t i = q->slot[wheel][digit].first;

	q->slot[wheel][digit] = (struct fab_slot){ 0 };
	q->used[wheel][digit / 64] &= ~(1ull << (digit % 64));
	while (i) {
		const uint32_t next = q->pool[i].next;

		if (q->pool[i].at >> FAB_BLOCK_BITS == q->now + 1)
			fab_events_put(q, i);
		else
			fab_events_defer(q, i);
		i = next;
	}
}

/* Make this block the current one, and fetch the events of the one after it. */
static void enter(struct fab_events *q, uint64_t block)
{
	const uint64_t last = block + 1;
	unsigned wheel = 0;

	q->now = block;
	while (wheel + 1 < FAB_WHEELS && !(last & ((256ull << (8 * wheel)) - 1)))
		wheel++;
	for (;; wheel--) {
		move_down(q, wheel, digit_of(last, wheel));
		if (!wheel)
			return;
	}
}

/* The first slot of a wheel that is not empty; FAB_SLOTS: all are. */
static unsigned first_slot(const uint64_t *used)
{
	for (unsigned w = 0; w < FAB_SLOTS / 64; w++)
		if (used[w])
			return 64 * w + (unsigned)__builtin_ctzll(used[w]);
	return FAB_SLOTS;
}

/* The first block at which a slot of the wheels must be moved down; 0: there are no events. */
static uint64_t next_block(const struct fab_events *q)
{
	for (unsigned wheel = 0; wheel < FAB_WHEELS; wheel++) {
		const unsigned digit = first_slot(q->used[wheel]);

		if (digit < FAB_SLOTS)
			return ((q->now + 1) >> (8 * wheel) >> 8 << 8 | digit) << (8 * wheel);
	}
	return 0;
}

bool fab_events_turn(struct fab_events *q)
{
	while (!q->words[q->now & 1]) {
		const uint64_t next = q->words[(q->now + 1) & 1] ? q->now + 2 : next_block(q);

		if (!next)
			return false;
		enter(q, next - 1);
	}
	return true;
}
