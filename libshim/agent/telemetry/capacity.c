/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/telemetry/capacity.h"

#include <math.h>

#include "cc/minmax.h"

static void begin_span(struct ccs_capacity *c, uint64_t now_ns, uint64_t bytes)
{
	c->begin_ns = now_ns;
	c->begin_bytes = bytes;
}

/* Windows without a queue are not counted: their rates do not show the capacity. */
static void add_rate(struct ccs_capacity *c, uint64_t now_ns, double rate)
{
	if (now_ns - c->window_ns >= CCS_CAPACITY_WINDOW_NS) {
		c->most[0] = c->most[1];
		c->most[1] = 0;
		c->window_ns = now_ns;
	}
	c->most[1] = ccs_max(c->most[1], rate);
}

bool ccs_capacity_feed(struct ccs_capacity *c, uint64_t now_ns, uint64_t bytes, bool queued)
{
	const bool before = c->queued;
	double most;

	if (!c->begin_ns || bytes < c->begin_bytes)
		begin_span(c, now_ns, bytes);
	c->queue_seen |= queued;
	if (now_ns - c->begin_ns < CCS_CAPACITY_SPAN_NS)
		return false;
	c->queued = c->queue_seen;
	c->queue_seen = false;
	/* The first span with a queue is skipped: the queue may have built up within it. */
	if (before && c->queued)
		add_rate(c, now_ns, 8e9 * (double)(bytes - c->begin_bytes) /
				    (double)(now_ns - c->begin_ns));
	begin_span(c, now_ns, bytes);
	most = ccs_max(c->most[0], c->most[1]);
	if (fabs(most - c->learnt) <= 0.01 * c->learnt)
		return false;
	c->learnt = most;
	return true;
}
