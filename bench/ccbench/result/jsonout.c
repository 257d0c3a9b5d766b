/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the report as JSON. Unknown values are null. */

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "bench/ccbench/scenario/scenario.h"
#include "report.h"
#include "rows.h"
#include "tools/common/json_read.h"

static void write_spread(struct ccs_json *j, const char *key, const struct spread *s)
{
	ccs_json_object(j, key);
	ccs_json_uint(j, "samples", s->n);
	ccs_json_num(j, "mean", s->mean);
	ccs_json_num(j, "p50", s->p50);
	ccs_json_num(j, "p90", s->p90);
	ccs_json_num(j, "p99", s->p99);
	ccs_json_num(j, "p999", s->p999);
	ccs_json_num(j, "max", s->max);
	ccs_json_end(j);
}

static void write_series(struct ccs_json *j, const char *key, const double *v)
{
	ccs_json_array(j, key);
	for (unsigned bin = 0; bin < BINS; bin++)
		ccs_json_num(j, NULL, round(v[bin]));
	ccs_json_end(j);
}

static void write_flow(struct ccs_json *j, const struct flow_report *f)
{
	ccs_json_object(j, NULL);
	ccs_json_uint(j, "host", f->host);
	ccs_json_uint(j, "peer", f->peer);
	ccs_json_uint(j, "qp", f->qp);
	ccs_json_uint(j, "lqpn", f->qpn);
	ccs_json_num(j, "goodput_bps", f->goodput);
	ccs_json_num(j, "share", f->share);
	ccs_json_uint(j, "messages", f->messages);
	ccs_json_uint(j, "errors", f->errors);
	if (f->errors)
		ccs_json_str(j, "status", f->status);
	ccs_json_object(j, "message_latency_us");
	ccs_json_uint(j, "samples", f->timed);
	ccs_json_num(j, "p50", f->latency.p50);
	ccs_json_num(j, "p90", f->latency.p90);
	ccs_json_num(j, "p99", f->latency.p99);
	ccs_json_num(j, "p999", f->latency.p999);
	ccs_json_num(j, "max", f->latency.max);
	ccs_json_end(j);
	write_series(j, "rate_bps", f->rate);
	ccs_json_end(j);
}

static void write_sanity(struct ccs_json *j, const struct report *p)
{
	if (!p->unshaped) {
		ccs_json_str(j, "sanity", NULL);
		return;
	}
	ccs_json_object(j, "sanity");
	ccs_json_num(j, "outstanding_bytes", p->predicted.outstanding);
	ccs_json_str(j, "bound", p->predicted.bound);
	ccs_json_num(j, "predicted_rtt_us", p->predicted.rtt_us);
	ccs_json_num(j, "victim_p50_us", p->victim.p50);
	ccs_json_num(j, "queue_mean_us", p->run->o->link.rate_bps > 0 ?
		     p->queue.mean * 8e6 / p->run->o->link.rate_bps : NAN);
	ccs_json_end(j);
}

/* The options of the run, so that a file is self-contained. */
static void write_conditions(struct ccs_json *j, const struct run *r)
{
	const struct opts *o = r->o;

	ccs_json_num(j, "duration_s", (double)(r->end - r->start) / 1e9);
	ccs_json_num(j, "warmup_s", (double)(r->measure - r->start) / 1e9);
	ccs_json_uint(j, "seed", r->seed);
	ccs_json_uint(j, "repeat", r->repeat);
	ccs_json_str(j, "op", op_name(o->op));
	ccs_json_uint(j, "hosts", r->hosts);
	ccs_json_str(j, "provider", *r->provider ? r->provider : NULL);
	ccs_json_uint(j, "senders", o->senders);
	ccs_json_str(j, "sizes", sizes_name(o->sizes));
	ccs_json_num(j, "load", o->load > 0 ? o->load : NAN);
	ccs_json_uint(j, "size", o->size);
	ccs_json_uint(j, "depth", o->depth);
	ccs_json_uint(j, "qps", o->qps);
	ccs_json_uint(j, "qp_pool", o->qp_pool);
	ccs_json_uint(j, "path_mtu", r->mtu);
	ccs_json_uint(j, "tclass", o->tclass);
	ccs_json_num(j, "queue_limit_bytes", o->link.queue_bytes);
	ccs_json_num(j, "nic_bps", o->link.nic_bps > 0 ? o->link.nic_bps : NAN);
	ccs_json_str(j, "qdisc", r->sampled ? r->sampler.kind : NULL);
	ccs_json_num(j, "sampler_period_us", r->sampled ? (double)r->sampler.period / 1e3 : NAN);
	ccs_json_uint(j, "sampler_samples", r->sampler.n);
}

