/* SPDX-License-Identifier: BSD-2-Clause */
/* The driver with the algorithm alone: a flow is paced at its rate, within its window. */
#include <math.h>

#include "priv.h"

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
	const double inflight = (double)(f->snd_nxt - f->snd_una), window = window_of(f->cc);

	(void)s;
	return lost || !(window > 0) || inflight <= 0 || inflight < floor(window);
}

/* The time of the newest packet, or of its segment, at the flow's rate. */
static uint64_t gap(const struct sim *s, const struct flow *f)
{
	const struct fab_wire *w = &s->conf->wire;
	const double packets = (double)s->conf->segment / w->payload;
	const double len = packets > 0 ? packets * (w->payload + w->header) : f->last_len;

	return after(s, 8e12 * len / f->cc->out.rate);
}

static uint64_t due_within_segment(const struct sim *s, const struct flow *f)
{
	const double rate = s->conf->segment_rate;

	return rate > 0 ? f->sent_at + after(s, 8e12 * f->last_len / rate) : 0;
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
	return f->segment_at + (late ? f->gap : gap(s, f));
}

static void sent(struct sim *s, struct flow *f, uint32_t bytes)
{
	if (f->segment_at == s->now)
		f->gap = gap(s, f);
	if (f->cc->ops->on_send)
		f->cc->ops->on_send(f->cc, cc_us(s), bytes);
}

static void follow(struct sim *s, struct flow *f)
{
	const double us = f->cc->out.timer_us - 1;

	if (us < 1e12) {
		const uint64_t at = s->result->begin + (uint64_t)ceil(us * FAB_PS_PER_US);

		flow_set_timer(s, f, s->conf->wire.whole_ns ? (at + 999) / 1000 * 1000 : at);
	}
	flow_update(s, f);
}

static void start(struct sim *s, struct flow *f)
{
	const struct ccs_cc_path path = flow_path(s, f);

	f->posted = flow_ready(s, f);
	ccs_cc_start(f->cc, algorithm_of(s, f->spec->priority), &path);
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
	return s->conf->wire.whole_rtt && !s->conf->segment ? 0 : 8e6 * bytes / f->cc->path.line_rate;
}

static void ack(struct sim *s, struct flow *f, const struct packet *k, uint32_t new)
{
	const struct record *r = k->record ? &s->record[k->record] : NULL;
	const uint32_t acked = completed(s, f, new);
	const double own_us = acked ? sending_us(s, f, acked) : 0;
	const struct ccs_cc_ack a = {
		.now_us = cc_us(s),
		.rtt_us = fmax(1e-3, us_of(s->now - k->sent) - own_us),
		.bytes = acked, .inflight = (double)(f->snd_nxt - f->snd_una),
		.ack_seq = f->snd_una, .snd_nxt = f->snd_nxt,
		.hops = r ? r->hop : NULL, .nhops = r ? r->n : 0, .path = 1,
		.advised_rate = f->advised,
	};

	ccs_cc_advance(f->cc, a.now_us);
	if (acked)
		f->cc->ops->on_ack(f->cc, &a);
	if (k->ce && f->cc->ops->on_cnp)
		f->cc->ops->on_cnp(f->cc, a.now_us);
	follow(s, f);
}

static void cnp(struct sim *s, struct flow *f)
{
	struct ccs_cc *cc = f->cc;

	ccs_cc_advance(cc, cc_us(s));
	if (cc->ops->on_cnp)
		cc->ops->on_cnp(cc, cc_us(s));
	follow(s, f);
}

static void loss(struct sim *s, struct flow *f)
{
	struct ccs_cc *cc = f->cc;

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
		.path = 1, .flows = k->payload, .advised_rate = s->conf->advise ? (double)k->seq : 0,
	};

	f->advised = a.advised_rate;
	ccs_cc_advance(f->cc, a.now_us);
	f->cc->ops->on_ack(f->cc, &a);
	follow(s, f);
}

static void timer(struct sim *s, struct flow *f)
{
	ccs_cc_advance(f->cc, cc_us(s));
	follow(s, f);
}

const struct driver plain_driver = {
	.size = sizeof(struct ccs_cc), .start = start, .may_send = may_send, .due = due, .sent = sent,
	.ack = ack, .cnp = cnp, .loss = loss, .advice = advice, .timer = timer, .ready = flow_post,
};
