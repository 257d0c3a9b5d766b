/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Caps of tenants: the agent of each host measures its tenants' flows and divides their caps, as ccshimd
 * does. READs are their receiver's. The burst is what was handed to NICs above the cap, as its time.
 */
#include <stdlib.h>

#include "cc/cap.h"
#include "bench/sim/core/memory.h"
#include "priv.h"

#define PERIOD_PS 1000000000ull

struct caps {
	struct ccs_cap_flow *flow, **active; /* by flow; of one group */
	uint64_t due;                    /* DIVIDE is set for it; NEVER: it is not */
	struct caps_bucket {
		double bytes;
		uint64_t at;
		bool used;
	} *bucket;                       /* of each node and tenant */
};

static struct caps_bucket *bucket_of(const struct sim *s, const struct flow *f)
{
	const uint32_t owner = f->spec->verb == FAB_READ ? f->dst : f->src;

	return &s->agents.caps->bucket[owner * FAB_TENANTS + f->spec->tenant];
}

static double cap_of(const struct sim *s, const struct flow *f)
{
	return f->spec->tenant ? s->conf->agents.terms[f->spec->tenant - 1].cap : 0;
}

void caps_init(struct sim *s)
{
	const struct fab_agents *c = &s->conf->agents;
	double caps = 0;

	for (unsigned i = 0; i < c->tenants; i++)
		caps += c->terms[i].cap;
	if (!(caps > 0))
		return;
	s->agents.caps = mem_zeroed(1, sizeof(*s->agents.caps));
	s->agents.caps->due = NEVER;
	s->agents.caps->flow = mem_zeroed(s->conf->flows->n, sizeof(*s->agents.caps->flow));
	s->agents.caps->active = mem_zeroed(s->conf->flows->n, sizeof(*s->agents.caps->active));
	s->agents.caps->bucket = mem_zeroed((size_t)s->conf->topology->nodes * FAB_TENANTS,
					    sizeof(*s->agents.caps->bucket));
}

double caps_begin(struct sim *s, const struct flow *f)
{
	struct ccs_cap_flow *cap = s->agents.caps ? &s->agents.caps->flow[f - s->flow] : NULL;

	if (!cap || !(cap_of(s, f) > 0))
		return INFINITY;
	bucket_of(s, f)->used = true;
	if (s->agents.caps->due > s->now) /* agents know flows before they send */
		set_event(s, s->agents.caps->due = s->now, DIVIDE, 0);
	ccs_cap_begin(cap, cap_of(s, f), f->handed, s->now / 1000);
	return cap->limit;
}

void caps_sent(struct sim *s, const struct flow *f, uint32_t len)
{
	const double cap = s->agents.caps ? cap_of(s, f) : 0;
	struct caps_bucket *b;
	double *most;

	if (!(cap > 0))
		return;
	b = bucket_of(s, f);
	b->bytes = fmax(b->bytes - (double)(s->now - b->at) * cap / 8e12, 0) + len;
	b->at = s->now;
	most = &s->result->burst_us[f->spec->tenant];
	*most = fmax(*most, 8e6 * b->bytes / cap);
}

static void divide(struct sim *s, struct ccs_cap_flow **cap, unsigned n, double rate)
{
	ccs_cap_divide(cap, n, rate);
	for (unsigned i = 0; i < n; i++)
		shim_limit(s, &s->flow[cap[i] - s->agents.caps->flow], cap[i]->limit);
}

/* The flows of each tenant and host. */
void caps_divide(struct sim *s, uint32_t number)
{
	bool any = false;

	(void)number;
	if (s->now < s->agents.caps->due) /* a flow has begun since it was set */
		return;
	for (unsigned group = 0; group < s->conf->topology->nodes * FAB_TENANTS; group++) {
		unsigned n = 0, first = 0;

		for (unsigned i = 0; i < s->started && s->agents.caps->bucket[group].used; i++) {
			struct flow *f = &s->flow[i];

			if (bucket_of(s, f) != &s->agents.caps->bucket[group] || flow_is_done(f) || !f->shim)
				continue;
			first = i;
			ccs_cap_measure(&s->agents.caps->flow[i], f->handed, flow_segment(f), s->now / 1000);
			s->agents.caps->active[n++] = &s->agents.caps->flow[i];
		}
		if (n)
			divide(s, s->agents.caps->active, n, cap_of(s, &s->flow[first]));
		any |= n;
	}
	s->agents.caps->due = any ? s->now + PERIOD_PS : NEVER;
	if (any)
		set_event(s, s->agents.caps->due, DIVIDE, 0);
}

void caps_free(struct sim *s)
{
	if (!s->agents.caps)
		return;
	free(s->agents.caps->flow);
	free(s->agents.caps->active);
	free(s->agents.caps->bucket);
	free(s->agents.caps);
}
