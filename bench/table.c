/* SPDX-License-Identifier: BSD-2-Clause */
/* The report for people. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "human.h"
#include "report.h"

#define MOST_LINES 64 /* of flows */

typedef char *formatter(double v, char *buf, size_t len);

void table_run(const struct report *p)
{
	const struct run *r = p->run;
	char rate[32], share[32], p50[32], p99[32];
	unsigned i;

	printf("%s\n", r->setting->name);
	printf("  %-14s %8s %12s %8s %10s %10s %10s\n", "flow", "QP", "goodput", "share",
	       "messages", "p50", "p99");
	for (i = 0; i < r->nflows && i < MOST_LINES; i++) {
		const struct flow_report *f = &p->flow[i];

		printf("  host %-3u qp %-3u %8u %12s %8s %10llu %10s %10s%s%s\n", f->host, f->qp,
		       f->qpn, human_rate(f->goodput, rate, sizeof(rate)),
		       human_percent(f->share, share, sizeof(share)),
		       (unsigned long long)f->messages,
		       human_us(f->latency.p50, p50, sizeof(p50)),
		       human_us(f->latency.p99, p99, sizeof(p99)),
		       f->errors ? "  " : "", f->errors ? f->status : "");
	}
	if (i < r->nflows)
		printf("  and %u flows more\n", r->nflows - i);
	printf("  %-23s %12s\n\n", "total", human_rate(p->goodput, rate, sizeof(rate)));
}

static void row(const char *name, const struct report *p, unsigned n, size_t offset,
		formatter *format)
{
	char buf[32];
	unsigned i;
	double v;

	printf("  %-22s", name);
	for (i = 0; i < n; i++) {
		memcpy(&v, (const char *)&p[i] + offset, sizeof(v));
		printf(" %14s", format(v, buf, sizeof(buf)));
	}
	printf("\n");
}

#define ROW(name, field, format) row(name, p, n, offsetof(struct report, field), human_##format)

/* What eRPC's arithmetic says of a run in which nobody holds back, and what was seen. */
static void sanity_lines(const struct report *p)
{
	const struct opts *o = p->run->o;
	char a[32], b[32], c[32], d[32];

	if (!p->unshaped || isnan(p->predicted.rtt_us))
		return;
	printf("sanity, %s: %u flows x %s outstanding (bound by %s) / rate = RTT %s; "
	       "victim p50 %s, mean queue / rate %s\n", p->run->setting->name, p->run->nflows,
	       human_bytes(p->predicted.outstanding, a, sizeof(a)), p->predicted.bound,
	       human_us(p->predicted.rtt_us, b, sizeof(b)),
	       human_us(p->victim.p50, c, sizeof(c)),
	       human_us(p->queue.mean * 8e6 / o->rate_bps, d, sizeof(d)));
}

static void heading(const struct report *p, unsigned n)
{
	char title[256];
	unsigned i;

	printf("%s\n  %-22s", opts_title(p->run->o, title, sizeof(title)), "");
	for (i = 0; i < n; i++)
		printf(" %14.14s", p[i].run->setting->name);
	printf("\n");
}

void table_compare(const struct report *p, unsigned n)
{
	unsigned i;

	heading(p, n);
	ROW("goodput", goodput, rate);
	ROW("utilisation", utilisation, percent);
	ROW("Jain", jain, share);
	ROW("Jain, worst window", jain_min, share);
	ROW("drops", drops, count);
	ROW("drops after warm-up", drops_after, count);
	ROW("ECN marks", marks, count);
	ROW("retransmitted", retransmitted, percent);
	ROW("queue mean", queue.mean, bytes);
	ROW("queue p50", queue.p50, bytes);
	ROW("queue p99", queue.p99, bytes);
	ROW("queue max", queue.max, bytes);
	if (p->run->o->victim) {
		ROW("victim p50", victim.p50, us);
		ROW("victim p90", victim.p90, us);
		ROW("victim p99", victim.p99, us);
		ROW("victim p99.9", victim.p999, us);
		ROW("victim max", victim.max, us);
	}
	for (i = 0; i < n; i++)
		sanity_lines(&p[i]);
}
