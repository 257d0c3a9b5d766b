/* SPDX-License-Identifier: BSD-2-Clause */
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/ccbench/traffic/carried.h"

#define RXE_VENDOR 0xffffff
#define RXE_UNACKED 128 /* packets that rxe lets be unacknowledged per QP */

static struct wire wire_of(const struct run *r)
{
	return (struct wire){ .op = r->o->op, .mtu = r->mtu, .ipv6 = r->ipv6, .size = r->o->size };
}

static int64_t bin_start(const struct run *r, unsigned bin)
{
	return r->start + (int64_t)((double)(r->end - r->start) * bin / BINS);
}

static void flow_figures(struct report *p, unsigned i, struct flow_report *to)
{
	const struct run *r = p->run;
	const struct flow_spec *spec = &r->flows->v[i];
	const struct proto_flow *f = r->flow[i];

	to->host = 1 + spec->src;
	to->peer = 1 + spec->dst;
	to->qp = spec->qp;
	to->qpn = f->qpn;
	to->goodput = curve_rate(&f->curve, r->measure, r->end);
	to->messages = f->messages;
	to->errors = f->errors;
	to->status = f->status;
	to->timed = f->latency.count;
	to->latency.p50 = (double)ccs_hist_percentile(&f->latency, 0.5) / 1e3;
	to->latency.p90 = (double)ccs_hist_percentile(&f->latency, 0.9) / 1e3;
	to->latency.p99 = (double)ccs_hist_percentile(&f->latency, 0.99) / 1e3;
	to->latency.p999 = (double)ccs_hist_percentile(&f->latency, 0.999) / 1e3;
	to->latency.max = (double)f->latency.max / 1e3;
	for (unsigned bin = 0; bin < BINS; bin++)
		to->rate[bin] = curve_rate(&f->curve, bin_start(r, bin), bin_start(r, bin + 1));
	p->goodput += to->goodput;
	p->errors += f->errors;
}

/* When a flow wants to send. */
static struct sharer sharer_of(const struct run *r, unsigned i)
{
	const struct flow_spec *f = &r->flows->v[i];

	return (struct sharer){
		.curve = &r->flow[i]->curve, .from = r->start + f->start,
		.to = f->stop == FLOW_FOREVER ? r->end : r->start + f->stop,
	};
}

/* Of flows that want as much as they can get. */
static void fairness(struct report *p, const struct sharer *v, bool greedy)
{
	const struct run *r = p->run;
	const int64_t window = r->o->link.rate_bps >= 10e9 ? 100000000 : 1000000000;
	struct fairness f = fairness_of(v, p->nflows, r->measure, r->end, window);

	p->jain_window = f.window;
	if (!greedy)
		return;
	p->jain = f.jain;
	p->jain_min = f.worst;
}

/* Where all flows share one link, and want it: how fast they come to share it. */
static void share_again(struct report *p, const struct sharer *v, bool greedy)
{
	const struct run *r = p->run;
	struct wire wire = wire_of(r);

	if (greedy && r->o->kind->to_one && !r->o->kind->tenants && !r->o->iterations)
		p->convergence = converge(v, p->nflows, r->start, r->end,
					  r->o->link.rate_bps > 0 ?
					  wire_capacity(&wire, r->o->link.rate_bps) : NAN);
	p->converged_us = p->convergence.events ? p->convergence.worst * 1e6 : NAN;
	p->converged = p->convergence.events ?
		       (double)p->convergence.reached / p->convergence.events : NAN;
}

static int flows_figures(struct report *p)
{
	const struct run *r = p->run;
	double *goodput = calloc(r->flows->n + 1, sizeof(*goodput));
	struct sharer *sharer = calloc(r->flows->n + 1, sizeof(*sharer));
	bool greedy = true;

	p->flow = calloc(r->flows->n + 1, sizeof(*p->flow));
	if (!goodput || !sharer || !p->flow) {
		free(goodput);
		free(sharer);
		return -1;
	}
	for (unsigned i = 0; i < r->flows->n; i++) {
		if (r->flows->v[i].class != CLASS_BULK)
			continue;
		greedy &= r->flows->v[i].arrival == ARRIVE_BACKLOGGED;
		flow_figures(p, i, &p->flow[p->nflows]);
		sharer[p->nflows] = sharer_of(r, i);
		goodput[p->nflows] = p->flow[p->nflows].goodput;
		p->nflows++;
	}
	for (unsigned i = 0; i < p->nflows; i++)
		p->flow[i].share = p->goodput > 0 ? goodput[i] / p->goodput : NAN;
	fairness(p, sharer, greedy);
	share_again(p, sharer, greedy);
	free(sharer);
	free(goodput);
	return 0;
}

