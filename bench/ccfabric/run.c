/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccfabric.h"

#include <stdlib.h>
#include <time.h>

#include "bench/common/error.h"
#include "bench/common/clock.h"
#include "bench/sim/fabric/baselines.h"
#include "traffic.h"

/* A change may bring a path later; without one such a flow would never end. */
static void check_paths(const struct options *o, const struct fab_routes *r, const struct fab_flows *f)
{
	for (unsigned i = 0; i < f->n && !o->changes; i++)
		if (!fab_next_hops(r, f->flow[i].src, r->host[f->flow[i].dst])->n)
			die("flow %u has no path from node %u to %u", f->flow[i].id, f->flow[i].src,
			    f->flow[i].dst);
}

static unsigned find_link(const struct topology *t, unsigned a, unsigned b)
{
	const uint32_t port = fab_find_port(t, a, b);

	if (port == FAB_NO_PORT)
		die("nodes %u and %u have no link", a, b);
	return port / 2;
}

static int by_time(const void *a, const void *b)
{
	const struct fab_change *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return (int)x->kind - (int)y->kind;
}

static void set_changes(struct options *o, const struct topology *t, uint64_t begin,
			struct fab_change *change)
{
	for (unsigned i = 0; i < o->changes; i++) {
		const struct link_change *c = &o->change[i];

		if (c->kind == FAB_CONVERGE && c->a != FAB_ALL_NODES && c->a >= t->nodes)
			die("--converge: the topology has no node %u", c->a);
		change[i] = (struct fab_change){
			.kind = c->kind, .at = begin + (uint64_t)(c->at_us * FAB_PS_PER_US),
			.number = c->kind == FAB_CONVERGE ? c->a : find_link(t, c->a, c->b),
		};
	}
	qsort(change, o->changes, sizeof(*change), by_time);
	o->conf.change = change;
	o->conf.changes = o->changes;
}

#define BACKGROUND 16.0 /* factor of delta in class background */

static void read_algorithm(const struct options *o, const char *text, struct ccs_cc_spec *spec)
{
	char err[320];

	if (!fab_cc_parse(spec, text, err, sizeof(err)))
		die("%s", err);
	if (ccs_cc_is_auto(text) && !o->conf.agents.present)
		spec->ops = ccs_cc_fallback(spec->ops); /* with the same parameters */
	if (spec->ops->needs & CCS_NEEDS_ADVICE && !o->conf.agents.present)
		die("--cc %s needs --agents, which advise its rate", text);
}

/* Given marks apply to all priorities. By default, priorities have marks if their algorithm needs them. */
static void set_marks(struct options *o, unsigned priority, const struct ccs_cc_spec *spec)
{
	/* DCTCP's paper, 4: 65 packets at 10 Gb/s. */
	static const struct fab_marking none, dctcp = { { 97500, 97500, 1 }, .rate = 10e9 };
	/* htsim: from a fifth to four fifths of the BDP, of 12 us here. */
	static const struct fab_marking nscc = { { 30000, 120000, 1 }, .rate = 100e9 };
	const struct fab_marking **m = &o->conf.priority_marking[priority];

	if (o->ecn || *m)
		return;
	if (!(spec->ops->needs & CCS_NEEDS_CNP))
		*m = &none;
	else if (spec->ops == &fab_dctcp)
		*m = &dctcp;
	else if (spec->ops == &fab_nscc)
		*m = &nscc;
}

/* Without agents, copa's delta gives each flow a weight: 1/delta segments of it are in the queue. */
static void read_deltas(struct options *o, const struct ccs_cc_spec *spec)
{
	static struct ccs_cc_spec own[FAB_TENANTS];
	const int delta = ccs_cc_find_param(spec->ops, "delta");

	if (delta < 0 || !o->conf.shim)
		die("--tenants needs --agents, and --cc rcp or auto, or --hosts shim and --cc copa, where weights act on each flow");
	for (unsigned i = 0; i < o->conf.agents.tenants; i++) {
		const struct ccs_terms *t = &o->conf.agents.terms[i];

		if (t->cap > 0 || t->guarantee > 0)
			die("--tenants: caps and guarantees need --agents");
		own[i] = *spec;
		own[i].given[delta] = (isnan(spec->given[delta]) ? spec->ops->params[delta].def : spec->given[delta]) /
				      t->weight * (t->floor > 0 ? BACKGROUND : 1);
		own[i].given[delta] = fmin(fmax(own[i].given[delta], spec->ops->params[delta].min),
					   spec->ops->params[delta].max);
	}
	o->conf.tenant_spec = own;
}

