/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The picture: a panel per kind of value that there is, one above the other with
 * the same time and the same colours, or one panel of CDFs.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hist.h"
#include "tools/common/gnuplot.h"
#include "plot.h"

#define WIDTH 1200
#define LETTER 8                 /* pixels of width, of a name's letters on average */
#define PANEL 230                /* pixels of height */
#define MARGINS 100              /* above and below the panels */
#define STEPS 1000               /* number of steps of a CDF */

static const struct {
	const char *label, *format, *style;
} styles[PLOT_WHATS] = {
	[PLOT_RATE] = { "rate", "%.1s %cb/s", "steps lw 1.5" },
	[PLOT_RTT] = { "RTT", "%.1s %cs", "points pt 7 ps 0.25" },
	[PLOT_INFLIGHT] = { "in flight, KB", "%g", "lines" },
	[PLOT_QUEUE] = { "longest queue, KB", "%g", "lines" },
	[PLOT_CNPS] = { "CNPs", "%g", "steps lw 1.5" },
};

static bool has(const struct plot *p, const struct plot_flow *flow, unsigned what)
{
	return p->cdf < 0 ? flow->of[what].n > 0 : flow->hist && (int)what == p->cdf;
}

static bool any_has(const struct plot *p, unsigned what)
{
	for (unsigned i = 0; i < p->n; i++)
		if (has(p, p->flow[i], what))
			return true;
	return false;
}

/* Sampled such that the tail, where delay matters, has several steps. */
static void put_cdf(FILE *f, const struct ccs_hist *h, bool times)
{
	for (unsigned i = 0; i <= STEPS; i++) {
		const double q = i < STEPS ? 1 - pow(1e-4, (double)i / STEPS) : 1;
		const double v = (double)ccs_hist_percentile(h, q);

		fprintf(f, "%.9g %.6f\n", times ? v / 1e9 : v, q);
	}
}

static void put_points(FILE *f, const struct plot_series *s, double t0)
{
	for (size_t i = 0; i < s->n; i++)
		fprintf(f, "%.9g %.9g\n", s->at[i].t - t0, s->at[i].v);
}

/* Bytes in flight vary between 0 and the window with each acknowledgement: curves of many values
 * would hide one another, so percentiles replace them. RTTs are drawn with their percentiles. */
static bool has_values(const struct plot *p, const struct plot_flow *flow, unsigned what)
{
	return has(p, flow, what) && !(p->cdf < 0 && what == PLOT_INFLIGHT && flow->parts[what].n);
}

/* $P3: the fourth flow's percentiles of the RTT, each in the middle of its part; $I3: of bytes in
 * flight. */
static void put_percentiles(FILE *f, const struct plot *p, unsigned i, unsigned what)
{
	const struct plot_parts *parts = &p->flow[i]->parts[what];
	const double first = p->span[what].first, step = (p->span[what].last - first) / parts->n;
	const double unit = what == PLOT_RTT ? 1e9 : 1;

	if (!parts->hist)
		return;
	fprintf(f, "$%c%u << EOD\n", what == PLOT_RTT ? 'P' : 'I', i);
	for (unsigned k = 0; k < parts->n; k++) {
		const struct ccs_hist *h = parts->hist[k];

		if (h) /* no samples leave a gap in the lines */
			fprintf(f, "%.9g %.9g %.9g\n", first - p->t0 + (k + 0.5) * step,
				(double)ccs_hist_percentile(h, 0.5) / unit,
				(double)ccs_hist_percentile(h, 0.99) / unit);
		else
			putc('\n', f);
	}
	fprintf(f, "EOD\n");
}

/* $F3W1: the fourth flow's RTTs. */
static void put_data(FILE *f, const struct plot *p, unsigned what)
{
	for (unsigned i = 0; i < p->n; i++) {
		put_percentiles(f, p, i, what);
		if (!has_values(p, p->flow[i], what))
			continue;
		fprintf(f, "$F%uW%u << EOD\n", i, what);
		if (p->cdf < 0)
			put_points(f, &p->flow[i]->of[what], p->t0);
		else
			put_cdf(f, p->flow[i]->hist, what == PLOT_RTT);
		fprintf(f, "EOD\n");
	}
}

