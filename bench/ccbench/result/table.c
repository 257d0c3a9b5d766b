/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables of results on stdout, as wide as the terminal or 80 columns. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/common/human.h"
#include "tools/common/terminal.h"
#include "report.h"
#include "rows.h"

#define MAX_FLOW_LINES 64

static size_t table_columns(void)
{
	const size_t width = terminal_width(stdout);

	return width ? width : 80;
}

/* Print a line; words that do not fit go to a next line, indented. */
#define print_wrapped(...) terminal_wrap(stdout, table_columns(), "    ", __VA_ARGS__)

/* A percentile of the latency of a flow's messages, or "few" if there are too few of them. */
static const char *format_percentile(const struct flow_report *f, double q, double us, char *buf,
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
	for (i = 0; i < p->nflows && i < MAX_FLOW_LINES; i++) {
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
		       format_percentile(f, 0.5, f->latency.p50, p50, sizeof(p50)),
		       format_percentile(f, 0.99, f->latency.p99, p99, sizeof(p99)),
		       f->errors ? "  " : "", f->errors ? f->status : "");
	}
	if (i < p->nflows)
		printf("  and %u flows more\n", p->nflows - i);
	if (r->o->kind->tenants)
		table_tenants(p);
	printf("  %-24s %11s\n\n", "total", human_rate(p->goodput, rate, sizeof(rate)));
}

/* Width of a setting's column: for its name, and for a range if there are several runs. */
static int column_width(const struct report *p, unsigned n, unsigned repeats)
{
	size_t width = repeats > 1 ? 21 : 14, len;

	for (unsigned i = 0; i < n; i++) {
		len = strlen(p[i].run->setting->name);
		width = len > width ? len : width;
	}
	return (int)width;
}

/* A table of some settings side by side: as many as fit, from `first` to before `end`. */
struct block {
	const struct report *p;
	unsigned n, repeats;     /* all settings; runs of each */
	unsigned first, end;
	int width;               /* width of a column */
};

/* Advance to the next block of settings that fits beside `titles` columns of titles. */
static bool next_block(struct block *b, size_t titles)
{
	const size_t columns = table_columns(), width = (size_t)b->width + 1;
	const unsigned fit = columns < titles + width ? 1 : (unsigned)((columns - titles) / width);

	b->first = b->end;
	b->end = b->n - b->first < fit ? b->n : b->first + fit;
	return b->first < b->n;
}

static void print_names(const struct block *b)
{
	for (unsigned i = b->first; i < b->end; i++)
		printf(" %*s", b->width, b->p[i].run->setting->name);
	printf("\n");
}

/* The value of each setting; of several runs the median, and below it the range. */
static void print_row(const struct row *to, const struct block *b)
{
	char low[32], high[32], both[80];
	struct repeats v;
	size_t few;

	printf("  %-22s", to->title);
	for (unsigned i = b->first; i < b->end; i++) {
		v = row_repeats(to, b->p, i, b->n, b->repeats);
		few = row_too_few(to, b->p, i, b->n, b->repeats);
		if (few)
			snprintf(low, sizeof(low), "of only %zu", few);
		printf(" %*s", b->width, few ? low : to->format(v.median, low, sizeof(low)));
	}
	if (b->repeats > 1)
		printf("\n  %-22s", "");
	for (unsigned i = b->first; b->repeats > 1 && i < b->end; i++) {
		v = row_repeats(to, b->p, i, b->n, b->repeats);
		snprintf(both, sizeof(both), "%s-%s", to->format(v.min, low, sizeof(low)),
			 to->format(v.max, high, sizeof(high)));
		printf(" %*s", b->width, row_too_few(to, b->p, i, b->n, b->repeats) ? "" : both);
	}
	printf("\n");
}