/* Times of the messages of one class, or of its operations, us; added to the n times in us. */
static size_t class_latency(struct report *p, enum flow_class class, bool steps, double *us, size_t n)
{
	const struct run *r = p->run;

	for (unsigned i = 0; i < r->flows->n; i++) {
		const struct flow_spec *f = &r->flows->v[i];

		if (f->class != class || (f->arrival == ARRIVE_STEPS) != steps)
			continue;
		for (size_t k = 0; k < r->samples[i].n; k++) {
			const struct flow_sample *s = &r->samples[i].v[k];

			if (s->latency < 0)
				p->victim_failed += class == CLASS_LATENCY;
			else if (s->arrived >= r->measure && s->arrived < r->end)
				us[n++] = (double)s->latency / 1e3;
		}
	}
	return n;
}

static size_t samples_of(const struct run *r)
{
	size_t n = 0;

	for (unsigned i = 0; i < r->flows->n; i++)
		n += r->samples[i].n;
	return n;
}

static int latency_figures(struct report *p)
{
	double *us = calloc(samples_of(p->run) + 1, sizeof(*us));
	size_t n;

	if (!us)
		return -1;
	p->victim = spread_of(us, class_latency(p, CLASS_LATENCY, false, us, 0));
	p->slow = spread_of(us, class_latency(p, CLASS_BULK, false, us, 0));
	n = class_latency(p, CLASS_LATENCY, true, us, 0);
	p->operation = spread_of(us, class_latency(p, CLASS_BULK, true, us, n));
	free(us);
	return 0;
}

static int slowdown_figures(struct report *p, const struct unloaded *unloaded)
{
	const struct run *r = p->run;
	struct slow *v = calloc(samples_of(r) + 1, sizeof(*v));
	size_t n = 0, k;
	int ret;

	if (!v)
		return -1;
	for (unsigned i = 0; i < r->flows->n; i++) {
		for (k = 0; k < r->samples[i].n; k++) {
			const struct flow_sample *s = &r->samples[i].v[k];

			if (s->latency >= 0 && s->arrived >= r->measure && s->arrived < r->end)
				v[n++] = (struct slow){
					(double)s->latency / 1e3 /
					unloaded_us(&unloaded[r->flows->v[i].dst], s->size),
					s->size };
		}
	}
	ret = slowdown_of(&p->slowdown, v, n);
	p->slowed = n > 0;
	free(v);
	return ret;
}

void report_unloaded(struct unloaded *to, const struct run *r)
{
	for (unsigned i = 0; i < MAX_HOSTS; i++)
		unloaded_clear(&to[i]);
	for (unsigned i = 0; i < r->flows->n; i++)
		unloaded_add(&to[r->flows->v[i].dst], r->samples[i].v, r->samples[i].n);
}

/* Mean backlog by bin, for pictures; what no sample fell into repeats the bin before. */
static void queue_series(struct report *p)
{
	const struct run *r = p->run;
	unsigned bin, n[BINS] = { 0 };

	for (size_t i = 0; i < r->sampler.n; i++) {
		const struct sample *s = &r->sampler.v[i];

		if (s->t < r->start || s->t >= r->end)
			continue;
		bin = (unsigned)((double)(s->t - r->start) / (double)(r->end - r->start) * BINS);
		p->queue_bin[bin] += (double)s->s.backlog;
		n[bin]++;
	}
	for (bin = 0; bin < BINS; bin++)
		if (n[bin])
			p->queue_bin[bin] /= n[bin];
		else
			p->queue_bin[bin] = bin ? p->queue_bin[bin - 1] : NAN;
}

static int queue_figures(struct report *p)
{
	const struct run *r = p->run;
	const struct sample *first = NULL, *warm = NULL, *last = NULL;
	double *backlog = calloc(r->sampler.n + 1, sizeof(*backlog));
	size_t i, n = 0;

	if (!backlog)
		return -1;
	for (i = 0; i < r->sampler.n && r->sampler.v[i].t < r->end + r->sampler.period; i++) {
		last = &r->sampler.v[i];
		if (!first)
			first = last;
		if (last->t < r->measure)
			continue;
		if (!warm)
			warm = last;
		backlog[n++] = (double)last->s.backlog;
	}
	p->queue = spread_of(backlog, n);
	free(backlog);
	if (!warm || last->t <= warm->t)
		return 0;
	p->drops = (double)(last->s.drops - first->s.drops);
	p->drops_after = (double)(last->s.drops - warm->s.drops);
	p->marks = (double)(last->s.marks - first->s.marks);
	p->wire_bps = (double)(last->s.bytes - warm->s.bytes) * 8e9 / (double)(last->t - warm->t);
	p->retransmitted = carried_retransmitted(r);
	return 0;
}

