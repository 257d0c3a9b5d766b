/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The drive: every call into a flow's algorithm, and nothing else. The rest of
 * the library tells of events here and reads what comes of them by
 * ccs_flow_rate() and cc.out.window, so whoever wants to see or replace an
 * algorithm's decisions finds all of them in this file.
 */
#include <math.h>
#include <string.h>

#include "base/probe.h"
#include "cc/minmax.h"
#include "cc/told.h"
#include "flow/flow.h"

#define EPOCH_US 0x1p40     /* the common time is modulo this, to be exact in a double */
#define TIMERS_MAX 4096 /* that are made up for at once */

/*
 * The algorithm's time does not go back, though a completion may be stamped
 * earlier than the last thing that it heard of.
 */
static double us_of(const struct ccs_flow *f, uint64_t now_ns)
{
	return (double)((now_ns > f->told_ns ? now_ns : f->told_ns) - f->origin_ns) / 1e3;
}

/* The time of an event, which the algorithm hears of now. */
static double event_us(struct ccs_flow *f, uint64_t now_ns)
{
	const double us = us_of(f, now_ns);

	if (now_ns > f->told_ns)
		f->told_ns = now_ns;
	return us;
}

/* After every event: the rate may be another. */
static void follow(struct ccs_flow *f, uint64_t now_ns)
{
	const double rate = ccs_flow_rate(f);

	ccs_flow_revoke(f);
	ccs_gate_follow(f, now_ns);
	f->stats.min_rate = ccs_min(f->stats.min_rate, rate);
	f->stats.max_rate = ccs_max(f->stats.max_rate, rate);
}

/* To who looks on, if anybody does: what the algorithm was told, and has decided. */
static void show(struct ccs_flow *f, enum ccs_told_kind kind, const struct ccs_cc_ack *ack,
		 double rate)
{
	struct ccs_told told = {
		.kind = kind,
		.ack = *ack,
		.path = f->cc.path,
		.max_rate = f->max_rate,
		.rate = rate,
		.out = f->cc.out,
		.origin_ns = f->origin_ns,
	};

	if (ack->nhops)
		memcpy(told.hop, ack->hops, ack->nhops * sizeof(*ack->hops));
	told.ack.hops = NULL;
	f->sink(f, &told);
}

static void show_event(struct ccs_flow *f, enum ccs_told_kind kind, double now_us, double bytes)
{
	const struct ccs_cc_ack ack = { .now_us = now_us, .bytes = bytes };

	if (f->sink)
		show(f, kind, &ack, 0);
}

static double epoch_us(const struct ccs_flow *f)
{
	return fmod((double)((int64_t)f->origin_ns + f->epoch_ns) / 1e3, EPOCH_US);
}

/* A new instance, whose time begins where the algorithm was told of something last. */
static void begin(struct ccs_flow *f, const struct ccs_cc_spec *spec,
		  const struct ccs_cc_path *path)
{
	struct ccs_cc_path from_now = *path;

	ccs_flow_revoke(f);
	f->origin_ns = f->told_ns;
	from_now.epoch_us = epoch_us(f);
	f->followed = f->sink || spec->ops->on_send || (spec->ops->needs & CCS_NEEDS_TELEMETRY);
	ccs_cc_start(&f->cc, spec, &from_now);
	ccs_cc_limit(&f->cc, f->max_rate);
	show_event(f, CCS_TOLD_START, 0, 0);
}

void ccs_drive_start(struct ccs_flow *f, const struct ccs_cc_spec *spec,
		     const struct ccs_cc_path *path, uint64_t now_ns)
{
	f->told_ns = now_ns;
	begin(f, spec, path);
	f->stats.min_rate = f->stats.max_rate = ccs_flow_rate(f);
	ccs_gate_init(f, now_ns);
}

/* As ccs_cc_switch(), but that every step is seen. */
void ccs_flow_switch(struct ccs_flow *f, const struct ccs_cc_spec *spec, uint64_t now_ns)
{
	const struct ccs_cc_path path = f->cc.path;
	double rate;

	ccs_drive_advance(f, now_ns);
	event_us(f, now_ns);
	rate = ccs_min(ccs_cc_throughput(&f->cc), f->max_rate);
	begin(f, spec, &path);
	ccs_drive_set_rate(f, rate, now_ns);
}

void ccs_drive_repath(struct ccs_flow *f, const struct ccs_cc_path *path)
{
	ccs_flow_revoke(f);
	ccs_cc_repath(&f->cc, path);
	ccs_cc_limit(&f->cc, f->max_rate);
	show_event(f, CCS_TOLD_PATH, us_of(f, f->told_ns), 0);
}

void ccs_drive_set_rate(struct ccs_flow *f, double rate, uint64_t now_ns)
{
	ccs_cc_set_rate(&f->cc, rate);
	follow(f, now_ns);
	if (f->sink)
		show(f, CCS_TOLD_RATE, &(struct ccs_cc_ack){ .now_us = us_of(f, f->told_ns) }, rate);
}

void ccs_flow_set_rate(struct ccs_flow *f, double rate, uint64_t now_ns)
{
	ccs_drive_advance(f, now_ns);
	event_us(f, now_ns);
	ccs_drive_set_rate(f, rate, now_ns);
}

/*
 * A flow that was idle for a day has a million timers to make up for, under its
 * lock. By the first few thousand they have done what they do; the rest of such
 * a pause is no time at all for the algorithm: its origin moves.
 */