/* spec: of --cc, then one for each priority */
static void read_algorithms(struct options *o, struct ccs_cc_spec *spec)
{
	unsigned needs = 0;

	read_algorithm(o, o->cc, spec);
	o->conf.spec = spec;
	for (unsigned i = 0; i < FAB_PRIORITIES; i++) {
		const struct ccs_cc_spec *own = spec;

		if (o->priority_cc[i]) {
			read_algorithm(o, o->priority_cc[i], &spec[1 + i]);
			own = o->conf.priority_spec[i] = &spec[1 + i];
		}
		needs |= own->ops->needs;
		set_marks(o, i, own);
	}
	o->conf.agents.advise = needs & CCS_NEEDS_ADVICE;
	if (o->conf.agents.tenants && !o->conf.agents.advise)
		read_deltas(o, spec);
	if (o->conf.agents.present && o->conf.agents.advise && needs & CCS_NEEDS_TELEMETRY)
		die("--priority-cc: agents send rates or records, and one algorithm needs each");
}

static void read_all(struct options *o, struct topology *t, struct fab_routes *r,
		     struct fab_flows *f, struct ccs_cc_spec *spec)
{
	const struct fab_traffic how = {
		.jitter_us = o->jitter_us,
		.until_us = o->until_us > 0 ? o->until_us : o->for_us > 0 ? o->for_us : 1000,
		.priority = o->priority, .message = o->message, .verb = o->verb,
		.tenants = o->conf.agents.tenants, .seed = o->conf.seed,
	};
	char err[320];

	read_algorithms(o, spec);
	if (!fab_topology(t, o->topology, o->delay_us, err, sizeof(err)) ||
	    !fab_traffic(f, o->flows, t, &how, err, sizeof(err)))
		die("%s", err);
	if (!f->n)
		die("the traffic has no flows: nothing would be simulated");
	options_follow_topology(o, t);
	fab_routes_init(r, t);
	fab_routes_compute(r, t, NULL);
	if (o->routes && !fab_routes_read(r, t, o->routes, err, sizeof(err)))
		die("%s", err);
	check_paths(o, r, f);
	if (o->like_ns3 && spec->ops == &ccs_cc_timely)
		o->conf.wire.header += 8; /* a timestamp */
	if (o->for_us > 0)
		o->conf.end = f->flow[0].start + (uint64_t)(o->for_us * FAB_PS_PER_US);
}

void fab_set_up(struct fab_set_up *s, struct options *o)
{
	read_all(o, &s->topology, &s->routes, &s->flows, s->spec);
	set_changes(o, &s->topology, s->flows.flow[0].start, s->change);
	o->conf.topology = &s->topology;
	o->conf.routes = &s->routes;
	o->conf.flows = &s->flows;
}

struct fab_cost fab_simulate(const struct options *o, struct fab_result *r)
{
	const int64_t start = now_ns();
	const clock_t cpu = clock();
	char err[512];

	if (!fab_run(&o->conf, r, err, sizeof(err)))
		die("%s", err);
	return (struct fab_cost){ (double)(now_ns() - start) / 1e9,
				  (double)(clock() - cpu) / CLOCKS_PER_SEC };
}

void fab_clean_up(struct fab_set_up *s, struct fab_result *r)
{
	fab_result_free(r);
	fab_flows_free(&s->flows);
	fab_routes_free(&s->routes);
	topology_free(&s->topology);
}

void fab_run_options(struct options *o, fab_judge *judge, void *owner)
{
	struct fab_result r;
	struct fab_set_up s;

	fab_set_up(&s, o);
	fab_simulate(o, &r);
	judge(owner, &o->conf, &r);
	fab_clean_up(&s, &r);
}
