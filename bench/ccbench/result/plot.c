/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The picture: a column per run; above the bottleneck's queue over time, below
 * the flows' rates, stacked: the width of a band is a flow's rate, the top edge the
 * total under the bottleneck's line. All columns share their scales, or they could
 * not be compared.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/common/human.h"
#include "report.h"
#include "tools/common/gnuplot.h"

#define COLUMN 560
#define HEIGHT 760
#define MOST_POINTS 4000 /* on the queue's line */
#define MOST_BANDS 64    /* more are not visible, and take too long to draw */

/* A band is a flow, or some neighbours if there are many. */
static unsigned bands(const struct report *p)
{
	return p->nflows < MOST_BANDS ? p->nflows : MOST_BANDS;
}

/* The first flow of a band. */
static unsigned band_start(const struct report *p, unsigned band)
{
	return (unsigned)((uint64_t)band * p->nflows / bands(p));
}

/* Top of the axis of rates: a little above the bottleneck, or the maximum reached. */
static double top_rate(const struct report *p, unsigned n)
{
	double top = p->run->o->link.rate_bps, sum;
	unsigned f;

	for (unsigned i = 0; i < n; i++)
		for (unsigned bin = 0; bin < BINS; bin++) {
			for (sum = 0, f = 0; f < p[i].nflows; f++)
				sum += p[i].flow[f].rate[bin];
			/* One spike must not flatten the rest. */
			top = fmax(top, fmin(sum, 2 * p[i].goodput));
		}
	return top;
}

static double top_queue(const struct report *p, unsigned n)
{
	double top = p->run->o->link.queue_bytes;

	for (unsigned i = 0; i < n; i++)
		top = fmax(top, p[i].queue.max); /* fmax leaves NAN out */
	return top;
}

/* Inline data of a run: $QUEUEi, the samples; $RATEi, time and the cumulative sums of the bands'
 * rates. */
static void print_data(FILE *f, const struct report *p, unsigned i)
{
	const struct run *r = p->run;
	size_t k, step = r->sampler.n / MOST_POINTS + 1;
	unsigned band, flow;
	double sum;

	fprintf(f, "$QUEUE%u << EOD\n", i);
	for (k = 0; k < r->sampler.n; k += step)
		if (r->sampler.v[k].t >= r->start && r->sampler.v[k].t <= r->end)
			fprintf(f, "%.6f %.3f\n", (double)(r->sampler.v[k].t - r->start) / 1e9,
				(double)r->sampler.v[k].s.backlog / 1024);
	if (!r->sampler.n)
		fprintf(f, "0 0\n");
	fprintf(f, "EOD\n$RATE%u << EOD\n", i);
	for (unsigned bin = 0; bin < BINS; bin++) {
		fprintf(f, "%.6f", (bin + 0.5) * p->bin);
		for (sum = 0, flow = 0, band = 0; band < bands(p); band++) {
			for (; flow < band_start(p, band + 1); flow++)
				sum += p->flow[flow].rate[bin];
			fprintf(f, " %.4f", sum / 1e6);
		}
		fprintf(f, "\n");
	}
	fprintf(f, "EOD\n");
}

static void print_preamble(FILE *f, const char *file, const struct report *p, unsigned n)
{
	const unsigned width = n * COLUMN + 80;
	char title[256];

	opts_title(p->run->o, title, sizeof(title));
	gnuplot_begin(f, file, width, HEIGHT);
	fprintf(f, "set multiplot layout 2,%u columnsfirst title ", n);
	gnuplot_quote(f, title);
	fprintf(f, " font ',14' margins %.4f,0.985,0.08,0.86 spacing %.4f,0.07\n",
		85.0 / width, 25.0 / width);
}

