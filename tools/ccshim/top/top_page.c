/* SPDX-License-Identifier: BSD-2-Clause */
/* Formats a page: totals, a line for each flow, and the keys. */
#include "top.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/address.h"
#include "base/text.h"
#include "tools/common/terminal.h"
#include "tools/common/human.h"

enum { CELL = 64, LINE = 512 };

enum column {
	PID, PROGRAM, PEER, RATE, GOODPUT, RTT99, GATED, LIMIT, RTT50, ALGORITHM, WINDOW, LQPN, DEVICE, COLUMNS
};

/* The first columns fit into 80; each further one is printed where there is space for it. */
static const struct {
	const char *title;
	int width;                       /* negative: left-aligned, as printf() has it */
} columns[COLUMNS] = {
	[PID] = { "PID", 7 },
	[PROGRAM] = { "PROGRAM", -14 },
	[PEER] = { "PEER", -15 },
	[RATE] = { "RATE", 9 },
	[GOODPUT] = { "GOODPUT", 9 },
	[RTT99] = { "RTT P99", 7 },
	[GATED] = { "GATED", 5 },
	[LIMIT] = { "LIMIT", -6 },
	[RTT50] = { "RTT P50", 7 },
	[ALGORITHM] = { "ALGORITHM", -18 },
	[WINDOW] = { "WINDOW", 7 },
	[LQPN] = { "LQPN", 8 },
	[DEVICE] = { "DEVICE/PORT", -14 },
};

/* -- lines ------------------------------------------------------------------------------------- */

/* Print a line without what does not fit. Names may contain anything: they were read from files
 * that other processes wrote, and a character must take one column. */
static void print_line(FILE *out, const struct top_view *v, const char *style, const char *text)
{
	size_t n = 0;

	if (v->colour)
		fputs(style, out);
	for (; text[n] && (!v->columns || n < v->columns); n++)
		putc(text[n] >= ' ' && text[n] < 0x7f ? text[n] : '?', out);
	if (v->colour && *style)
		fputs(TERMINAL_PLAIN, out);
	putc('\n', out);
}

static void __attribute__((format(printf, 4, 5)))
print_text(FILE *out, const struct top_view *v, const char *style, const char *fmt, ...)
{
	char line[LINE];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	print_line(out, v, style, line);
}

static void print_cells(FILE *out, const struct top_view *v, const char *style, char cell[COLUMNS][CELL])
{
	char line[LINE] = "";
	size_t at = 0;

	for (unsigned i = 0; i < (v->by == STAT_BY_TENANT ? ALGORITHM + 1 : COLUMNS); i++) {
		const size_t width = (size_t)abs(columns[i].width);

		if (i > LIMIT && v->columns && at + 1 + width > v->columns)
			break;
		at += (size_t)snprintf(line + at, sizeof(line) - at, "%s%*.*s", i ? " " : "", columns[i].width,
				       v->by == STAT_BY_TENANT && i == ALGORITHM ? CELL : (int)width, cell[i]);
	}
	while (at && line[at - 1] == ' ')
		line[--at] = '\0';
	print_line(out, v, style, line);
}

/* -- flows ------------------------------------------------------------------------------------- */

/* An address that does not fit loses its middle, since its ends differ most. */
static void format_peer(char cell[CELL], const uint8_t gid[16])
{
	const size_t width = (size_t)abs(columns[PEER].width);
	char text[INET6_ADDRSTRLEN];
	const char *peer = ccs_gid_text(gid, text);
	const size_t len = strlen(peer);

	if (len <= width)
		snprintf(cell, CELL, "%s", peer);
	else
		snprintf(cell, CELL, "%.*s~%s", (int)(width / 2), peer, peer + len - (width - width / 2 - 1));
}

static void format_us(char cell[CELL], double us)
{
	human_us(us > 0 ? us : NAN, cell, CELL);
}

static const char *name_of(const struct stat_process *p, enum stat_by by)
{
	const char *name = by == STAT_BY_JOB ? p->h.job : by == STAT_BY_TENANT ? p->tenant : p->h.program;

	return *name ? name : "-";
}

