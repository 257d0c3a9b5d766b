/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Statistics in Prometheus' text format or as OpenMetrics 1.0. Units are base units, and names of
 * counter samples end in _total; in Prometheus' format so does the family, in OpenMetrics it must
 * not.
 */
#include "stat.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "base/json.h"
#include "base/text.h"

/* The labels of a series, which is about a process or, with qp, a queue pair. */
struct series {
	const struct stat_process *p;
	const struct stat_qp *qp;
};

struct writer {
	FILE *f;
	const struct stat_snapshot *s;
	const size_t *shown;             /* number of queue pairs with series, at the start of each process */
	bool open;                       /* OpenMetrics */
};

/* Program names are truncated at a number of bytes, perhaps within a character. */
static void print_label(FILE *f, const char *name, const char *text)
{
	unsigned len;

	fprintf(f, "%s=\"", name);
	for (; *text; text += len ? len : 1) {
		len = ccs_printable_len(text);
		if (!len)
			putc('?', f);
		else
			fprintf(f, "%s%.*s", *text == '\\' || *text == '"' ? "\\" : "", (int)len, text);
	}
	putc('"', f);
}

static void print_number_label(FILE *f, const char *name, uint64_t value)
{
	fprintf(f, ",%s=\"%" PRIu64 "\"", name, value);
}

/* NAME{labels, without the closing brace. */
static void print_name_and_labels(FILE *f, const char *name, const struct series *of)
{
	fprintf(f, "%s{", name);
	print_label(f, "program", of->p->h.program);
	print_number_label(f, "pid", of->p->h.pid);
	if (!of->qp)
		return;
	putc(',', f);
	print_label(f, "device", of->qp->q.device);
	print_number_label(f, "port", of->qp->q.port);
	print_number_label(f, "lqpn", of->qp->q.lqpn);
}

static void print_sample(FILE *f, const char *name, const struct series *of, double value)
{
	print_name_and_labels(f, name, of);
	fprintf(f, "} %.17g\n", value);
}

static void print_family(const struct writer *w, const char *name, const char *type, const char *doc)
{
	int len = (int)strlen(name);

	if (w->open && strcmp(type, "counter") == 0)
		len -= (int)strlen("_total");
	fprintf(w->f, "# HELP %.*s %s\n# TYPE %.*s %s\n", len, name, doc, len, name, type);
}

/* -- the number of series ---------------------------------------------------------- */

struct share {
	size_t party, qps;
};

static int by_qps(const void *a, const void *b)
{
	const size_t x = ((const struct share *)a)->qps, y = ((const struct share *)b)->qps;

	return (x > y) - (x < y);
}

static struct share *find_share(struct share *share, size_t n, size_t party)
{
	for (size_t i = 0; i < n; i++)
		if (share[i].party == party)
			return &share[i];
	return NULL;
}

/* A queue pair that may have series. */
struct candidate {
	size_t process, party;
	uint64_t bytes;
};

