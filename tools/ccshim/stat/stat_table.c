/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of ccshim stat: a line for each process, and below it one for each queue pair; or a line for
 * each sum. */
#include "stat.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "base/text.h"
#include "tools/common/terminal.h"
#include "tools/common/human.h"

enum { CELL = 24, INDENT = 2, WIDE = 256, LINE = 2048 };

enum column {
	PID, PROGRAM, JOB, TENANT, WEIGHT, TERMS, QPS, DEVICE, LQPN, PEER, ALGORITHM, FEEDBACK, RATE, DONE, SHARE, LIMIT, WINDOW, RTT_P50, RTT_P99, GATED, CNPS,
	UTILISATION, HOPS, COLUMNS
};

#define BY(what) (1u << STAT_BY_##what)
#define SUMS (BY(PROCESS) | BY(PEER) | BY(JOB) | BY(TENANT) | BY(HOST))

static const struct {
	const char *title, *deltas_title; /* deltas_title NULL: the same */
	int width;                        /* minimum; negative: left-aligned, as printf() has it */
	unsigned rank;                    /* the column of the highest rank is left out first; 0: never */
	unsigned by;                      /* the tables that have it; 0: all */
} columns[COLUMNS] = {
	[PID] = { "PID", NULL, 7, 0, BY(PROCESS) },
	[PROGRAM] = { "PROGRAM", NULL, -14, 0, BY(PROCESS) | BY(PEER) | BY(JOB) },
	[JOB] = { "JOB", NULL, -8, 9, BY(PROCESS) | BY(JOB) },
	[TENANT] = { "TENANT", NULL, -16, 0, BY(TENANT) },
	[WEIGHT] = { "WEIGHT", NULL, 6, 0, BY(TENANT) },
	[TERMS] = { "TERMS", NULL, 8, 0, BY(TENANT) },
	[QPS] = { "QPS", NULL, 5, 0, SUMS },
	[DEVICE] = { "DEVICE/PORT", NULL, -12, 0, BY(QP) },
	[LQPN] = { "LQPN", NULL, 8, 0, BY(QP) },
	[PEER] = { "PEER", NULL, -12, 4, BY(QP) | BY(PEER) },
	[ALGORITHM] = { "ALGORITHM", NULL, -18, 0, 0 },
	[FEEDBACK] = { "FEEDBACK", NULL, -9, 1, 0 },
	[RATE] = { "RATE", NULL, 9, 0, 0 },
	[DONE] = { "DONE", "GOODPUT", 9, 0, 0 },
	[SHARE] = { "SHARE", NULL, 5, 0, SUMS },
	[LIMIT] = { "LIMIT", NULL, -10, 5, 0 },
	[WINDOW] = { "WINDOW", NULL, 7, 6, 0 },
	[RTT_P50] = { "RTT P50", NULL, 7, 7, 0 },
	[RTT_P99] = { "RTT P99", NULL, 7, 3, 0 },
	[GATED] = { "GATED", NULL, 8, 2, 0 },
	[CNPS] = { "CNPS", NULL, 6, 8, 0 },
	[UTILISATION] = { "U", NULL, 5, 9, BY(QP) },
	[HOPS] = { "HOPS", NULL, -4, 10, BY(QP) },
};

struct row {
	char cell[COLUMNS][WIDE];
};

/* The printf() widths of the columns of one process's table; 0: the column is left out. */
struct layout {
	int width[COLUMNS];
};

/* The text may contain anything: it was read from a file that another process wrote. */
static const char *clean(char *text)
{
	return ccs_make_printable(text, "");
}

static void append_uncontrolled(char line[LINE], const struct ccs_stats_header *h)
{
	const char *before = "; uncontrolled: ";
	char name[sizeof(h->uncontrolled[0].name)];

	for (unsigned i = 0; i < CCS_STATS_MAX_UNCONTROLLED && *h->uncontrolled[i].name; i++) {
		if (!h->uncontrolled[i].count)
			continue;
		strcpy(name, h->uncontrolled[i].name);
		ccs_append(line, LINE, "%s%" PRIu64 " %s", before, h->uncontrolled[i].count, clean(name));
		before = ", ";
	}
}

static void print_process(const struct stat_process *p, FILE *out)
{
	struct ccs_stats_header h = p->h;
	const struct ccs_job job = stat_job(&h);
	char line[LINE], text[CCS_JOB_TEXT];

	snprintf(line, LINE, "%" PRIu64 " %s: %s, cc=%s, %" PRIu64 " queue pair%s", h.pid, clean(h.program),
		 clean(h.mode), clean(h.cc), h.qps, h.qps == 1 ? "" : "s");
	if (h.gone.qps)
		ccs_append(line, LINE, ", %" PRIu64 " gone", h.gone.qps);
	if (h.qps_unshown)
		ccs_append(line, LINE, ", %" PRIu64 " without statistics", h.qps_unshown);
	ccs_job_text(&job, text, sizeof(text));
	ccs_append(line, LINE, "%s", clean(text));
	if (*h.missing_feedback)
		ccs_append(line, LINE, ", without %s", clean(h.missing_feedback));
	append_uncontrolled(line, &h);
	if (stat_refusal(&h))
		ccs_append(line, LINE, "; refused the last request: %s", stat_refusal(&h));
	terminal_print(out, "    ", "%s", line);
}