/* A tenant has its terms in this column, the last one, where they are not cut. */
static void format_algorithm(char cell[CELL], const struct top_view *v, const struct stat_process *p,
			     const struct ccs_stats_qp *q)
{
	char terms[CELL];

	if (v->by != STAT_BY_TENANT) {
		snprintf(cell, CELL, "%.20s%s%.16s", q->cc, *q->variant ? ":" : "", q->variant);
		return;
	}
	stat_format_terms(terms, sizeof(terms), p);
	*cell = '\0';
	if (p->terms.weight > 0)
		ccs_append(cell, CELL, "weight=%g", p->terms.weight);
	if (!*cell || *terms != '-')
		ccs_append(cell, CELL, "%s%s", *cell ? " " : "", terms);
}

static void print_row(FILE *out, const struct top_view *v, const struct top_row *r)
{
	const struct ccs_stats_qp *q = &r->qp->q;
	char cell[COLUMNS][CELL];

	if (v->by > STAT_BY_PROCESS)
		human_percent(r->share, cell[PID], CELL);
	else
		snprintf(cell[PID], CELL, "%" PRIu64, r->process->h.pid);
	snprintf(cell[PROGRAM], CELL, "%.20s", name_of(r->process, v->by));
	if (v->by == STAT_BY_QP || v->by == STAT_BY_PEER)
		format_peer(cell[PEER], q->peer_gid);
	else
		snprintf(cell[PEER], CELL, "%" PRIu64, r->qp->sums);
	human_rate((double)q->rate, cell[RATE], CELL);
	human_rate(r->goodput_bps, cell[GOODPUT], CELL);
	format_us(cell[RTT50], r->p50_us);
	format_us(cell[RTT99], r->p99_us);
	snprintf(cell[GATED], CELL, "%.0f %%", 100 * r->gated);
	snprintf(cell[LIMIT], CELL, "%s", stat_limits[r->limit]);
	format_algorithm(cell[ALGORITHM], v, r->process, q);
	human_bytes((double)q->window, cell[WINDOW], CELL);
	snprintf(cell[LQPN], CELL, v->by && v->by != STAT_BY_PEER ? "-" : "%" PRIu64, v->by ? r->qp->sums : q->lqpn);
	snprintf(cell[DEVICE], CELL, "%.20s/%" PRIu64, q->device, q->port);
	print_cells(out, v, stat_styles[r->limit], cell);
}

static void print_titles(FILE *out, const struct top_view *v)
{
	char cell[COLUMNS][CELL];

	for (unsigned i = 0; i < COLUMNS; i++)
		snprintf(cell[i], CELL, "%s", columns[i].title);
	if (v->by == STAT_BY_JOB || v->by == STAT_BY_TENANT)
		strcpy(cell[PROGRAM], v->by == STAT_BY_JOB ? "JOB" : "TENANT");
	if (v->by > STAT_BY_PROCESS)
		strcpy(cell[PID], "SHARE");
	if (v->by == STAT_BY_TENANT)
		strcpy(cell[ALGORITHM], "TERMS");
	if (v->by)
		strcpy(cell[v->by == STAT_BY_PEER ? LQPN : PEER], "QPS");
	print_cells(out, v, TERMINAL_TITLES, cell);
}

/* -- totals ------------------------------------------------------------------------------------ */

