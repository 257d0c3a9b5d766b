/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/pacer.h"

#include <stddef.h>

static uint64_t tick_of(uint64_t ns)
{
	return ns / CCS_PACER_TICK_NS + !!(ns % CCS_PACER_TICK_NS);
}

void ccs_pacer_init(struct ccs_pacer *p, uint64_t now_ns)
{
	*p = (struct ccs_pacer){ .tick = tick_of(now_ns) };
	for (unsigned i = 0; i < CCS_PACER_SLOTS; i++)
		p->slot[i].next = p->slot[i].prev = &p->slot[i];
}

void ccs_pacer_cancel(struct ccs_pacer *p, struct ccs_timer *t)
{
	if (!t->next)
		return;
	t->next->prev = t->prev;
	t->prev->next = t->next;
	t->next = t->prev = NULL;
	if (p->slot[t->slot].next == &p->slot[t->slot])
		p->used[t->slot / 64] &= ~(1ull << t->slot % 64);
}

void ccs_pacer_set(struct ccs_pacer *p, struct ccs_timer *t, uint64_t due_ns)
{
	uint64_t tick = tick_of(due_ns);
	struct ccs_timer *head;

	ccs_pacer_cancel(p, t);
	if (tick < p->tick)
		tick = p->tick;
	if (tick >= p->tick + CCS_PACER_SLOTS)
		tick = p->tick + CCS_PACER_SLOTS - 1;
	t->due_ns = due_ns;
	t->slot = tick % CCS_PACER_SLOTS;
	head = &p->slot[t->slot];
	t->next = head;
	t->prev = head->prev;
	t->prev->next = t;
	head->prev = t;
	p->used[t->slot / 64] |= 1ull << t->slot % 64;
}

/* Ticks from `tick` to the first used slot, CCS_PACER_SLOTS if none is. */
static uint32_t distance(const struct ccs_pacer *p)
{
	const uint32_t start = p->tick % CCS_PACER_SLOTS;
	uint32_t word = start / 64;
	uint64_t bits = p->used[word] & (~0ull << start % 64);

	/* One word more than there are: the first is looked at from both ends. */
	for (uint32_t i = 0; i <= CCS_PACER_SLOTS / 64; i++) {
		if (bits) {
			const uint32_t slot = word * 64 + (uint32_t)__builtin_ctzll(bits);

			return (slot - start) % CCS_PACER_SLOTS;
		}
		word = (word + 1) % (CCS_PACER_SLOTS / 64);
		bits = p->used[word];
	}
	return CCS_PACER_SLOTS;
}

uint64_t ccs_pacer_next(const struct ccs_pacer *p)
{
	const uint32_t d = distance(p);

	return d == CCS_PACER_SLOTS ? UINT64_MAX : (p->tick + d) * CCS_PACER_TICK_NS;
}

/*
 * Nobody turned the wheel for a whole horizon, so every slot is in the past and
 * tells nothing any more: sort all timers in anew, in their order.
 */
static void catch_up(struct ccs_pacer *p, uint64_t now_tick)
{
	struct ccs_timer all = { .next = &all, .prev = &all }, *t;

	for (uint32_t d; (d = distance(p)) != CCS_PACER_SLOTS;) {
		t = p->slot[(p->tick + d) % CCS_PACER_SLOTS].next;
		ccs_pacer_cancel(p, t);
		t->next = &all;
		t->prev = all.prev;
		t->prev->next = t;
		all.prev = t;
	}
	p->tick = now_tick;
	while ((t = all.next) != &all) {
		all.next = t->next;
		t->next = t->prev = NULL;
		ccs_pacer_set(p, t, t->due_ns);
	}
}

struct ccs_timer *ccs_pacer_pop(struct ccs_pacer *p, uint64_t now_ns)
{
	const uint64_t now_tick = now_ns / CCS_PACER_TICK_NS;

	if (now_tick >= p->tick + CCS_PACER_SLOTS)
		catch_up(p, now_tick);
	for (;;) {
		const uint32_t d = distance(p);
		struct ccs_timer *t;

		if (d == CCS_PACER_SLOTS || p->tick + d > now_tick) {
			if (p->tick < now_tick)
				p->tick = now_tick;
			return NULL;
		}
		p->tick += d;
		t = p->slot[p->tick % CCS_PACER_SLOTS].next;
		ccs_pacer_cancel(p, t);
		if (tick_of(t->due_ns) <= now_tick)
			return t;
		ccs_pacer_set(p, t, t->due_ns); /* came from beyond the horizon */
	}
}
