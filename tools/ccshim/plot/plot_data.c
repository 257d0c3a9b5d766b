/* SPDX-License-Identifier: BSD-2-Clause */
/* Flows and their values, in memory bounded independently of a trace's length. */
#include <math.h>
#include <search.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/hist.h"
#include "tools/ccshim/shared/ccshim.h"
#include "plot.h"

enum { POINTS_MAX = 8192, GROUP = 4 }; /* two points of each group are kept */

const char *const plot_words[PLOT_WHATS] = { "rate", "rtt", "inflight", "queue", "cnps" };

static int report_no_memory(void)
{
	tool_error("plot", "no memory");
	return -1;
}

static int compare(const void *a, const void *b)
{
	const struct plot_flow *x = a, *y = b;

	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static struct plot_flow *create_flow(struct plot *p, const struct plot_flow *key)
{
	struct plot_flow *flow;

	if (!CCS_GROW(p->flow, p->n))
		return NULL;
	flow = malloc(sizeof(*flow));
	if (!flow)
		return NULL;
	*flow = *key;
	if (!tsearch(flow, &p->tree, compare)) {
		free(flow);
		return NULL;
	}
	return p->flow[p->n++] = flow;
}

struct plot_flow *plot_flow(struct plot *p, unsigned source, uint64_t id)
{
	const struct plot_flow key = { .source = source, .id = id };
	struct plot_flow **found = tfind(&key, &p->tree, compare);
	struct plot_flow *flow = found ? *found : create_flow(p, &key);

	if (!flow)
		report_no_memory();
	return flow;
}

/* Keep the minimum and the maximum of each group of points, in their order. */
static void thin_out(struct plot_series *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->n; i += GROUP) {
		size_t low = i, high = i;

		for (size_t k = i; k < i + GROUP && k < s->n; k++) {
			if (s->at[k].v < s->at[low].v)
				low = k;
			if (s->at[k].v >= s->at[high].v)
				high = k;
		}
		s->at[kept++] = s->at[low < high ? low : high];
		if (low != high)
			s->at[kept++] = s->at[low < high ? high : low];
	}
	s->n = kept;
}

static int add_point(struct plot_series *s, double t, double v)
{
	if (s->n == POINTS_MAX)
		thin_out(s);
	if (!CCS_GROW(s->at, s->n))
		return report_no_memory();
	if (s->steps && s->n && s->at[s->n - 1].t == t)
		s->n--; /* a value that is replaced at the same time never applied */
	s->at[s->n++] = (struct plot_point){ t, v };
	return 0;
}

/* Times in ns; other values unchanged. */
static int add_to_hist(struct ccs_hist **hist, enum plot_what what, double v)
{
	if (!*hist)
		*hist = calloc(1, sizeof(**hist));
	if (!*hist)
		return report_no_memory();
	ccs_hist_record(*hist, (uint64_t)fmin(what == PLOT_RTT ? v * 1e9 : v, 0x1p62));
	return 0;
}

int plot_add_to_part(struct plot *p, struct plot_flow *flow, enum plot_what what, double t, double v)
{
	struct plot_parts *parts = &flow->parts[what];
	double first, last;

	if (!isfinite(v))
		return 0;
	if (!p->values) {
		p->span[what].first = fmin(p->span[what].first, t);
		p->span[what].last = fmax(p->span[what].last, t);
		parts->values++;
		return 0;
	}
	if (!flow->shown || !parts->n || p->cdf >= 0 || p->json)
		return 0;
	if (!parts->hist)
		parts->hist = calloc(parts->n, sizeof(*parts->hist));
	if (!parts->hist)
		return report_no_memory();
	first = p->span[what].first;
	last = p->span[what].last;
	return add_to_hist(&parts->hist[t < last ? (unsigned)((t - first) / (last - first) * parts->n)
						 : parts->n - 1], what, v);
}

/* Enough values in each part that a percentile means something. */
static unsigned parts_of(const struct plot *p, const struct plot_flow *flow, unsigned what)
{
	const uint64_t n = flow->parts[what].values / PLOT_PART_VALUES;

	return n < 2 || !(p->span[what].last > p->span[what].first) ? 0
	     : n < PLOT_PARTS ? (unsigned)n : PLOT_PARTS;
}

int plot_add(struct plot *p, struct plot_flow *flow, enum plot_what what, double t, double v)
{
	if (!isfinite(v) || !p->values || !flow->shown)
		return 0;
	if (p->json)
		plot_export_value(p, flow, what, t, v);
	if (p->json || what >= PLOT_WHATS)
		return 0;
	p->t0 = fmin(p->t0, t);
	flow->of[what].steps = what == PLOT_RATE;
	if (p->cdf < 0)
		return add_point(&flow->of[what], t, v);
	return (int)what == p->cdf ? add_to_hist(&flow->hist, what, v) : 0;
}

/* The busiest first; of equal ones the earlier, so that the order is stable. */
static int compare_busy(const void *a, const void *b)
{
	const struct plot_flow *x = *(struct plot_flow *const *)a, *y = *(struct plot_flow *const *)b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	if (x->rows != y->rows)
		return x->rows > y->rows ? -1 : 1;
	return compare(x, y);
}

unsigned plot_choose(struct plot *p)
{
	unsigned shown = 0;

	if (p->n)
		qsort(p->flow, p->n, sizeof(struct plot_flow *), compare_busy);
	for (unsigned i = 0; i < p->n && shown < p->most; i++) {
		p->flow[i]->shown = p->qp == PLOT_ANY_QP || (uint32_t)p->flow[i]->id == p->qp;
		shown += p->flow[i]->shown;
	}
	for (unsigned i = 0; i < p->n; i++) { /* the readers start again */
		p->flow[i]->rows = 0;
		p->flow[i]->bytes = p->flow[i]->cnps = 0;
		for (unsigned what = 0; what < PLOT_WHATS; what++)
			p->flow[i]->parts[what].n = parts_of(p, p->flow[i], what);
	}
	p->latest = 0;
	return shown;
}

static void keep_flow(void *flow)
{
	(void)flow;
}

void plot_free(struct plot *p)
{
	tdestroy(p->tree, keep_flow);
	for (unsigned i = 0; i < p->n; i++) {
		for (unsigned what = 0; what < PLOT_WHATS; what++) {
			free(p->flow[i]->of[what].at);
			for (unsigned k = 0; p->flow[i]->parts[what].hist && k < p->flow[i]->parts[what].n; k++)
				free(p->flow[i]->parts[what].hist[k]);
			free(p->flow[i]->parts[what].hist);
		}
		free(p->flow[i]->hist);
		free(p->flow[i]);
	}
	free(p->flow);
}
