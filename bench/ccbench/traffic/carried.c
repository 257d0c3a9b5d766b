/* SPDX-License-Identifier: BSD-2-Clause */
#include "carried.h"

#include <math.h>

#define BLUR_MAX 0.1 /* more, and retransmitted is not known */

static double message_bytes(const struct run *r, const struct flow_spec *f, uint64_t size)
{
	struct wire w = { .op = (enum bench_op)f->op, .mtu = r->mtu, .ipv6 = r->ipv6,
			  .size = f->wr_size };
	double bytes = 0;

	if (size >= w.size)
		bytes = (double)(size / w.size) * wire_bytes(&w);
	w.size = size % w.size;
	return w.size ? bytes + wire_bytes(&w) : bytes;
}

/* Bytes on the wire for each byte of a flow's payload. */
static double expansion(const struct run *r, unsigned i)
{
	const struct flow_spec *f = &r->flows->v[i];
	double payload = 0, wire = 0;
	size_t k;

	if (f->sizes == SIZES_FIXED)
		return message_bytes(r, f, f->size) / (double)f->size;
	for (k = 0; k < r->samples[i].n; k++) {
		payload += (double)r->samples[i].v[k].size;
		wire += message_bytes(r, f, r->samples[i].v[k].size);
	}
	return payload > 0 ? wire / payload : 1;
}

double carried_bytes(const struct run *r, int64_t from, int64_t to)
{
	double bytes = 0;
	unsigned i;

	for (i = 0; i < r->flows->n; i++)
		if (!r->o->kind->to_one || r->flows->v[i].dst == 0) /* responses go other ways */
			bytes += expansion(r, i) * (curve_at(&r->flow[i]->curve, to) -
						    curve_at(&r->flow[i]->curve, from));
	return bytes;
}

double carried_most_bps(const struct run *r)
{
	bool seen[MAX_HOSTS] = { false };
	double sum = 0;
	unsigned i;

	if (r->o->kind->trunk || r->o->kind->to_one)
		return r->o->link.rate_bps;
	for (i = 0; i < r->flows->n; i++) {
		const unsigned host = r->flows->v[i].dst;

		if (!seen[host])
			sum += host && r->o->link.nic_bps > 0 ? r->o->link.nic_bps
							      : r->o->link.rate_bps;
		seen[host] = true;
	}
	return sum;
}

/* Bytes on the wire of messages under way at t: how much of them has been sent is not known. */
static double under_way(const struct run *r, int64_t t)
{
	double bytes = 0;
	unsigned i;

	for (i = 0; i < r->flows->n; i++)
		bytes += expansion(r, i) * curve_piece(&r->flow[i]->curve, t);
	return bytes;
}

static bool all_to_first(const struct run *r)
{
	unsigned i;

	for (i = 0; i < r->flows->n; i++)
		if (r->flows->v[i].dst != 0)
			return false;
	return true;
}

/* The last sample by the end of the run's time. */
static const struct sample *at_end(const struct run *r)
{
	size_t i = r->sampler.n;

	while (i > 1 && r->sampler.v[i - 1].t >= r->end + r->sampler.period)
		i--;
	return &r->sampler.v[i - 1];
}

double carried_retransmitted(const struct run *r)
{
	const struct sampler *s = &r->sampler;
	const struct sample *to;
	double wire, blur, longer;

	if (!all_to_first(r) || !s->n || r->end <= r->start)
		return NAN;
	to = at_end(r);
	wire = (double)(to->s.bytes - s->v[0].s.bytes);
	blur = under_way(r, to->t) / wire;
	longer = (double)(s->final.t - r->end) / (double)(r->end - r->start);
	if (!(blur <= longer)) {
		to = &s->final;
		wire = (double)(to->s.bytes - s->v[0].s.bytes);
		blur = longer;
	}
	return wire > 0 && blur <= BLUR_MAX ? 1 - carried_bytes(r, r->start, to->t) / wire : NAN;
}
