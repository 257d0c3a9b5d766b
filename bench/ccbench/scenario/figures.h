/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_FIGURES_H
#define BENCH_FIGURES_H
/* The arithmetic of the report. Pure. Unknown values are NAN, which is null in JSON. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum bench_op { OP_WRITE, OP_READ, OP_SEND };

/* The form of a message on the wire. */
struct wire {
	enum bench_op op;
	uint32_t mtu;   /* path MTU */
	bool ipv6;
	uint64_t size;  /* message size, bytes */
};

/* Packets of a message, and its bytes as a Linux queue counts them: with the Ethernet header. */
uint64_t wire_packets(const struct wire *w);
double wire_bytes(const struct wire *w);

/* The maximum payload that a link of link_bps can carry, bit/s. */
double wire_capacity(const struct wire *w, double link_bps);

/* Messages outstanding by default: about 1 MB. */
unsigned default_depth(uint64_t size);

/* Jain's fairness index, (sum x)^2 / (n sum x^2), from the sums; NAN without traffic. */
double jain_index(double sum, double squares, size_t n);

struct spread {
	size_t n;
	double mean, p50, p90, p95, p99, p999, max; /* NAN where n is 0 */
};

/* The number of samples of which one is above percentile q; with fewer it is the largest. */
static inline size_t spread_needs(double q)
{
	return (size_t)(1 / (1 - q) + 0.5);
}

/* Sorts v. Percentiles by nearest rank: always a value that occurred. */
struct spread spread_of(double *v, size_t n);

/* A value of several repeats. */
struct repeats { double median, min, max; };

/* Sorts v. NANs are left out; the result is NAN without other values. */
struct repeats repeats_of(double *v, size_t n);

/*
 * eRPC's formula for the RTT through the bottleneck without congestion control: every flow keeps its
 * maximum outstanding, and these bytes are in one queue, up to its limit.
 * RTT = flows x outstanding x 8 / C.
 */
struct backlog {
	unsigned flows, depth;
	uint32_t max_packets;     /* unacknowledged per QP; 0: no such limit */
	double link_bps;
	double feed_bps;          /* total rate of the senders' links; 0: unknown */
	double queue_bytes;       /* limit of the queue; NAN: unknown */
};

struct prediction {
	double outstanding;       /* wire bytes per flow */
	double rtt_us;            /* NAN: unknown */
	const char *bound;        /* "depth", "unacked packets", "queue", "senders' links" */
};

struct prediction predict_rtt(const struct backlog *b, const struct wire *w);

#endif
