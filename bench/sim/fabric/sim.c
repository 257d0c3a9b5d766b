/* SPDX-License-Identifier: BSD-2-Clause */
/* The simulator from start to end. */
#include <math.h>
#include <stdlib.h>

#include "bench/sim/core/memory.h"
#include "priv.h"

/* Flows are in the order of their starts: one event is set at a time. group: its next operation
 * begins; 0: flows do. */
static void start_flows(struct sim *s, uint32_t group)
{
	const struct fab_flows *flows = s->conf->flows;

	if (group) {
		order_resume(s, group);
		return;
	}
	while (s->started < flows->n && flows->flow[s->started].start <= s->now) {
		if (s->flow[s->started].port != FAB_NO_PORT)
			flow_start(s, &s->flow[s->started]);
		s->started++;
	}
	if (s->started < flows->n)
		set_event(s, flows->flow[s->started].start, START, 0);
}

static void warm(struct sim *s, uint32_t number)
{
	(void)number;
	for (uint32_t i = 0; i < s->ports; i++)
		port_warm(s, i);
	if (s->delays)
		*s->delays = (struct ccs_hist){ 0 };
	s->measured_from = s->now;
}

static void change(struct sim *s, uint32_t number)
{
	if (number)
		s->scenario.change(s, number);
	else
		changes_apply(s, 0);
}

static void announce_again(struct sim *s, uint32_t flow)
{
	if (!flow_is_done(&s->flow[flow]))
		flow_announce(s, &s->flow[flow]);
}

static void (*const handler[])(struct sim *s, uint32_t number) = {
	[FREE] = port_free, [DUE] = flow_due, [TIMER] = flow_timer, [TIMEOUT] = flow_timeout,
	[START] = start_flows, [CHANGE] = change, [WATCH] = watch, [RECORD] = agent_read,
	[WARM] = warm, [PAUSED] = network_pause, [SHAPED] = port_kick,
	[CREDITS] = credits_give, [HELD] = host_held, [ANNOUNCE] = announce_again,
};

static void finish_flow(struct sim *s, struct flow *f)
{
	struct fab_flow_result *r = &s->result->flow[f->spec->id];

	s->result->acked += f->snd_una;
	r->acked = f->snd_una;
	r->rtt_us = f->rtt.acks ? (double)f->rtt.sum / (double)f->rtt.acks / FAB_PS_PER_US : NAN;
	if (f->control)
		flow_stop(f);
	posts_free(&f->posts);
	fab_ranges_free(&f->have);
	fab_ranges_free(&f->sacked);
}

static void init(struct sim *s)
{
	const struct fab_flows *flows = s->conf->flows;
	struct fab_result *r = s->result;

	s->live = mem_zeroed(s->conf->topology->nodes, sizeof(*s->live));
	r->begin = flows->n ? flows->flow[0].start : 0;
	for (unsigned i = 0; i < flows->n; i++)
		r->flow[i].fct = NEVER;
	orders_init(s);
	agents_init(s);
	caps_init(s);
	watch_init(s);
	s->measured_from = r->begin;
	s->delays = s->conf->delays ? mem_zeroed(1, sizeof(*s->delays)) : NULL;
	r->delays = s->delays;
	if (s->conf->warm)
		set_event(s, r->begin + s->conf->warm, WARM, 0);
	if (flows->n)
		set_event(s, r->begin, START, 0);
}

void fab_end(struct sim *s)
{
	s->result->end = s->now;
	order_finish(s);
	for (unsigned i = 0; i < s->conf->flows->n; i++)
		finish_flow(s, &s->flow[i]);
	agents_free(s);
	caps_free(s);
	orders_free(s);
	credits_free(s);
	free(s->live);
	network_finish(s);
}

bool fab_begin(struct sim *s, const struct fab_conf *conf, struct fab_result *r, char *err, size_t len)
{
	const bool ok = network_init(s, conf, r, err, len);

	s->handler = handler;
	init(s);
	return ok;
}

bool fab_run(const struct fab_conf *conf, struct fab_result *result, char *err, size_t len)
{
	struct sim s;
	const bool ok = fab_begin(&s, conf, result, err, len);

	if (ok)
		network_run(&s);
	fab_end(&s);
	if (!ok)
		fab_result_free(result);
	return ok;
}

void fab_result_free(struct fab_result *result)
{
	free(result->flow);
	free(result->port);
	free(result->operation);
	free(result->delays);
}
