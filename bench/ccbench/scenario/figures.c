/* SPDX-License-Identifier: BSD-2-Clause */
#include "figures.h"

#include <math.h>
#include <stdlib.h>

/* Bytes of headers. */
enum {
	ETHERNET = 14, IPV4 = 20, IPV6 = 40, UDP = 8, BTH = 12, ICRC = 4,
	RETH = 16, AETH = 4,
};

uint64_t wire_packets(const struct wire *w)
{
	return w->size == 0 ? 1 : (w->size + w->mtu - 1) / w->mtu;
}

/* Extended headers of one message: RETH on the first packet of a write, AETH on the first
 * and the last packet of a read's response. */
static unsigned extended_headers(const struct wire *w)
{
	switch (w->op) {
	case OP_WRITE:
		return RETH;
	case OP_READ:
		return wire_packets(w) > 1 ? 2 * AETH : AETH;
	case OP_SEND:
		break;
	}
	return 0;
}

double wire_bytes(const struct wire *w)
{
	unsigned header = ETHERNET + (w->ipv6 ? IPV6 : IPV4) + UDP + BTH + ICRC;
	uint64_t padded = (w->size + 3) / 4 * 4;

	return (double)padded + (double)wire_packets(w) * header + extended_headers(w);
}

double wire_capacity(const struct wire *w, double link_bps)
{
	return link_bps * (double)w->size / wire_bytes(w);
}

double jain_index(double sum, double squares, size_t n)
{
	return squares > 0 ? sum * sum / ((double)n * squares) : NAN;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double nearest_rank(const double *sorted, size_t n, double q)
{
	size_t rank = (size_t)ceil(q * (double)n - 1e-9);

	return sorted[rank > 0 ? rank - 1 : 0];
}

struct spread spread_of(double *v, size_t n)
{
	struct spread s = { .n = n, .mean = NAN, .p50 = NAN, .p90 = NAN, .p95 = NAN,
			    .p99 = NAN, .p999 = NAN, .max = NAN };
	double sum = 0;

	if (n == 0)
		return s;
	qsort(v, n, sizeof(*v), by_value);
	for (size_t i = 0; i < n; i++)
		sum += v[i];
	s.mean = sum / (double)n;
	s.p50 = nearest_rank(v, n, 0.50);
	s.p90 = nearest_rank(v, n, 0.90);
	s.p95 = nearest_rank(v, n, 0.95);
	s.p99 = nearest_rank(v, n, 0.99);
	s.p999 = nearest_rank(v, n, 0.999);
	s.max = v[n - 1];
	return s;
}

struct repeats repeats_of(double *v, size_t n)
{
	size_t i, k = 0;

	for (i = 0; i < n; i++)
		if (!isnan(v[i]))
			v[k++] = v[i];
	if (!k)
		return (struct repeats){ NAN, NAN, NAN };
	qsort(v, k, sizeof(*v), by_value);
	return (struct repeats){ (v[(k - 1) / 2] + v[k / 2]) / 2, v[0], v[k - 1] };
}

struct prediction predict_rtt(const struct backlog *b, const struct wire *w)
{
	struct prediction p = { .bound = "depth", .rtt_us = NAN };
	double packets = (double)wire_packets(w) * b->depth;
	double standing;

	p.outstanding = wire_bytes(w) * b->depth;
	if (b->max_packets && packets > b->max_packets) {
		p.outstanding *= b->max_packets / packets;
		p.bound = "unacked packets";
	}
	standing = b->flows * p.outstanding;
	if (standing > b->queue_bytes) { /* false for NAN */
		standing = b->queue_bytes;
		p.bound = "queue";
	}
	/* Then the queue is at the senders, not at the bottleneck. */
	if (b->feed_bps > 0 && b->feed_bps <= b->link_bps) {
		p.bound = "senders' links";
		return p;
	}
	if (b->link_bps > 0)
		p.rtt_us = standing * 8e6 / b->link_bps;
	return p;
}

/* About 1 MB outstanding per QP: 16 messages of 64 KB, 2 of 1 MB; 128 small messages as perftest. */
unsigned default_depth(uint64_t size)
{
	uint64_t depth = (1u << 20) / size;

	return depth < 2 ? 2 : depth > 128 ? 128 : (unsigned)depth;
}
