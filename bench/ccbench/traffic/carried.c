/* SPDX-License-Identifier: BSD-2-Clause */
#include "carried.h"

#include <math.h>

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

	if (f->sizes == SIZES_FIXED)
		return message_bytes(r, f, f->size) / (double)f->size;
	for (size_t k = 0; k < r->samples[i].n; k++) {
		payload += (double)r->samples[i].v[k].size;
		wire += message_bytes(r, f, r->samples[i].v[k].size);
	}
	return payload > 0 ? wire / payload : 1;
}

double carried_bytes(const struct run *r, int64_t from, int64_t to)
{
	double bytes = 0;

	for (unsigned i = 0; i < r->flows->n; i++)
		if (!r->o->kind->to_one || r->flows->v[i].dst == 0) /* responses go other ways */
			bytes += expansion(r, i) * (curve_at(&r->flow[i]->curve, to) -
						    curve_at(&r->flow[i]->curve, from));
	return bytes;
}

double carried_most_bps(const struct run *r)
{
	bool seen[MAX_HOSTS] = { false };
	double sum = 0;

	if (r->o->kind->trunk || r->o->kind->to_one)
		return r->o->link.rate_bps;
	for (unsigned i = 0; i < r->flows->n; i++) {
		const unsigned host = r->flows->v[i].dst;

		if (!seen[host])
			sum += host && r->o->link.nic_bps > 0 ? r->o->link.nic_bps
							      : r->o->link.rate_bps;
		seen[host] = true;
	}
	return sum;
}

static bool all_to_first(const struct run *r)
{
	for (unsigned i = 0; i < r->flows->n; i++)
		if (r->flows->v[i].dst != 0)
			return false;
	return true;
}

double carried_retransmitted(const struct run *r)
{
	const struct sampler *s = &r->sampler;
	double wire;

	if (!all_to_first(r) || !s->n || s->final.t <= r->start)
		return NAN;
	wire = (double)(s->final.s.bytes - s->v[0].s.bytes);
	return wire > 0 ? 1 - carried_bytes(r, r->start, s->final.t) / wire : NAN;
}