void ccs_drive_advance(struct ccs_flow *f, uint64_t now_ns)
{
	struct ccs_cc *cc = &f->cc;
	double now_us;
	double last = -1;
	unsigned fired = 0;

	if (cc->out.timer_us == INFINITY || !cc->ops->on_timer)
		return;
	now_us = us_of(f, now_ns);
	if (cc->out.timer_us > now_us)
		return;
	event_us(f, now_ns);
	/* Not between two of one time: what comes next would be before the first of them. */
	for (; cc->out.timer_us <= now_us &&
	       (fired < TIMERS_MAX || (cc->out.timer_us <= last && fired < 2 * TIMERS_MAX)); fired++) {
		last = cc->out.timer_us;
		cc->ops->on_timer(cc, last);
	}
	if (cc->out.timer_us <= now_us)
		f->origin_ns += (uint64_t)((now_us - ccs_max(cc->out.timer_us, 0)) * 1e3);
	f->cc.path.epoch_us = epoch_us(f);
	while (fired >= TIMERS_MAX && cc->out.timer_us <= us_of(f, now_ns) &&
	       f->origin_ns < f->told_ns) /* rounding: now is before it */
		f->origin_ns++;
	follow(f, now_ns);
}

uint64_t ccs_drive_timer(const struct ccs_flow *f, uint64_t now_ns)
{
	const double ns = ceil(f->cc.out.timer_us * 1e3);

	if (!(ns < 0x1p63) || !f->cc.ops->on_timer)
		return UINT64_MAX;
	/* Advanced to now already: what rounding puts there is still to come. */
	return f->origin_ns + (uint64_t)ns > now_ns ? f->origin_ns + (uint64_t)ns : now_ns + 1;
}

void ccs_drive_send(struct ccs_flow *f, uint64_t bytes, uint64_t now_ns)
{
	double now_us;

	if (!f->cc.ops->on_send)
		return;
	ccs_drive_advance(f, now_ns);
	now_us = event_us(f, now_ns);
	f->cc.ops->on_send(&f->cc, now_us, (double)bytes);
	follow(f, now_ns);
	show_event(f, CCS_TOLD_SEND, now_us, (double)bytes);
}

/* Of the algorithm's time: what was before that is as old as it can tell. */
static double covers_us(const struct ccs_flow *f, const struct ccs_telemetry *t)
{
	if (!t->covers_ns)
		return 0;
	return ccs_max(((double)t->covers_ns - (double)f->origin_ns) / 1e3, 1e-3);
}

void ccs_drive_ack(struct ccs_flow *f, double rtt_us, double nic_wait_us, double bytes,
		   uint64_t now_ns)
{
	const struct ccs_telemetry *t = f->telemetry;
	struct ccs_cc_ack ack = {
		.rtt_us = rtt_us,
		.nic_wait_us = nic_wait_us,
		.bytes = bytes,
		.inflight = (double)f->inflight,
		.ack_seq = f->sent - f->inflight,
		.snd_nxt = f->sent,
	};

	if (t) {
		ack.hops = t->hops;
		ack.nhops = t->nhops;
		ack.path = t->path;
		ack.flows = t->flows;
		ack.covers_us = covers_us(f, t);
		ack.advised_rate = t->advised_rate;
	}
	ccs_drive_advance(f, now_ns);
	ack.now_us = event_us(f, now_ns);
	f->cc.ops->on_ack(&f->cc, &ack);
	f->stats.samples++;
	CCS_PROBE4(ack, f->stats.qp_num, (int64_t)(rtt_us * 1e3), (int64_t)bytes, f->inflight);
	follow(f, now_ns);
	if (f->sink)
		show(f, CCS_TOLD_ACK, &ack, 0);
}

/*
 * Nothing was acknowledged, so there is no sample in it. What slow start is to find is
 * advised, once the adviser has seen that the flow sends.
 */
void ccs_flow_advise(struct ccs_flow *f, uint64_t now_ns)
{
	const uint64_t samples = f->stats.samples;

	if (!(f->cc.ops->needs & CCS_NEEDS_ADVICE))
		return;
	if (f->ramping && f->sent) {
		f->window = (double)f->cap;
		f->ramping = false;
	}
	ccs_drive_ack(f, 0, 0, 0, now_ns);
	f->stats.samples = samples;
}

void ccs_drive_loss(struct ccs_flow *f, uint64_t now_ns)
{
	double now_us;

	f->stats.losses++;
	if (!f->cc.ops->on_loss)
		return;
	ccs_drive_advance(f, now_ns);
	now_us = event_us(f, now_ns);
	f->cc.ops->on_loss(&f->cc, now_us);
	follow(f, now_ns);
	show_event(f, CCS_TOLD_LOSS, now_us, 0);
}

void ccs_flow_cnp(struct ccs_flow *f, uint64_t now_ns)
{
	double now_us;

	f->stats.cnps++;
	CCS_PROBE2(cnp, f->stats.qp_num, f->stats.cnps);
	if (!f->cc.ops->on_cnp)
		return;
	ccs_drive_advance(f, now_ns);
	now_us = event_us(f, now_ns);
	f->cc.ops->on_cnp(&f->cc, now_us);
	follow(f, now_ns);
	show_event(f, CCS_TOLD_CNP, now_us, 0);
}
