/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events for a flow's algorithm. Every call into the algorithm is made in this file; other files
 * read the results by ccs_flow_rate() and cc.out.window.
 */
#include <math.h>
#include <string.h>

#include "base/float_env.h"
#include "base/probe.h"
#include "cc/minmax.h"
#include "cc/event.h"
#include "flow/cc_events.h"
#include "flow/segment.h"

#define EPOCH_US 0x1p40 /* the common time is modulo this, to be exact in a double */
#define TIMERS_MAX 4096 /* missed timers that are fired at once */

/*
 * The algorithm's time. It does not go back, though a completion may have an earlier timestamp
 * than the algorithm's last event.
 */
static double us_of(const struct ccs_flow *f, uint64_t now_ns)
{
	const uint64_t ns = now_ns > f->events.last_ns ? now_ns : f->events.last_ns;

	return (double)(ns - f->events.origin_ns) / 1e3;
}

/* The time of the event that the algorithm is about to get. */
static double start_event_us(struct ccs_flow *f, uint64_t now_ns)
{
	const double us = us_of(f, now_ns);

	if (now_ns > f->events.last_ns)
		f->events.last_ns = now_ns;
	return us;
}

/*
 * A change of the rate moves a segment that is already waiting. DCQCN and HPCC rescale the whole
 * wait, as their authors' simulators do, and Swift's gap follows its newest window. A rate that
 * follows each RTT rescales only the rest of the wait. Otherwise, with a segment or less per RTT,
 * each segment's sample alone would place the next segment, and flows would lock in phase: RTTs
 * stop changing, the gradient is zero, and a queue of three times the size persists (TIMELY 5 fixes
 * the release time when a segment is queued).
 */
static void pace(struct ccs_flow *f, double flow_rate, uint64_t now_ns)
{
	const double rate = ccs_pacing_rate(flow_rate, f->cc.path.line_rate);

	if (rate == f->gate.pacing.rate)
		return;
	ccs_pacing_change_rate(&f->gate.pacing, rate,
			       ccs_flow_uses_rtts_only(f) ? CCS_PACING_REST_OF_WAIT
							  : CCS_PACING_WHOLE_WAIT, now_ns);
	CCS_PROBE2(rate, f->stats.qp_num, (int64_t)rate);
}

void ccs_flow_cc_pace(struct ccs_flow *f, uint64_t now_ns)
{
	pace(f, ccs_flow_rate(f), now_ns);
	f->gate.applied_rate = 0;
}

/* After every event: the rate may have changed. */
static inline void apply_rate(struct ccs_flow *f, uint64_t now_ns)
{
	const double rate = ccs_flow_rate(f);

	ccs_flow_fastpath_revoke(f);
	ccs_flow_update_split_len(f);
	if (rate == f->gate.applied_rate)
		return;
	f->gate.applied_rate = rate;
	pace(f, rate, now_ns);
	f->stats.min_rate = ccs_min(f->stats.min_rate, rate);
	f->stats.max_rate = ccs_max(f->stats.max_rate, rate);
}

/* Pass the event and the algorithm's decision to the sink. */
static void pass_to_sink(struct ccs_flow *f, enum ccs_cc_event_kind kind,
			 const struct ccs_cc_ack *ack, double rate)
{
	struct ccs_cc_event event = {
		.kind = kind,
		.ack = *ack,
		.path = f->cc.path,
		.max_rate = f->user.max_rate,
		.rate = rate,
		.out = f->cc.out,
		.origin_ns = f->events.origin_ns,
	};

	if (ack->nhops)
		memcpy(event.hop, ack->hops, ack->nhops * sizeof(*ack->hops));
	event.ack.hops = NULL;
	f->events.sink(f, &event);
}

static void report_event(struct ccs_flow *f, enum ccs_cc_event_kind kind, double now_us,
			 double bytes)
{
	const struct ccs_cc_ack ack = { .now_us = now_us, .bytes = bytes };

	if (f->events.sink)
		pass_to_sink(f, kind, &ack, 0);
}

static double epoch_us(const struct ccs_flow *f)
{
	return fmod((double)((int64_t)f->events.origin_ns + f->events.epoch_ns) / 1e3, EPOCH_US);
}

/* A new instance of an algorithm; its time begins with the last event of the previous one. */
static void start_instance(struct ccs_flow *f, const struct ccs_cc_spec *spec,
			   const struct ccs_cc_path *path)
{
	struct ccs_cc_path from_now = *path;
	struct ccs_float_env env;

	ccs_flow_fastpath_revoke(f);
	f->events.origin_ns = f->events.last_ns;
	from_now.epoch_us = epoch_us(f);
	f->followed = f->events.sink || spec->ops->on_send || (spec->ops->needs & CCS_NEEDS_TELEMETRY);
	ccs_float_begin(&env);
	ccs_cc_start(&f->cc, spec, &from_now);
	ccs_float_end(&env);
	ccs_cc_limit(&f->cc, f->user.max_rate);
	report_event(f, CCS_CC_EVENT_START, 0, 0);
}

