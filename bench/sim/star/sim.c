/* SPDX-License-Identifier: BSD-2-Clause */
/* Set-up of a simulation, flows that join and leave, and the main loop. */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench/sim/core/memory.h"
#include "priv.h"

static void join(struct sim *s, const struct event *e)
{
	struct sim_flow *f = e->who;

	f->live = true;
	f->port->live += f->index < s->total;
	sim_watch_losses(s, f);
	f->driver->start(s, f);
	if (s->conf->agents.advise && !f->apart)
		sim_advise_newcomer(s, f);
}

static void leave(struct sim *s, const struct event *e)
{
	struct sim_flow *f = e->who;

	(void)s;
	f->live = false;
	f->port->live--;
}

static void change_rate(struct sim *s, const struct event *e)
{
	const bool slow = e->at == sim_ps(s->conf->slow.from_us);

	for (unsigned i = 0; i < s->ports; i++)
		s->port[i].rate = slow ? s->conf->slow.rate : s->conf->rate;
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

static const struct driver *driver(const struct sim_conf *c)
{
	return c->driver == SIM_BARE ? &sim_bare : c->driver == SIM_SHIM ? &sim_shim : &sim_plain;
}

static void set_up_flow(struct sim *s, unsigned i)
{
	const struct sim_conf *c = s->conf;
	struct sim_flow *f = &s->flow[i];
	const bool guest = i >= c->flows && i < c->flows + c->guests.n;
	const double at_us = c->start_spread_us * rng_unit(&s->random) + (guest ? c->guests.join_us : 0);

	f->index = i;
	f->stays = i < c->flows;
	f->apart = !f->stays && !guest;
	f->driver = f->apart ? &sim_plain : driver(c);
	f->op = c->op;
	sim_place(s, f);
	f->np = ccs_dcqcn_np_init(c->cnp_us);
	f->wake_at = NEVER;
	sim_at(s, sim_ps(at_us), join, f, NULL);
	if (guest)
		sim_at(s, sim_ps(c->guests.leave_us), leave, f, NULL);
}

/* Writes of 64 bytes, one after the other, from a separate host. */
static void set_up_victim(struct sim *s)
{
	struct sim_flow *f = &s->flow[s->total];

	*f = (struct sim_flow){ .index = s->total, .apart = true, .driver = &sim_plain,
				.message = 64, .depth = 1, .wake_at = NEVER,
				.np = ccs_dcqcn_np_init(0) };
	sim_place(s, f);
	if (s->conf->victim)
		sim_at(s, 0, join, f, NULL);
}

static void set_up_hosts(struct sim *s)
{
	const struct sim_conf *c = s->conf;

	s->total = c->flows + c->guests.n + c->rivals;
	sim_place_all(s);
	s->flow = mem_zeroed(s->total + 1, sizeof(*s->flow));
	s->nic = mem_zeroed(s->ends, sizeof(*s->nic));
	s->port = mem_zeroed(s->ends, sizeof(*s->port));
	for (unsigned i = 0; i < s->ends; i++)
		s->port[i].rate = i < s->ports ? c->rate : sim_nic_rate(s);
	for (unsigned i = 0; i < s->total; i++)
		set_up_flow(s, i);
	set_up_victim(s);
	if (c->slow.rate > 0) {
		sim_at(s, sim_ps(c->slow.from_us), change_rate, NULL, NULL);
		sim_at(s, sim_ps(c->slow.until_us), change_rate, NULL, NULL);
	}
}

static void set_up(struct sim *s, uint64_t seed)
{
	const struct sim_conf *c = s->conf;
	char err[256];

	check(c);
	if (ccs_cc_parse(&s->spec, c->cc, err, sizeof(err))) {
		fprintf(stderr, "sim: %s\n", err);
		abort();
	}
	s->random = (struct rng){ seed };
	s->wire2 = sim_ps(c->base_us / 4);
	s->back = sim_ps(c->base_us / 2);
	s->wheel = mem_zeroed(1, sizeof(*s->wheel));
	s->wheel_at = NEVER;
	ccs_timer_wheel_init(s->wheel, 0);
	set_up_hosts(s);
	for (unsigned i = 0; c->agents.record_us > 0 && i < s->ports; i++)
		sim_at(s, sim_ps(c->agents.record_us), sim_read_port, &s->port[i], NULL);
	sim_measure_start(s);
}

static void tear_down(struct sim *s)
{
	for (unsigned i = 0; i <= s->total; i++) {
		if (s->flow[i].driver->stop)
			s->flow[i].driver->stop(&s->flow[i]);
		free(s->flow[i].seg);
	}
	for (unsigned i = 0; i < s->ends; i++) {
		free(s->nic[i].queue.packet);
		free(s->port[i].queue.packet);
	}
	free(s->flow);
	free(s->nic);
	free(s->port);
	free(s->wheel);
	free(s->event);
	event_queue_free(&s->pending);
}

void sim_run(const struct sim_conf *conf, uint64_t seed, struct sim_result *result)
{
	struct sim *s = mem_zeroed(1, sizeof(*s));
	const uint64_t end = sim_ps(conf->end_us);
	struct event e;

	*result = (struct sim_result){ 0 };
	s->conf = conf;
	s->result = result;
	set_up(s, seed);
	while (sim_pop(s, &e) && e.at <= end) {
		s->now = e.at;
		e.fire(s, &e);
	}
	s->now = end;
	sim_measure_end(s);
	tear_down(s);
	free(s);
}