/* Print the RTT that eRPC's formula predicts for a run without control, and the measured RTT. */
static void print_prediction(const struct report *p)
{
	const struct opts *o = p->run->o;
	char a[32], b[32], c[32], d[32];

	if (!p->unshaped || isnan(p->predicted.rtt_us))
		return;
	print_wrapped("sanity, %s: %u flows x %s outstanding (bound by %s) / rate = RTT %s; "
		      "victim p50 %s, mean queue / rate %s", p->run->setting->name, p->nflows,
		      human_bytes(p->predicted.outstanding, a, sizeof(a)), p->predicted.bound,
		      human_us(p->predicted.rtt_us, b, sizeof(b)),
		      human_us(p->victim.p50, c, sizeof(c)),
		      human_us(p->queue.mean * 8e6 / o->link.rate_bps, d, sizeof(d)));
}

/* If the algorithm was not in control for all of the traffic, what was instead. */
static void print_fallback(const struct run *r)
{
	const struct inforce *f = &r->inforce;
	char share[32];

	if (f->fallback > 0)
		print_wrapped("%s: its fallback %s carried %s of the bytes, on %u of %u queue pairs; "
			      "feedback at the end: %s", r->setting->name, f->cc,
			      human_percent(f->fallback / f->sent, share, sizeof(share)),
			      f->fallen, f->qps, f->feedback);
	if (*f->missing_feedback)
		print_wrapped("%s: it needs %s, but did not get it", r->setting->name,
			      f->missing_feedback);
}

static void print_title(const struct block *b)
{
	char title[256];

	opts_title(b->p->run->o, title, sizeof(title));
	if (b->repeats > 1)
		print_wrapped("%s: medians of %u runs, and their ranges", title, b->repeats);
	else
		print_wrapped("%s", title);
}

void table_compare(const struct report *p, unsigned n, unsigned repeats)
{
	struct block b = { .p = p, .n = n, .repeats = repeats,
			   .width = column_width(p, n, repeats) };
	const struct row *r;

	print_title(&b);
	while (next_block(&b, 24)) {
		printf("%s  %-22s", b.first ? "\n" : "", "");
		print_names(&b);
		for (r = rows; r->title; r++)
			if (row_known(r, p, n * repeats))
				print_row(r, &b);
	}
	for (unsigned i = 0; i < n * repeats; i++)
		print_fallback(p[i].run);
	for (unsigned i = 0; i < n; i++)
		print_prediction(&p[i]);
}

/* A percentile, or "few" of too few samples. */
static void print_slowdown(const struct spread *s, double q, double v)
{
	if (s->n < spread_needs(q))
		printf(" %7s", s->n ? "few" : "-");
	else
		printf(" %7.3g", v);
}

static void print_slowdown_row(const struct block *b, unsigned class)
{
	printf("  %-12s %8zu", size_class_name(class), b->p->slowdown.spread[class].n);
	for (unsigned i = b->first; i < b->end; i++) {
		const struct spread *s = &b->p[i].slowdown.spread[class];

		printf(" %*s", b->width - 24, "");
		print_slowdown(s, 0.5, s->p50);
		print_slowdown(s, 0.95, s->p95);
		print_slowdown(s, 0.99, s->p99);
	}
	printf("\n");
}

void table_slowdown(const struct report *p, unsigned n)
{
	struct block b = { .p = p, .n = n, .repeats = 1, .width = column_width(p, n, 1) };

	b.width = b.width > 24 ? b.width : 24;
	print_wrapped("slowdown: time of a message / time of its size in the empty network");
	while (next_block(&b, 23)) {
		printf("  %-12s %8s", "size", "messages");
		print_names(&b);
		printf("  %-12s %8s", "", "");
		for (unsigned i = b.first; i < b.end; i++)
			printf(" %*s %7s %7s %7s", b.width - 24, "", "p50", "p95", "p99");
		printf("\n");
		for (unsigned class = 0; class < SIZE_CLASSES; class++)
			if (p->slowdown.spread[class].n)
				print_slowdown_row(&b, class);
	}
}