static void print_totals(FILE *out, const struct stat_snapshot *s, const struct top_view *v,
			 const struct top_row *rows, size_t n)
{
	const time_t now = (time_t)(s->unix_ns / 1000000000u);
	char host[64] = "", clock[16] = "", sum[CELL];
	unsigned busy = 0, held = 0;
	double goodput_bps = 0;
	char kind[32] = "flow";
	struct tm tm;

	for (size_t i = 0; i < n; i++) {
		busy += rows[i].limit != STAT_IDLE;
		held += rows[i].limit == STAT_RATE || rows[i].limit == STAT_WINDOW ||
			rows[i].limit == STAT_TENANT_CAP;
		goodput_bps += rows[i].goodput_bps;
	}
	gethostname(host, sizeof(host) - 1);
	if (localtime_r(&now, &tm))
		strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	print_text(out, v, "", "ccshim top  %s  %.20s  every %g s  %zu process%s%s", clock, host, v->interval_s,
		   s->count, s->count == 1 ? "" : "es", v->paused ? "  PAUSED" : "");
	if (v->by)
		snprintf(kind, sizeof(kind), "sum%s by %s", n == 1 ? "" : "s", stat_bys[v->by]);
	print_text(out, v, "", "%zu %s%s, %u busy, %u limited by ccshim, goodput %s, by %s%s%s", n, kind,
		   n == 1 || v->by ? "" : "s", busy, held, human_rate(goodput_bps, sum, sizeof(sum)), top_orders[v->order],
		   *v->filter ? ", filter " : "", v->filter);
}

static void print_absence(FILE *out, const struct top_view *v, const struct stat_snapshot *s)
{
	print_text(out, v, "", "%s", !s->count ? "no process has statistics; start one with: ccshim run -- COMMAND"
		   : *v->filter ? "no flow matches the filter"
		   : "no process has a queue pair");
}

static void print_keys(FILE *out, const struct top_view *v, size_t printed, size_t n)
{
	if (v->typing)
		print_text(out, v, "", "filter (program, peer or PID): %s_", v->filter);
	else if (printed < n)
		print_text(out, v, "", "q quit  s sort  t sums  f filter  space %s  ? help  lines %zu-%zu of %zu",
			   v->paused ? "continue" : "pause", v->first + 1, v->first + printed, n);
	else
		print_text(out, v, "", "q quit  s sort  t sums  f filter  space %s  ? help",
			   v->paused ? "continue" : "pause");
}

static const char *const help[] = {
	"s            next order: gated, goodput, rate, rtt, program",
	"t            queue pairs, or sums by process, peer, job, tenant or host",
	"f            filter by program, peer, PID or job; Enter accepts, Escape removes it",
	"up, down     scroll by a line, also j and k",
	"PgUp, PgDn   scroll by a page; Home and End go to the ends",
	"space        pause, and continue",
	"q            quit",
	"LIMIT of a flow: rate or window (of the algorithm or set by you), tenant (its",
	"cap), app (it posts no more), none (only observed), idle, uncont(rolled).",
};

/* Returns the number of lines. */
static size_t print_help(FILE *out, const struct top_view *v, size_t space)
{
	size_t n = 0;

	for (; n < space && n < sizeof(help) / sizeof(*help); n++)
		print_text(out, v, "", "%s", help[n]);
	return n;
}

static size_t print_flows(FILE *out, const struct stat_snapshot *s, const struct top_view *v,
			  const struct top_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		print_row(out, v, &rows[v->first + i]);
	if (!n)
		print_absence(out, v, s);
	return n ? n : 1;
}

static void print_rows(FILE *out, const struct stat_snapshot *s, struct top_view *v, const struct top_row *rows,
		       size_t n)
{
	const size_t space = v->rows > TOP_LINES_AROUND ? v->rows - TOP_LINES_AROUND : 0;
	const size_t printed = v->rows && n > space ? space : n;
	size_t lines = 0;

	if (v->first > n - printed)
		v->first = n - printed;
	print_totals(out, s, v, rows, n);
	print_titles(out, v);
	if (v->help)
		lines = print_help(out, v, space);
	else if (printed || space || !v->rows)
		lines = print_flows(out, s, v, rows, printed);
	for (; lines < space; lines++)
		putc('\n', out);
	if (v->rows)
		print_keys(out, v, printed, n);
}

void top_page(const struct stat_snapshot *s, struct top_view *v, FILE *out)
{
	struct stat_snapshot selected;
	struct top_row *rows = NULL;

	if (stat_copy(&selected, s) == 0 && top_select(&selected, v) == 0) {
		const size_t n = top_rows(&selected, v, &rows);

		print_rows(out, s, v, rows, n);
	}
	free(rows);
	stat_free(&selected);
}