/* A worker that was killed may have left a part of its report. */
static bool is_json(const char *text)
{
	struct json_read j = { .text = text, .at = text };

	return text && json_skip(&j) && json_end(&j);
}

/* The reports of the shim, which are JSON already. */
static void write_shim(struct ccs_json *j, const struct run *r)
{
	if (!r->setting->preload) {
		ccs_json_str(j, "shim", NULL);
		return;
	}
	ccs_json_array(j, "shim");
	for (unsigned i = 0; i < opts_hosts(r->o); i++) {
		ccs_json_object(j, NULL);
		ccs_json_str(j, "device", r->o->device[i]);
		fprintf(j->f, ", \"report\": %s",
			r->shim && is_json(r->shim[i]) ? r->shim[i] : "null");
		ccs_json_end(j);
	}
	ccs_json_end(j);
}

/* For each class of sizes with messages. */
static void write_slowdown(struct ccs_json *j, const struct report *p)
{
	if (!p->slowed) {
		ccs_json_str(j, "slowdown", NULL);
		return;
	}
	ccs_json_array(j, "slowdown");
	for (unsigned class = 0; class < SIZE_CLASSES; class++) {
		const struct spread *s = &p->slowdown.spread[class];
		uint64_t limit = size_class_limit(class);

		if (!s->n)
			continue;
		ccs_json_object(j, NULL);
		ccs_json_str(j, "class", size_class_name(class));
		ccs_json_num(j, "max_bytes", limit ? (double)limit : NAN);
		ccs_json_uint(j, "messages", s->n);
		ccs_json_num(j, "p50", s->p50);
		ccs_json_num(j, "p95", s->p95);
		ccs_json_num(j, "p99", s->p99);
		ccs_json_end(j);
	}
	ccs_json_end(j);
}

static void write_convergence(struct ccs_json *j, const struct report *p)
{
	ccs_json_object(j, "convergence");
	ccs_json_uint(j, "events", p->convergence.events);
	ccs_json_uint(j, "reached", p->convergence.reached);
	ccs_json_num(j, "worst_us", p->converged_us);
	ccs_json_end(j);
}

/* The range of the repeats of each setting. */
static void write_spreads(struct ccs_json *j, const struct report *p, unsigned n, unsigned repeats)
{
	const struct row *row;
	struct repeats v;

	ccs_json_array(j, "spread");
	for (unsigned i = 0; i < n; i++) {
		ccs_json_object(j, NULL);
		ccs_json_str(j, "cc", p[i].run->setting->name);
		ccs_json_uint(j, "runs", repeats);
		for (row = rows; row->title; row++) {
			v = row_repeats(row, p, i, n, repeats);
			ccs_json_object(j, row->key);
			ccs_json_num(j, "median", v.median);
			ccs_json_num(j, "min", v.min);
			ccs_json_num(j, "max", v.max);
			ccs_json_end(j);
		}
		ccs_json_end(j);
	}
	ccs_json_end(j);
}

static void write_tenants(struct ccs_json *j, const struct report *p)
{
	const struct opts *o = p->run->o;

	if (!o->kind->tenants) {
		ccs_json_str(j, "tenants", NULL);
		return;
	}
	ccs_json_array(j, "tenants");
	for (unsigned i = 0; i < o->tenants.n; i++) {
		const struct tenant_report *t = &p->tenant[i];

		ccs_json_object(j, NULL);
		ccs_json_uint(j, "tenant", i + 1);
		ccs_json_uint(j, "qps", o->tenants.v[i].qps);
		ccs_json_uint(j, "hosts", o->tenants.v[i].hosts);
		ccs_json_num(j, "weight", o->tenants.v[i].weight);
		ccs_json_num(j, "goodput_bps", t->goodput);
		ccs_json_num(j, "share", t->share);
		ccs_json_num(j, "share_per_weight", t->per_weight);
		ccs_json_num(j, "jain", t->jain);
		ccs_json_num(j, "p99_us", t->p99);
		ccs_json_end(j);
	}
	ccs_json_end(j);
}

