/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The driver with the algorithm alone: a flow is paced at its rate, within its window. NICs pace
 * packets. If segments are acknowledged whole, software posts segments, at least one.
 */
#include <math.h>

#include "priv.h"

struct plain {
	struct ccs_cc cc;
	double advised;          /* newest advice, bit/s, or 0 */
	uint64_t gap;            /* ps until the next segment, at the rate when the last began */
	uint32_t last_len;       /* the newest packet's, on the line */
	/* Software: the last release, the next, and the rate at which the gap was computed. */
	uint64_t released_at, release_at;
	double rate;
};

/* An algorithm's time begins at 1 us, when it starts. */
static double cc_us(const struct sim *s)
{
	return us_of(s->now - s->result->begin) + 1;
}

/* If marks control the rate, only the shim limits the window, and NICs do not. */
static double window_of(const struct ccs_cc *cc)
{
	return cc->ops->needs & CCS_NEEDS_CNP ? 0 : cc->out.window;
}

static bool may_send(const struct sim *s, const struct flow *f, bool lost)
{
	const double inflight = (double)(f->snd_nxt - f->snd_una), window = window_of(&f->plain->cc);

	return lost || s->conf->host.whole_segments || !(window > 0) || inflight <= 0 ||
	       inflight < floor(window);
}

/* The time of the newest packet, or of its segment, at the flow's rate. */
static uint64_t gap(const struct sim *s, const struct flow *f)
{
	const struct fab_wire *w = &s->conf->wire;
	const double packets = (double)s->conf->segment / w->payload;
	const double len = packets > 0 ? packets * (w->payload + w->header) : f->plain->last_len;

	return after(s, 8e12 * len / f->plain->cc.out.rate);
}

static uint64_t due_within_segment(const struct sim *s, const struct flow *f)
{
	const double rate = s->conf->segment_rate;

	return rate > 0 ? f->sent_at + after(s, 8e12 * f->plain->last_len / rate) : 0;
}

/* A change of the rate applies to packets at once, and to segments with the next segment. */
static uint64_t due(const struct sim *s, const struct flow *f)
{
	const uint32_t segment = s->conf->segment;
	const bool late = segment || (s->conf->wire.late_rates && !f->telemetry);

	if (f->sent_at == NEVER)
		return 0;
	if (segment && f->snd_nxt % segment)
		return due_within_segment(s, f);
	return f->segment_at + (late ? f->plain->gap : gap(s, f));
}

static void sent(struct sim *s, struct flow *f, uint32_t bytes)
{
	const struct fab_wire *w = &s->conf->wire;

	if (s->conf->host.whole_segments)
		return;
	f->plain->last_len = bytes + w->header + (f->telemetry ? w->data_telemetry : 0);
	if (f->segment_at == s->now)
		f->plain->gap = gap(s, f);
	if (f->plain->cc.ops->on_send)
		f->plain->cc.ops->on_send(&f->plain->cc, cc_us(s), bytes);
}

/* The rest of a gap shrinks and grows with the rate. TIMELY's engine instead fixes the release time
 * when it queues a segment, and checks again only then: if the rate has fallen by then the release is
 * deferred, if it has risen the release is not brought forward (TIMELY 5; Carousel does the same). */
static uint64_t release_at(const struct sim *s, const struct flow *f)
{
	const bool fixed = s->conf->host.fixed_release, is_due = s->now >= f->plain->release_at;
	const double rate = f->plain->cc.out.rate, before = f->plain->rate;
	struct plain *p = f->plain;

	if (fixed ? is_due && rate < before : !is_due && rate != before) {
		const uint64_t from = fixed ? p->released_at : s->now;

		p->release_at = from + (uint64_t)((double)(p->release_at - from) * (before / rate));
		p->rate = rate;
	}
	return p->release_at > s->now ? p->release_at : s->now;
}

static bool may_post(const struct sim *s, const struct flow *f)
{
	const double inflight = (double)(f->handed - f->snd_una), window = f->plain->cc.out.window;
	const double most = s->conf->layer.max_inflight > 0 ? s->conf->layer.max_inflight : INFINITY;

	return f->handed < f->size &&
	       (inflight <= 0 ||
		inflight + s->conf->layer.segment <= fmin(window > 0 ? window : INFINITY, most));
}

static void post_segment(struct sim *s, struct flow *f)
{
	const double jitter = s->conf->host.gap_jitter;
	const uint32_t len = s->conf->layer.segment;
	struct plain *p = f->plain;

	p->released_at = s->now;
	p->rate = p->cc.out.rate;
	p->release_at = s->now + (uint64_t)(8e12 * len / p->rate *
					    (1 + jitter * (2 * rng_unit(&s->random) - 1)) + 0.5);
	if (p->cc.ops->on_send)
		p->cc.ops->on_send(&p->cc, cc_us(s), len);
	flow_hand(s, f, len);
}

static void post_segments(struct sim *s, struct flow *f)
{
	while (may_post(s, f) && release_at(s, f) <= s->now)
		post_segment(s, f);
	if (may_post(s, f))
		flow_set_timer(s, f, f->plain->release_at);
}

