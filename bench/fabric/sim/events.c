/* SPDX-License-Identifier: BSD-2-Clause */
#include "events.h"

#include <stdlib.h>

#include "memory.h"

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
