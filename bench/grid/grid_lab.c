/* SPDX-License-Identifier: BSD-2-Clause */
/* The same rows in the lab: what to run there, and the figures that come back. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "cc/minmax.h"
#include "grid.h"

#define PACKETS_MOST 40e3    /* packets of a run: the lab sends some thousand per second */
#define VICTIMS 400          /* most writes of the victim in a run */
#define LINK_MOST 25e9
#define HOSTS_MOST 64

/* Whether the lab has commands and a shaped port for the scenario. */
static bool in_lab(const struct scenario *s)
{
	if (s->nic > LINK_MOST || s->hosts > HOSTS_MOST || s->joins || s->slow > 0 || s->rivals ||
	    s->jitter > 0 || s->preset)
		return false;
	if (s->pattern == SIM_INCAST)
		return true;
	return (s->pattern == SIM_RING || s->pattern == SIM_ALL_TO_ALL) && s->nic <= s->rate &&
	       s->op != SIM_READ;
}

/* In a lossless scenario, a queue that holds all outstanding data. */
static double queue(const struct scenario *s, const struct sim_conf *c)
{
	return s->queue > 0 ? s->queue : 1.2 * grid_per_port(s) * c->depth * s->message + 1e6;
}

static void print_lab(const struct scenario *s, const struct sim_conf *c)
{
	const unsigned hosts = s->pattern == SIM_INCAST ? s->hosts + 2 : s->hosts;
	const double kmax = ccs_min(c->red.kmax, queue(s, c));

	printf("--hosts %u --rate %.0fkbit --nic %.0fkbit --queue %.0fkb --delay %gus "
	       "--ecn %.0fkb:%.0fkb:1 --priority", hosts, s->rate / 1e3, s->nic / 1e3,
	       ceil(queue(s, c) / 1024), s->rtt / 2, floor(kmax / 4096), floor(kmax / 1024));
}

static void print_bench(const struct scenario *s, const struct sim_conf *c)
{
	const double us = ccs_min(c->end_us, PACKETS_MOST * 8e6 * GRID_MTU / s->rate);

	if (s->pattern == SIM_INCAST)
		printf("%s --senders %u -q %u", s->op == SIM_READ ? "readincast" : "incast",
		       s->hosts, s->qps);
	else if (s->pattern == SIM_RING)
		printf("permutation --hosts %u -q %u", s->hosts, s->qps);
	else
		printf("alltoall --hosts %u", s->hosts);
	if (s->op == SIM_SEND)
		printf(" --op send");
	printf(" -s %u -t %u -D %.0fus --warmup %.0fus --victim-interval %.0fus --tclass 2",
	       s->message, c->depth, us, us / 3, us / VICTIMS);
}

/* Host i + 2 has flow i. The additional delay of far flows is on their hosts' links. */
static void print_setup(const struct scenario *s)
{
	char loss[32] = "";

	if (s->loss > 0)
		snprintf(loss, sizeof(loss), " loss %g%%", 100 * s->loss);
	if (s->far > 0 || s->loss > 0)
		printf("for ((i = 2; i < %u; i++)); do tc qdisc change dev h_$i root netem "
		       "rate %.0fkbit limit 1000000%s delay $((i %% 2 ? %.0f : %.0f))us; done",
		       s->hosts + 2, s->nic / 1e3, loss,
		       (s->far > 0 ? s->far : s->rtt) - s->rtt / 2, s->rtt / 2);
	else
		putchar(':');
}

void grid_lab(const struct grid *g)
{
	struct contender all = { .cc = "dcqcn" }; /* whose conf has the band of marks */

	all.spec = ccs_cc_default_spec(ccs_cc_find(all.cc));
	for (unsigned i = 0; i < g->scenarios; i++) {
		const struct scenario *s = g->scenario[i];
		const struct sim_conf c = grid_conf(s, &all, g->length);

		if (!in_lab(s) || grid_forbidden(s))
			continue;
		printf("%s\t", s->name);
		print_lab(s, &c);
		putchar('\t');
		print_bench(s, &c);
		putchar('\t');
		print_setup(s);
		putchar('\n');
	}
}

static struct outcome *find(const struct grid *g, struct outcome *all, const char *name,
			    const char *cc)
{
	for (unsigned i = 0; i < g->scenarios; i++)
		for (unsigned c = 0; c < g->contenders; c++)
			if (strcmp(g->scenario[i]->name, name) == 0 &&
			    strcmp(g->contender[c].cc, cc) == 0)
				return &all[i * g->contenders + c];
	return NULL;
}

/* NAME, CC, and figures, separated by tabs; "null" is not a number of them. */
static bool parse_line(const struct grid *g, struct outcome *all, char *line)
{
	struct outcome o = { .begun = true, .done = true, .rtt_p99 = NAN }, *to;
	double *const figure[] = { &o.util, &o.jain, &o.queue_p99, &o.victim_p50, &o.victim_p99 };
	char *rest = line, *name = strsep(&rest, "\t"), *cc = strsep(&rest, "\t"), *word;

	for (unsigned i = 0; i < sizeof(figure) / sizeof(*figure); i++) {
		word = strsep(&rest, "\t");
		if (!word || (strcmp(word, "null") != 0 && sscanf(word, "%lf", figure[i]) != 1))
			return false;
		if (strcmp(word, "null") == 0)
			*figure[i] = NAN;
	}
	if (!rest || sscanf(rest, "%lu %lu", &o.drops, &o.late_drops) != 2)
		return false;
	o.own_util = o.util;
	o.join_us = o.leave_us = NAN;
	to = find(g, all, name, cc);
	if (to)
		*to = o;
	return true;
}

int grid_figures(const struct grid *g, struct outcome *all, const char *path)
{
	FILE *f = fopen(path, "r");
	char line[512];
	unsigned number = 0;
	bool good = true;

	if (!f) {
		fprintf(stderr, "grid: %s: %s\n", path, strerror(errno));
		return -1;
	}
	while (good && fgets(line, sizeof(line), f)) {
		number++;
		good = parse_line(g, all, line);
	}
	fclose(f);
	if (!good)
		fprintf(stderr, "grid: %s:%u: no line of bench/scripts/grid-lab\n", path, number);
	return good ? 0 : -1;
}
