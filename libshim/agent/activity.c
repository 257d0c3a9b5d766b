/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which of the clients' flows want telemetry, and how many of them send or READ: their slots are
 * looked at every now and then, so that flows need not say it, and peers are told what is
 * new. However many flows there are, it takes about a hundredth of a CPU.
 */
#include "agent/priv.h"

#define IDLE_NS 100000000ull             /* a flow that sends nothing for that long */
#define LOOK_NS 2000000ull               /* soonest */
#define LOOK_FLOW_NS 10000ull            /* for each flow */
#define NEW_NS 100000000ull              /* a flow that new is about to send */
#define NEW_LOOK_NS 500000ull            /* soonest, and for each flow, while there is one */
#define NEW_LOOK_FLOW_NS 2000ull
#define UNWANTED 10u                     /* times as rarely while nobody wants telemetry */

static uint32_t period_of(const struct ccs_agent_flow *f)
{
	const struct ccs_slot *slot = &f->client->page->slot[f->slot];

	return atomic_load_explicit(&slot->period_us, memory_order_relaxed);
}

/* Clients of before advice leave it open. */
static uint32_t wants_of(const struct ccs_agent_flow *f)
{
	const struct ccs_slot *slot = &f->client->page->slot[f->slot];
	const uint32_t wants = atomic_load_explicit(&slot->wants, memory_order_relaxed);

	return wants ? wants & CCS_PEER_RECORDS : CCS_PEER_TELEMETRY;
}

static uint32_t segment_of(const struct ccs_agent_flow *f)
{
	const struct ccs_slot *slot = &f->client->page->slot[f->slot];

	return atomic_load_explicit(&slot->segment, memory_order_relaxed);
}

static uint64_t sent_of(const struct ccs_agent_flow *f)
{
	const struct ccs_slot *slot = &f->client->page->slot[f->slot];

	return atomic_load_explicit(&slot->sent, memory_order_relaxed);
}

static uint64_t read_of(const struct ccs_agent_flow *f)
{
	const struct ccs_slot *slot = &f->client->page->slot[f->slot];

	return atomic_load_explicit(&slot->read, memory_order_relaxed);
}

static uint32_t shorter(uint32_t a_us, uint32_t b_us)
{
	return !a_us || b_us < a_us ? b_us : a_us;
}

void ccs_activity_join(struct ccs_agent *a, struct ccs_agent_flow *f)
{
	const uint32_t period_us = period_of(f);

	f->sent = sent_of(f);
	f->read = read_of(f);
	if (!period_us)
		return;
	f->peer->period_us = shorter(f->peer->period_us, period_us);
	f->peer->asks |= wants_of(f);
	if (wants_of(f) & CCS_PEER_ADVICE)
		f->sent_ns = ccs_agent_now(a); /* it is about to */
	a->wanted = true;
	a->activity_ns = 0;
	a->new_ns = ccs_agent_now(a);
}

/* Whether these bytes, of which there are so many now, have changed lately. */
static bool is_active(uint64_t *bytes, uint64_t *changed_ns, uint64_t now, uint64_t now_ns)
{
	if (now != *bytes) {
		*bytes = now;
		*changed_ns = now_ns;
	}
	return *changed_ns && now_ns - *changed_ns < IDLE_NS;
}

static void look_at(struct ccs_agent *a, struct ccs_agent_flow *f, uint64_t now_ns)
{
	const uint32_t period_us = period_of(f);

	if (!period_us)
		return;
	a->wanted = true;
	f->peer->wanting_us = shorter(f->peer->wanting_us, period_us);
	f->peer->wanting |= wants_of(f);
	if (segment_of(f) > f->peer->segment)
		f->peer->segment = segment_of(f);
	if (is_active(&f->sent, &f->sent_ns, sent_of(f), now_ns))
		f->peer->counting++;
	if (is_active(&f->read, &f->read_ns, read_of(f), now_ns))
		ccs_inbound_count(a, f, period_us, wants_of(f));
}

static void look_at_client(struct ccs_agent *a, const struct ccs_client *c, uint64_t now_ns)
{
	for (uint32_t i = 0; i < c->room; i++)
		if (c->flow[i])
			look_at(a, c->flow[i], now_ns);
}

/* What cannot be told at once, because an answer is awaited, comes with the next look. */
static void tell(struct ccs_agent *a, struct ccs_peer *p)
{
	p->news |= p->active != p->counting || p->period_us != p->wanting_us ||
		   p->asks != p->wanting;
	p->active = p->counting;
	p->period_us = p->wanting_us;
	p->asks = p->wanting;
	p->counting = p->wanting_us = p->wanting = 0;
	if (p->news && !p->asked)
		ccs_message_hello(a, p);
}

static uint64_t longer(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns > b_ns ? a_ns : b_ns;
}

/* A flow that begins to send has no telemetry yet, so that is noticed soon. */
static uint64_t pause_of(const struct ccs_agent *a, uint64_t now_ns)
{
	const uint64_t pause_ns = longer(LOOK_NS, LOOK_FLOW_NS * a->nflows);

	if (!a->wanted)
		return UNWANTED * pause_ns;
	if (a->new_ns && now_ns - a->new_ns < NEW_NS)
		return longer(NEW_LOOK_NS, NEW_LOOK_FLOW_NS * a->nflows);
	return pause_ns;
}

/* Places are given to clients from the end on. */
static void look_at_clients(struct ccs_agent *a, uint64_t now_ns)
{
	const struct ccs_client *c = a->client + CCS_AGENT_CLIENTS;

	for (unsigned n = a->nclients; n && c-- > a->client;) {
		n -= c->source.fd >= 0;
		look_at_client(a, c, now_ns);
	}
}

void ccs_activity_look(struct ccs_agent *a, uint64_t now_ns)
{
	if (now_ns < a->activity_ns)
		return;
	a->wanted = false;
	look_at_clients(a, now_ns);
	for (uint32_t i = 0; i < a->peers.high; i++) {
		struct ccs_peer *p = &a->peers.peer[i];

		if (p->flows || p->active)
			tell(a, p);
		if (p->inbound.counting || p->inbound.active)
			ccs_inbound_update(a, p, now_ns);
	}
	a->activity_ns = now_ns + pause_of(a, now_ns);
}
