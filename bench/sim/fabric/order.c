/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Flows that wait for others, as the steps of a collective operation do: message m of such a flow
 * is posted when message m - lag of each flow that it waits for has been received. A group's
 * operations begin together, with a pause between them.
 */
#include <stdlib.h>

#include "bench/sim/core/memory.h"
#include "priv.h"

enum { WAITS = FAB_WAITS };

/* The operation that runs, or that follows the pause. */
struct group {
	unsigned number, flows, received; /* flows whose messages of this operation were received */
	uint64_t start;          /* NEVER: in the pause */
};

struct order {
	struct group *group;     /* [0] is unused */
	unsigned groups;
	uint32_t *flow;          /* by the flow's id: its index */
	uint64_t *ready;         /* bytes that may be posted, of each flow */
	uint32_t *first, *next;  /* waits for a flow: WAITS * flow + i + 1, 0 at the end */
	unsigned *counted;       /* operations of each flow that were received */
};

/* Bytes of a flow up to the end of its message m. */
static uint64_t end_of(const struct fab_flow_spec *f, uint64_t m)
{
	const uint64_t message = f->message ? f->message : f->size;

	return m >= f->size / message ? f->size : (m + 1) * message;
}

static bool is_received(const struct sim *s, const struct fab_flow_spec *of, uint64_t m)
{
	const struct group *g = &s->order->group[of->group];
	const uint64_t within = of->group ? m % of->messages : m;

	if (of->group && (m / of->messages > g->number || g->start == NEVER))
		return false;
	for (unsigned i = 0; i < WAITS; i++) {
		const struct flow *f;

		if (!of->after[i] || within < of->lag)
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
	return s->order ? s->order->ready[flow_number(s, f)] : f->size;
}

/* Post the messages of a flow that may be posted now. */
static void post_ready(struct sim *s, uint32_t flow)
{
	const uint64_t before = s->order->ready[flow];
	struct flow *f = &s->flow[flow];

	find_ready(s, flow);
	if (s->order->ready[flow] && !before && flow < s->started)
		flow_announce(s, f);
	if (s->order->ready[flow] > before && flow < s->started && f->control)
		f->driver->ready(s, f);
}

static void record_operation(struct sim *s, const struct fab_flow_spec *f, uint64_t start)
{
	struct fab_result *r = s->result;

	if (f->unmeasured || start < s->measured_from)
		return;
	if ((r->operations & (r->operations - 1)) == 0)
		r->operation = mem_resized(r->operation, r->operations ? 2 * (size_t)r->operations : 1,
					   sizeof(*r->operation));
	r->operation[r->operations++] = (struct fab_operation){ start, s->now - start };
}

/* Count a flow whose last message of the operation was received. */
static void count_operation(struct sim *s, uint32_t flow)
{
	const struct fab_flow_spec *f = s->flow[flow].spec;
	struct group *g = &s->order->group[f->group];
	const uint64_t end = end_of(f, (uint64_t)(g->number + 1) * f->messages - 1);

	if (g->start == NEVER || s->flow[flow].rcv_nxt < end || s->order->counted[flow] > g->number)
		return;
	s->order->counted[flow] = g->number + 1;
	if (++g->received < g->flows)
		return;
	record_operation(s, f, g->start);
	g->received = 0;
	g->number++;
	g->start = NEVER;
	set_event(s, s->now + f->pause, START, f->group);
}

/* An operation that still runs at the end and has taken longer than all before it. */
static void record_running(struct sim *s, const struct fab_flow_spec *f, uint64_t start)
{
	const struct fab_result *r = s->result;
	uint64_t longest = 0;

	for (unsigned i = 0; i < r->operations; i++)
		longest = r->operation[i].length > longest ? r->operation[i].length : longest;
	if (start < s->now && s->now - start > longest)
		record_operation(s, f, start);
}

void order_finish(struct sim *s)
{
	for (unsigned i = 0; s->order && i < s->conf->flows->n; i++) {
		struct group *g = &s->order->group[s->flow[i].spec->group];

		if (!s->flow[i].spec->group || flow_is_done(&s->flow[i]))
			continue;
		record_running(s, s->flow[i].spec, g->start);
		g->start = NEVER;
	}
}

void order_resume(struct sim *s, uint32_t group)
{
	s->order->group[group].start = s->now;
	for (uint32_t i = 0; i < s->conf->flows->n; i++)
		if (s->flow[i].spec->group == group)
			post_ready(s, i);
}

void order_received(struct sim *s, uint32_t flow)
{
	const struct order *o = s->order;

	if (s->flow[flow].spec->group)
		count_operation(s, flow);
	for (uint32_t at = o->first[flow]; at; at = o->next[at - 1])
		post_ready(s, (at - 1) / WAITS);
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

/* A group begins with the first of its flows. */
static void init_groups(struct order *o, const struct fab_flows *flows)
{
	o->group = mem_zeroed(o->groups + 1, sizeof(*o->group));
	for (unsigned i = 0; i < flows->n; i++)
		if (!o->group[flows->flow[i].group].flows++)
			o->group[flows->flow[i].group].start = flows->flow[i].start;
}

void orders_init(struct sim *s)
{
	const struct fab_flows *flows = s->conf->flows;
	struct order *o;
	unsigned groups = 0;
	bool any = false;

	for (unsigned i = 0; i < flows->n; i++) {
		any |= flows->flow[i].after[0] != 0 || flows->flow[i].group;
		groups = flows->flow[i].group > groups ? flows->flow[i].group : groups;
	}
	if (!any)
		return;
	o = s->order = mem_zeroed(1, sizeof(*o));
	o->groups = groups;
	o->counted = mem_zeroed(flows->n, sizeof(*o->counted));
	init_groups(o, flows);
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

void orders_free(struct sim *s)
{
	if (!s->order)
		return;
	free(s->order->group);
	free(s->order->counted);
	free(s->order->flow);
	free(s->order->ready);
	free(s->order->first);
	free(s->order->next);
	free(s->order);
}
