/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_CURVE_H
#define BENCH_CURVE_H
/*
 * The bytes that a flow has completed, as a function of time, interpolated linearly between points.
 * Each batch of completions adds a point.
 *
 * A QP's messages complete in order, so the bytes of a message were in flight between the completion
 * of its predecessor, or its posting if that was later, and its completion. To count them at the
 * completion would cause an error of one message per flow at either end of a window; 16 flows of
 * 1 MB messages at 200 Mb/s complete less than two messages each per second.
 *
 * Memory is fixed: if points come too fast, every second point is dropped, which shifts each byte by
 * at most the resolution. Pure.
 */
#include <stddef.h>
#include <stdint.h>

#define CURVE_POINTS 4096u

struct curve_point {
	int64_t t;      /* ns */
	uint64_t bytes; /* since the start of the flow */
};

struct curve {
	int64_t resolution;  /* ns; grows when the points would not fit */
	uint32_t n;
	struct curve_point p[CURVE_POINTS];
};

/* The flow starts at t with 0 bytes. */
void curve_start(struct curve *c, int64_t t, int64_t resolution);

/* By time t, `bytes` bytes are done in total. t must not decrease. */
void curve_add(struct curve *c, int64_t t, uint64_t bytes);

/* Bytes done by t: 0 before the start, the last value after the end. */
double curve_at(const struct curve *c, int64_t t);

/* The mean rate between two times, bit/s; 0 where to <= from. */
double curve_rate(const struct curve *c, int64_t from, int64_t to);

#endif