static double last_time(const struct plot *p)
{
	double most = p->t0;

	for (unsigned i = 0; i < p->n; i++)
		for (unsigned what = 0; what < PLOT_WHATS; what++) {
			const struct plot_series *s = &p->flow[i]->of[what];

			if (s->n)
				most = fmax(most, s->at[s->n - 1].t);
		}
	return most > p->t0 ? most - p->t0 : 1;
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Flows start at line rate, which must not flatten the rest: a fiftieth may be above the panel.
 * 0: without memory for that, all is in sight. */
static double top_rate(const struct plot *p)
{
	size_t n = 0, k = 0;
	double *v, top;

	for (unsigned i = 0; i < p->n; i++)
		n += p->flow[i]->of[PLOT_RATE].n;
	v = n ? calloc(n, sizeof(*v)) : NULL;
	if (!v)
		return 0;
	for (unsigned i = 0; i < p->n; i++)
		for (size_t at = 0; at < p->flow[i]->of[PLOT_RATE].n; at++)
			v[k++] = p->flow[i]->of[PLOT_RATE].at[at].v;
	qsort(v, n, sizeof(*v), compare);
	top = 1.15 * v[n - 1 - n / 50];
	free(v);
	return top;
}

/* Where the names begin, as a share of the width: the longest has space, but curves have half. */
static double left_of_names(const struct plot *p)
{
	size_t most = 0;

	for (unsigned i = 0; i < p->n; i++)
		if (p->flow[i]->shown && strlen(p->flow[i]->name) > most)
			most = strlen(p->flow[i]->name);
	return fmin(fmax(1 - (double)(most * LETTER) / WIDTH, 0.5), 0.85);
}

/* Names at the right, in the colours of the curves: a gnuplot key is limited to one panel. */
static void put_names(FILE *f, const struct plot *p, double left, unsigned height)
{
	const double step = fmin(18.0 / height, 0.9 / p->most);
	unsigned n = 0;

	for (unsigned i = 0; i < p->n; i++) {
		if (!p->flow[i]->shown)
			continue;
		fprintf(f, "set label at screen %.4f,%.4f tc rgb '%s' front ", left,
			0.94 - n++ * step, gnuplot_color(i));
		gnuplot_quote(f, p->flow[i]->name);
		putc('\n', f);
	}
}

/* The columns of gnuplot's data. Sizes are in KB of 1024 bytes, as in all output. */
static const char *columns_of(const struct plot *p, unsigned what)
{
	if (what != PLOT_INFLIGHT && what != PLOT_QUEUE)
		return "1:2";
	return p->cdf < 0 ? "1:($2/1024)" : "($1/1024):2";
}

/* The values, then the median, and dashed the 99th percentile. */
static void put_curves(FILE *f, const struct plot *p, unsigned what)
{
	const char *style = p->cdf < 0 ? styles[what].style : "lines lw 1.5";
	const char *before = "plot ", *size = what == PLOT_INFLIGHT ? "/1024" : "";
	const char letter = what == PLOT_RTT ? 'P' : 'I';

	for (unsigned i = 0; i < p->n; i++) {
		if (!has_values(p, p->flow[i], what))
			continue;
		fprintf(f, "%s$F%uW%u using %s with %s lc rgb '#%s%s' notitle", before, i, what,
			columns_of(p, what), style,
			what == PLOT_RTT && p->flow[i]->parts[what].n ? "b0" : "", gnuplot_color(i) + 1);
		before = ", \\\n";
	}
	for (unsigned i = 0; i < p->n && p->cdf < 0; i++) {
		if (!p->flow[i]->parts[what].hist)
			continue;
		fprintf(f, "%s$%c%u using 1:($2%s) with lines lw 2 lc rgb '%s' notitle, \\\n"
			"$%c%u using 1:($3%s) with lines lw 1.2 dt 2 lc rgb '%s' notitle", before, letter, i,
			size, gnuplot_color(i), letter, i, size, gnuplot_color(i));
		before = ", \\\n";
	}
	fprintf(f, "\n");
}

static bool all_zero(const struct plot *p, unsigned what)
{
	for (unsigned i = 0; i < p->n; i++)
		for (size_t at = 0; at < p->flow[i]->of[what].n; at++)
			if (p->flow[i]->of[what].at[at].v > 0)
				return false;
	return true;
}

static void put_axes(FILE *f, const struct plot *p, unsigned what, bool last)
{
	const double top = what == PLOT_RATE ? top_rate(p) : 0;

	fprintf(f, "set ylabel '%s'; set format y '%s'; set format x '%s'\n",
		styles[what].label, styles[what].format, last ? "%g" : "");
	fprintf(f, "%s\nset xrange [0:%.9g]\n", last ? "set xlabel 'time, s'" : "unset xlabel",
		last_time(p));
	fprintf(f, "%s logscale y\n", what == PLOT_RTT ? "set" : "unset");
	if (what == PLOT_RTT) /* of which a few may be a hundred times the others */
		fprintf(f, "set yrange [*:*]\n");
	else if (top > 0)
		fprintf(f, "set yrange [0:%.9g]\n", top);
	else
		fprintf(f, "set yrange [0:%s]\n", all_zero(p, what) ? "1000" : "*");
}

static void put_panel(FILE *f, const struct plot *p, unsigned what, bool last)
{
	if (p->cdf < 0)
		put_axes(f, p, what, last);
	else
		fprintf(f, "set yrange [0:1]; set ylabel 'share of samples'; set format y '%%g'\n"
			   "set xlabel '%s'; set format x '%s'\n%s",
			styles[what].label, styles[what].format,
			what == PLOT_RTT || what == PLOT_RATE ? "set logscale x\n" : "");
	put_curves(f, p, what);
	fprintf(f, "unset label\n");
}

int plot_draw(const struct plot *p, FILE *script)
{
	const double left = left_of_names(p);
	unsigned panels = 0, done = 0, height;

	for (unsigned what = 0; what < PLOT_WHATS; what++)
		panels += any_has(p, what);
	if (!panels)
		return -1;
	height = (p->cdf < 0 ? panels : 2) * PANEL + MARGINS;
	for (unsigned what = 0; what < PLOT_WHATS; what++)
		put_data(script, p, what);
	gnuplot_begin(script, p->out, WIDTH, height);
	fprintf(script, "set multiplot layout %u,1 title ", panels);
	gnuplot_quote(script, p->title);
	fprintf(script, " font ',13' margins 0.105,%.4f,%.4f,%.4f spacing 0,0.03\n",
		left - 0.01, 62.0 / height, 1 - 35.0 / height);
	put_names(script, p, left, height);
	for (unsigned what = 0; what < PLOT_WHATS; what++)
		if (any_has(p, what))
			put_panel(script, p, what, ++done == panels);
	fprintf(script, "unset multiplot\n");
	return 0;
}
