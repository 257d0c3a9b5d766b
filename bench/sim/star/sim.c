/* SPDX-License-Identifier: BSD-2-Clause */
/* A simulation from start to end: flows that leave, ports that slow down, and measurements. */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench/sim/core/memory.h"
#include "priv.h"

static void set_rate(struct star *s, double rate)
{
	for (unsigned i = 0; i < s->ports; i++)
		star_port(s, i)->ps_per_byte = 8e12 / rate;
}

static void leave(struct star *s, unsigned flow)
{
	s->flow[flow].left = true;
	flow_leave(&s->net, s->flow[flow].flow);
}

static void change(struct sim *net, uint32_t number)
{
	struct star *s = (struct star *)net;

	switch ((enum star_change)(number % (1u << STAR_BITS))) {
	case STAR_LEAVE: leave(s, number >> STAR_BITS); break;
	case STAR_SLOW: set_rate(s, s->conf->slow.rate); break;
	case STAR_FAST: set_rate(s, s->conf->rate); break;
	case STAR_WARM: star_warm(s); break;
	case STAR_SAMPLE: star_sample(s); break;
	case STAR_BIN: star_bin(s); break;
	}
}

static void set_changes(struct star *s)
{
	const struct sim_conf *c = s->conf;

	for (unsigned i = 0; i < c->guests.n; i++)
		star_at(s, c->guests.leave_us, STAR_LEAVE, c->flows + i);
	if (c->slow.rate > 0) {
		star_at(s, c->slow.from_us, STAR_SLOW, 0);
		star_at(s, c->slow.until_us, STAR_FAST, 0);
	}
	star_at(s, c->warm_us, STAR_WARM, 0);
	star_at(s, c->bin_us > 0 ? c->bin_us : c->end_us / 100, STAR_BIN, 0);
}

static void refuse(const char *why)
{
	fprintf(stderr, "sim: %s\n", why);
	abort();
}

static void set_up(struct star *s, uint64_t seed)
{
	char err[256];

	if (ccs_cc_parse(&s->spec, s->conf->cc, err, sizeof(err)))
		refuse(err);
	star_place(s, seed);
	if (!fab_begin(&s->net, &s->network, &s->outcome, err, sizeof(err)))
		refuse(err);
	for (unsigned i = 0; i <= s->total; i++)
		s->flow[s->net.flow[i].spec->id].flow = &s->net.flow[i];
	s->net.scenario.change = change;
	s->net.scenario.acked = star_measure_rtt;
	set_rate(s, s->conf->rate);
	set_changes(s);
}

static void tear_down(struct star *s)
{
	fab_end(&s->net);
	fab_result_free(&s->outcome);
	fab_routes_free(&s->routes);
	topology_free(&s->topology);
	fab_flows_free(&s->flows);
	free(s->flow);
}

void sim_run(const struct sim_conf *conf, uint64_t seed, struct sim_result *result)
{
	struct star *s = mem_zeroed(1, sizeof(*s));

	*result = (struct sim_result){ 0 };
	s->conf = conf;
	s->result = result;
	set_up(s, seed);
	network_run(&s->net);
	s->net.now = ps_of(conf->end_us);
	star_measure_end(s);
	tear_down(s);
	free(s);
}
