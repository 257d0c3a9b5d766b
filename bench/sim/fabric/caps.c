/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Caps of tenants, which the flows of a tenant and host share as under ccshimd. READs are their
 * receiver's. The burst is the data above the cap that NICs got, in time of the cap.
 */
#include <stdlib.h>

#include "cc/cap.h"
#include "bench/sim/core/memory.h"
#include "priv.h"

struct caps {
	struct caps_bucket {
		struct ccs_cap cap;
		double bytes;
		uint64_t at;
	} *bucket;                       /* of each node and tenant */
};

static struct caps_bucket *bucket_of(const struct sim *s, const struct flow *f)
{
	const uint32_t owner = f->spec->verb == FAB_READ ? f->dst : f->src;

	return &s->agents.caps->bucket[owner * FAB_TENANTS + f->spec->tenant];
}

double caps_rate(const struct sim *s, const struct flow *f)
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
	s->agents.caps->bucket = mem_zeroed((size_t)s->conf->topology->nodes * FAB_TENANTS,
					    sizeof(*s->agents.caps->bucket));
}

struct ccs_cap *caps_of(const struct sim *s, const struct flow *f)
{
	return caps_rate(s, f) > 0 ? &bucket_of(s, f)->cap : NULL;
}

void caps_sent(struct sim *s, const struct flow *f, uint32_t len)
{
	const double cap = caps_rate(s, f);
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

void caps_free(struct sim *s)
{
	if (!s->agents.caps)
		return;
	free(s->agents.caps->bucket);
	free(s->agents.caps);
}
