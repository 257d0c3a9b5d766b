/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_PACER_H
#define CCS_PACER_H
/*
 * A timing wheel: which flow is due next. Pure; the caller serialises.
 *
 * A timer fires at its due time or up to CCS_PACER_TICK_NS later, never
 * earlier. Timers due in the same tick fire in the order they were set, so
 * flows that are due together take turns. A timer beyond the horizon waits in
 * the last slot and is put back from there.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CCS_PACER_TICK_NS 1024ull
#define CCS_PACER_SLOTS 4096u

struct ccs_timer {
	struct ccs_timer *next, *prev;   /* NULL: not set */
	uint64_t due_ns;
	uint32_t slot;
};

struct ccs_pacer {
	uint64_t tick;                   /* all earlier ticks are empty */
	struct ccs_timer slot[CCS_PACER_SLOTS];
	uint64_t used[CCS_PACER_SLOTS / 64];
};

void ccs_pacer_init(struct ccs_pacer *p, uint64_t now_ns);
/* Set or move. */
void ccs_pacer_set(struct ccs_pacer *p, struct ccs_timer *t, uint64_t due_ns);
void ccs_pacer_cancel(struct ccs_pacer *p, struct ccs_timer *t);
/* Take the next timer that is due, or NULL. */
struct ccs_timer *ccs_pacer_pop(struct ccs_pacer *p, uint64_t now_ns);
/* The time at which pop has something to do; UINT64_MAX when nothing is set. */
uint64_t ccs_pacer_next(const struct ccs_pacer *p);

static inline bool ccs_timer_is_set(const struct ccs_timer *t)
{
	return t->next != NULL;
}

#endif
