/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records of links elsewhere, on the way from senders to this host: switches send them
 * while they are asked to, or a process here knows of them. They go on to those senders.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/priv.h"

#define FRESH_NS 250000000ull            /* older ones are nobody's any more */
#define ASKED_NS (2 * CCS_RENEW_NS)      /* by a sender's HELLO */

struct ccs_heard {
	struct ccs_record record;        /* link 0: unused; covers_ns by this host's clock */
	struct ccs_prefix from;          /* senders */
	struct ccs_address to;           /* of this host; all zero: any */
	uint32_t serial;                 /* of the peer that sent it; 0: a process did */
	uint64_t heard_ns;
};

int ccs_heard_open(struct ccs_agent *a, char *err, size_t len)
{
	const struct ccs_agent_config *c = &a->config;

	a->heard = calloc(CCS_AGENT_HEARD, sizeof(*a->heard));
	errno = a->heard ? EINVAL : ENOMEM;
	if (!a->heard || c->nswitches > CCS_AGENT_SWITCHES) {
		snprintf(err, len, "more than %d switches", CCS_AGENT_SWITCHES);
		return -1;
	}
	for (unsigned i = 0; i < c->nswitches; i++)
		if (ccs_address_parse(c->switches[i], &a->switches[i])) {
			snprintf(err, len, "'%s' is no switch's address", c->switches[i]);
			return -1;
		}
	return 0;
}

/* -- asking ------------------------------------------------------------------------ */

static void ask(struct ccs_agent *a, const struct ccs_ends *ends, uint32_t flows,
		uint32_t period_us)
{
	struct ccs_peer *p = ccs_peer_get(a, ends);

	if (!p)
		return;
	p->upstream_ns = ccs_agent_now(a) + ASKED_NS;
	p->news |= p->up_active != flows || p->up_period_us != period_us;
	p->up_active = flows;
	p->up_period_us = period_us;
	if (p->news && !p->asked)
		ccs_message_hello(a, p);
}

void ccs_heard_ask(struct ccs_agent *a, const struct ccs_address *local, uint32_t flows,
		   uint32_t period_us)
{
	struct ccs_ends ends = { .local = *local, .ifindex = ccs_udp_scope(local) };

	for (unsigned i = 0; i < a->config.nswitches; i++) {
		ends.remote = a->switches[i];
		if (ccs_address_is_v4(&ends.local) == ccs_address_is_v4(&ends.remote))
			ask(a, &ends, flows, period_us);
	}
}

/* -- records ----------------------------------------------------------------------- */

static bool is_same(const struct ccs_heard *h, const struct ccs_heard *new)
{
	return h->record.link == new->record.link && h->serial == new->serial &&
	       ccs_address_equal(&h->to, &new->to) && h->from.bits == new->from.bits &&
	       ccs_address_equal(&h->from.address, &new->from.address);
}

static bool is_fresh(const struct ccs_heard *h, uint64_t now_ns)
{
	return h->record.link && now_ns - h->heard_ns < FRESH_NS;
}

/* In the place of an earlier one, or of the one that is not heard of for the longest time. */
static void keep(struct ccs_agent *a, const struct ccs_heard *new)
{
	struct ccs_heard *place = a->heard;

	for (struct ccs_heard *h = a->heard; h < a->heard + CCS_AGENT_HEARD; h++) {
		if (is_same(h, new)) {
			place = h;
			break;
		}
		if (h->heard_ns < place->heard_ns)
			place = h;
	}
	if (is_same(place, new) && new->record.ts_ns < place->record.ts_ns)
		return; /* overtaken */
	*place = *new;
}

/* Whether no switch tells of a port nearer to this host. */
static bool is_nearest(const struct ccs_agent *a, const struct ccs_heard *new)
{
	for (const struct ccs_heard *h = a->heard; h < a->heard + CCS_AGENT_HEARD; h++)
		if (h->serial && is_fresh(h, new->heard_ns) && ccs_address_equal(&h->to, &new->to) &&
		    h->record.hop < new->record.hop)
			return false;
	return true;
}

bool ccs_heard_take(struct ccs_agent *a, const struct ccs_peer *p,
		    const struct ccs_wire_records *m)
{
	const uint64_t now_ns = ccs_agent_now(a);
	struct ccs_heard h = { .from.bits = m->bits, .to = p->ends.local, .serial = p->serial,
			       .heard_ns = now_ns };
	bool nearest = false;

	memcpy(h.from.address.b, m->prefix, sizeof(m->prefix));
	for (unsigned i = 0; i < m->n; i++) {
		h.record = m->record[i];
		if (h.record.covers_ns > now_ns)
			h.record.covers_ns = 0;
		keep(a, &h);
		nearest |= is_nearest(a, &h);
	}
	return nearest;
}

/* It slows flows of other hosts, so not everybody may. */
int ccs_heard_hook(struct ccs_agent *a, const struct ccs_client *c,
		   const struct ccs_local_record *m)
{
	const uint64_t now_ns = ccs_agent_now(a);
	const struct ccs_heard h = {
		.record = {
			.link = m->link, .hop = (uint16_t)m->hop, .kind = CCS_RECORD_PORT,
			.ts_ns = m->ts_ns, .tx_bytes = m->tx_bytes, .qlen_bytes = m->qlen_bytes,
			.capacity = m->capacity,
			.covers_ns = m->covers_ns <= now_ns ? m->covers_ns : 0,
		},
		.from = { ccs_address_of(m->from), m->from_bits },
		.to = ccs_address_of(m->to),
		.heard_ns = now_ns,
	};

	if (c->uid && c->uid != geteuid())
		return EPERM;
	if (!m->link || m->hop > UINT16_MAX || m->from_bits > 128 || !m->capacity ||
	    m->capacity > CCS_RECORD_CAPACITY_MOST)
		return EINVAL;
	keep(a, &h);
	return 0;
}

static bool concerns(const struct ccs_heard *h, const struct ccs_peer *p, uint64_t now_ns)
{
	static const struct ccs_address any;

	return is_fresh(h, now_ns) &&
	       (ccs_address_equal(&h->to, &any) || ccs_address_equal(&h->to, &p->ends.local)) &&
	       ccs_prefix_covers(&h->from, &p->ends.remote);
}

unsigned ccs_heard_for(const struct ccs_agent *a, const struct ccs_peer *p, uint64_t now_ns,
		       struct ccs_record *r, unsigned n)
{
	unsigned found = 0;

	for (unsigned i = 0; i < CCS_AGENT_HEARD && found < n; i++)
		if (concerns(&a->heard[i], p, now_ns))
			r[found++] = a->heard[i].record;
	return found;
}
