/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/timer_wheel.h"

static uint64_t tick_of(uint64_t ns)
{
	return ns / CCS_TIMER_WHEEL_TICK_NS + !!(ns % CCS_TIMER_WHEEL_TICK_NS);
}

void ccs_timer_wheel_init(struct ccs_timer_wheel *w, uint64_t now_ns)
{
	*w = (struct ccs_timer_wheel){ .tick = tick_of(now_ns) };
	for (unsigned i = 0; i < CCS_TIMER_WHEEL_BUCKETS; i++)
		w->bucket[i].next = w->bucket[i].prev = &w->bucket[i];
}

void ccs_timer_wheel_cancel(struct ccs_timer_wheel *w, struct ccs_timer *t)
{
	if (!t->next)
		return;
	t->next->prev = t->prev;
	t->prev->next = t->next;
	t->next = t->prev = NULL;
	if (w->bucket[t->bucket].next != &w->bucket[t->bucket])
		return;
	w->used[t->bucket / 64] &= ~(1ull << t->bucket % 64);
	if (!w->used[t->bucket / 64])
		w->words &= ~(1ull << t->bucket / 64);
}

void ccs_timer_wheel_set(struct ccs_timer_wheel *w, struct ccs_timer *t, uint64_t due_ns)
{
	uint64_t tick = tick_of(due_ns);
	struct ccs_timer *head;

	ccs_timer_wheel_cancel(w, t);
	if (tick < w->tick)
		tick = w->tick;
	if (tick >= w->tick + CCS_TIMER_WHEEL_BUCKETS)
		tick = w->tick + CCS_TIMER_WHEEL_BUCKETS - 1;
	t->due_ns = due_ns;
	t->bucket = tick % CCS_TIMER_WHEEL_BUCKETS;
	head = &w->bucket[t->bucket];
	t->next = head;
	t->prev = head->prev;
	t->prev->next = t;
	head->prev = t;
	w->used[t->bucket / 64] |= 1ull << t->bucket % 64;
	w->words |= 1ull << t->bucket / 64;
}

/* Ticks from `tick` to the first bucket in use, CCS_TIMER_WHEEL_BUCKETS if all are empty. */
static uint32_t distance(const struct ccs_timer_wheel *w)
{
	const uint32_t start = w->tick % CCS_TIMER_WHEEL_BUCKETS;
	uint32_t word = start / 64;
	uint64_t bits = w->used[word] & (~0ull << start % 64);

	_Static_assert(CCS_TIMER_WHEEL_BUCKETS == 64 * 64, "a bit for each word");
	if (!bits) {
		const uint64_t later = w->words & (~0ull << word << 1);

		if (!w->words)
			return CCS_TIMER_WHEEL_BUCKETS;
		/* The search may return to the first word, for its bits before the start. */
		word = (uint32_t)__builtin_ctzll(later ? later : w->words);
		bits = w->used[word];
	}
	return (word * 64 + (uint32_t)__builtin_ctzll(bits) - start) % CCS_TIMER_WHEEL_BUCKETS;
}

uint64_t ccs_timer_wheel_next(const struct ccs_timer_wheel *w)
{
	const uint32_t d = distance(w);

	return d == CCS_TIMER_WHEEL_BUCKETS ? UINT64_MAX : (w->tick + d) * CCS_TIMER_WHEEL_TICK_NS;
}

/*
 * The wheel was not used for its whole horizon, so every bucket is in the past and no longer shows
 * when its timers are due: insert all timers again, in their order.
 */
static void catch_up(struct ccs_timer_wheel *w, uint64_t now_tick)
{
	struct ccs_timer all = { .next = &all, .prev = &all }, *t;

	for (uint32_t d; (d = distance(w)) != CCS_TIMER_WHEEL_BUCKETS;) {
		t = w->bucket[(w->tick + d) % CCS_TIMER_WHEEL_BUCKETS].next;
		ccs_timer_wheel_cancel(w, t);
		t->next = &all;
		t->prev = all.prev;
		t->prev->next = t;
		all.prev = t;
	}
	w->tick = now_tick;
	while ((t = all.next) != &all) {
		all.next = t->next;
		t->next = t->prev = NULL;
		ccs_timer_wheel_set(w, t, t->due_ns);
	}
}

struct ccs_timer *ccs_timer_wheel_pop(struct ccs_timer_wheel *w, uint64_t now_ns)
{
	const uint64_t now_tick = now_ns / CCS_TIMER_WHEEL_TICK_NS;

	if (now_tick >= w->tick + CCS_TIMER_WHEEL_BUCKETS)
		catch_up(w, now_tick);
	for (;;) {
		const uint32_t d = distance(w);
		struct ccs_timer *t;

		if (d == CCS_TIMER_WHEEL_BUCKETS || w->tick + d > now_tick) {
			if (w->tick < now_tick)
				w->tick = now_tick;
			return NULL;
		}
		w->tick += d;
		t = w->bucket[w->tick % CCS_TIMER_WHEEL_BUCKETS].next;
		ccs_timer_wheel_cancel(w, t);
		if (tick_of(t->due_ns) <= now_tick)
			return t;
		ccs_timer_wheel_set(w, t, t->due_ns); /* it was due beyond the horizon */
	}
}