/* The axes that both pictures of a column share. */
static void print_axes(FILE *f, const struct report *p, double top, const char *label, bool left)
{
	const struct run *r = p->run;

	fprintf(f, "unset object; unset label; unset arrow\n"
		   "set xrange [0:%.6f]; set yrange [0:%.4f]\n",
		(double)(r->end - r->start) / 1e9, top);
	fprintf(f, "set object 1 rectangle from graph 0,0 to first %.6f,graph 1 behind "
		   "fc rgb '#f0f0f0' fs solid noborder\n", (double)(r->measure - r->start) / 1e9);
	if (left)
		fprintf(f, "set ylabel '%s' offset -0.5,0; set format y '%%g'\n", label);
	else
		fprintf(f, "unset ylabel; set format y ''\n");
}

/* A dashed line across, and its name at the right. */
static void print_level(FILE *f, double y, const char *name)
{
	fprintf(f, "set arrow from graph 0,first %.4f to graph 1,first %.4f nohead "
		   "lc rgb '#b03030' dt 2 lw 1.4 front\n", y, y);
	fprintf(f, "set label '%s' at graph 0.99,first %.4f right offset 0,0.6 "
		   "tc rgb '#b03030' front\n", name, y);
}

static void print_queue(FILE *f, const struct report *p, unsigned i, double top)
{
	const struct run *r = p->run;
	char rate[32], index[32], p50[32], p99[32], drops[32];

	print_axes(f, p, top, "queue of the bottleneck, KB", i == 0);
	fprintf(f, "set title \"%s\\n%s, Jain %s, %s drops, victim p50 %s, p99 %s\"\n"
		   "unset xlabel; set format x ''\n", r->setting->name,
		human_rate(p->goodput, rate, sizeof(rate)), human_share(p->jain, index, sizeof(index)),
		human_count(p->drops, drops, sizeof(drops)),
		human_us(p->victim.p50, p50, sizeof(p50)),
		human_us(p->victim.p99, p99, sizeof(p99)));
	if (r->o->link.queue_bytes > 0)
		print_level(f, r->o->link.queue_bytes / 1024, "limit");
	fprintf(f, "plot $QUEUE%u using 1:2 with filledcurves y1=0 lc rgb '#9db8d9' notitle, "
		   "'' using 1:2 with lines lw 0.8 lc rgb '#3b6fb6' notitle\n", i);
}

static void print_rates(FILE *f, const struct report *p, unsigned i, double top)
{
	const struct run *r = p->run;

	print_axes(f, p, top, "rates of the flows, stacked, Mb/s", i == 0);
	fprintf(f, "unset title; set xlabel 'time, s' offset 0,0.5; set format x '%%g'\n");
	if (r->o->link.rate_bps > 0)
		print_level(f, r->o->link.rate_bps / 1e6, "bottleneck");
	/* From the last sum to the first: each band covers what is below it. */
	for (unsigned band = bands(p); band-- > 0; )
		fprintf(f, "%s $RATE%u using 1:%u with filledcurves y1=0 lc rgb '%s' notitle%s",
			band + 1 == bands(p) ? "plot" : "", i, band + 2, gnuplot_color(band),
			band ? ", \\\n" : "\n");
}

static void print_script(FILE *f, const char *file, const struct report *p, unsigned n)
{
	double queue = top_queue(p, n) / 1024 * 1.12, rate = top_rate(p, n) / 1e6 * 1.12;

	for (unsigned i = 0; i < n; i++)
		print_data(f, &p[i], i);
	print_preamble(f, file, p, n);
	for (unsigned i = 0; i < n; i++) {
		print_queue(f, &p[i], i, queue > 0 ? queue : 1);
		print_rates(f, &p[i], i, rate > 0 ? rate : 1);
	}
	fprintf(f, "unset multiplot\n");
}

int plot_write(const char *file, const struct report *p, unsigned n)
{
	FILE *script = gnuplot_script();
	char err[512];
	int rc = -1;

	if (!script) {
		snprintf(err, sizeof(err), "%s", strerror(errno));
	} else {
		print_script(script, file, p, n);
		rc = gnuplot_draw(script, file, err, sizeof(err));
		fclose(script);
	}
	if (rc)
		fprintf(stderr, "ccbench: no picture: %s\n", err);
	return rc;
}
