/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Flows that wait for others, as the steps of a collective operation do: message m of such a flow
 * is posted when message m - lag of each flow that it waits for has been received.
 */
#include <stdlib.h>

#include "bench/sim/core/memory.h"
#include "priv.h"

enum { WAITS = FAB_WAITS };

struct order {
	uint32_t *flow;          /* by the flow's id: its index */
	uint64_t *ready;         /* bytes that may be posted, of each flow */
	uint32_t *first, *next;  /* waits for a flow: WAITS * flow + i + 1, 0 at the end */
};

/* Bytes of a flow up to the end of its message m. */
static uint64_t end_of(const struct fab_flow_spec *f, uint64_t m)
{
	const uint64_t message = f->message ? f->message : f->size;

	return m >= f->size / message ? f->size : (m + 1) * message;
}

static bool is_received(const struct sim *s, const struct fab_flow_spec *of, uint64_t m)
{
	for (unsigned i = 0; i < WAITS; i++) {
		const struct flow *f;

		if (!of->after[i] || m < of->lag)
			continue;
		f = &s->flow[s->order->flow[of->after[i] - 1]];
		if (f->rcv_nxt < end_of(f->spec, m - of->lag))
			return false;
	}
	return true;
}

static void find_ready(struct sim *s, uint32_t flow)
{
	const struct fab_flow_spec *f = s->flow[flow].spec;
	const uint64_t message = f->message ? f->message : f->size;
	uint64_t *ready = &s->order->ready[flow];

	while (*ready < f->size && is_received(s, f, *ready / message))
		*ready = end_of(f, *ready / message);
}

uint64_t flow_ready(const struct sim *s, const struct flow *f)
{
	return s->order ? s->order->ready[flow_number(s, f)] : f->spec->size;
}

void order_received(struct sim *s, uint32_t flow)
{
	struct order *o = s->order;

	for (uint32_t at = o->first[flow]; at; at = o->next[at - 1]) {
		const uint32_t waiting = (at - 1) / WAITS;
		const uint64_t before = o->ready[waiting];
		struct flow *f = &s->flow[waiting];

		find_ready(s, waiting);
		if (o->ready[waiting] && !before && waiting < s->started)
			flow_announce(s, f);
		if (o->ready[waiting] > before && waiting < s->started && f->control)
			f->driver->ready(s, f);
	}
}

static void add_waits(struct order *o, const struct fab_flows *flows, uint32_t flow)
{
	for (unsigned i = 0; i < WAITS; i++) {
		const uint32_t at = WAITS * flow + i;
		const unsigned after = flows->flow[flow].after[i];

		if (!after)
			continue;
		o->next[at] = o->first[o->flow[after - 1]];
		o->first[o->flow[after - 1]] = at + 1;
	}
}

void order_init(struct sim *s)
{
	const struct fab_flows *flows = s->conf->flows;
	struct order *o;
	bool any = false;

	for (unsigned i = 0; i < flows->n; i++)
		any |= flows->flow[i].after[0] != 0;
	if (!any)
		return;
	o = s->order = mem_zeroed(1, sizeof(*o));
	o->flow = mem_zeroed(flows->n, sizeof(*o->flow));
	o->ready = mem_zeroed(flows->n, sizeof(*o->ready));
	o->first = mem_zeroed(flows->n, sizeof(*o->first));
	o->next = mem_zeroed((size_t)WAITS * flows->n, sizeof(*o->next));
	for (unsigned i = 0; i < flows->n; i++)
		o->flow[flows->flow[i].id] = i;
	for (unsigned i = 0; i < flows->n; i++)
		add_waits(o, flows, i);
	for (unsigned i = 0; i < flows->n; i++)
		find_ready(s, i);
}

void order_free(struct sim *s)
{
	if (!s->order)
		return;
	free(s->order->flow);
	free(s->order->ready);
	free(s->order->first);
	free(s->order->next);
	free(s->order);
}