static int by_bytes(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

static int qp_by_bytes(const void *a, const void *b)
{
	const uint64_t x = ((const struct stat_qp *)a)->q.bytes, y = ((const struct stat_qp *)b)->q.bytes;

	return (x < y) - (x > y);
}

/* Users and containers with few queue pairs have series for all, the others equal numbers. Returns
 * how many users and containers there are. */
static size_t divide(const struct stat_snapshot *s, size_t left, struct share *share)
{
	struct share *of;
	size_t n = 0;

	for (size_t i = 0; i < s->count; i++) {
		of = find_share(share, n, s->process[i].party);
		if (!of) {
			of = &share[n++];
			*of = (struct share){ .party = s->process[i].party };
		}
		of->qps += s->process[i].count;
	}
	qsort(share, n, sizeof(*share), by_qps);
	for (size_t i = 0; i < n; i++) {
		if (share[i].qps > left / (n - i))
			share[i].qps = left / (n - i);
		left -= share[i].qps;
	}
	return n;
}

/* The queue pairs of a party that have completed most bytes have its series. Sorts each process's
 * queue pairs by bytes. */
static void choose_busiest(struct stat_snapshot *s, struct share *share, size_t parties, size_t *shown)
{
	struct candidate *candidate;
	size_t n = 0;

	for (size_t i = 0; i < s->count; i++)
		n += s->process[i].count;
	candidate = calloc(n + 1, sizeof(*candidate));
	if (!candidate)
		return;
	n = 0;
	for (size_t i = 0; i < s->count; i++) {
		const struct stat_process *p = &s->process[i];

		qsort(p->qp, p->count, sizeof(*p->qp), qp_by_bytes);
		for (size_t k = 0; k < p->count; k++)
			candidate[n++] = (struct candidate){ .process = i, .party = p->party, .bytes = p->qp[k].q.bytes };
	}
	qsort(candidate, n, sizeof(*candidate), by_bytes);
	for (size_t i = 0; i < n; i++) {
		struct share *of = find_share(share, parties, candidate[i].party);

		if (of->qps) {
			of->qps--;
			shown[candidate[i].process]++;
		}
	}
	free(candidate);
}

/* -- of queue pairs -------------------------------------------------------------- */

static void for_each_qp(const struct writer *w,
			void (*print)(FILE *, const struct series *, void *), void *arg)
{
	for (size_t i = 0; i < w->s->count; i++)
		for (size_t k = 0; k < w->shown[i]; k++) {
			const struct stat_process *p = &w->s->process[i];

			print(w->f, &(struct series){ .p = p, .qp = &p->qp[k] }, arg);
		}
}

static void print_qp_info(FILE *f, const struct series *of, void *name)
{
	const struct ccs_stats_qp *q = &of->qp->q;
	char text[INET6_ADDRSTRLEN];
	const char *peer = ccs_gid_text(q->peer_gid, text);

	print_name_and_labels(f, name, of);
	print_number_label(f, "rqpn", q->peer_qpn);
	putc(',', f), print_label(f, "peer", peer == text ? peer : "");
	putc(',', f), print_label(f, "cc", q->cc);
	putc(',', f), print_label(f, "variant", q->variant);
	putc(',', f), print_label(f, "feedback", q->feedback);
	putc(',', f), print_label(f, "control", q->control);
	fprintf(f, ",enforced=\"%s\"} 1\n", q->enforced ? "y" : "n");
}

struct named_field {
	char name[96];
	const struct ccs_stats_field *field;
};

static void print_qp_field(FILE *f, const struct series *of, void *arg)
{
	const struct named_field *n = arg;

	if (n->field->unit != CCS_FIELD_RATIO || of->qp->q.telemetry_ns)
		print_sample(f, n->name, of, ccs_stats_field_metric(&of->qp->q, n->field));
}

/* Buckets of a power of two, each of which sums up eight buckets of the file. */
static void print_qp_rtt(FILE *f, const struct series *of, void *name)
{
	const struct ccs_stats_rtt *rtt = &of->qp->rtt;
	const unsigned end = ccs_stats_bucket(UINT64_MAX);
	char bucket[64], sum[64], count[64];
	uint64_t seen = 0;

	snprintf(bucket, sizeof(bucket), "%s_bucket", (char *)name);
	snprintf(sum, sizeof(sum), "%s_sum", (char *)name);
	snprintf(count, sizeof(count), "%s_count", (char *)name);
	for (unsigned i = 0; i <= end; i++) {
		seen += rtt->bucket[i];
		if (i % 8 || i == end)
			continue;
		print_name_and_labels(f, bucket, of);
		fprintf(f, ",le=\"%.9g\"} %" PRIu64 "\n",
			(double)ccs_stats_bucket_ns(i + 1) / 1e9, seen);
	}
	print_name_and_labels(f, bucket, of);
	fprintf(f, ",le=\"+Inf\"} %" PRIu64 "\n", seen);
	print_sample(f, sum, of, (double)rtt->sum_ns / 1e9);
	print_sample(f, count, of, (double)seen);
}

static void print_qps(const struct writer *w)
{
	char info[] = "ccshim_qp_info", rtt[] = "ccshim_qp_rtt_seconds";

	print_family(w, info, "gauge", "A controlled queue pair and its algorithm.");
	for_each_qp(w, print_qp_info, info);
	for (size_t i = 0; i < ccs_stats_field_count; i++) {
		struct named_field n = { .field = &ccs_stats_fields[i] };

		snprintf(n.name, sizeof(n.name), "ccshim_qp_%s", n.field->metric);
		print_family(w, n.name, n.field->counter ? "counter" : "gauge", n.field->doc);
		for_each_qp(w, print_qp_field, &n);
	}
	print_family(w, rtt, "histogram", "Measured round-trip times.");
	for_each_qp(w, print_qp_rtt, rtt);
}

/* -- of processes ---------------------------------------------------------------- */

/* Unknown labels are left out. Prometheus adds a label "job", which has another meaning. */
static void print_job_labels(FILE *f, const struct stat_process *p)
{
	const struct ccs_stats_header *h = &p->h;
	const struct { const char *name, *value; } labels[] = {
		{ "host", h->host }, { "job_id", h->job }, { "task", h->task }, { "rank", h->rank },
		{ "container", h->container }, { "tenant", p->tenant },
	};

	for (unsigned i = 0; i < sizeof(labels) / sizeof(*labels); i++)
		if (*labels[i].value)
			putc(',', f), print_label(f, labels[i].name, labels[i].value);
}

static void print_process_info(const struct writer *w, const char *name)
{
	print_family(w, name, "gauge", "A process with controlled queue pairs.");
	for (size_t i = 0; i < w->s->count; i++) {
		const struct ccs_stats_header *h = &w->s->process[i].h;

		print_name_and_labels(w->f, name, &(struct series){ .p = &w->s->process[i] });
		putc(',', w->f), print_label(w->f, "version", h->version);
		putc(',', w->f), print_label(w->f, "mode", h->mode);
		putc(',', w->f), print_label(w->f, "cc", h->cc);
		print_job_labels(w->f, &w->s->process[i]);
		fputs("} 1\n", w->f);
	}
}

static void print_uncontrolled(const struct writer *w, const char *name)
{
	print_family(w, name, "counter", "Uncontrolled queue pairs, by reason.");
	for (size_t i = 0; i < w->s->count; i++) {
		const struct ccs_stats_uncontrolled *pass = w->s->process[i].h.uncontrolled;

		for (unsigned k = 0; k < CCS_STATS_MAX_UNCONTROLLED && *pass[k].name; k++) {
			print_name_and_labels(w->f, name, &(struct series){ .p = &w->s->process[i] });
			putc(',', w->f), print_label(w->f, "reason", pass[k].name);
			fprintf(w->f, "} %" PRIu64 "\n", pass[k].count);
		}
	}
}

/* The number of a process's queue pairs without series. */
static uint64_t count_hidden(const struct writer *w, size_t process)
{
	const struct stat_process *p = &w->s->process[process];

	return p->h.qps_unshown + p->count - w->shown[process];
}

struct sum {
	const char *name, *type, *doc;
	size_t offset;                   /* in struct ccs_stats_gone */
	double unit;
};

static void print_sum(const struct writer *w, const struct sum *sum)
{
	print_family(w, sum->name, sum->type, sum->doc);
	for (size_t i = 0; i < w->s->count; i++) {
		const struct ccs_stats_gone totals = stat_totals(&w->s->process[i]);
		uint64_t value;

		memcpy(&value, (const char *)&totals + sum->offset, sizeof(value));
		print_sample(w->f, sum->name, &(struct series){ .p = &w->s->process[i] },
			   (double)value / sum->unit);
	}
}

/* A term of the tenant of each process, if the agent shows it. */
static void print_terms(const struct writer *w, const char *name, const char *doc, size_t offset, double unit)
{
	print_family(w, name, "gauge", doc);
	for (size_t i = 0; i < w->s->count; i++) {
		const struct stat_process *p = &w->s->process[i];
		double value;

		memcpy(&value, (const char *)&p->terms + offset, sizeof(value));
		if (*p->tenant && p->terms.weight > 0)
			print_sample(w->f, name, &(struct series){ .p = p }, value / unit);
	}
}

static void print_processes(const struct writer *w)
{
#define SUM(what, member, unit, doc) \
	{ "ccshim_process_" what "_total", "counter", doc " of all queue pairs, including destroyed ones.", \
	  offsetof(struct ccs_stats_gone, member), unit }
	static const struct sum sums[] = {
		SUM("qps", qps, 1, "The number"),
		SUM("completed_bytes", bytes, 1, "Payload bytes completed with success,"),
		SUM("completed_requests", completions, 1, "Work requests completed with success,"),
		SUM("posted_requests", posts, 1, "Work requests posted,"),
		SUM("gated_seconds", gated_ns, 1e9, "Time with a request waiting at the gate,"),
		SUM("rp_cnp_handled", cnps, 1, "Congestion notification packets"),
		SUM("losses", losses, 1, "Losses detected, by timeout,"),
	};
#undef SUM

	print_process_info(w, "ccshim_process_info");
	print_uncontrolled(w, "ccshim_process_passes_total");
	for (size_t i = 0; i < sizeof(sums) / sizeof(*sums); i++)
		print_sum(w, &sums[i]);
	print_family(w, "ccshim_process_qps_controlled", "gauge", "Controlled queue pairs.");
	for (size_t i = 0; i < w->s->count; i++)
		print_sample(w->f, "ccshim_process_qps_controlled",
			   &(struct series){ .p = &w->s->process[i] },
			   (double)w->s->process[i].h.qps);
	print_terms(w, "ccshim_process_tenant_weight", "Weight of its tenant.", offsetof(struct ccs_terms, weight), 1);
	print_terms(w, "ccshim_process_tenant_cap_bytes_per_second", "Cap of its tenant; 0: none.",
		    offsetof(struct ccs_terms, cap), 8);
	print_terms(w, "ccshim_process_tenant_guarantee_bytes_per_second", "Guarantee of its tenant; 0: none.",
		    offsetof(struct ccs_terms, guarantee), 8);
	print_family(w, "ccshim_process_qps_hidden", "gauge",
		   "Controlled queue pairs without separate series.");
	for (size_t i = 0; i < w->s->count; i++)
		print_sample(w->f, "ccshim_process_qps_hidden",
			   &(struct series){ .p = &w->s->process[i] }, (double)count_hidden(w, i));
}

void stat_metrics(struct stat_snapshot *s, unsigned max_qps, bool open, FILE *out)
{
	struct share *share = calloc(s->count + 1, sizeof(*share));
	size_t *shown = calloc(s->count + 1, sizeof(*shown));
	const struct writer w = { .f = out, .s = s, .shown = shown, .open = open };

	if (share && shown)
		choose_busiest(s, share, divide(s, max_qps, share), shown);
	free(share);
	if (!shown)
		return;
	print_processes(&w);
	print_qps(&w);
	print_family(&w, "ccshim_pages_unreadable", "gauge", "Statistics files or directories that could not be read.");
	fprintf(out, "ccshim_pages_unreadable %u\n%s", s->denied + s->unreadable, open ? "# EOF\n" : "");
	free(shown);
}