/* For deltas the share of the time; for totals the time. */
static void format_gated(char *cell, const struct stat_snapshot *s, const struct ccs_stats_qp *q)
{
	if (s->since_s > 0)
		human_percent(fmin((double)q->gated_ns / 1e9 / s->since_s, 1), cell, CELL);
	else
		human_us((double)(q->gated_ns / 1000), cell, CELL);
}

static void format_done(char *cell, const struct stat_snapshot *s, const struct ccs_stats_qp *q)
{
	if (s->since_s > 0)
		human_rate(8 * (double)q->bytes / s->since_s, cell, CELL);
	else
		human_bytes((double)q->bytes, cell, CELL);
}

static void format_rtt(char *cell, const struct stat_qp *qp, double q)
{
	const double ns = ccs_stats_percentile(&qp->rtt, q);

	human_us(ns > 0 ? ns / 1e3 : NAN, cell, CELL);
}

static void format_hops(char cell[WIDE], const struct stat_snapshot *s,
			const struct ccs_stats_qp *q)
{
	char queue[CELL], age[CELL];
	const uint64_t age_ns = s->now_ns > q->telemetry_ns ? s->now_ns - q->telemetry_ns : 0;

	for (uint64_t i = 0; i < q->nhops; i++) {
		const struct ccs_stats_hop *hop = &q->hop[i];

		ccs_append(cell, WIDE, "%s%" PRIu64 ":%.0f%%,%s", i ? " " : "", hop->link,
			   hop->capacity ? 100 * (double)hop->rate / (double)hop->capacity : 0,
			   human_bytes((double)hop->queue_bytes, queue, sizeof(queue)));
	}
	if (q->nhops)
		ccs_append(cell, WIDE, " (%s old)", human_us((double)(age_ns / 1000), age, sizeof(age)));
}

static bool is_ineffective(const struct ccs_stats_qp *q)
{
	return *q->control && strcmp(q->control, "ok") != 0;
}

static void format_group(struct row *row, const struct stat_process *p, const struct stat_qp *qp)
{
	struct ccs_stats_header h = p->h;

	snprintf(row->cell[PID], WIDE, h.pid ? "%" PRIu64 : "-", h.pid);
	snprintf(row->cell[PROGRAM], WIDE, "%s", clean(h.program));
	snprintf(row->cell[JOB], WIDE, "%s", *h.job ? clean(h.job) : "-");
	snprintf(row->cell[TENANT], WIDE, "%s", *p->tenant ? p->tenant : "-");
	snprintf(row->cell[WEIGHT], WIDE, !*p->tenant ? "-" : p->terms.weight > 0 ? "%g" : "?", p->terms.weight);
	stat_format_terms(row->cell[TERMS], WIDE, p);
	snprintf(row->cell[QPS], WIDE, "%" PRIu64, qp->sums);
}

static void format_row(struct row *row, const struct stat_snapshot *s, const struct stat_process *p,
		       struct stat_qp qp)
{
	struct ccs_stats_qp *q = &qp.q;
	char peer[INET6_ADDRSTRLEN];

	*row = (struct row){ 0 };
	format_group(row, p, &qp);
	snprintf(row->cell[DEVICE], WIDE, "%s/%" PRIu64, clean(q->device), q->port);
	snprintf(row->cell[LQPN], WIDE, "%" PRIu64, q->lqpn);
	snprintf(row->cell[PEER], WIDE, "%s", ccs_gid_text(q->peer_gid, peer));
	snprintf(row->cell[ALGORITHM], WIDE, "%s%s%s", clean(q->cc), *q->variant ? ":" : "",
		 clean(q->variant));
	snprintf(row->cell[FEEDBACK], WIDE, "%s",
		 *q->uncontrolled ? clean(q->uncontrolled) :
		 is_ineffective(q) ? clean(q->control) : clean(q->feedback));
	human_rate((double)q->rate, row->cell[RATE], CELL);
	format_done(row->cell[DONE], s, q);
	human_percent(stat_share(&qp, s->since_s), row->cell[SHARE], CELL);
	if (s->since_s > 0)
		strcpy(row->cell[LIMIT], stat_limits[stat_limit_of(&qp, s->since_s)]);
	human_bytes((double)q->window, row->cell[WINDOW], CELL);
	format_rtt(row->cell[RTT_P50], &qp, 0.5);
	format_rtt(row->cell[RTT_P99], &qp, 0.99);
	format_gated(row->cell[GATED], s, q);
	snprintf(row->cell[CNPS], WIDE, "%" PRIu64, q->cnps);
	if (q->telemetry_ns)
		human_percent(q->utilisation, row->cell[UTILISATION], CELL);
	else
		strcpy(row->cell[UTILISATION], "-");
	format_hops(row->cell[HOPS], s, q);
}

