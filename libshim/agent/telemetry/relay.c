/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Switches on the path from senders to this host send records while they are asked to, and local
 * processes may feed some. This host forwards them to those senders.
 */
#include "agent/telemetry/telemetry.h"

#include <errno.h>

#include "agent/host/core.h"
#include "agent/net/net.h"
#include "base/text.h"

#define FRESH_NS 250000000ull            /* older records are not forwarded */
#define REQUEST_NS (2 * CCS_RENEW_NS)    /* a sender's HELLO keeps the request alive */

struct ccs_relayed {
	struct ccs_record record;        /* link 0: unused; covers_ns by this host's clock */
	struct ccs_prefix from;          /* senders */
	struct ccs_address to;           /* of this host; all zero: any */
	uint32_t serial;                 /* of the peer that sent it; 0: a process did */
	uint64_t last_seen_ns;
};

int ccs_relay_open(struct ccs_agent *a, char *err, size_t len)
{
	const struct ccs_agent_config *c = &a->config;

	a->relayed = calloc(CCS_AGENT_RELAYED, sizeof(*a->relayed));
	errno = a->relayed ? EINVAL : ENOMEM;
	if (!a->relayed || c->nswitches > CCS_AGENT_SWITCHES)
		return ccs_refuse(err, len, "more than %d switches are configured",
				  CCS_AGENT_SWITCHES);
	for (unsigned i = 0; i < c->nswitches; i++)
		if (ccs_address_parse(c->switches[i], &a->switches[i]))
			return ccs_refuse(err, len, "'%s' is not a valid address of a switch",
					  c->switches[i]);
	return 0;
}

/* -- requests ---------------------------------------------------------------------- */

static void request_records(struct ccs_agent *a, const struct ccs_ends *ends, uint32_t flows,
			    uint32_t period_us)
{
	struct ccs_peer *p = ccs_peer_get(a, ends);

	if (!p)
		return;
	p->relay.until_ns = ccs_agent_now(a) + REQUEST_NS;
	p->hello.pending |= p->relay.flows != flows || p->relay.period_us != period_us;
	p->relay.flows = flows;
	p->relay.period_us = period_us;
	if (p->hello.pending && !p->hello.awaited)
		ccs_send_hello(a, p);
}

void ccs_relay_ask(struct ccs_agent *a, const struct ccs_address *local, uint32_t flows,
		   uint32_t period_us)
{
	struct ccs_ends ends = { .local = *local, .ifindex = ccs_udp_scope(local) };

	for (unsigned i = 0; i < a->config.nswitches; i++) {
		ends.remote = a->switches[i];
		if (ccs_address_is_v4(&ends.local) == ccs_address_is_v4(&ends.remote))
			request_records(a, &ends, flows, period_us);
	}
}

/* -- records ----------------------------------------------------------------------- */

static bool is_same(const struct ccs_relayed *h, const struct ccs_relayed *new)
{
	return h->record.link == new->record.link && h->serial == new->serial &&
	       ccs_address_equal(&h->to, &new->to) && h->from.bits == new->from.bits &&
	       ccs_address_equal(&h->from.address, &new->from.address);
}

static bool is_fresh(const struct ccs_relayed *h, uint64_t now_ns)
{
	return h->record.link && now_ns - h->last_seen_ns < FRESH_NS;
}

/* Replace an earlier record of the link, or the entry updated least recently. */
static void store(struct ccs_agent *a, const struct ccs_relayed *new)
{
	struct ccs_relayed *entry = a->relayed;

	for (struct ccs_relayed *h = a->relayed; h < a->relayed + CCS_AGENT_RELAYED; h++) {
		if (is_same(h, new)) {
			entry = h;
			break;
		}
		if (h->last_seen_ns < entry->last_seen_ns)
			entry = h;
	}
	if (is_same(entry, new) && new->record.ts_ns < entry->record.ts_ns)
		return; /* arrived out of order */
	*entry = *new;
}

/* Whether no switch reports a port nearer to this host. */
static bool is_nearest(const struct ccs_agent *a, const struct ccs_relayed *new)
{
	for (const struct ccs_relayed *h = a->relayed; h < a->relayed + CCS_AGENT_RELAYED; h++)
		if (h->serial && is_fresh(h, new->last_seen_ns) && ccs_address_equal(&h->to, &new->to) &&
		    h->record.hop < new->record.hop)
			return false;
	return true;
}

bool ccs_relay_receive(struct ccs_agent *a, const struct ccs_peer *p,
		       const struct ccs_wire_records *m)
{
	const uint64_t now_ns = ccs_agent_now(a);
	struct ccs_relayed h = { .from.bits = m->bits, .to = p->ends.local, .serial = p->serial,
			       .last_seen_ns = now_ns };
	bool nearest = false;

	memcpy(h.from.address.b, m->prefix, sizeof(m->prefix));
	for (unsigned i = 0; i < m->n; i++) {
		h.record = m->record[i];
		if (h.record.covers_ns > now_ns)
			h.record.covers_ns = 0;
		store(a, &h);
		nearest |= is_nearest(a, &h);
	}
	return nearest;
}

/* The record slows flows of other hosts, so no process that is only a user's may feed one. */
int ccs_relay_feed(struct ccs_agent *a, const struct ccs_client *c,
		   const struct ccs_ipc_record *m)
{
	const uint64_t now_ns = ccs_agent_now(a);
	const struct ccs_relayed h = {
		.record = {
			.link = m->link, .hop = (uint16_t)m->hop, .kind = CCS_RECORD_PORT,
			.ts_ns = m->ts_ns, .tx_bytes = m->tx_bytes, .qlen_bytes = m->qlen_bytes,
			.capacity = m->capacity,
			.covers_ns = m->covers_ns <= now_ns ? m->covers_ns : 0,
		},
		.from = { ccs_address_of(m->from), m->from_bits },
		.to = ccs_address_of(m->to),
		.last_seen_ns = now_ns,
	};

	if (c->standing == CCS_STANDING_USER)
		return EPERM;
	if (!m->link || m->hop > UINT16_MAX || m->from_bits > 128 || !m->capacity ||
	    m->capacity > CCS_RECORD_CAPACITY_MOST)
		return EINVAL;
	store(a, &h);
	return 0;
}

static bool is_on_path(const struct ccs_relayed *h, const struct ccs_peer *p, uint64_t now_ns)
{
	static const struct ccs_address any;

	return is_fresh(h, now_ns) &&
	       (ccs_address_equal(&h->to, &any) || ccs_address_equal(&h->to, &p->ends.local)) &&
	       ccs_prefix_covers(&h->from, &p->ends.remote);
}

unsigned ccs_relay_records_for(const struct ccs_agent *a, const struct ccs_peer *p,
			       uint64_t now_ns, struct ccs_record *r, unsigned n)
{
	unsigned found = 0;

	for (unsigned i = 0; i < CCS_AGENT_RELAYED && found < n; i++)
		if (is_on_path(&a->relayed[i], p, now_ns))
			r[found++] = a->relayed[i].record;
	return found;
}