static void sanity(struct report *p)
{
	const struct run *r = p->run;
	struct wire wire = wire_of(r);
	struct backlog b = {
		.flows = p->nflows, .depth = r->o->depth,
		.max_packets = r->vendor_id == RXE_VENDOR ? RXE_UNACKED : 0,
		.link_bps = r->o->link.rate_bps, .feed_bps = r->o->link.nic_bps * r->o->senders,
		.queue_bytes = r->o->link.queue_bytes,
	};

	p->unshaped = !r->setting->preload || strcmp(r->setting->mode, "enforce") != 0;
	p->predicted.rtt_us = NAN;
	if (!isnan(p->jain) && r->o->kind->to_one) /* all flows share one queue */
		p->predicted = predict_rtt(&b, &wire);
}

/* Bytes that the flows carried, as a share of the links' capacity. */
static double utilisation(const struct run *r)
{
	return r->o->link.rate_bps > 0 && r->end > r->measure ?
	       carried_bytes(r, r->measure, r->end) * 8e9 / (double)(r->end - r->measure) /
	       carried_most_bps(r) : NAN;
}

/* Hosts that take the time of operations. */
static unsigned timing_hosts(const struct run *r)
{
	unsigned n = 0;

	for (unsigned i = 0; i < r->flows->n; i++)
		n += r->samples[i].n > 0;
	return n;
}

/* All flows wait for others: the network is used during operations only, and their shares are those
 * of receivers. */
static void operations_figures(struct report *p)
{
	const struct run *r = p->run;
	const double measured_us = (double)(r->end - r->measure) / 1e3;
	const double busy = p->operation.mean * (double)p->operation.n / measured_us / timing_hosts(r);
	double bps[MAX_HOSTS] = { 0 }, sum = 0, squares = 0;

	if (busy > 0 && busy < 1)
		p->utilisation /= busy;
	for (unsigned i = 0; i < p->nflows; i++)
		bps[p->flow[i].peer - 1] += p->flow[i].goodput;
	for (unsigned i = 0; i < r->hosts; i++) {
		sum += bps[i];
		squares += bps[i] * bps[i];
	}
	p->jain = jain_index(sum, squares, r->hosts);
}

/* Messages that found no free queue pair in their pool. */
static double waited(const struct run *r)
{
	double messages = 0, waited = 0;

	for (unsigned i = 0; i < r->flows->n; i++) {
		messages += r->flows->v[i].pool ? (double)r->flow[i]->messages : 0;
		waited += (double)r->flow[i]->waited;
	}
	return messages > 0 ? waited / messages : NAN;
}

/* NAN for algorithms without a fallback. */
static double fallback(const struct run *r)
{
	const struct inforce *f = &r->inforce;

	return f->qps && f->sent > 0 ? f->fallback / f->sent : NAN;
}

int report_make(struct report *p, const struct run *r, const struct unloaded *unloaded)
{
	*p = (struct report){
		.run = r, .jain = NAN, .jain_min = NAN, .drops = NAN,
		.drops_after = NAN, .marks = NAN, .wire_bps = NAN,
		.retransmitted = NAN, .utilisation = utilisation(r), .waited = waited(r),
		.fallback = fallback(r), .slower = NAN, .off_weight = NAN, .jain_within = NAN,
		.bin = (double)(r->end - r->start) / 1e9 / BINS,
	};
	if (flows_figures(p) || latency_figures(p) || queue_figures(p) ||
	    (unloaded && slowdown_figures(p, unloaded))) {
		report_free(p);
		return -1;
	}
	if (r->o->kind->operations)
		operations_figures(p);
	if (r->o->kind->tenants)
		report_tenants(p);
	queue_series(p);
	sanity(p);
	return 0;
}

void report_compare(struct report *p, unsigned n, unsigned repeats)
{
	for (unsigned none = 0; none < n; none++) {
		if (p[none].run->setting->preload)
			continue;
		for (unsigned i = 0; i < n * repeats; i++)
			p[i].slower = p[i].operation.mean / p[none + i / n * n].operation.mean;
		return;
	}
}

void report_free(struct report *p)
{
	free(p->flow);
	p->flow = NULL;
}
