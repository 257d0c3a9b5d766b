/* SPDX-License-Identifier: BSD-2-Clause */
/* Statistics as JSON. */
#include "stat.h"

#include "base/json.h"

static void write_rtt(struct ccs_json *j, const struct ccs_stats_rtt *rtt)
{
	ccs_json_object(j, "rtt_us");
	ccs_json_uint(j, "count", rtt->count);
	if (rtt->count) {
		ccs_json_num(j, "last", (double)rtt->last_ns / 1e3);
		ccs_json_num(j, "mean", (double)rtt->sum_ns / 1e3 / (double)rtt->count);
		ccs_json_num(j, "p50", ccs_stats_percentile(rtt, 0.5) / 1e3);
		ccs_json_num(j, "p99", ccs_stats_percentile(rtt, 0.99) / 1e3);
	}
	if (rtt->max_ns) {
		ccs_json_num(j, "min", (double)rtt->min_ns / 1e3);
		ccs_json_num(j, "max", (double)rtt->max_ns / 1e3);
	}
	ccs_json_end(j);
}

static void write_uncontrolled(struct ccs_json *j, const struct ccs_stats_header *h)
{
	ccs_json_object(j, "uncontrolled");
	for (unsigned i = 0; i < CCS_STATS_MAX_UNCONTROLLED && *h->uncontrolled[i].name; i++)
		ccs_json_uint(j, h->uncontrolled[i].name, h->uncontrolled[i].count);
	ccs_json_end(j);
}

static void write_totals(struct ccs_json *j, const struct stat_process *p)
{
	const struct ccs_stats_gone t = stat_totals(p);

	ccs_json_object(j, "totals"); /* sums over all queue pairs, including destroyed queue pairs */
	ccs_json_uint(j, "qps", t.qps);
	ccs_json_uint(j, "bytes", t.bytes);
	ccs_json_uint(j, "wrs", t.completions);
	ccs_json_uint(j, "segments", t.segments);
	ccs_json_uint(j, "wrs_posted", t.posts);
	ccs_json_num(j, "gated_us", (double)t.gated_ns / 1e3);
	ccs_json_uint(j, "rtt_samples", t.samples);
	ccs_json_uint(j, "rp_cnp_handled", t.cnps);
	ccs_json_uint(j, "losses", t.losses);
	ccs_json_end(j);
}

static double age_us(const struct stat_snapshot *s, uint64_t then_ns)
{
	return s->now_ns > then_ns ? (double)(s->now_ns - then_ns) / 1e3 : 0;
}

static void write_qp(struct ccs_json *j, const struct stat_snapshot *s, const struct stat_qp *qp)
{
	ccs_json_object(j, NULL);
	if (qp->sums)
		ccs_json_uint(j, "queue_pairs", qp->sums);
	ccs_stats_json_qp(j, &qp->q, s->now_ns);
	if (s->since_s > 0) {
		ccs_json_str(j, "limit", stat_limits[stat_limit_of(qp, s->since_s)]);
		ccs_json_num(j, "share", stat_share(qp, s->since_s));
	}
	write_rtt(j, &qp->rtt);
	ccs_json_num(j, "age_us", age_us(s, qp->q.created_ns));
	ccs_json_num(j, "idle_us", age_us(s, qp->q.updated_ns));
	ccs_json_end(j);
}

void stat_json_terms(struct ccs_json *j, const struct ccs_terms *t)
{
	if (!(t->weight > 0))
		return;
	ccs_json_num(j, "weight", t->weight);
	ccs_json_num(j, "cap_bps", t->cap);
	ccs_json_num(j, "guarantee_bps", t->guarantee);
	ccs_json_str(j, "class", t->floor > 0 ? "background" : "foreground");
}

static void write_process(struct ccs_json *j, const struct stat_snapshot *s,
			  const struct stat_process *p)
{
	const struct ccs_job job = stat_job(&p->h);

	ccs_json_object(j, NULL);
	ccs_json_uint(j, "pid", p->h.pid);
	if (p->inner_pid)
		ccs_json_uint(j, "inner_pid", p->inner_pid);
	ccs_json_str(j, "program", p->h.program);
	ccs_json_str(j, "version", p->h.version);
	ccs_json_uint(j, "uid", p->h.uid);
	if (*job.host)
		ccs_json_str(j, "host", job.host);
	ccs_job_json(j, &job);
	if (*p->tenant)
		ccs_json_str(j, "tenant", p->tenant);
	if (*p->tenant)
		stat_json_terms(j, &p->terms);
	ccs_json_str(j, "mode", p->h.mode);
	ccs_json_str(j, "cc", p->h.cc);
	if (*p->h.missing_feedback)
		ccs_json_str(j, "missing_feedback", p->h.missing_feedback);
	if (stat_refusal(&p->h))
		ccs_json_str(j, "refused_request", stat_refusal(&p->h));
	ccs_json_num(j, "age_us", age_us(s, p->h.created_ns));
	ccs_json_uint(j, "qps_controlled", p->h.qps);
	ccs_json_uint(j, "qps_unshown", p->h.qps_unshown);
	write_uncontrolled(j, &p->h);
	write_totals(j, p);
	ccs_json_array(j, "qps");
	for (size_t i = 0; i < p->count; i++)
		write_qp(j, s, &p->qp[i]);
	ccs_json_end(j);
	ccs_json_end(j);
}

void stat_json(const struct stat_snapshot *s, bool one_line, FILE *out)
{
	struct ccs_json j;

	(one_line ? ccs_json_start_line : ccs_json_start)(&j, out);
	ccs_json_object(&j, NULL);
	ccs_document_head(&j, (double)(s->unix_ns / 1000) / 1e6);
	if (s->since_s > 0)
		ccs_json_num(&j, "interval_s", s->since_s);
	if (s->by)
		ccs_json_str(&j, "by", stat_bys[s->by]);
	ccs_json_array(&j, "processes");
	for (size_t i = 0; i < s->count; i++)
		write_process(&j, s, &s->process[i]);
	ccs_json_finish(&j);
}
