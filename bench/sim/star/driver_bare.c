/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The driver with the algorithm alone: each flow is paced at its rate, within its window. There
 * is no slow start and no credit for the past, and one segment is always allowed.
 */
#include <math.h>

#include "priv.h"

/* Algorithms measure time from their own start; the first moment is 1 us. */
static double cc_us(const struct star *s)
{
	return us_of(s->net.now) + 1;
}

/* Already advanced to now: an event that rounding puts there is still to come. */
static uint64_t timer(const struct star *s, const struct star_flow *f)
{
	const double us = f->bare.cc.out.timer_us - 1;

	if (us > 1e12)
		return NEVER;
	return star_ps(us) > s->net.now ? star_ps(us) : s->net.now + 1;
}

/*
 * The rest of a gap shrinks and grows with the rate. TIMELY's own engine instead fixes the
 * release time when it queues a segment, and checks again only then: if the rate has fallen
 * meanwhile the release is deferred, if it has risen the release is not brought forward (TIMELY
 * 5; Carousel does the same).
 */
static uint64_t due(const struct star *s, struct star_flow *f)
{
	const bool fixed = s->conf->bare.fixed_release, is_due = s->net.now >= f->bare.due_at;
	const double rate = f->bare.cc.out.rate, before = f->bare.due_rate;

	if (fixed ? is_due && rate < before : !is_due && rate != before) {
		const uint64_t from = fixed ? f->bare.paced_at : s->net.now;

		f->bare.due_at = from + (uint64_t)((double)(f->bare.due_at - from) * (before / rate));
		f->bare.due_rate = rate;
	}
	return f->bare.due_at > s->net.now ? f->bare.due_at : s->net.now;
}

static bool window_open(const struct star *s, const struct star_flow *f)
{
	const double inflight = (double)(f->bare.sent - f->bare.acked);
	const double window = f->bare.cc.out.window > 0 ? f->bare.cc.out.window : INFINITY;
	const double cap = s->conf->max_inflight ? (double)s->conf->max_inflight : INFINITY;

	return inflight <= 0 || inflight + s->conf->segment <= fmin(window, cap);
}

static void send_segment(struct star *s, struct star_flow *f)
{
	const uint32_t len = s->conf->segment;

	f->bare.sent += len;
	f->bare.paced_at = s->net.now;
	f->bare.due_rate = f->bare.cc.out.rate;
	f->bare.due_at = s->net.now + star_ps(8e6 * len / f->bare.due_rate *
				    (1 + s->conf->bare.jitter * (2 * rng_unit(&s->net.random) - 1)));
	if (f->bare.cc.ops->on_send)
		f->bare.cc.ops->on_send(&f->bare.cc, cc_us(s), len);
	star_post(s, f, len);
}

/* A NIC accepts no more than it can send: a segment due at line rate waits for it. */
static void pump(struct star *s, struct star_flow *f)
{
	uint64_t at = timer(s, f);

	while (f->live && window_open(s, f) && due(s, f) <= s->net.now)
		send_segment(s, f);
	if (f->live && window_open(s, f) && due(s, f) < at)
		at = due(s, f);
	if (f->live || f->tail != f->head)
		star_wake_at(s, f, at);
}

static void start(struct star *s, struct star_flow *f)
{
	const struct sim_conf *c = s->conf;
	const unsigned hosts = c->hosts ? c->hosts : s->total;
	const struct ccs_cc_path path = {
		.line_rate = star_nic_rate(s),
		.base_rtt_us = c->path.base_us > 0 ? c->path.base_us : c->base_us,
		.rtt_jitter_us = c->path.noise_us,
		.segment = c->segment,
		.flows = c->path.flows ? c->path.flows : (s->total + hosts - 1) / hosts,
		.bottleneck_rate = c->path.bottleneck,
	};
	const bool first = f->index == 0 && c->bare.first_rate > 0;
	const double rate = first ? c->bare.first_rate : c->bare.start_rate;

	ccs_cc_start(&f->bare.cc, &s->spec, &path);
	if (rate > 0)
		ccs_cc_set_rate(&f->bare.cc, rate);
	f->bare.due_rate = f->bare.cc.out.rate;
	pump(s, f);
}

static void wake(struct star *s, struct star_flow *f)
{
	ccs_cc_advance(&f->bare.cc, cc_us(s));
	pump(s, f);
}

static void ack(struct star *s, struct star_flow *f, const struct segment *seg, double rtt_jitter_us)
{
	struct ccs_cc_hop hop;
	const struct ccs_cc_ack a = {
		.now_us = cc_us(s),
		.rtt_us = fmax(1e-3, us_of(s->net.now - seg->posted) + rtt_jitter_us -
				     8e6 * seg->len / star_nic_rate(s)),
		.bytes = seg->len,
		.inflight = (double)(f->bare.sent - f->bare.acked - seg->len),
		.ack_seq = f->bare.acked + seg->len,
		.snd_nxt = f->bare.sent,
		.hops = &hop,
		.nhops = star_telemetry(s, f, seg, &hop),
		.path = 1,
		.flows = s->conf->agents.report_flows ? f->to->live : 0,
	};

	f->bare.acked += seg->len;
	ccs_cc_advance(&f->bare.cc, a.now_us);
	f->bare.cc.ops->on_ack(&f->bare.cc, &a);
	pump(s, f);
}

static void cnp(struct star *s, struct star_flow *f)
{
	ccs_cc_advance(&f->bare.cc, cc_us(s));
	if (f->bare.cc.ops->on_cnp)
		f->bare.cc.ops->on_cnp(&f->bare.cc, cc_us(s));
	pump(s, f);
}

static void loss(struct star *s, struct star_flow *f)
{
	ccs_cc_advance(&f->bare.cc, cc_us(s));
	if (f->bare.cc.ops->on_loss)
		f->bare.cc.ops->on_loss(&f->bare.cc, cc_us(s));
	pump(s, f);
}

const struct star_driver star_bare = {
	.start = start, .ack = ack, .wake = wake, .cnp = cnp, .loss = loss,
};
