/* SPDX-License-Identifier: BSD-2-Clause */
/* ccfabric: congestion control in a simulated fabric. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/ccfabric/shared/error.h"
#include "bench/common/progress.h"
#include "bench/common/clock.h"
#include "bench/ccfabric/models/matrix.h"
#include "bench/ccfabric/shared/options.h"
#include "bench/ccfabric/shared/output.h"
#include "plot.h"
#include "repeat.h"
#include "summary.h"
#include "bench/sim/fabric/baselines.h"
#include "traffic.h"
#include "bench/ccfabric/models/tune.h"

static void show_progress(uint64_t now, unsigned done, unsigned flows)
{
	(void)now;
	progress_bar(0, 1, "simulating", (double)done / flows);
}

static void check_ends(const struct topology *t, const struct fab_flows *f)
{
	if (!f->n)
		die("the traffic has no flows: nothing would be simulated");
	for (unsigned i = 0; i < f->n; i++) {
		const struct fab_flow_spec *s = &f->flow[i];

		if (s->src >= t->nodes || s->dst >= t->nodes || t->is_switch[s->src] ||
		    t->is_switch[s->dst])
			die("flow %u goes from node %u to %u, which are not both hosts of the topology",
			    s->id, s->src, s->dst);
	}
}

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

static void read_algorithm(const struct options *o, const char *text, struct ccs_cc_spec *spec)
{
	char err[320];

	if (!fab_cc_parse(spec, text, err, sizeof(err)))
		die("%s", err);
	if (ccs_cc_is_auto(text) && !o->conf.agents)
		spec->ops = ccs_cc_fallback(spec->ops); /* with the same parameters */
	if (spec->ops->needs & CCS_NEEDS_ADVICE && !o->conf.agents)
		die("--cc %s needs --agents, which advise its rate", text);
}

/* Marks are for all priorities where they are given, else for those whose algorithm needs them. */
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
	o->conf.advise = needs & CCS_NEEDS_ADVICE;
	if (o->conf.agents && o->conf.advise && needs & CCS_NEEDS_TELEMETRY)
		die("--priority-cc: agents send rates or records, and one algorithm needs each");
}

static void read_all(struct options *o, struct topology *t, struct fab_routes *r,
		     struct fab_flows *f, struct ccs_cc_spec *spec)
{
	const struct fab_traffic how = {
		.jitter_us = o->jitter_us,
		.until_us = o->until_us > 0 ? o->until_us : o->for_us > 0 ? o->for_us : 1000,
		.priority = o->priority, .message = o->message, .verb = o->verb,
		.seed = o->conf.seed,
	};
	char err[320];

	read_algorithms(o, spec);
	if (!fab_topology(t, o->topology, o->delay_us, err, sizeof(err)) ||
	    !fab_traffic(f, o->flows, t, &how, err, sizeof(err)))
		die("%s", err);
	check_ends(t, f);
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

/* -- results --------------------------------------------------------------------------------- */

static bool write_topology(const void *topology, FILE *f)
{
	return topology_write(topology, f);
}

static bool write_flows(const void *flows, FILE *f)
{
	return fab_flows_write(flows, f);
}

static void draw(const struct options *o, const struct fab_outcome *outcome)
{
	char title[256], err[512];

	snprintf(title, sizeof(title), "%s, %s, %s", o->topology, o->flows, o->cc);
	if (!fab_plot(o->plot, outcome, title, err, sizeof(err)))
		fail("no picture: %s", err);
}

static void print_all(const struct options *o, const struct fab_result *r, struct fab_cost cost)
{
	const struct fab_outcome outcome = { &o->conf, r, cost };

	if (!o->json || strcmp(o->json, "-") != 0)
		fab_print(&outcome, stdout);
	output_flush();
	output_write(o->json, fab_write_json, &outcome);
	output_write(o->fct, fab_write_fct, &outcome);
	output_write(o->save_topology, write_topology, o->conf.topology);
	output_write(o->save_flows, write_flows, o->conf.flows);
	if (o->plot)
		draw(o, &outcome);
}

/* -- one run, or several of different seeds -------------------------------------------------- */

struct set_up {
	struct topology topology;
	struct fab_routes routes;
	struct fab_flows flows;
	struct ccs_cc_spec spec[1 + FAB_PRIORITIES];
	struct fab_change change[MAX_CHANGES];
};

static void set_up(struct set_up *s, struct options *o)
{
	read_all(o, &s->topology, &s->routes, &s->flows, s->spec);
	set_changes(o, &s->topology, s->flows.flow[0].start, s->change);
	o->conf.topology = &s->topology;
	o->conf.routes = &s->routes;
	o->conf.flows = &s->flows;
}

static struct fab_cost simulate(const struct options *o, struct fab_result *r)
{
	const int64_t start = now_ns();
	const clock_t cpu = clock();
	char err[512];

	if (!fab_run(&o->conf, r, err, sizeof(err)))
		die("%s", err);
	return (struct fab_cost){ (double)(now_ns() - start) / 1e9,
				  (double)(clock() - cpu) / CLOCKS_PER_SEC };
}

static void clean_up(struct set_up *s, struct fab_result *r)
{
	fab_result_free(r);
	fab_flows_free(&s->flows);
	fab_routes_free(&s->routes);
	topology_free(&s->topology);
}

/* Traffic and marks are those of the seed. */
static void run_seed(const struct options *given, uint64_t seed, struct fab_brief *brief)
{
	struct options o = *given;
	struct fab_result r;
	struct set_up s;

	o.conf.seed = seed;
	set_up(&s, &o);
	simulate(&o, &r);
	*brief = fab_brief(&o.conf, &r);
	clean_up(&s, &r);
}

static void run_model(struct options *o, fab_judge *judge, void *owner)
{
	struct fab_result r;
	struct set_up s;

	set_up(&s, o);
	simulate(o, &r);
	judge(owner, &o->conf, &r);
	clean_up(&s, &r);
}

static int run_once(struct options *o)
{
	struct fab_cost cost;
	struct fab_result r;
	struct set_up s;

	set_up(&s, o);
	if (!o->quiet && progress_watched())
		o->conf.progress = show_progress;
	cost = simulate(o, &r);
	if (o->conf.progress)
		progress_clear();
	print_all(o, &r, cost);
	clean_up(&s, &r);
	return 0;
}

static int run(int argc, char **argv)
{
	struct options o;

	die_in_command("run");
	options_parse(&o, argc, argv);
	output_check(o.json);
	output_check(o.fct);
	output_check(o.plot);
	output_check(o.save_topology);
	output_check(o.save_flows);
	return o.repeat > 1 ? repeat(&o, run_seed) : run_once(&o);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "run") == 0)
		return run(argc - 1, argv + 1);
	if (argc > 1 && strcmp(argv[1], "matrix") == 0)
		return matrix(argc - 1, argv + 1, run_model);
	if (argc > 1 && strcmp(argv[1], "tune") == 0)
		return tune(argc - 1, argv + 1, run_model);
	if (argc > 1 && strcmp(argv[1], "--help") == 0)
		output_help(options_usage);
	if (argc > 1)
		die("'%s' is no command; run, matrix and tune are", argv[1]);
	die("a command is missing: run, matrix or tune");
}
