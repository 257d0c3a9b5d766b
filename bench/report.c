/* SPDX-License-Identifier: BSD-2-Clause */
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static void flow_figures(struct report *p, unsigned i)
{
	const struct run *r = p->run;
	const struct proto_flow *f = r->flow[i];
	struct flow_report *to = &p->flow[i];
	unsigned bin;

	to->host = 2 + i / r->o->qps;
	to->qp = i % r->o->qps;
	to->qpn = f->qpn;
	to->goodput = curve_rate(&f->curve, r->measure, r->end);
	to->messages = f->messages;
	to->errors = f->errors;
	to->status = f->status;
	to->latency.p50 = (double)ccs_hist_percentile(&f->latency, 0.5) / 1e3;
	to->latency.p90 = (double)ccs_hist_percentile(&f->latency, 0.9) / 1e3;
	to->latency.p99 = (double)ccs_hist_percentile(&f->latency, 0.99) / 1e3;
	to->latency.p999 = (double)ccs_hist_percentile(&f->latency, 0.999) / 1e3;
	to->latency.max = (double)f->latency.max / 1e3;
	for (bin = 0; bin < BINS; bin++)
		to->rate[bin] = curve_rate(&f->curve, bin_start(r, bin), bin_start(r, bin + 1));
	p->goodput += to->goodput;
	p->errors += f->errors;
}

static int flows_figures(struct report *p)
{
	const struct run *r = p->run;
	const struct curve **curve = calloc(r->nflows, sizeof(*curve));
	double *goodput = calloc(r->nflows, sizeof(*goodput));
	int64_t window = r->o->rate_bps >= 10e9 ? 100000000 : 1000000000;
	unsigned i;

	p->flow = calloc(r->nflows, sizeof(*p->flow));
	if (!curve || !goodput || !p->flow) {
		free(curve);
		free(goodput);
		return -1;
	}
	for (i = 0; i < r->nflows; i++) {
		flow_figures(p, i);
		goodput[i] = p->flow[i].goodput;
		curve[i] = &r->flow[i]->curve;
	}
	for (i = 0; i < r->nflows; i++)
		p->flow[i].share = p->goodput > 0 ? goodput[i] / p->goodput : NAN;
	if (window > r->end - r->measure)
		window = r->end - r->measure;
	p->jain = jain(goodput, r->nflows);
	p->jain_min = jain_min_window(curve, r->nflows, r->measure, r->end, window);
	p->jain_window = (double)window / 1e9;
	free(curve);
	free(goodput);
	return 0;
}

static int victim_figures(struct report *p)
{
	const struct run *r = p->run;
	double *us = calloc(r->nvictim + 1, sizeof(*us));
	size_t i, n = 0;

	if (!us)
		return -1;
	for (i = 0; i < r->nvictim; i++) {
		const struct proto_sample *s = &r->victim[i];

		if (s->latency < 0)
			p->victim_failed++;
		else if (s->posted >= r->measure && s->posted < r->end)
			us[n++] = (double)s->latency / 1e3;
	}
	p->victim = spread_of(us, n);
	free(us);
	return 0;
}

/* Mean backlog by bin, for pictures; what no sample fell into repeats the bin before. */
static void queue_series(struct report *p)
{
	const struct run *r = p->run;
	unsigned bin, n[BINS] = { 0 };
	size_t i;

	for (i = 0; i < r->sampler.n; i++) {
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

/* Bytes per second that were on the wire for a reason: payload as messages, and the victim's. */
static double useful_bps(const struct report *p, int64_t from, int64_t to)
{
	struct wire wire = wire_of(p->run), ping = wire;

	ping.op = OP_WRITE;
	ping.size = p->run->o->victim_size;
	return p->goodput * wire_bytes(&wire) / (double)wire.size +
	       (double)p->victim.n * wire_bytes(&ping) * 8e9 / (double)(to - from);
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
	if (p->wire_bps > 0)
		p->retransmitted = 1 - useful_bps(p, warm->t, last->t) / p->wire_bps;
	return 0;
}

static void sanity(struct report *p)
{
	const struct run *r = p->run;
	struct wire wire = wire_of(r);
	struct backlog b = {
		.flows = r->nflows, .depth = r->o->depth,
		.max_packets = r->vendor_id == RXE_VENDOR ? RXE_UNACKED : 0,
		.link_bps = r->o->rate_bps, .feed_bps = r->o->nic_bps * r->o->senders,
		.queue_bytes = r->o->queue_bytes,
	};

	p->unshaped = !r->setting->preload || strcmp(r->setting->mode, "enforce") != 0;
	p->predicted = predict_rtt(&b, &wire);
}

int report_make(struct report *p, const struct run *r)
{
	struct wire wire = wire_of(r);

	*p = (struct report){
		.run = r, .drops = NAN, .drops_after = NAN, .marks = NAN, .wire_bps = NAN,
		.retransmitted = NAN, .utilisation = NAN,
		.bin = (double)(r->end - r->start) / 1e9 / BINS,
	};
	/* The queue after the flows and the victim: it takes their bytes off the wire's. */
	if (flows_figures(p) || victim_figures(p) || queue_figures(p)) {
		report_free(p);
		return -1;
	}
	if (r->o->rate_bps > 0)
		p->utilisation = p->goodput / wire_capacity(&wire, r->o->rate_bps);
	queue_series(p);
	sanity(p);
	return 0;
}

void report_free(struct report *p)
{
	free(p->flow);
	p->flow = NULL;
}
