/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The driver with the flow layer: a flow is one WRITE of a separate queue pair, or one for each
 * message, and the last acknowledgement of a segment completes it. SENDs are not split. READs are
 * posted by the flow's receiver: a segment is a request to the host that has the data, and their
 * arrival completes it. CNPs and advice for them also take the way to that host, although they
 * concern the receiver: they come half an RTT late.
 */
#include "bench/sim/core/shim.h"
#include "priv.h"

/* Requests that an application posts at a time: of small messages it takes many to fill a link. */
enum { WRS = 64, SEGMENTS = 256 };

struct shim_state {
	struct shim shim;
	uint64_t requested;      /* by READs */
	uint32_t requester;      /* the receiver's port for them */
};

double flow_segment(const struct flow *f)
{
	return f->driver == &shim_driver && f->shim ? f->shim->shim.flow.cc.path.segment : 0;
}

static void request(struct sim *s, struct flow *f, uint32_t bytes)
{
	struct shim_state *h = f->shim;

	h->requested += bytes;
	send_control(s, h->requester, f, REQUEST, h->requested);
}

void flow_request(struct sim *s, const struct packet *k)
{
	struct flow *f = &s->flow[k->flow];

	if (k->seq > f->posted && !flow_is_done(f))
		f->posted = k->seq;
	flow_update(s, f);
}

static void pump(struct sim *s, struct flow *f)
{
	struct shim *h = &f->shim->shim;
	const struct ccs_seg *seg;
	uint64_t wait;

	h->ready = flow_ready(s, f);
	while ((seg = shim_next(h, s->now))) {
		if (f->spec->verb == FAB_READ)
			request(s, f, seg->len);
		else
			f->posted += seg->len;
	}
	wait = ccs_flow_wait(&h->flow, shim_ns(s->now));
	if (wait && wait != UINT64_MAX)
		flow_set_timer(s, f, (wait - 1000) * 1000);
	flow_update(s, f);
}

static void start(struct sim *s, struct flow *f)
{
	const struct ccs_cc_path path = flow_path(s, f);
	const struct ccs_flow_config conf = {
		.line_rate = path.line_rate, .max_rate = INFINITY,
		.base_rtt_us = s->conf->base_rtt_us, .split = true, .enforce = true,
		.seed = rng_next(&s->random),
	};

	struct shim *h = &f->shim->shim;

	h->message = f->spec->message;
	h->waiting = h->depth = WRS;
	h->flags = CCS_WR_SIGNALED | (f->spec->verb == FAB_SEND ? 0 : CCS_WR_SPLIT);
	f->shim->requester = f->port_back;
	shim_init(h, &conf, algorithm_of(s, f->spec->priority), WRS, SEGMENTS, s->now);
	h->flow.cc.path.payload_share = path.payload_share;
	if (s->conf->rto_us > 0)
		h->flow.rtt.loss_us = (float)s->conf->rto_us;
	pump(s, f);
}

static void complete(struct sim *s, struct flow *f, uint64_t arrived)
{
	const uint64_t ns = shim_ns(s->now);

	shim_complete(&f->shim->shim, arrived,
		      (struct ccs_done){ .earliest_ns = ns, .latest_ns = ns }, false);
}

/* The records of a packet. */
static struct ccs_telemetry *telemetry_of(const struct sim *s, struct shim *h, const struct packet *k)
{
	const struct record *r = &s->record[k->record];
	struct ccs_telemetry *t = shim_telemetry(h);

	*t = (struct ccs_telemetry){ .path = 1, .nhops = r->n };
	memcpy(t->hops, r->hop, r->n * sizeof(*r->hop));
	return t;
}

static void ack(struct sim *s, struct flow *f, const struct packet *k, uint32_t acked)
{
	struct shim *h = &f->shim->shim;

	if (k->record)
		telemetry_of(s, h, k);
	if (k->ce)
		ccs_flow_cnp(&h->flow, shim_ns(s->now));
	if (acked && f->spec->verb != FAB_READ)
		complete(s, f, f->snd_una);
	pump(s, f);
}

static void received(struct sim *s, uint32_t port, struct flow *f)
{
	(void)port;
	if (f->spec->verb != FAB_READ || flow_is_done(f))
		return;
	complete(s, f, f->rcv_nxt);
	pump(s, f);
}

static void cnp(struct sim *s, struct flow *f)
{
	ccs_flow_cnp(&f->shim->shim.flow, shim_ns(s->now));
	pump(s, f);
}

static void advice(struct sim *s, struct flow *f, const struct packet *k)
{
	struct shim *h = &f->shim->shim;
	struct ccs_telemetry *t = telemetry_of(s, h, k);

	t->flows = k->payload;
	t->advised_rate = s->conf->advise ? (double)k->seq : 0;
	t->covers_ns = t->nhops ? t->hops[0].ts_ns + 1000 : 0;
	if (s->conf->advise)
		ccs_flow_advise(&h->flow, shim_ns(s->now));
	pump(s, f);
}

static void stop(struct flow *f)
{
	ccs_flow_destroy(&f->shim->shim.flow);
}

const struct driver shim_driver = {
	.size = sizeof(struct shim_state), .start = start, .ack = ack, .cnp = cnp, .loss = flow_update,
	.advice = advice, .timer = pump, .stop = stop, .ready = pump, .received = received,
};
