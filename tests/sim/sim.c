/* SPDX-License-Identifier: BSD-2-Clause */
/* Set-up, comings and goings, and the main loop. */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>

#include "priv.h"

static void *zeroed(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p) {
		fputs("sim: out of memory\n", stderr);
		abort();
	}
	return p;
}

static void wake(struct sim *s, const struct event *e)
{
	struct sim_flow *f = e->who;

	if (e->at != f->wake_at)
		return; /* overtaken by an earlier one */
	f->wake_at = NEVER;
	s->driver->wake(s, f);
}

void sim_wake_at(struct sim *s, struct sim_flow *f, uint64_t at)
{
	if (at >= f->wake_at)
		return; /* woken before that anyway, and then it looks again */
	f->wake_at = at;
	sim_at(s, at, wake, f, NULL);
}

static void join(struct sim *s, const struct event *e)
{
	struct sim_flow *f = e->who;

	f->live = true;
	s->live++;
	sim_watch_losses(s, f);
	s->driver->start(s, f);
}

static void leave(struct sim *s, const struct event *e)
{
	struct sim_flow *f = e->who;

	f->live = false;
	s->live--;
}

static void check(const struct sim_conf *c)
{
	const char *wrong = NULL;

	if (c->rate <= 0 || !c->segment || !c->flows)
		wrong = "no rate, no segment or no flow";
	else if (c->end_us <= c->warm_us)
		wrong = "ends before it is warm";
	else if (c->guests && !(c->join_us < c->leave_us && c->leave_us < c->end_us))
		wrong = "guests do not come and go in time";
	if (wrong) {
		fprintf(stderr, "sim: %s\n", wrong);
		abort();
	}
}

static void set_up_flow(struct sim *s, unsigned i)
{
	const struct sim_conf *c = s->conf;
	struct sim_flow *f = &s->flow[i];
	const bool guest = i >= c->flows;
	const double at_us = c->start_spread_us * sim_draw(s) + (guest ? c->join_us : 0);

	f->index = i;
	f->stays = !guest;
	f->nic = &s->nic[c->hosts ? i % c->hosts : i];
	f->port = &s->port[c->ports ? i % c->ports : 0];
	f->np = ccs_dcqcn_np_init(c->cnp_us);
	f->wake_at = NEVER;
	sim_at(s, sim_ps(at_us), join, f, NULL);
	if (guest)
		sim_at(s, sim_ps(c->leave_us), leave, f, NULL);
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
	s->driver = c->driver == SIM_BARE ? &sim_bare : &sim_shim;
	s->random = seed;
	s->wire1 = s->wire2 = sim_ps(c->base_us / 4);
	s->back = sim_ps(c->base_us / 2);
	s->total = c->flows + c->guests;
	s->flow = zeroed(s->total, sizeof(*s->flow));
	s->nic = zeroed(s->total, sizeof(*s->nic));
	s->port = zeroed(c->ports ? c->ports : 1, sizeof(*s->port));
	s->wheel = zeroed(1, sizeof(*s->wheel));
	s->wheel_at = NEVER;
	ccs_pacer_init(s->wheel, 0);
	for (unsigned i = 0; i < s->total; i++)
		set_up_flow(s, i);
	for (unsigned i = 0; c->record_us > 0 && i < (c->ports ? c->ports : 1); i++)
		sim_at(s, sim_ps(c->record_us), sim_read_port, &s->port[i], NULL);
	sim_measure_start(s);
}

static void tear_down(struct sim *s)
{
	for (unsigned i = 0; i < s->total; i++) {
		s->driver->stop(&s->flow[i]);
		free(s->flow[i].seg);
	}
	for (unsigned i = 0; i < (s->conf->ports ? s->conf->ports : 1); i++)
		free(s->port[i].queue);
	free(s->flow);
	free(s->nic);
	free(s->port);
	free(s->wheel);
	free(s->heap);
}

void sim_run(const struct sim_conf *conf, uint64_t seed, struct sim_result *result)
{
	struct sim *s = zeroed(1, sizeof(*s));
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
