/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TIMER_WHEEL_H
#define CCS_TIMER_WHEEL_H
/*
 * A timing wheel: which flow is due next. No clock; the caller serialises.
 *
 * A timer fires at its due time or up to CCS_TIMER_WHEEL_TICK_NS later, never earlier. Timers due
 * in the same tick fire in the order in which they were set, so flows that are due together take
 * turns. A timer beyond the horizon waits in the last bucket and is inserted again from there.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CCS_TIMER_WHEEL_TICK_NS 1024ull
#define CCS_TIMER_WHEEL_BUCKETS 4096u

struct ccs_timer {
	struct ccs_timer *next, *prev;   /* NULL: not set */
	uint64_t due_ns;
	uint32_t bucket;
};

struct ccs_timer_wheel {
	uint64_t tick;                   /* all earlier ticks are empty */
	struct ccs_timer bucket[CCS_TIMER_WHEEL_BUCKETS];
	uint64_t used[CCS_TIMER_WHEEL_BUCKETS / 64];
	uint64_t words;                  /* bit i is set if used[i] is not 0 */
};

void ccs_timer_wheel_init(struct ccs_timer_wheel *w, uint64_t now_ns);
/* Set the timer, or move it if it is set. */
void ccs_timer_wheel_set(struct ccs_timer_wheel *w, struct ccs_timer *t, uint64_t due_ns);
void ccs_timer_wheel_cancel(struct ccs_timer_wheel *w, struct ccs_timer *t);
/* Remove and return the next timer that is due, or NULL. */
struct ccs_timer *ccs_timer_wheel_pop(struct ccs_timer_wheel *w, uint64_t now_ns);
/* When to call pop next; UINT64_MAX if no timer is set. */
uint64_t ccs_timer_wheel_next(const struct ccs_timer_wheel *w);

static inline bool ccs_timer_is_set(const struct ccs_timer *t)
{
	return t->next != NULL;
}

#endif
