/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Draws the panel of bytes in flight. They vary between 0 and the window with each acknowledgement,
 * so curves of all values would hide one another. If there are many, each flow's mean over equal
 * parts of the time is drawn, above the area between the minimum and the maximum of all flows.
 */
#include <math.h>
#include <stdlib.h>

#include "tools/common/gnuplot.h"
#include "plot.h"

enum { VALUES = 50 }; /* in a part, on average at least */

void plot_inflight_count(struct plot *p, struct plot_flow *flow, double t)
{
	p->inflight.first = fmin(p->inflight.first, t);
	p->inflight.last = fmax(p->inflight.last, t);
	flow->inflight.n++;
}

void plot_inflight_choose(struct plot *p)
{
	uint64_t values = 0, flows = 0;

	for (unsigned i = 0; i < p->n; i++)
		if (p->flow[i]->shown && p->flow[i]->inflight.n) {
			values += p->flow[i]->inflight.n;
			flows++;
		}
	if (!flows || values < flows * 2 * VALUES || !(p->inflight.last > p->inflight.first))
		return;
	p->inflight.parts = (unsigned)fmin((double)(values / flows / VALUES), PLOT_PARTS);
}

int plot_inflight_add(struct plot *p, struct plot_flow *flow, double t, double v)
{
	const double at = (t - p->inflight.first) / (p->inflight.last - p->inflight.first);
	const unsigned parts = p->inflight.parts;
	struct plot_part *part;

	if (!parts)
		return 0;
	if (!flow->inflight.part)
		flow->inflight.part = calloc(parts, sizeof(*part));
	if (!flow->inflight.part)
		return -1;
	part = &flow->inflight.part[at < 1 ? (unsigned)(at * parts) : parts - 1];
	part->least = part->n ? fmin(part->least, v) : v;
	part->most = part->n ? fmax(part->most, v) : v;
	part->sum += v;
	part->n++;
	return 0;
}

/* The middle of that part on the time axis. */
static double middle_of(const struct plot *p, unsigned k)
{
	const double step = (p->inflight.last - p->inflight.first) / p->inflight.parts;

	return p->inflight.first - p->t0 + (k + 0.5) * step;
}

/* $M3: the fourth flow's means. */
static void put_means(FILE *f, const struct plot *p, unsigned i)
{
	fprintf(f, "$M%u << EOD\n", i);
	for (unsigned k = 0; k < p->inflight.parts; k++) {
		const struct plot_part *part = &p->flow[i]->inflight.part[k];

		if (part->n) /* no samples leave a gap in the line */
			fprintf(f, "%.9g %.9g\n", middle_of(p, k), part->sum / part->n);
		else
			putc('\n', f);
	}
	fprintf(f, "EOD\n");
}

/* $A: the least and the most of all flows. */
static void put_area(FILE *f, const struct plot *p)
{
	fprintf(f, "$A << EOD\n");
	for (unsigned k = 0; k < p->inflight.parts; k++) {
		double least = INFINITY, most = -INFINITY;

		for (unsigned i = 0; i < p->n; i++) {
			const struct plot_part *part = p->flow[i]->inflight.part;

			if (part && part[k].n) {
				least = fmin(least, part[k].least);
				most = fmax(most, part[k].most);
			}
		}
		if (least <= most)
			fprintf(f, "%.9g %.9g %.9g\n", middle_of(p, k), least, most);
		else
			putc('\n', f);
	}
	fprintf(f, "EOD\n");
}

void plot_inflight_data(FILE *f, const struct plot *p)
{
	put_area(f, p);
	for (unsigned i = 0; i < p->n; i++)
		if (p->flow[i]->inflight.part)
			put_means(f, p, i);
}

void plot_inflight_curves(FILE *f, const struct plot *p)
{
	fprintf(f, "plot $A using 1:($2/1024):($3/1024) with filledcurves lc rgb '#e8e8e8' notitle");
	for (unsigned i = 0; i < p->n; i++)
		if (p->flow[i]->inflight.part)
			fprintf(f, ", \\\n$M%u using 1:($2/1024) with lines lw 1.5 lc rgb '%s' notitle", i,
				gnuplot_color(i));
	fprintf(f, "\n");
}