void ccs_flow_cc_start(struct ccs_flow *f, const struct ccs_cc_spec *spec,
		       const struct ccs_cc_path *path, uint64_t now_ns)
{
	f->events.last_ns = now_ns;
	start_instance(f, spec, path);
	f->stats.min_rate = f->stats.max_rate = ccs_flow_rate(f);
	ccs_pacing_start(&f->gate.pacing, ccs_flow_rate(f), f->cc.path.line_rate, now_ns);
	f->gate.applied_rate = 0;
}

/* The new instance starts at the throughput of the previous one. The sink gets every step. */
void ccs_flow_switch(struct ccs_flow *f, const struct ccs_cc_spec *spec, uint64_t now_ns)
{
	const struct ccs_cc_path path = f->cc.path;
	double rate;

	ccs_flow_cc_fire_timers(f, now_ns);
	start_event_us(f, now_ns);
	rate = ccs_min(ccs_cc_throughput(&f->cc), f->user.max_rate);
	start_instance(f, spec, &path);
	ccs_flow_cc_set_rate(f, rate, now_ns);
}

void ccs_flow_cc_repath(struct ccs_flow *f, const struct ccs_cc_path *path)
{
	struct ccs_float_env env;

	ccs_flow_fastpath_revoke(f);
	ccs_float_begin(&env);
	ccs_cc_repath(&f->cc, path);
	ccs_float_end(&env);
	ccs_cc_limit(&f->cc, f->user.max_rate);
	report_event(f, CCS_CC_EVENT_PATH, us_of(f, f->events.last_ns), 0);
}

void ccs_flow_cc_set_rate(struct ccs_flow *f, double rate, uint64_t now_ns)
{
	struct ccs_float_env env;

	ccs_float_begin(&env);
	ccs_cc_set_rate(&f->cc, rate);
	ccs_float_end(&env);
	apply_rate(f, now_ns);
	if (f->events.sink)
		pass_to_sink(f, CCS_CC_EVENT_RATE,
			     &(struct ccs_cc_ack){ .now_us = us_of(f, f->events.last_ns) }, rate);
}

/* An algorithm with a parameter of that name gets the new limit. */
void ccs_flow_set_max_rate(struct ccs_flow *f, double max_rate, uint64_t now_ns)
{
	const struct ccs_cc_path path = f->cc.path;

	f->user.max_rate = max_rate;
	ccs_flow_cc_fire_timers(f, now_ns);
	if (ccs_cc_find_param(f->cc.ops, "max_rate") >= 0)
		ccs_flow_cc_repath(f, &path);
	apply_rate(f, now_ns);
}

void ccs_flow_set_rate(struct ccs_flow *f, double rate, uint64_t now_ns)
{
	ccs_flow_cc_fire_timers(f, now_ns);
	start_event_us(f, now_ns);
	ccs_flow_cc_set_rate(f, rate, now_ns);
}

/*
 * A flow that was idle for a day has missed a million timers, which would all fire under its lock.
 * The first few thousand bring the algorithm to its idle state. The rest of such a pause is skipped
 * by moving the origin of the algorithm's time.
 */
void ccs_flow_cc_fire_due(struct ccs_flow *f, uint64_t now_ns)
{
	struct ccs_cc *cc = &f->cc;
	struct ccs_float_env env;
	double now_us;
	double last = -1;
	unsigned fired = 0;

	if (!cc->ops->on_timer)
		return;
	now_us = us_of(f, now_ns);
	if (cc->out.timer_us > now_us)
		return;
	start_event_us(f, now_ns);
	ccs_float_begin(&env);
	/* Do not stop between two timers of the same time: the next event would precede them. */
	for (; cc->out.timer_us <= now_us &&
	       (fired < TIMERS_MAX || (cc->out.timer_us <= last && fired < 2 * TIMERS_MAX));
	     fired++) {
		last = cc->out.timer_us;
		cc->ops->on_timer(cc, last);
	}
	ccs_float_end(&env);
	if (cc->out.timer_us <= now_us)
		f->events.origin_ns += (uint64_t)((now_us - ccs_max(cc->out.timer_us, 0)) * 1e3);
	f->cc.path.epoch_us = epoch_us(f);
	while (fired >= TIMERS_MAX && cc->out.timer_us <= us_of(f, now_ns) &&
	       f->events.origin_ns < f->events.last_ns) /* rounding: now is before the origin */
		f->events.origin_ns++;
	apply_rate(f, now_ns);
}

uint64_t ccs_flow_cc_next_timer(const struct ccs_flow *f, uint64_t now_ns)
{
	const double ns = ceil(f->cc.out.timer_us * 1e3);

	if (!(ns < 0x1p63) || !f->cc.ops->on_timer)
		return UINT64_MAX;
	/* All timers up to now have fired. A time that rounding puts before now is still to come. */
	return f->events.origin_ns + (uint64_t)ns > now_ns ? f->events.origin_ns + (uint64_t)ns : now_ns + 1;
}