static void write_run(struct ccs_json *j, const struct report *p)
{
	const struct run *r = p->run;

	ccs_json_object(j, NULL);
	ccs_json_str(j, "cc", r->setting->name);
	ccs_json_num(j, "goodput_bps", p->goodput);
	ccs_json_num(j, "bottleneck_bps", r->o->link.rate_bps > 0 ? r->o->link.rate_bps : NAN);
	ccs_json_num(j, "utilisation", p->utilisation);
	ccs_json_num(j, "jain", p->jain);
	ccs_json_num(j, "jain_min_window", p->jain_min);
	ccs_json_num(j, "jain_window_s", p->jain_window);
	ccs_json_num(j, "drops", p->drops);
	ccs_json_num(j, "drops_after_warmup", p->drops_after);
	ccs_json_num(j, "marks", p->marks);
	ccs_json_num(j, "wire_bps", p->wire_bps);
	ccs_json_num(j, "retransmitted_share", p->retransmitted);
	ccs_json_num(j, "waited_share", p->waited);
	ccs_json_num(j, "fallback_share", p->fallback);
	ccs_json_str(j, "fallback", *r->inforce.cc ? r->inforce.cc : NULL);
	write_spread(j, "queue_bytes", &p->queue);
	write_spread(j, "victim_latency_us", &p->victim);
	write_spread(j, "message_latency_us", &p->slow);
	write_spread(j, "operation_us", &p->operation);
	ccs_json_num(j, "operation_slowdown", p->slower);
	write_tenants(j, p);
	write_slowdown(j, p);
	write_convergence(j, p);
	ccs_json_uint(j, "victim_samples", p->victim.n);
	ccs_json_uint(j, "victim_failed", p->victim_failed);
	ccs_json_uint(j, "errors", p->errors);
	write_sanity(j, p);
	write_conditions(j, r);
	ccs_json_array(j, "flows");
	for (unsigned i = 0; i < p->nflows; i++)
		write_flow(j, &p->flow[i]);
	ccs_json_end(j);
	ccs_json_num(j, "bin_s", p->bin);
	write_series(j, "queue_series_bytes", p->queue_bin);
	write_shim(j, r);
	ccs_json_end(j);
}

/* The times through the empty network to each host, by size. */
static void write_unloaded(struct ccs_json *j, const struct unloaded *u, unsigned hosts)
{
	if (!u) {
		ccs_json_str(j, "unloaded", NULL);
		return;
	}
	ccs_json_array(j, "unloaded");
	for (unsigned host = 0; host < hosts; host++) {
		ccs_json_object(j, NULL);
		ccs_json_uint(j, "host", host + 1);
		ccs_json_array(j, "size");
		for (unsigned step = 0; step < LADDER_STEPS; step++)
			ccs_json_uint(j, NULL, sizes_ladder[step]);
		ccs_json_end(j);
		ccs_json_array(j, "us");
		for (unsigned step = 0; step < LADDER_STEPS; step++)
			ccs_json_num(j, NULL, u[host].us[step]);
		ccs_json_end(j);
		ccs_json_end(j);
	}
	ccs_json_end(j);
}

int json_write(const char *file, const struct report *p, unsigned n, unsigned repeats,
	       const struct unloaded *unloaded)
{
	const struct opts *o = p->run->o;
	FILE *f = fopen(file, "we");
	struct ccs_json j;
	char title[256];
	bool ok;

	if (!f) {
		fprintf(stderr, "ccbench: %s: %s\n", file, strerror(errno));
		return -1;
	}
	ccs_document_start(&j, f, ccs_document_now());
	ccs_json_str(&j, "scenario", opts_title(o, title, sizeof(title)));
	ccs_json_str(&j, "bench", o->kind->name);
	ccs_json_str(&j, "engine", o->engine);
	ccs_json_str(&j, "clock", o->time);
	ccs_json_array(&j, "runs");
	for (unsigned i = 0; i < n * repeats; i++)
		write_run(&j, &p[i]);
	ccs_json_end(&j);
	write_spreads(&j, p, n, repeats);
	write_unloaded(&j, unloaded, opts_hosts(o));
	ok = ccs_json_finish(&j);
	if (fclose(f) || !ok) {
		fprintf(stderr, "ccbench: %s: cannot write: %s\n", file, strerror(errno));
		return -1;
	}
	return 0;
}
