/* SPDX-License-Identifier: BSD-2-Clause */
#include "plot.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/sim/core/memory.h"
#include "tools/common/gnuplot.h"

enum { WIDTH = 1280, HEIGHT = 900, LONGEST = 6, TIERS = 8, LINKS_DRAWN = 4000 };

/* -- queues ---------------------------------------------------------------------------------- */

static void print_queues(FILE *f, const struct fab_outcome *o)
{
	const struct fab_conf *conf = o->conf;
	const struct fab_result *r = o->result;
	const unsigned ports = 2 * conf->topology->links;
	uint32_t port[LONGEST];
	const unsigned n = fab_longest_queues(o, true, port, LONGEST);

	fputs("$QUEUE << EOD\n", f);
	for (unsigned i = 0; i < r->series.n; i++) {
		fprintf(f, "%.4f", (double)(i * r->series.interval) / FAB_PS_PER_US);
		for (unsigned k = 0; k < n; k++)
			fprintf(f, " %.3f", r->series.queue[(size_t)i * ports + port[k]] / 1024.0);
		fputc('\n', f);
	}
	fputs("EOD\nset key opaque; set title 'longest queues'; set xlabel 'time, us'; set ylabel 'KB'\n"
	      "set yrange [0:*]; set xrange [0:*]\nplot ", f);
	for (unsigned k = 0; k < n; k++)
		fprintf(f, "$QUEUE using 1:%u with lines lc rgb '%s' title '%u to %u', ", k + 2,
			gnuplot_color(k), fab_port_node(conf->topology, port[k]),
			fab_port_peer(conf->topology, port[k]));
	fputs("NaN notitle\n", f);
}

/* -- slowdown by size ------------------------------------------------------------------------ */

/* Sizes from one power of two to the next. */
static unsigned slowdowns(const struct fab_conf *conf, const struct fab_result *r, unsigned power,
			  double *value)
{
	unsigned n = 0;

	for (unsigned i = 0; i < conf->flows->n; i++) {
		const struct fab_flow_spec *s = &conf->flows->flow[i];

		if (!isnan(fab_slowdown(r, s->id)) &&
		    (unsigned)(63 - __builtin_clzll(s->size)) == power)
			value[n++] = fab_slowdown(r, s->id);
	}
	fab_sort(value, n);
	return n;
}

static void print_slowdown(FILE *f, const struct fab_conf *conf, const struct fab_result *r)
{
	double *value = mem_zeroed(conf->flows->n, sizeof(*value));

	fputs("$SLOW << EOD\n", f);
	for (unsigned power = 0; power < 40; power++) {
		const unsigned n = slowdowns(conf, r, power, value);

		if (n)
			fprintf(f, "%.0f %.4f %.4f %.4f\n", ldexp(1.5, (int)power) / 1024, value[n / 2],
				fab_quantile(value, n, 0.95), fab_quantile(value, n, 0.99));
	}
	fputs("EOD\nset title 'slowdown by size'; set xlabel 'KB'; set ylabel 'FCT, of the empty "
	      "network'\nset logscale xy; set yrange [1:*]; set xrange [*:*]\n"
	      "plot $SLOW using 1:4 with linespoints pt 7 title 'p99', "
	      "$SLOW using 1:3 with linespoints pt 7 title 'p95', "
	      "$SLOW using 1:2 with linespoints pt 7 title 'p50'\nunset logscale\n", f);
	free(value);
}

/* -- the topology ---------------------------------------------------------------------------- */

/* Hosts are at the bottom. A switch is above by its number of links to the nearest host. */
static void find_tiers(const struct topology *t, unsigned *tier)
{
	bool changed = true;

	for (unsigned i = 0; i < t->nodes; i++)
		tier[i] = t->is_switch[i] ? TIERS - 1 : 0;
	while (changed) {
		changed = false;
		for (unsigned l = 0; l < t->links; l++)
			for (unsigned way = 0; way < 2; way++) {
				const unsigned a = way ? t->link[l].to : t->link[l].from;
				const unsigned b = way ? t->link[l].from : t->link[l].to;

				if (tier[a] > tier[b] + 1) {
					tier[a] = tier[b] + 1;
					changed = true;
				}
			}
	}
}

static void place_nodes(const struct topology *t, const unsigned *tier, double *x)
{
	unsigned count[TIERS] = { 0 }, next[TIERS] = { 0 };

	for (unsigned i = 0; i < t->nodes; i++)
		count[tier[i]]++;
	for (unsigned i = 0; i < t->nodes; i++)
		x[i] = (next[tier[i]]++ + 0.5) / count[tier[i]];
}

static void print_topology(FILE *f, const struct fab_conf *conf, const struct fab_result *r)
{
	const struct topology *t = conf->topology;
	unsigned *tier = mem_zeroed(t->nodes, sizeof(*tier));
	double *x = mem_zeroed(t->nodes, sizeof(*x));

	find_tiers(t, tier);
	place_nodes(t, tier, x);
	fputs("$LINK << EOD\n", f);
	for (unsigned l = 0; l < t->links && l < LINKS_DRAWN; l++) {
		const unsigned a = t->link[l].from, b = t->link[l].to;

		fprintf(f, "%.5f %u %.5f %u %.4f\n", x[a], tier[a], x[b] - x[a],
			tier[b], fmax(r->port[2 * l].utilisation, r->port[2 * l + 1].utilisation));
	}
	fputs("EOD\n$NODE << EOD\n", f);
	for (unsigned i = 0; i < t->nodes; i++)
		fprintf(f, "%.5f %u\n", x[i], tier[i]);
	fputs("EOD\nset title 'links, by the utilisation of their busier direction'\n"
	      "unset xlabel; unset ylabel; unset xtics; unset ytics; set border 0\n"
	      "set xrange [0:1]; set yrange [-0.3:*]; set cbrange [0:1]; set colorbox\n"
	      "set palette defined (0 '#d8d8d8', 0.5 '#3b6fb6', 0.8 '#e0a030', 1 '#b03030')\n"
	      "plot $LINK using 1:2:3:($4-$2):5 with vectors nohead lw 1.4 lc palette notitle, "
	      "$NODE using 1:2 with points pt 7 ps 0.6 lc rgb '#404040' notitle\n", f);
	free(tier);
	free(x);
}

bool fab_plot(const char *file, const struct fab_outcome *o, const char *title, char *err,
	      size_t len)
{
	FILE *f = gnuplot_script();
	bool drawn;

	if (!f) {
		snprintf(err, len, "%s", strerror(errno));
		return false;
	}
	gnuplot_begin(f, file, WIDTH, HEIGHT);
	fputs("set multiplot title ", f);
	gnuplot_quote(f, title ? title : "");
	fputs(" font ',14'\nset grid; set size 0.5,0.48; set origin 0,0.48\n", f);
	print_queues(f, o);
	fputs("set origin 0.5,0.48\n", f);
	print_slowdown(f, o->conf, o->result);
	fputs("unset grid; set size 1,0.48; set origin 0,0\n", f);
	print_topology(f, o->conf, o->result);
	fputs("unset multiplot\n", f);
	drawn = gnuplot_draw(f, file, err, len) == 0;
	fclose(f);
	return drawn;
}
