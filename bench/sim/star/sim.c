/* SPDX-License-Identifier: BSD-2-Clause */
/* Set-up of a simulation, flows that join and leave, and the main loop. */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench/sim/core/memory.h"
#include "priv.h"

static void join(struct star *s, void *who)
{
	struct star_flow *f = who;

	f->live = true;
	f->to->live += f->index < s->total;
	star_watch_losses(s, f);
	f->driver->start(s, f);
	if (s->conf->agents.advise && !f->apart)
		star_advise_newcomer(s, f);
}

static void leave(struct star *s, void *who)
{
	struct star_flow *f = who;

	(void)s;
	f->live = false;
	f->to->live--;
}

static void change_rate(struct star *s, void *who)
{
	const bool slow = s->net.now == star_ps(s->conf->slow.from_us);

	(void)who;
	for (unsigned i = 0; i < s->ports; i++)
		s->port[i].port->ps_per_byte = 8e12 / (slow ? s->conf->slow.rate : s->conf->rate);
}

static void check(const struct sim_conf *c)
{
	const char *wrong = NULL;

	if (c->rate <= 0 || !c->flows)
		wrong = "no rate or no flow";
	else if (!c->segment && (c->driver == SIM_BARE || (c->driver == SIM_SHIM && !c->message)))
		wrong = "no segment";
	else if (c->pattern != SIM_INCAST && (c->hosts < 2 || c->ports))
		wrong = "a pattern wants hosts, two or more, and has a port for each";
	else if (c->op == SIM_SEND && !c->message)
		wrong = "a SEND without a size";
	else if (c->slow.rate > 0 && c->slow.from_us >= c->slow.until_us)
		wrong = "fast before it is slow";
	else if (c->end_us <= c->warm_us)
		wrong = "ends before it is warm";
	else if (c->guests.n && !(c->guests.join_us < c->guests.leave_us &&
				  c->guests.leave_us < c->end_us))
		wrong = "guests do not come and go in time";
	if (wrong) {
		fprintf(stderr, "sim: %s\n", wrong);
		abort();
	}
}

static const struct star_driver *driver(const struct sim_conf *c)
{
	return c->driver == SIM_BARE ? &star_bare : c->driver == SIM_SHIM ? &star_shim : &star_plain;
}

static void set_up_flow(struct star *s, unsigned i)
{
	const struct sim_conf *c = s->conf;
	struct star_flow *f = &s->flow[i];
	const bool guest = i >= c->flows && i < c->flows + c->guests.n;
	const double at_us = c->start_spread_us * rng_unit(&s->net.random) + (guest ? c->guests.join_us : 0);

	f->stays = i < c->flows;
	f->apart = !f->stays && !guest;
	f->driver = f->apart ? &star_plain : driver(c);
	f->op = c->op;
	f->np = ccs_dcqcn_np_init(c->cnp_us);
	f->wake_at = NEVER;
	star_at(s, star_ps(at_us), join, f);
	if (guest)
		star_at(s, star_ps(c->guests.leave_us), leave, f);
}

/* Writes of 64 bytes, one after the other, from a separate host. */
static void set_up_victim(struct star *s)
{
	struct star_flow *f = &s->flow[s->total];

	f->apart = true;
	f->driver = &star_plain;
	f->message = 64;
	f->depth = 1;
	f->wake_at = NEVER;
	f->np = ccs_dcqcn_np_init(0);
	if (s->conf->victim)
		star_at(s, 0, join, f);
}

static void set_up_flows(struct star *s)
{
	const struct sim_conf *c = s->conf;

	for (unsigned i = 0; i < s->total; i++)
		set_up_flow(s, i);
	set_up_victim(s);
	if (c->slow.rate > 0) {
		star_at(s, star_ps(c->slow.from_us), change_rate, NULL);
		star_at(s, star_ps(c->slow.until_us), change_rate, NULL);
	}
}

static void set_up(struct star *s, uint64_t seed)
{
	const struct sim_conf *c = s->conf;
	char err[256];

	check(c);
	if (ccs_cc_parse(&s->spec, c->cc, err, sizeof(err))) {
		fprintf(stderr, "sim: %s\n", err);
		abort();
	}
	s->wire2 = star_ps(c->base_us / 4);
	s->back = star_ps(c->base_us / 2);
	star_build(s);
	s->net.random = (struct rng){ seed };
	s->wheel = mem_zeroed(1, sizeof(*s->wheel));
	s->wheel_at = NEVER;
	ccs_timer_wheel_init(s->wheel, 0);
	set_up_flows(s);
	for (unsigned i = 0; c->agents.record_us > 0 && i < s->ports; i++)
		star_at(s, star_ps(c->agents.record_us), star_read_port, &s->port[i]);
	star_measure_start(s);
}

static void tear_down(struct star *s)
{
	for (unsigned i = 0; i <= s->total; i++) {
		if (s->flow[i].driver->stop)
			s->flow[i].driver->stop(&s->flow[i]);
		free(s->flow[i].seg);
	}
	free(s->wheel);
	star_demolish(s);
}

void sim_run(const struct sim_conf *conf, uint64_t seed, struct sim_result *result)
{
	struct star *s = mem_zeroed(1, sizeof(*s));

	*result = (struct sim_result){ 0 };
	s->conf = conf;
	s->result = result;
	set_up(s, seed);
	network_run(&s->net);
	s->net.now = star_ps(conf->end_us);
	result->marks = s->network->result.marks;
	star_measure_end(s);
	tear_down(s);
	free(s);
}
