/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The driver with the flow layer, as in the preload: a flow is one WRITE of a queue pair of its own,
 * or one for each message, a few of which are posted at a time, of which ccs_flow_next hands segments to the NIC; the last acknowledgement completes a segment.
 * SENDs are not split. READs are posted by the flow's receiver: a segment is a request to the host
 * that has the data, and their arrival completes it. CNPs and advice for them take the way to that
 * host, too, although they concern the receiver: they come half an RTT late.
 */
#include <stdlib.h>

#include "flow/flow.h"
#include "bench/sim/core/memory.h"
#include "priv.h"

/* Requests that an application posts at a time: of small messages it takes many to fill a link. */
enum { WRS = 64, SEGMENTS = 256 };

struct shim {
	struct ccs_flow flow;
	struct ccs_telemetry telemetry;
	uint64_t accepted, completed; /* bytes of the flow */
	uint64_t requested;      /* by READs */
	uint32_t requester;      /* the receiver's port for them */
};

double flow_segment(const struct flow *f)
{
	return f->driver == &shim_driver && f->shim ? f->shim->flow.cc.path.segment : 0;
}

/* The library's clock is never 0. */
static uint64_t ns(const struct sim *s)
{
	return s->now / 1000 + 1000;
}

static bool may_send(const struct sim *s, const struct flow *f, bool lost)
{
	(void)s;
	(void)f;
	(void)lost;
	return true;
}

static void accept(struct sim *s, uint32_t flow)
{
	const uint64_t ready = flow_ready(s, flow);
	struct flow *f = &s->flow[flow];
	struct shim *h = f->shim;

	while (h->accepted < ready && h->flow.wr_head - h->flow.wr_tail < WRS) {
		const uint64_t left = ready - h->accepted, most = f->spec->message;
		const uint64_t len = most && most < left ? most : left;

		ccs_flow_accept(&h->flow, len, (f->spec->verb == FAB_SEND ? 0 : CCS_WR_SPLIT) |
				CCS_WR_SIGNALED);
		h->accepted += len;
	}
}

static void request(struct sim *s, uint32_t flow, uint32_t bytes)
{
	struct shim *h = s->flow[flow].shim;
	const uint32_t i = new_packet(s);
	struct packet *k = &s->packet[i];

	h->requested += bytes;
	k->flow = flow;
	k->kind = REQUEST;
	k->seq = h->requested;
	k->ttl = (uint8_t)s->conf->ttl;
	k->priority = (uint8_t)s->conf->cnp_priority;
	k->dscp = FAB_CNP_DSCP;
	k->sent = s->now;
	k->len = (uint16_t)s->conf->wire.cnp;
	port_put(s, h->requester, i);
}

void flow_request(struct sim *s, const struct packet *k)
{
	struct flow *f = &s->flow[k->flow];

	if (k->seq > f->posted && !flow_is_done(f))
		f->posted = k->seq;
	flow_update(s, k->flow);
}

static void pump(struct sim *s, uint32_t flow)
{
	struct flow *f = &s->flow[flow];
	const struct ccs_seg *seg;
	uint64_t now_ns = ns(s), wait;

	while ((seg = ccs_flow_next(&f->shim->flow, &now_ns, NULL))) {
		if (f->spec->verb == FAB_READ)
			request(s, flow, seg->len);
		else
			f->posted += seg->len;
	}
	wait = ccs_flow_wait(&f->shim->flow, ns(s));
	if (wait && wait != UINT64_MAX)
		flow_set_timer(s, flow, (wait - 1000) * 1000);
	flow_update(s, flow);
}

static void start(struct sim *s, uint32_t flow)
{
	struct flow *f = &s->flow[flow];
	const struct ccs_cc_path path = flow_path(s, f);
	const struct ccs_flow_config conf = {
		.line_rate = path.line_rate, .max_rate = INFINITY,
		.base_rtt_us = s->conf->base_rtt_us, .split = true, .enforce = true,
		.seed = rng_next(&s->random),
	};

	f->shim = mem_zeroed(1, sizeof(*f->shim));
	f->shim->requester = f->port_back;
	if (ccs_flow_init(&f->shim->flow, &conf, algorithm_of(s, f->spec->priority), WRS, SEGMENTS,
			  ns(s)))
		mem_checked(NULL);
	if (s->conf->rto_us > 0)
		f->shim->flow.rtt.loss_us = (float)s->conf->rto_us;
	accept(s, flow);
	pump(s, flow);
}

static void complete(struct sim *s, struct flow *f, uint64_t arrived)
{
	struct ccs_flow *c = &f->shim->flow;
	struct ccs_done done = { .ok = true, .earliest_ns = ns(s), .latest_ns = ns(s) };
	uint64_t wr;

	for (done.number = c->seg_tail; done.number < c->seg_head; done.number++) {
		const struct ccs_seg *seg = ccs_flow_seg(c, done.number);

		if (f->shim->completed + seg->len > arrived)
			break;
		f->shim->completed += seg->len;
		ccs_flow_complete(c, &done, &wr);
	}
	accept(s, (uint32_t)(f - s->flow));
}

static void ack(struct sim *s, uint32_t flow, const struct packet *k, uint32_t acked)
{
	struct flow *f = &s->flow[flow];
	struct shim *h = f->shim;

	if (k->record) {
		const struct record *r = &s->record[k->record];

		h->telemetry = (struct ccs_telemetry){ .path = 1, .nhops = r->n };
		memcpy(h->telemetry.hops, r->hop, r->n * sizeof(*r->hop));
		h->flow.events.telemetry = &h->telemetry;
	}
	if (k->ce)
		ccs_flow_cnp(&h->flow, ns(s));
	if (acked && f->spec->verb != FAB_READ)
		complete(s, f, f->snd_una);
	pump(s, flow);
}

static void received(struct sim *s, uint32_t port, uint32_t flow)
{
	struct flow *f = &s->flow[flow];

	(void)port;
	if (f->spec->verb != FAB_READ || flow_is_done(f))
		return;
	complete(s, f, f->rcv_nxt);
	pump(s, flow);
}

static void cnp(struct sim *s, uint32_t flow)
{
	ccs_flow_cnp(&s->flow[flow].shim->flow, ns(s));
	pump(s, flow);
}

static void advice(struct sim *s, uint32_t flow, const struct packet *k)
{
	const struct record *r = &s->record[k->record];
	struct shim *h = s->flow[flow].shim;

	h->telemetry = (struct ccs_telemetry){
		.path = 1, .flows = k->payload, .nhops = r->n,
		.advised_rate = s->conf->advise ? (double)k->seq : 0,
		.covers_ns = r->n ? r->hop[0].ts_ns + 1000 : 0,
	};
	memcpy(h->telemetry.hops, r->hop, r->n * sizeof(*r->hop));
	h->flow.events.telemetry = &h->telemetry;
	if (s->conf->advise)
		ccs_flow_advise(&h->flow, ns(s));
	pump(s, flow);
}

/* The NIC retransmits; the flow layer sees a long RTT. */
static void loss(struct sim *s, uint32_t flow)
{
	flow_update(s, flow);
}

static void ready(struct sim *s, uint32_t flow)
{
	accept(s, flow);
	pump(s, flow);
}

static void stop(struct flow *f)
{
	ccs_flow_destroy(&f->shim->flow);
	free(f->shim);
	f->shim = NULL;
}

const struct driver shim_driver = {
	start, may_send, driver_due_now, driver_sent_nothing, ack, cnp, loss, advice, pump, stop,
	ready, received,
};
