/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The driver with the flow layer, used as in the preload: an application with one more message
 * always waiting, segments from ccs_flow_next, and one timer wheel for all.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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

/* The library's clock is never 0. */
static uint64_t ns(const struct sim *s)
{
	return s->now / 1000 + 1000;
}

static void turn(struct sim *s, const struct event *e);

static void arm_wheel(struct sim *s)
{
	const uint64_t next = ccs_timer_wheel_next(s->wheel);
	uint64_t at;

	if (next == UINT64_MAX)
		return;
	at = next <= ns(s) ? s->now : (next - 1000) * 1000;
	if (at >= s->wheel_at)
		return;
	s->wheel_at = at;
	sim_at(s, at, turn, NULL, NULL);
}

static const struct ccs_seg *next(const struct sim *s, struct sim_flow *f, uint64_t *number)
{
	static const uint32_t flags[] = {
		[SIM_WRITE] = CCS_WR_SPLIT, [SIM_SEND] = CCS_WR_RECV,
		[SIM_READ] = CCS_WR_SPLIT | CCS_WR_READ,
	};
	const struct ccs_seg *seg;
	const struct sim_conf *c = s->conf;
	const unsigned most = queue_depth(c), depth = c->depth && c->depth < most ? c->depth : most;
	uint64_t now_ns = ns(s);
	const uint64_t len = c->message ? c->message : (uint64_t)WRITE_SEGMENTS * c->segment;

	while (ccs_flow_waiting(&f->flow) < 2 && f->flow.wr_head - f->flow.wr_tail < depth)
		ccs_flow_accept(&f->flow, len, flags[f->op]);
	seg = ccs_flow_next(&f->flow, &now_ns, NULL);
	*number = ccs_flow_newest(&f->flow);
	return seg;
}

static void pump(struct sim *s, struct sim_flow *f)
{
	const struct ccs_seg *seg;
	uint64_t number, due;

	while (f->live && (seg = next(s, f, &number)))
		sim_post(s, f, (uint32_t)seg->len, number);
	due = f->live ? ccs_flow_wait(&f->flow, ns(s)) : 0;
	if (due && due != UINT64_MAX)
		ccs_timer_wheel_set(s->wheel, &f->timer, due);
	else
		ccs_timer_wheel_cancel(s->wheel, &f->timer);
	arm_wheel(s);
}

static void turn(struct sim *s, const struct event *e)
{
	struct ccs_timer *t;

	if (e->at != s->wheel_at)
		return;
	s->wheel_at = NEVER;
	while ((t = ccs_timer_wheel_pop(s->wheel, ns(s))))
		pump(s, (struct sim_flow *)(void *)((char *)t - offsetof(struct sim_flow, timer)));
	arm_wheel(s);
}

static void name_bottleneck(struct sim_flow *f, double rate)
{
	struct ccs_cc_path path = f->flow.cc.path;

	path.bottleneck_rate = rate;
	ccs_flow_cc_repath(&f->flow, &path);
}

static void start(struct sim *s, struct sim_flow *f)
{
	const struct ccs_flow_config conf = {
		.line_rate = sim_nic_rate(s),
		.max_rate = f->index < s->conf->limited ? s->conf->limit_rate : INFINITY,
		.base_rtt_us = s->conf->path_base_us,
		.rtt_jitter_us = s->conf->path_noise_us,
		.segment = s->conf->segment,
		.max_inflight = (double)s->conf->max_inflight,
		.split = true,
		.enforce = true,
		.seed = (uint64_t)(rng_unit(&s->random) * 0x1p53),
	};

	const unsigned depth = queue_depth(s->conf);
	const unsigned device = depth < LEAST_ENTRIES ? LEAST_ENTRIES : depth;

	if (ccs_flow_init(&f->flow, &conf, &s->spec, depth, device, ns(s))) {
		fputs("sim: out of memory\n", stderr);
		abort();
	}
	if (s->conf->limit || s->conf->loss > 0)
		f->flow.rtt.loss_us = (float)sim_rto_us(s);
	f->flow.reads.max = s->conf->max_reads ? (uint16_t)s->conf->max_reads : SIM_READS;
	name_bottleneck(f, s->conf->path_bottleneck);
	pump(s, f);
}

static void wake(struct sim *s, struct sim_flow *f)
{
	(void)s;
	(void)f;
}

/* Handle all that has completed since the last poll. */
static void poll_completions(struct sim *s, const struct event *e)
{
	struct sim_flow *f = e->who;
	struct ccs_done done = { .ok = true, .latest_ns = ns(s) };
	uint64_t wr;

	f->poll_due = false;
	done.earliest_ns = done.latest_ns - (uint64_t)(1e3 * s->conf->poll_us);
	for (done.number = f->flow.seg_tail; done.number < f->arrived; done.number++) {
		done.more = done.number + 1 < f->arrived;
		ccs_flow_complete(&f->flow, &done, &wr);
	}
	pump(s, f);
}

/* Schedule the next poll; flows take turns. */
static void arrive(struct sim *s, struct sim_flow *f, const struct segment *seg)
{
	const uint64_t every = sim_ps(s->conf->poll_us);
	const uint64_t phase = every * f->index / s->total;

	f->arrived = seg->number + 1;
	if (!f->poll_due)
		sim_at(s, s->now + every - (s->now + phase) % every, poll_completions, f, NULL);
	f->poll_due = true;
}

static void ack(struct sim *s, struct sim_flow *f, const struct segment *seg, double rtt_jitter_us)
{
	const uint64_t at = ns(s) + (uint64_t)(1e3 * rtt_jitter_us);
	const struct ccs_done done = { .number = seg->number, .ok = true,
				       .earliest_ns = at, .latest_ns = at };
	uint64_t wr;

	f->telemetry = (struct ccs_telemetry){
		.path = 1,
		.flows = s->conf->report_flows ? f->port->live : 0,
	};
	f->telemetry.advised_rate = f->advised;
	f->telemetry.nhops = sim_telemetry(s, f, seg, f->telemetry.hops);
	if (s->conf->record_us > 0 && f->telemetry.nhops)
		f->telemetry.covers_ns = f->telemetry.hops[0].ts_ns + 1000;
	f->flow.events.telemetry = &f->telemetry;
	if (s->conf->poll_us > 0) {
		arrive(s, f, seg);
		return;
	}
	ccs_flow_complete(&f->flow, &done, &wr);
	pump(s, f);
}

static void cnp(struct sim *s, struct sim_flow *f)
{
	ccs_flow_cnp(&f->flow, ns(s));
	pump(s, f);
}

/* The device retransmits; the flow sees only a long RTT. */
static void loss(struct sim *s, struct sim_flow *f)
{
	(void)s;
	(void)f;
}

static void stop(struct sim_flow *f)
{
	ccs_flow_destroy(&f->flow);
}

static void advise(struct sim *s, struct sim_flow *f)
{
	f->telemetry.advised_rate = f->advised;
	f->flow.events.telemetry = &f->telemetry;
	ccs_flow_advise(&f->flow, ns(s));
	pump(s, f);
}

const struct driver sim_shim = { start, wake, ack, cnp, loss, stop, advise };
