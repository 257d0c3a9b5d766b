/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The driver with the flow layer. A flow is a queue pair to which an application posts WRITEs, SENDs,
 * which are not split, or READs; it is one message or several. The last acknowledgement of a segment
 * completes it, or the arrival of a READ's data. READs are posted by the flow's receiver: a segment is
 * a request to the host that has the data. Advice also takes the way to that host, and comes half an
 * RTT late.
 */
#include "bench/sim/core/memory.h"
#include "flow/cc_events.h"
#include "flow/flow.h"
#include "priv.h"

/* Requests that an application posts at a time: of small messages it takes many to fill a link. */
enum { WRS = 64, SEGMENTS = 256 };

struct shim_state {
	struct ccs_flow flow;
	struct ccs_telemetry telemetry; /* the newest */
	uint64_t waiting;        /* messages that the application posts ahead */
	unsigned depth;          /* messages outstanding */
	uint32_t flags;          /* enum ccs_wr_flag of each message */
	uint64_t accepted, completed; /* bytes */
	uint64_t arrived;        /* bytes that are acknowledged, as of the owner's next poll */
	uint64_t poll_at;        /* NEVER: no acknowledgement has arrived since the last poll */
};

/* The library's clock is never 0. */
static uint64_t now_ns(const struct sim *s)
{
	return s->now / 1000 + 1000;
}

double flow_segment(const struct flow *f)
{
	return f->driver == &shim_driver && f->shim ? f->shim->flow.cc.path.segment : 0;
}

enum ccs_control flow_control(const struct flow *f)
{
	return f->driver == &shim_driver && f->shim ? f->shim->flow.rtt.control.now : CCS_CONTROL_OK;
}

/* The application posts messages that are ready. */
static void accept(struct sim *s, struct flow *f)
{
	const uint64_t ready = flow_ready(s, f), message = f->spec->message;
	struct shim_state *h = f->shim;

	while (h->accepted < ready && ccs_flow_waiting(&h->flow) < h->waiting &&
	       h->flow.wr_head - h->flow.wr_tail < h->depth) {
		const uint64_t left = ready - h->accepted;
		const uint64_t len = message && message < left ? message : left;

		ccs_flow_accept(&h->flow, len, h->flags);
		h->accepted += len;
	}
}

static void pump(struct sim *s, struct flow *f)
{
	struct shim_state *h = f->shim;
	uint64_t ns = now_ns(s), wait = 0;

	while (f->handed < f->size) {
		const struct ccs_seg *seg;

		accept(s, f);
		seg = ccs_flow_next(&h->flow, &ns, NULL);
		if (!seg) {
			wait = ccs_flow_wait(&h->flow, now_ns(s));
			break;
		}
		caps_sent(s, f, (uint32_t)seg->len);
		flow_hand(s, f, (uint32_t)seg->len);
	}
	if (wait && wait != UINT64_MAX)
		flow_set_timer(s, f, (wait - 1000) * 1000);
	if (h->poll_at != NEVER)
		flow_set_timer(s, f, h->poll_at);
	flow_update(s, f);
}

static void set_application(const struct sim *s, struct flow *f)
{
	static const uint32_t flags[] = {
		[FAB_WRITE] = CCS_WR_SPLIT, [FAB_SEND] = CCS_WR_RECV,
		[FAB_READ] = CCS_WR_SPLIT | CCS_WR_READ,
	};
	const struct fab_layer *l = &s->conf->layer;
	struct shim_state *h = f->shim;

	h->waiting = l->waiting ? l->waiting : WRS;
	h->depth = l->outstanding ? l->outstanding : WRS;
	h->flags = CCS_WR_SIGNALED | flags[f->spec->verb];
}

static void start(struct sim *s, struct flow *f)
{
	const struct fab_layer *l = &s->conf->layer;
	struct ccs_cc_path path = flow_path(s, f);
	const struct ccs_flow_config conf = {
		.line_rate = path.line_rate,
		.max_rate = f->spec->max_rate > 0 ? f->spec->max_rate : INFINITY,
		.base_rtt_us = s->conf->base_rtt_us, .rtt_jitter_us = l->rtt_jitter_us,
		.segment = l->segment, .max_inflight = l->max_inflight,
		.split = true, .enforce = true, .seed = rng_next(&s->random),
	};
	const struct ccs_cc_spec *own = s->conf->tenant_spec;
	struct ccs_cap *cap = caps_of(s, f);
	struct shim_state *h = f->shim;

	set_application(s, f);
	h->poll_at = NEVER;
	if (ccs_flow_init(&h->flow, &conf, own && f->spec->tenant ? &own[f->spec->tenant - 1]
			  : algorithm_of(s, f->spec->priority),
			  l->entries ? l->entries : WRS, l->device_entries ? l->device_entries : SEGMENTS, now_ns(s)))
		mem_checked(NULL);
	h->flow.cc.path.payload_share = (double)s->conf->wire.payload /
					(s->conf->wire.payload + s->conf->wire.header);
	if (s->conf->rto_us > 0)
		h->flow.rtt.loss_us = (float)s->conf->rto_us;
	if (f->spec->tenant)
		ccs_flow_set_cap(&h->flow, cap, caps_rate(s, f), s->conf->agents.terms[f->spec->tenant - 1].floor > 0);
	if (cap)
		ccs_flow_set_max_rate(&h->flow, fmin(caps_rate(s, f), conf.max_rate), now_ns(s));
	if (l->reads)
		h->flow.reads.max = (uint16_t)l->reads;
	if (l->bottleneck > 0) {
		path = h->flow.cc.path;
		path.bottleneck_rate = l->bottleneck;
		ccs_flow_cc_repath(&h->flow, &path);
	}
	pump(s, f);
}