static void follow(struct sim *s, struct flow *f)
{
	const double us = f->plain->cc.out.timer_us - 1;

	if (us < 1e12) {
		const uint64_t at = s->result->begin + (uint64_t)ceil(us * FAB_PS_PER_US);

		flow_set_timer(s, f, s->conf->wire.whole_ns ? (at + 999) / 1000 * 1000 : at);
	}
	if (s->conf->host.whole_segments)
		post_segments(s, f);
	flow_update(s, f);
}

static void start(struct sim *s, struct flow *f)
{
	const struct ccs_cc_path path = flow_path(s, f);

	if (!s->conf->host.whole_segments)
		f->posted = flow_ready(s, f);
	ccs_cc_start(&f->plain->cc, algorithm_of(s, f->spec->priority), &path);
	if (f->spec->first_rate > 0)
		ccs_cc_set_rate(&f->plain->cc, f->spec->first_rate);
	f->plain->rate = f->plain->cc.out.rate;
	follow(s, f);
}

/* The acknowledged bytes in whole segments: the algorithm gets an RTT per segment. */
static uint32_t completed(const struct sim *s, const struct flow *f, uint32_t acked)
{
	const uint32_t segment = s->conf->segment;

	return segment ? (uint32_t)(f->snd_una / segment - (f->snd_una - acked) / segment) * segment : acked;
}

/* The NIC's time for this number of bytes, if it is not part of the RTT. */
static double sending_us(const struct sim *s, const struct flow *f, uint32_t bytes)
{
	const double rate = s->conf->segment_rate;

	if (s->conf->segment && rate > 0)
		return 8e6 * bytes / rate;
	return s->conf->wire.whole_rtt && !s->conf->segment ? 0 : 8e6 * bytes / f->plain->cc.path.line_rate;
}

static void ack(struct sim *s, struct flow *f, const struct packet *k, uint32_t new)
{
	const struct record *r = k->record ? &s->record[k->record] : NULL;
	const uint32_t acked = completed(s, f, new);
	const double own_us = acked ? sending_us(s, f, acked) : 0;
	const uint64_t sent = s->conf->host.whole_segments ? f->handed : f->snd_nxt;
	const struct ccs_cc_ack a = {
		.now_us = cc_us(s),
		.rtt_us = fmax(1e-3, us_of(s->now - k->sent) - own_us),
		.bytes = acked, .inflight = (double)(sent - f->snd_una),
		.ack_seq = f->snd_una, .snd_nxt = sent,
		.flows = s->conf->host.count_flows ? s->live[f->spec->dst] : 0,
		.hops = r ? r->hop : NULL, .nhops = r ? r->n : 0, .path = 1,
		.advised_rate = f->plain->advised,
	};

	ccs_cc_advance(&f->plain->cc, a.now_us);
	if (acked)
		f->plain->cc.ops->on_ack(&f->plain->cc, &a);
	if (k->ce && f->plain->cc.ops->on_cnp)
		f->plain->cc.ops->on_cnp(&f->plain->cc, a.now_us);
	follow(s, f);
}

static void cnp(struct sim *s, struct flow *f)
{
	struct ccs_cc *cc = &f->plain->cc;

	ccs_cc_advance(cc, cc_us(s));
	if (cc->ops->on_cnp)
		cc->ops->on_cnp(cc, cc_us(s));
	follow(s, f);
}

static void loss(struct sim *s, struct flow *f)
{
	struct ccs_cc *cc = &f->plain->cc;

	ccs_cc_advance(cc, cc_us(s));
	if (cc->ops->on_loss)
		cc->ops->on_loss(cc, cc_us(s));
	follow(s, f);
}

/* Advice is an acknowledgement of 0 bytes (<ccshim/cc.h>). */
static void advice(struct sim *s, struct flow *f, const struct packet *k)
{
	const struct record *r = &s->record[k->record];
	const struct ccs_cc_ack a = {
		.now_us = cc_us(s), .inflight = (double)(f->snd_nxt - f->snd_una),
		.ack_seq = f->snd_una, .snd_nxt = f->snd_nxt, .hops = r->hop, .nhops = r->n,
		.path = 1, .flows = k->payload, .advised_rate = s->conf->agents.advise ? (double)k->seq : 0,
	};

	f->plain->advised = a.advised_rate;
	ccs_cc_advance(&f->plain->cc, a.now_us);
	f->plain->cc.ops->on_ack(&f->plain->cc, &a);
	follow(s, f);
}

static void timer(struct sim *s, struct flow *f)
{
	ccs_cc_advance(&f->plain->cc, cc_us(s));
	follow(s, f);
}

const struct driver plain_driver = {
	.size = sizeof(struct plain), .start = start, .may_send = may_send, .due = due, .sent = sent,
	.ack = ack, .cnp = cnp, .loss = loss, .advice = advice, .timer = timer, .ready = flow_post,
};
