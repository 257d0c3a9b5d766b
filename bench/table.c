/* SPDX-License-Identifier: BSD-2-Clause */
/* The report for people. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "human.h"
#include "report.h"
#include "rows.h"

#define MOST_LINES 64 /* of flows */

/* A percentile of a flow's messages, unless they are too few. */
static const char *flow_percentile(const struct flow_report *f, double q, double us, char *buf,
				   size_t len)
{
	return f->timed < spread_needs(q) ? "few" : human_us(us, buf, len);
}

void table_run(const struct report *p)
{
	const struct run *r = p->run;
	char rate[32], share[32], p50[32], p99[32], name[32];
	unsigned i;

	printf("%s\n", r->setting->name);
	printf("  %-15s %8s %11s %8s %9s %9s %9s\n", "flow", "QP", "goodput", "share",
	       "messages", "p50", "p99");
	for (i = 0; i < p->nflows && i < MOST_LINES; i++) {
		const struct flow_report *f = &p->flow[i];

		if (r->o->qp_pool && !f->messages && !f->errors)
			continue; /* a queue pair that the pool did not need */
		if (r->o->kind->to_one)
			snprintf(name, sizeof(name), "host %-3u qp %-3u", f->host, f->qp);
		else
			snprintf(name, sizeof(name), "%3u -> %-3u %-3u", f->host, f->peer, f->qp);
		printf("  %-15s %8u %11s %8s %9llu %9s %9s%s%s\n", name, f->qpn,
		       human_rate(f->goodput, rate, sizeof(rate)),
		       human_percent(f->share, share, sizeof(share)),
		       (unsigned long long)f->messages,
		       flow_percentile(f, 0.5, f->latency.p50, p50, sizeof(p50)),
		       flow_percentile(f, 0.99, f->latency.p99, p99, sizeof(p99)),
		       f->errors ? "  " : "", f->errors ? f->status : "");
	}
	if (i < p->nflows)
		printf("  and %u flows more\n", p->nflows - i);
	printf("  %-24s %11s\n\n", "total", human_rate(p->goodput, rate, sizeof(rate)));
}

/* Room for a range, where there are several runs, and for each setting's whole name. */
static int column(const struct report *p, unsigned n, unsigned repeats)
{
	size_t width = repeats > 1 ? 21 : 14, len;
	unsigned i;

	for (i = 0; i < n; i++) {
		len = strlen(p[i].run->setting->name);
		width = len > width ? len : width;
	}
	return (int)width;
}

/* A figure of every setting; of several runs the middle one, and below how far they go. */
static void row(const struct row *to, const struct report *p, unsigned n, unsigned repeats)
{
	const int width = column(p, n, repeats);
	char a[32], b[32], both[80];
	struct repeats v;
	unsigned i;
	size_t few;

	printf("  %-22s", to->title);
	for (i = 0; i < n; i++) {
		v = row_repeats(to, p, i, n, repeats);
		few = row_too_few(to, p, i, n, repeats);
		if (few)
			snprintf(a, sizeof(a), "of only %zu", few);
		printf(" %*s", width, few ? a : to->format(v.median, a, sizeof(a)));
	}
	if (repeats > 1)
		printf("\n  %-22s", "");
	for (i = 0; repeats > 1 && i < n; i++) {
		v = row_repeats(to, p, i, n, repeats);
		snprintf(both, sizeof(both), "%s-%s", to->format(v.min, a, sizeof(a)),
			 to->format(v.max, b, sizeof(b)));
		printf(" %*s", width, row_too_few(to, p, i, n, repeats) ? "" : both);
	}
	printf("\n");
}

/* What eRPC's arithmetic says of a run in which nobody holds back, and what was seen. */
static void sanity_lines(const struct report *p)
{
	const struct opts *o = p->run->o;
	char a[32], b[32], c[32], d[32];

	if (!p->unshaped || isnan(p->predicted.rtt_us))
		return;
	printf("sanity, %s: %u flows x %s outstanding (bound by %s) / rate = RTT %s; "
	       "victim p50 %s, mean queue / rate %s\n", p->run->setting->name, p->nflows,
	       human_bytes(p->predicted.outstanding, a, sizeof(a)), p->predicted.bound,
	       human_us(p->predicted.rtt_us, b, sizeof(b)),
	       human_us(p->victim.p50, c, sizeof(c)),
	       human_us(p->queue.mean * 8e6 / o->rate_bps, d, sizeof(d)));
}

/* A column that is not what its name says. */
static void fallback_line(const struct run *r)
{
	const struct inforce *f = &r->inforce;
	char share[32];

	if (f->fallback > 0)
		printf("%s: its fallback %s carried %s of the bytes, on %u of %u queue pairs; "
		       "signals at the end: %s\n", r->setting->name, f->cc,
		       human_percent(f->fallback / f->sent, share, sizeof(share)), f->fallen, f->qps,
		       f->signals);
	if (*f->undelivered)
		printf("%s: nothing delivered the %s that it needs\n", r->setting->name,
		       f->undelivered);
}

static void heading(const struct report *p, unsigned n, unsigned repeats)
{
	char title[256];
	unsigned i;

	printf("%s", opts_title(p->run->o, title, sizeof(title)));
	if (repeats > 1)
		printf(": medians of %u runs, and from least to most", repeats);
	printf("\n  %-22s", "");
	for (i = 0; i < n; i++)
		printf(" %*s", column(p, n, repeats), p[i].run->setting->name);
	printf("\n");
}

void table_compare(const struct report *p, unsigned n, unsigned repeats)
{
	const struct row *r;
	unsigned i;

	heading(p, n, repeats);
	for (r = rows; r->title; r++)
		if (row_known(r, p, n * repeats))
			row(r, p, n, repeats);
	for (i = 0; i < n * repeats; i++)
		fallback_line(p[i].run);
	for (i = 0; i < n; i++)
		sanity_lines(&p[i]);
}

/* A percentile, unless of too few. */
static void slowdown_cell(const struct spread *s, double q, double v)
{
	if (s->n < spread_needs(q))
		printf(" %7s", s->n ? "few" : "-");
	else
		printf(" %7.3g", v);
}

static void slowdown_row(const struct report *p, unsigned n, unsigned class, int width)
{
	unsigned i;

	printf("  %-12s %8zu", size_class_name(class), p->slowdown.spread[class].n);
	for (i = 0; i < n; i++) {
		const struct spread *s = &p[i].slowdown.spread[class];

		printf(" %*s", width - 24, "");
		slowdown_cell(s, 0.5, s->p50);
		slowdown_cell(s, 0.95, s->p95);
		slowdown_cell(s, 0.99, s->p99);
	}
	printf("\n");
}

void table_slowdown(const struct report *p, unsigned n)
{
	int width = column(p, n, 1);
	unsigned class, i;

	width = width > 24 ? width : 24;
	printf("slowdown: time of a message / that of one of its size in the empty network\n");
	printf("  %-12s %8s", "size", "messages");
	for (i = 0; i < n; i++)
		printf(" %*s", width, p[i].run->setting->name);
	printf("\n  %-12s %8s", "", "");
	for (i = 0; i < n; i++)
		printf(" %*s %7s %7s %7s", width - 24, "", "p50", "p95", "p99");
	printf("\n");
	for (class = 0; class < SIZE_CLASSES; class++)
		if (p->slowdown.spread[class].n)
			slowdown_row(p, n, class, width);
}
