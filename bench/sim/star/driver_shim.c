/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The driver with the flow layer: an application with one more message always waiting, and one timer
 * wheel for all flows. The device retransmits, and a flow sees a loss only as a long RTT.
 */
#include <math.h>

#include "flow/cc_events.h"
#include "priv.h"

enum {
	QUEUE = 2048,
	LEAST_ENTRIES = 31,      /* of a device's queue (preload/datapath/qp.c) */
	WRITE_SEGMENTS = 64,
};

static unsigned queue_depth(const struct sim_conf *c)
{
	return c->entries && c->entries < QUEUE ? c->entries : QUEUE;
}

static void turn(struct star *s, void *who);

static void arm_wheel(struct star *s)
{
	const uint64_t next = ccs_timer_wheel_next(s->wheel);
	uint64_t at;

	if (next == UINT64_MAX)
		return;
	at = next <= shim_ns(s->net.now) ? s->net.now : (next - 1000) * 1000;
	if (at >= s->wheel_at)
		return;
	s->wheel_at = at;
	star_at(s, at, turn, NULL);
}

static void pump(struct star *s, struct star_flow *f)
{
	const struct ccs_seg *seg;
	uint64_t due;

	while (f->live && (seg = shim_next(&f->shim, s->net.now)))
		star_post(s, f, (uint32_t)seg->len);
	due = f->live ? ccs_flow_wait(&f->shim.flow, shim_ns(s->net.now)) : 0;
	if (due && due != UINT64_MAX)
		ccs_timer_wheel_set(s->wheel, &f->timer, due);
	else
		ccs_timer_wheel_cancel(s->wheel, &f->timer);
	arm_wheel(s);
}

static void turn(struct star *s, void *who)
{
	struct ccs_timer *t;

	(void)who;
	if (s->net.now != s->wheel_at)
		return;
	s->wheel_at = NEVER;
	while ((t = ccs_timer_wheel_pop(s->wheel, shim_ns(s->net.now))))
		pump(s, (struct star_flow *)(void *)((char *)t - offsetof(struct star_flow, timer)));
	arm_wheel(s);
}

static void set_application(const struct sim_conf *c, struct shim *h, enum sim_op op)
{
	static const uint32_t flags[] = {
		[SIM_WRITE] = CCS_WR_SPLIT, [SIM_SEND] = CCS_WR_RECV,
		[SIM_READ] = CCS_WR_SPLIT | CCS_WR_READ,
	};
	const unsigned most = queue_depth(c);

	h->message = c->message ? c->message : (uint64_t)WRITE_SEGMENTS * c->segment;
	h->ready = UINT64_MAX;
	h->waiting = 2;
	h->depth = c->depth && c->depth < most ? c->depth : most;
	h->flags = flags[op];
}

static void name_bottleneck(struct ccs_flow *f, double rate)
{
	struct ccs_cc_path path = f->cc.path;

	path.bottleneck_rate = rate;
	ccs_flow_cc_repath(f, &path);
}

static void start(struct star *s, struct star_flow *f)
{
	const struct ccs_flow_config conf = {
		.line_rate = star_nic_rate(s),
		.max_rate = f->index < s->conf->limited.flows ? s->conf->limited.rate : INFINITY,
		.base_rtt_us = s->conf->path.base_us,
		.rtt_jitter_us = s->conf->path.noise_us,
		.segment = s->conf->segment,
		.max_inflight = (double)s->conf->max_inflight,
		.split = true,
		.enforce = true,
		.seed = (uint64_t)(rng_unit(&s->net.random) * 0x1p53),
	};

	const unsigned depth = queue_depth(s->conf);
	const unsigned device = depth < LEAST_ENTRIES ? LEAST_ENTRIES : depth;

	set_application(s->conf, &f->shim, f->op);
	shim_init(&f->shim, &conf, &s->spec, depth, device, s->net.now);
	if (s->conf->limit || s->conf->loss > 0)
		f->shim.flow.rtt.loss_us = (float)star_rto_us(s);
	f->shim.flow.reads.max = s->conf->max_reads ? (uint16_t)s->conf->max_reads : STAR_READS;
	name_bottleneck(&f->shim.flow, s->conf->path.bottleneck);
	pump(s, f);
}

/* Handle all that has completed since the last poll. */
static void poll_completions(struct star *s, void *who)
{
	struct star_flow *f = who;
	struct ccs_done done = { .latest_ns = shim_ns(s->net.now) };

	f->poll.due = false;
	done.earliest_ns = done.latest_ns - (uint64_t)(1e3 * s->conf->poll_us);
	shim_complete(&f->shim, f->poll.arrived, done, true);
	pump(s, f);
}

/* Schedule the next poll; flows take turns. */
static void schedule_poll(struct star *s, struct star_flow *f)
{
	const uint64_t every = star_ps(s->conf->poll_us);
	const uint64_t phase = every * f->index / s->total;

	if (!f->poll.due)
		star_at(s, s->net.now + every - (s->net.now + phase) % every, poll_completions, f);
	f->poll.due = true;
}

static void ack(struct star *s, struct star_flow *f, const struct segment *seg, double rtt_jitter_us)
{
	const uint64_t at = shim_ns(s->net.now) + (uint64_t)(1e3 * rtt_jitter_us);
	struct ccs_telemetry *t = shim_telemetry(&f->shim);

	t->path = 1;
	t->flows = s->conf->agents.report_flows ? f->to->live : 0;
	t->advised_rate = f->advised;
	t->nhops = star_telemetry(s, f, seg, t->hops);
	t->covers_ns = s->conf->agents.record_us > 0 && t->nhops ? t->hops[0].ts_ns + 1000 : 0;
	f->poll.arrived += seg->len;
	if (s->conf->poll_us > 0) {
		schedule_poll(s, f);
		return;
	}
	shim_complete(&f->shim, f->poll.arrived,
		      (struct ccs_done){ .earliest_ns = at, .latest_ns = at }, false);
	pump(s, f);
}

static void cnp(struct star *s, struct star_flow *f)
{
	ccs_flow_cnp(&f->shim.flow, shim_ns(s->net.now));
	pump(s, f);
}

static void stop(struct star_flow *f)
{
	ccs_flow_destroy(&f->shim.flow);
}

static void advise(struct star *s, struct star_flow *f)
{
	shim_telemetry(&f->shim)->advised_rate = f->advised;
	ccs_flow_advise(&f->shim.flow, shim_ns(s->net.now));
	pump(s, f);
}

const struct star_driver star_shim = {
	.start = start, .ack = ack, .cnp = cnp, .advise = advise, .stop = stop,
};
