/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The driver with the algorithm alone: each flow is paced at its rate, within its window. There
 * is no slow start and no credit for the past, and one segment is always allowed.
 */
#include <math.h>

#include "priv.h"

/* Algorithms measure time from their own start; the first moment is 1 us. */
static double cc_us(const struct sim *s)
{
	return sim_us(s->now) + 1;
}

/* Already advanced to now: an event that rounding puts there is still to come. */
static uint64_t timer(const struct sim *s, const struct sim_flow *f)
{
	const double us = f->cc.out.timer_us - 1;

	if (us > 1e12)
		return NEVER;
	return sim_ps(us) > s->now ? sim_ps(us) : s->now + 1;
}

/*
 * The rest of a gap shrinks and grows with the rate. TIMELY's own engine instead fixes the
 * release time when it queues a segment, and checks again only then: if the rate has fallen
 * meanwhile the release is deferred, if it has risen the release is not brought forward (TIMELY
 * 5; Carousel does the same).
 */
static uint64_t due(const struct sim *s, struct sim_flow *f)
{
	const double rate = f->cc.out.rate;

	if (s->conf->fixed_release ? s->now >= f->due_at && rate < f->due_rate : s->now < f->due_at &&
	    rate != f->due_rate) {
		const uint64_t from = s->conf->fixed_release ? f->paced_at : s->now;

		f->due_at = from + (uint64_t)((double)(f->due_at - from) * (f->due_rate / rate));
		f->due_rate = rate;
	}
	return f->due_at > s->now ? f->due_at : s->now;
}

static bool window_open(const struct sim *s, const struct sim_flow *f)
{
	const double inflight = (double)(f->sent - f->acked);
	const double window = f->cc.out.window > 0 ? f->cc.out.window : INFINITY;
	const double cap = s->conf->max_inflight ? (double)s->conf->max_inflight : INFINITY;

	return inflight <= 0 || inflight + s->conf->segment <= fmin(window, cap);
}

static void send_segment(struct sim *s, struct sim_flow *f)
{
	const uint32_t len = s->conf->segment;

	f->sent += len;
	f->paced_at = s->now;
	f->due_rate = f->cc.out.rate;
	f->due_at = s->now + sim_ps(8e6 * len / f->due_rate *
				    (1 + s->conf->pace_jitter * (2 * rng_unit(&s->random) - 1)));
	if (f->cc.ops->on_send)
		f->cc.ops->on_send(&f->cc, cc_us(s), len);
	sim_post(s, f, len);
}

/* A NIC accepts no more than it can send: a segment due at line rate waits for it. */
static void pump(struct sim *s, struct sim_flow *f)
{
	uint64_t at = timer(s, f);

	while (f->live && window_open(s, f) && due(s, f) <= s->now)
		send_segment(s, f);
	if (f->live && window_open(s, f) && due(s, f) < at)
		at = due(s, f);
	if (f->live || f->tail != f->head)
		sim_wake_at(s, f, at);
}

static void start(struct sim *s, struct sim_flow *f)
{
	const struct sim_conf *c = s->conf;
	const unsigned hosts = c->hosts ? c->hosts : s->total;
	const struct ccs_cc_path path = {
		.line_rate = sim_nic_rate(s),
		.base_rtt_us = c->path_base_us > 0 ? c->path_base_us : c->base_us,
		.rtt_jitter_us = c->path_noise_us,
		.segment = c->segment,
		.flows = c->path_flows ? c->path_flows : (s->total + hosts - 1) / hosts,
		.bottleneck_rate = c->path_bottleneck,
	};
	const double rate = f->index == 0 && c->first_rate > 0 ? c->first_rate : c->start_rate;

	ccs_cc_start(&f->cc, &s->spec, &path);
	if (rate > 0)
		ccs_cc_set_rate(&f->cc, rate);
	f->due_rate = f->cc.out.rate;
	pump(s, f);
}

static void wake(struct sim *s, struct sim_flow *f)
{
	ccs_cc_advance(&f->cc, cc_us(s));
	pump(s, f);
}

static void ack(struct sim *s, struct sim_flow *f, const struct segment *seg, double rtt_jitter_us)
{
	struct ccs_cc_hop hop;
	const struct ccs_cc_ack a = {
		.now_us = cc_us(s),
		.rtt_us = fmax(1e-3, sim_us(s->now - seg->posted) + rtt_jitter_us -
				     8e6 * seg->len / sim_nic_rate(s)),
		.bytes = seg->len,
		.inflight = (double)(f->sent - f->acked - seg->len),
		.ack_seq = f->acked + seg->len,
		.snd_nxt = f->sent,
		.hops = &hop,
		.nhops = sim_telemetry(s, f, seg, &hop),
		.path = 1,
		.flows = s->conf->report_flows ? f->port->live : 0,
	};

	f->acked += seg->len;
	ccs_cc_advance(&f->cc, a.now_us);
	f->cc.ops->on_ack(&f->cc, &a);
	pump(s, f);
}

static void cnp(struct sim *s, struct sim_flow *f)
{
	ccs_cc_advance(&f->cc, cc_us(s));
	if (f->cc.ops->on_cnp)
		f->cc.ops->on_cnp(&f->cc, cc_us(s));
	pump(s, f);
}

static void loss(struct sim *s, struct sim_flow *f)
{
	ccs_cc_advance(&f->cc, cc_us(s));
	if (f->cc.ops->on_loss)
		f->cc.ops->on_loss(&f->cc, cc_us(s));
	pump(s, f);
}

static void stop(struct sim_flow *f)
{
	(void)f;
}

const struct driver sim_bare = { start, wake, ack, cnp, loss, stop, NULL };
