/* SPDX-License-Identifier: BSD-2-Clause */
/* For people: a line for each process, and under it one for each of its queue pairs. */
#include "tools/stat.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "bench/human.h"

enum { CELL = 24 };

/* What anybody may have written. */
static const char *clean(char *text)
{
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	return text;
}

static void put_passes(const struct ccs_stats_header *h, FILE *out)
{
	const char *before = "; passed: ";
	char name[sizeof(h->pass[0].name)];

	for (unsigned i = 0; i < CCS_STATS_MAX_PASSES && *h->pass[i].name; i++) {
		if (!h->pass[i].count)
			continue;
		strcpy(name, h->pass[i].name);
		fprintf(out, "%s%" PRIu64 " %s", before, h->pass[i].count, clean(name));
		before = ", ";
	}
}

static void put_process(const struct stat_process *p, FILE *out)
{
	struct ccs_stats_header h = p->h;

	fprintf(out, "%" PRIu64 " %s: %s, cc=%s, %" PRIu64 " queue pair%s", h.pid,
		clean(h.program), clean(h.mode), clean(h.cc), h.qps, h.qps == 1 ? "" : "s");
	if (h.gone.qps)
		fprintf(out, ", %" PRIu64 " gone", h.gone.qps);
	if (h.qps_unshown)
		fprintf(out, ", %" PRIu64 " without figures", h.qps_unshown);
	if (*h.undelivered)
		fprintf(out, ", without %s", clean(h.undelivered));
	put_passes(&h, out);
	putc('\n', out);
}

static void put_head(const struct stat_snapshot *s, FILE *out)
{
	fprintf(out, "  %-12s %8s %-18s %-9s %9s %9s %7s %7s %7s %8s %6s %5s %s\n", "DEVICE/PORT",
		"LQPN", "ALGORITHM", "SIGNALS", "RATE", s->since_s > 0 ? "GOODPUT" : "DONE",
		"WINDOW", "RTT P50", "RTT P99", "GATED", "CNPS", "U", "HOPS");
}

/* Share of the time; or, since ever, the time. */
static char *gated(const struct stat_snapshot *s, const struct stat_qp *qp, char *buf)
{
	if (s->since_s > 0)
		return human_percent(fmin((double)qp->q.gated_ns / 1e9 / s->since_s, 1), buf, CELL);
	return human_us((double)(qp->q.gated_ns / 1000), buf, CELL);
}

static char *done(const struct stat_snapshot *s, const struct stat_qp *qp, char *buf)
{
	if (s->since_s > 0)
		return human_rate(8 * (double)qp->q.bytes / s->since_s, buf, CELL);
	return human_bytes((double)qp->q.bytes, buf, CELL);
}

static char *rtt(const struct stat_qp *qp, double q, char *buf)
{
	const double ns = ccs_stats_percentile(&qp->rtt, q);

	return human_us(ns > 0 ? ns / 1e3 : NAN, buf, CELL);
}

static void put_hops(const struct stat_snapshot *s, const struct ccs_stats_qp *q, FILE *out)
{
	char queue[CELL], age[CELL];
	const uint64_t age_ns = s->now_ns > q->telemetry_ns ? s->now_ns - q->telemetry_ns : 0;

	for (uint64_t i = 0; i < q->nhops; i++) {
		const struct ccs_stats_hop *hop = &q->hop[i];

		fprintf(out, "%s%" PRIu64 ":%.0f%%,%s", i ? " " : "", hop->link,
			hop->capacity ? 100 * (double)hop->rate / (double)hop->capacity : 0,
			human_bytes((double)hop->queue_bytes, queue, sizeof(queue)));
	}
	if (q->nhops)
		fprintf(out, " (%s old)", human_us((double)(age_ns / 1000), age, sizeof(age)));
}

static void put_qp(const struct stat_snapshot *s, struct stat_qp qp, FILE *out)
{
	char where[80], algorithm[64], b[7][CELL];
	struct ccs_stats_qp *q = &qp.q;

	snprintf(where, sizeof(where), "%s/%" PRIu64, clean(q->device), q->port);
	snprintf(algorithm, sizeof(algorithm), "%s%s%s", clean(q->cc), *q->variant ? ":" : "",
		 clean(q->variant));
	fprintf(out, "  %-12s %8" PRIu64 " %-18s %-9s %9s %9s %7s %7s %7s %8s %6" PRIu64 " %5s ",
		where, q->lqpn, algorithm, *q->pass ? clean(q->pass) : clean(q->signals),
		human_rate((double)q->rate, b[0], CELL), done(s, &qp, b[1]),
		human_bytes((double)q->window, b[2], CELL), rtt(&qp, 0.5, b[3]),
		rtt(&qp, 0.99, b[4]), gated(s, &qp, b[5]), q->cnps,
		q->telemetry_ns ? human_percent(q->utilisation, b[6], CELL) : "-");
	put_hops(s, q, out);
	putc('\n', out);
}

void stat_table(const struct stat_snapshot *s, FILE *out)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct stat_process *p = &s->process[i];

		put_process(p, out);
		if (p->count)
			put_head(s, out);
		for (size_t k = 0; k < p->count; k++)
			put_qp(s, p->qp[k], out);
	}
}