/* The segment of this number has arrived as well. */
static bool has_arrived(const struct shim_state *h, uint64_t number)
{
	return number < h->flow.seg_head &&
	       h->completed + ccs_flow_seg(&h->flow, number)->len <= h->arrived;
}

/* Complete the segments that have arrived since the last poll. */
static void complete(struct sim *s, struct flow *f)
{
	const uint64_t poll_ns = (uint64_t)(1e3 * s->conf->host.poll_us);
	struct shim_state *h = f->shim;
	struct ccs_done done = {
		.number = h->flow.seg_tail, .ok = true,
		.earliest_ns = now_ns(s) - poll_ns, .latest_ns = now_ns(s),
	};
	uint64_t wr;

	h->poll_at = NEVER;
	for (; has_arrived(h, done.number); done.number++) {
		h->completed += ccs_flow_seg(&h->flow, done.number)->len;
		done.more = poll_ns && has_arrived(h, done.number + 1);
		ccs_flow_complete(&h->flow, &done, &wr);
	}
}

/* Owners poll in turn. */
static void arrived(struct sim *s, struct flow *f)
{
	const uint64_t every = ps_of(s->conf->host.poll_us);
	const uint64_t phase = every * f->spec->id / s->conf->flows->n;

	f->shim->arrived = f->snd_una;
	if (!every)
		complete(s, f);
	else if (f->shim->poll_at == NEVER)
		f->shim->poll_at = s->now + every - (s->now + phase) % every;
}

static void timer(struct sim *s, struct flow *f)
{
	if (s->now >= f->shim->poll_at)
		complete(s, f);
	pump(s, f);
}

/* Telemetry for the flow's next event, which the caller changes. */
static struct ccs_telemetry *telemetry(struct shim_state *h)
{
	h->flow.events.telemetry = &h->telemetry;
	return &h->telemetry;
}

/* The records of a packet. */
static struct ccs_telemetry *telemetry_of(const struct sim *s, struct shim_state *h,
					  const struct packet *k)
{
	const struct record *r = &s->record[k->record];
	struct ccs_telemetry *t = telemetry(h);

	*t = (struct ccs_telemetry){ .path = 1, .nhops = r->n };
	memcpy(t->hops, r->hop, r->n * sizeof(*r->hop));
	return t;
}

static void ack(struct sim *s, struct flow *f, const struct packet *k, uint32_t acked)
{
	struct shim_state *h = f->shim;

	if (k->record)
		telemetry_of(s, h, k);
	if (s->conf->host.count_flows)
		telemetry(h)->flows = s->live[f->spec->dst];
	if (k->ce)
		ccs_flow_cnp(&h->flow, now_ns(s));
	if (acked)
		arrived(s, f);
	pump(s, f);
}

static void cnp(struct sim *s, struct flow *f)
{
	ccs_flow_cnp(&f->shim->flow, now_ns(s));
	pump(s, f);
}

static void advice(struct sim *s, struct flow *f, const struct packet *k)
{
	struct shim_state *h = f->shim;
	struct ccs_telemetry *t = telemetry_of(s, h, k);

	t->flows = k->payload;
	t->advised_rate = s->conf->agents.advise ? (double)k->seq : 0;
	t->covers_ns = t->nhops ? t->hops[0].ts_ns + 1000 : 0;
	if (s->conf->agents.advise)
		ccs_flow_advise(&h->flow, now_ns(s));
	pump(s, f);
}

static void stop(struct flow *f)
{
	ccs_flow_destroy(&f->shim->flow);
}

const struct driver shim_driver = {
	.size = sizeof(struct shim_state), .start = start, .ack = ack, .cnp = cnp, .loss = flow_update,
	.advice = advice, .timer = timer, .stop = stop, .ready = pump,
};