/* Report an event without data to the algorithm. on_event may be NULL. */
static void call_algorithm(struct ccs_flow *f, enum ccs_cc_event_kind kind,
			   void (*on_event)(struct ccs_cc *cc, double now_us), uint64_t now_ns)
{
	struct ccs_float_env env;
	double now_us;

	if (!on_event)
		return;
	ccs_flow_cc_fire_timers(f, now_ns);
	now_us = start_event_us(f, now_ns);
	ccs_float_begin(&env);
	on_event(&f->cc, now_us);
	ccs_float_end(&env);
	apply_rate(f, now_ns);
	report_event(f, kind, now_us, 0);
}

void ccs_flow_cc_on_send(struct ccs_flow *f, uint64_t bytes, uint64_t now_ns)
{
	struct ccs_float_env env;
	double now_us;

	if (!f->cc.ops->on_send)
		return;
	ccs_flow_cc_fire_timers(f, now_ns);
	now_us = start_event_us(f, now_ns);
	ccs_float_begin(&env);
	f->cc.ops->on_send(&f->cc, now_us, (double)bytes);
	ccs_float_end(&env);
	apply_rate(f, now_ns);
	report_event(f, CCS_CC_EVENT_SEND, now_us, (double)bytes);
}

/* t->covers_ns in the algorithm's time; times before its origin become its first moment. */
static double covers_us(const struct ccs_flow *f, const struct ccs_telemetry *t)
{
	if (!t->covers_ns)
		return 0;
	return ccs_max(((double)t->covers_ns - (double)f->events.origin_ns) / 1e3, 1e-3);
}

void ccs_flow_cc_on_ack(struct ccs_flow *f, double rtt_us, double nic_wait_us, double bytes,
			uint64_t now_ns)
{
	const struct ccs_telemetry *t = f->events.telemetry;
	struct ccs_cc_ack ack = {
		.rtt_us = rtt_us,
		.nic_wait_us = nic_wait_us,
		.bytes = bytes,
		.inflight = (double)(int64_t)f->inflight,
		.ack_seq = f->sent - f->inflight,
		.snd_nxt = f->sent,
	};
	struct ccs_float_env env;

	if (t) {
		ack.hops = t->hops;
		ack.nhops = t->nhops;
		ack.path = t->path;
		ack.flows = t->flows;
		ack.covers_us = covers_us(f, t);
		ack.advised_rate = t->advised_rate;
	}
	ccs_flow_cc_fire_timers(f, now_ns);
	ack.now_us = start_event_us(f, now_ns);
	ccs_float_begin(&env);
	f->cc.ops->on_ack(&f->cc, &ack);
	ccs_float_end(&env);
	CCS_PROBE4(ack, f->stats.qp_num, (int64_t)(rtt_us * 1e3), (int64_t)bytes, f->inflight);
	apply_rate(f, now_ns);
	if (f->events.sink)
		pass_to_sink(f, CCS_CC_EVENT_ACK, &ack, 0);
}

/*
 * Advice is an acknowledgement of 0 bytes without an RTT. A share of a full port is the rate that slow
 * start searches for, once the agent has seen that the flow sends. Flows that begin together there
 * would stay in phase, so each waits for a random part of a gap. At a free port slow start goes on
 * with a second segment: with one, the link would be idle while its completion is on its way.
 */
void ccs_flow_advise(struct ccs_flow *f, uint64_t now_ns)
{
	const bool begins = f->slow_start.ramping && f->sent, bound = ccs_flow_has_share(f);
	struct ccs_slow_start *s = &f->slow_start;

	if (!(f->cc.ops->needs & CCS_NEEDS_ADVICE))
		return;
	if (begins && bound)
		ccs_slow_start_end(s, (double)f->gate.max_inflight);
	else if (begins)
		s->window = ccs_max(s->window, ccs_min(2 * f->cc.path.segment, (double)f->gate.max_inflight));
	ccs_flow_cc_on_ack(f, 0, 0, 0, now_ns);
	if (begins && bound)
		ccs_pacing_charge_random(&f->gate.pacing, f->segments.split_len, false, now_ns);
}

void ccs_flow_cc_on_loss(struct ccs_flow *f, uint64_t now_ns)
{
	f->stats.losses++;
	call_algorithm(f, CCS_CC_EVENT_LOSS, f->cc.ops->on_loss, now_ns);
}

void ccs_flow_cnp(struct ccs_flow *f, uint64_t now_ns)
{
	f->stats.cnps++;
	CCS_PROBE2(cnp, f->stats.qp_num, f->stats.cnps);
	call_algorithm(f, CCS_CC_EVENT_CNP, f->cc.ops->on_cnp, now_ns);
}
