/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The driver of flows that receivers give credit to, written from EQDS's public description. A flow
 * begins with a window of one BDP without credit. Then its receiver gives it a packet's credit at a
 * time, in turn with the other flows to it that have something to send, at the rate of its link;
 * bytes sent without credit count as given. EQDS's switches trim packets that find a long queue, and
 * its senders use all paths; here queues are lossless, and a flow has one path.
 */
#include <math.h>
#include <stdlib.h>

#include "baselines.h"
#include "bench/sim/core/memory.h"
#include "priv.h"

enum { WINDOW, RATE, PARAMS };

static const struct ccs_cc_param params[] = {
	[WINDOW] = { "window", "", 1, 0.01, 100, NULL, "sent without credit, in BDPs", "EQDS" },
	[RATE] = { "rate", "", 0.99, 0.01, 1, NULL, "of the link, for which credit is given", "EQDS" },
};

const struct ccs_cc_ops fab_eqds = {
	.name = "eqds", .doc = "credits of receivers, as EQDS's", .params = params, .nparams = PARAMS,
};

/* A flow, as its receiver sees it. */
struct account {
	uint64_t given;          /* bytes that the sender may send, as of the last credit */
	uint32_t next;           /* in the receiver's list: flow + 1; 0: the last */
	bool listed;
};

/* A receiver, by the port at which its packets arrive. */
struct giver {
	uint64_t next_at;        /* time of the next credit */
	uint32_t first, last;    /* flow + 1, or 0 */
	bool set;                /* CREDIT is set */
};

struct credits {
	struct account *account; /* per flow */
	struct giver *giver;     /* per port */
};

struct eqds {
	uint64_t granted;        /* bytes that may be sent */
};

static struct credits *credits_of(struct sim *s)
{
	if (!s->credits) {
		s->credits = mem_zeroed(1, sizeof(*s->credits));
		s->credits->account = mem_zeroed(s->conf->flows->n, sizeof(*s->credits->account));
		s->credits->giver = mem_zeroed(s->ports, sizeof(*s->credits->giver));
	}
	return s->credits;
}

void credits_free(struct sim *s)
{
	if (!s->credits)
		return;
	free(s->credits->account);
	free(s->credits->giver);
	free(s->credits);
}

/* -- the receiver ---------------------------------------------------------------------------- */

static double credit_ps(const struct sim *s, uint32_t port, uint32_t flow, double bytes)
{
	const struct fab_wire *w = &s->conf->wire;
	const double rate = fab_param(algorithm_of(s, s->flow[flow].spec->priority), RATE);

	return bytes * (1 + (double)w->header / w->payload) * s->port[port].ps_per_byte / rate;
}

static void set_giver(struct sim *s, uint32_t port)
{
	struct giver *g = &s->credits->giver[port];

	if (g->set || !g->first)
		return;
	if (g->next_at < s->now)
		g->next_at = s->now;
	g->set = true;
	set_event(s, g->next_at, CREDITS, port);
}

static void list(struct sim *s, uint32_t port, uint32_t flow)
{
	struct account *a = &s->credits->account[flow];
	struct giver *g = &s->credits->giver[port];

	if (a->listed || a->given >= s->flow[flow].posted || flow_is_done(&s->flow[flow]))
		return;
	a->listed = true;
	a->next = 0;
	if (g->last)
		s->credits->account[g->last - 1].next = flow + 1;
	else
		g->first = flow + 1;
	g->last = flow + 1;
}

static uint32_t unlist(struct sim *s, struct giver *g)
{
	const uint32_t flow = g->first - 1;
	struct account *a = &s->credits->account[flow];

	g->first = a->next;
	if (!g->first)
		g->last = 0;
	a->listed = false;
	return flow;
}

void credits_give(struct sim *s, uint32_t port)
{
	struct giver *g = &s->credits->giver[port];

	g->set = false;
	if (s->now < g->next_at) {
		set_giver(s, port);
		return;
	}
	while (g->first) {
		const uint32_t flow = unlist(s, g);
		struct account *a = &s->credits->account[flow];
		const uint64_t left = s->flow[flow].posted - a->given;

		if (flow_is_done(&s->flow[flow]) || a->given >= s->flow[flow].posted)
			continue;
		a->given += left < s->conf->wire.payload ? left : s->conf->wire.payload;
		g->next_at = s->now + (uint64_t)credit_ps(s, port, flow, s->conf->wire.payload);
		send_control(s, port ^ 1, &s->flow[flow], CREDIT, a->given);
		list(s, port, flow);
		break;
	}
	set_giver(s, port);
}

/* Data sent without credit take the link's time, except in the first round trip. */
static void charge(struct sim *s, uint32_t port, uint32_t flow)
{
	const struct flow *f = &s->flow[flow];
	struct account *a = &s->credits->account[flow];
	struct giver *g = &s->credits->giver[port];
	const uint64_t rtt = ps_of(f->base_us);
	const uint64_t before = s->now > rtt ? s->now - rtt : 0;

	if (f->eqds->granted <= a->given)
		return;
	if (g->next_at < before)
		g->next_at = before;
	g->next_at += (uint64_t)credit_ps(s, port, flow, (double)(f->eqds->granted - a->given));
	a->given = f->eqds->granted;
}

/* Each packet says how much its flow may send, and has to. */
static void received(struct sim *s, uint32_t port, struct flow *f)
{
	credits_of(s);
	if (!flow_is_done(f)) {
		charge(s, port, flow_number(s, f));
		list(s, port, flow_number(s, f));
		set_giver(s, port);
	}
}

void credits_receive(struct sim *s, uint32_t port, const struct packet *k)
{
	struct flow *f = &s->flow[k->flow];

	if (flow_is_done(f))
		return;
	if (k->kind == ASK) {
		received(s, port, f);
		return;
	}
	if (k->seq > f->eqds->granted)
		f->eqds->granted = k->seq;
	flow_update(s, f);
}

/* -- the sender ------------------------------------------------------------------------------ */

static bool may_send(const struct sim *s, const struct flow *f, bool lost)
{
	(void)s;
	return lost || f->snd_nxt < f->eqds->granted;
}

/* A flow that had nothing more to send may have a window under way without credit. If that is used
 * up, it asks for credit; otherwise its packets do. */
static void ready(struct sim *s, struct flow *f)
{
	const struct ccs_cc_path path = flow_path(s, f);
	const double window = path.line_rate / 8e6 * path.base_rtt_us *
			      fab_param(algorithm_of(s, f->spec->priority), WINDOW);
	const uint64_t until = f->snd_una + (uint64_t)fmax(window, s->conf->wire.payload);
	const bool idle = f->snd_nxt == f->posted;

	f->posted = flow_ready(s, f);
	if (idle && until > f->eqds->granted)
		f->eqds->granted = until < f->posted ? until : f->posted;
	if (f->snd_nxt < f->posted && f->snd_nxt >= f->eqds->granted)
		send_control(s, f->port, f, ASK, 0);
	flow_update(s, f);
}

static void ack(struct sim *s, struct flow *f, const struct packet *k, uint32_t acked)
{
	(void)k;
	(void)acked;
	flow_update(s, f);
}

const struct driver credit_driver = {
	.size = sizeof(struct eqds), .start = ready, .may_send = may_send, .ack = ack,
	.cnp = flow_update, .loss = flow_update, .timer = flow_update, .ready = ready,
	.received = received,
};