static const char *title_of(const struct stat_snapshot *s, unsigned i)
{
	return s->since_s > 0 && columns[i].deltas_title ? columns[i].deltas_title : columns[i].title;
}

/* The columns that the longest line takes. */
static size_t total_width(const struct layout *l)
{
	size_t sum = INDENT - 1;

	for (unsigned i = 0; i < COLUMNS; i++)
		if (l->width[i])
			sum += 1 + (size_t)abs(l->width[i]);
	return sum;
}

/* Some processes of a snapshot, which have one table. */
struct part {
	const struct stat_snapshot *s;
	const struct stat_process *process;
	size_t count;
};

static bool has_column(const struct part *part, unsigned i)
{
	return (!columns[i].by || columns[i].by & 1u << part->s->by) &&
	       (part->s->since_s > 0 || (i != SHARE && i != LIMIT));
}

/* The width of each column's longest cell; numbers have at least their usual width. */
static void measure(struct layout *l, const struct part *part)
{
	struct row row;

	for (unsigned i = 0; i < COLUMNS; i++)
		l->width[i] = columns[i].width > 0 && i != LQPN ? columns[i].width
								: (int)strlen(title_of(part->s, i));
	for (const struct stat_process *p = part->process; p < part->process + part->count; p++)
		for (size_t k = 0; k < p->count; k++) {
			format_row(&row, part->s, p, p->qp[k]);
			for (unsigned i = 0; i < COLUMNS; i++)
				if ((int)strlen(row.cell[i]) > l->width[i])
					l->width[i] = (int)strlen(row.cell[i]);
		}
	for (unsigned i = 0; i < COLUMNS; i++)
		l->width[i] *= !has_column(part, i) ? 0 : columns[i].width < 0 ? -1 : 1;
}

/* The name of a sum is never left out. */
static bool drop_column(struct layout *l, enum stat_by by)
{
	const unsigned name = by == STAT_BY_PEER ? PEER : by == STAT_BY_JOB ? JOB : COLUMNS;
	unsigned least = COLUMNS;

	for (unsigned i = 0; i < COLUMNS; i++)
		if (l->width[i] && columns[i].rank && i != name &&
		    (least == COLUMNS || columns[i].rank > columns[least].rank))
			least = i;
	if (least == COLUMNS)
		return false;
	l->width[least] = 0;
	return true;
}

/* All columns at their usual widths if they fit, or the columns that do. */
static struct layout choose_layout(const struct part *part, size_t width)
{
	struct layout l, usual;

	measure(&l, part);
	for (unsigned i = 0; i < COLUMNS; i++)
		usual.width[i] = abs(l.width[i]) > abs(columns[i].width) ? l.width[i]
			: has_column(part, i) ? columns[i].width : 0;
	if (!width || total_width(&usual) <= width) {
		for (unsigned i = 0; i < COLUMNS; i++)
			usual.width[i] = has_column(part, i) ? columns[i].width : 0;
		return usual;
	}
	while (total_width(&l) > width && drop_column(&l, part->s->by))
		;
	return l;
}

/* The limit of a flow is known for an interval only. */
static const char *style_of(const struct stat_snapshot *s, const struct stat_qp *qp)
{
	if (*qp->q.uncontrolled || is_ineffective(&qp->q))
		return stat_styles[STAT_UNCONTROLLED];
	return s->since_s > 0 ? stat_styles[stat_limit_of(qp, s->since_s)] : "";
}

static void print_row(const struct layout *l, const struct row *row, const char *style, FILE *out)
{
	const bool styled = *style && terminal_has_colour(out);
	unsigned last = COLUMNS - 1;

	while (last && !l->width[last])
		last--;
	fprintf(out, "%s%*s", styled ? style : "", INDENT - 1, "");
	for (unsigned i = 0; i <= last; i++)
		if (l->width[i])
			fprintf(out, " %*s", i == HOPS ? 0 : l->width[i], row->cell[i]);
	fprintf(out, "%s\n", styled ? TERMINAL_PLAIN : "");
}

static void print_part(const struct part *part, FILE *out)
{
	const struct layout l = choose_layout(part, terminal_width(out));
	struct row row;

	for (unsigned i = 0; i < COLUMNS; i++)
		snprintf(row.cell[i], WIDE, "%s", title_of(part->s, i));
	print_row(&l, &row, TERMINAL_TITLES, out);
	for (const struct stat_process *p = part->process; p < part->process + part->count; p++)
		for (size_t k = 0; k < p->count; k++) {
			format_row(&row, part->s, p, p->qp[k]);
			print_row(&l, &row, style_of(part->s, &p->qp[k]), out);
		}
}

void stat_table(const struct stat_snapshot *s, FILE *out)
{
	if (s->by && s->count)
		print_part(&(struct part){ s, s->process, s->count }, out);
	for (size_t i = 0; !s->by && i < s->count; i++) {
		print_process(&s->process[i], out);
		if (s->process[i].count)
			print_part(&(struct part){ s, &s->process[i], 1 }, out);
	}
}
