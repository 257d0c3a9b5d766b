/* SPDX-License-Identifier: BSD-2-Clause */
/* The queues of all ports over time. How long a run takes is not known before: whenever the samples
 * are full, every second one is dropped. */
#include <stdlib.h>
#include <string.h>

#include "bench/sim/core/memory.h"
#include "priv.h"

#define FIRST_INTERVAL 100000ull /* ps */

void series_init(struct sim *s)
{
	struct fab_series *series = &s->result->series;

	if (!s->conf->series)
		return;
	series->interval = FIRST_INTERVAL;
	series->queue = mem_zeroed((size_t)FAB_SAMPLES * s->ports, sizeof(*series->queue));
	set_event(s, s->result->begin, SAMPLE, 0);
}

static void thin(const struct sim *s, struct fab_series *series)
{
	for (unsigned i = 0; i < FAB_SAMPLES / 2; i++)
		memmove(&series->queue[(size_t)i * s->ports],
			&series->queue[(size_t)2 * i * s->ports], s->ports * sizeof(*series->queue));
	series->n = FAB_SAMPLES / 2;
	series->interval *= 2;
}

void series_sample(struct sim *s, uint32_t number)
{
	struct fab_series *series = &s->result->series;
	uint32_t *row;

	(void)number;
	if (series->n == FAB_SAMPLES)
		thin(s, series);
	row = &series->queue[(size_t)series->n++ * s->ports];
	for (uint32_t i = 0; i < s->ports; i++)
		row[i] = s->port[i].bytes;
	set_event(s, s->now + series->interval, SAMPLE, 0);
}
