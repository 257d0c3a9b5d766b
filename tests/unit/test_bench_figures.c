/* SPDX-License-Identifier: BSD-2-Clause */
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/ccbench/result/shares.h"
#include "bench/ccbench/scenario/figures.h"
#include "seed.h"

#define SECOND 1000000000ll

/* Flows with the given bytes completed in the first second, which were active all the time. */
static struct sharer *sharers(const uint64_t *bytes, size_t n)
{
	static struct curve curve[4];
	static struct sharer v[4];
	size_t i;

	for (i = 0; i < n; i++) {
		curve_start(&curve[i], 0, 1);
		curve_add(&curve[i], SECOND, bytes[i]);
		v[i] = (struct sharer){ &curve[i], 0, SECOND };
	}
	return v;
}

static double jain(const uint64_t *bytes, size_t n)
{
	return fairness_of(sharers(bytes, n), n, 0, SECOND, SECOND).jain;
}

TEST(jain_of_equals_is_one)
{
	const uint64_t same[] = { 3, 3, 3, 3 }, one[] = { 5, 0, 0, 0 }, some[] = { 1, 2, 3 };

	assert_float_equal(jain(same, 4), 1, 1e-12);
	assert_float_equal(jain(one, 4), 0.25, 1e-12);
	assert_float_equal(jain(some, 3), 36.0 / 42, 1e-12);
	assert_float_equal(jain(one, 1), 1, 1e-12);
}

TEST(jain_of_nothing_is_unknown)
{
	const uint64_t nothing[] = { 0, 0 };

	assert_true(isnan(jain(nothing, 0)));
	assert_true(isnan(jain(nothing, 2)));
	assert_true(isnan(fairness_of(sharers(nothing, 2), 2, 5, 5, SECOND).jain));
}

/* The time in which a flow did not want to send does not count as unfairness. */
TEST(jain_is_of_flows_that_are_there_all_along)
{
	const uint64_t some[] = { 2, 1 };
	struct sharer *v = sharers(some, 2);

	v[1].from = SECOND / 2;
	assert_true(isnan(fairness_of(v, 2, 0, SECOND, SECOND).jain));
	assert_true(isnan(fairness_of(v, 2, 0, SECOND, SECOND / 4).worst));
	assert_false(isnan(fairness_of(v, 2, SECOND / 2, SECOND, SECOND).jain));
	v[0].to = SECOND - 1;
	assert_true(isnan(fairness_of(v, 2, SECOND / 2, SECOND, SECOND).jain));
}

/* Nearest rank has no sample above the 99th percentile of 99. */
TEST(a_percentile_needs_a_sample_above_it)
{
	assert_int_equal(spread_needs(0.5), 2);
	assert_int_equal(spread_needs(0.9), 10);
	assert_int_equal(spread_needs(0.95), 20);
	assert_int_equal(spread_needs(0.99), 100);
	assert_int_equal(spread_needs(0.999), 1000);
}

/* Bytes of a write on the wire at MTU 1024: 64 packets of 58 bytes of headers, one RETH. */
TEST(overhead_of_each_operation)
{
	struct wire w = { .op = OP_WRITE, .mtu = 1024, .size = 65536 };

	assert_int_equal(wire_packets(&w), 64);
	assert_float_equal(wire_bytes(&w), 65536 + 64 * 58 + 16, 1e-9);
	w.op = OP_SEND;
	assert_float_equal(wire_bytes(&w), 65536 + 64 * 58, 1e-9);
	w.op = OP_READ;
	assert_float_equal(wire_bytes(&w), 65536 + 64 * 58 + 8, 1e-9);
	w.ipv6 = true;
	assert_float_equal(wire_bytes(&w), 65536 + 64 * 78 + 8, 1e-9);
	w = (struct wire){ .op = OP_WRITE, .mtu = 4096, .size = 61 };
	assert_float_equal(wire_bytes(&w), 64 + 58 + 16, 1e-9); /* padded to 4 */
}

/* The lab's single flow: 189 of 200 Mb/s at MTU 1024, 197 at 4096. */
TEST(capacity_is_what_one_flow_reaches)
{
	struct wire w = { .op = OP_WRITE, .mtu = 1024, .size = 65536 };

	assert_float_equal(wire_capacity(&w, 200e6) / 1e6, 189.2, 0.1);
	w.mtu = 4096;
	assert_float_equal(wire_capacity(&w, 200e6) / 1e6, 197.2, 0.1);
}

TEST(percentiles_are_values_that_occurred)
{
	double v[1000];
	struct spread s;
	unsigned i;

	for (i = 0; i < 1000; i++)
		v[i] = 1000 - i;
	s = spread_of(v, 1000);
	assert_float_equal(s.p50, 500, 0);
	assert_float_equal(s.p90, 900, 0);
	assert_float_equal(s.p99, 990, 0);
	assert_float_equal(s.p999, 999, 0);
	assert_float_equal(s.max, 1000, 0);
	assert_float_equal(s.mean, 500.5, 1e-9);
	s = spread_of(v, 1);
	assert_float_equal(s.p50, 1, 0);
	assert_float_equal(s.max, 1, 0);
	s = spread_of(v, 0);
	assert_true(isnan(s.mean) && isnan(s.p50) && isnan(s.max));
}

/* Two flows that take turns, second by second: fair on the whole, unfair in any window. */
TEST(windows_show_what_the_whole_hides)
{
	struct curve *c = calloc(2, sizeof(*c));
	const struct sharer flow[] = { { &c[0], 0, 4 * SECOND }, { &c[1], 0, 4 * SECOND } };
	uint64_t bytes[2] = { 0 };
	unsigned k;

	curve_start(&c[0], 0, 1);
	curve_start(&c[1], 0, 1);
	for (k = 0; k < 4; k++) {
		bytes[k % 2] += 1000;
		curve_add(&c[0], (k + 1) * SECOND, bytes[0]);
		curve_add(&c[1], (k + 1) * SECOND, bytes[1]);
	}
	assert_float_equal(fairness_of(flow, 2, 0, 4 * SECOND, 4 * SECOND).worst, 1, 1e-9);
	assert_float_equal(fairness_of(flow, 2, 0, 4 * SECOND, SECOND).worst, 0.5, 1e-9);
	/* A window longer than the time is the time. */
	assert_float_equal(fairness_of(flow, 2, 0, 2 * SECOND, 9 * SECOND).worst, 1, 1e-9);
	/* The last part counts although no whole window starts in it: flow 1 stops at 2 s. */
	curve_start(&c[0], 0, 1);
	curve_start(&c[1], 0, 1);
	curve_add(&c[0], 3 * SECOND, 3000);
	curve_add(&c[1], 2 * SECOND, 2000);
	assert_float_equal(fairness_of(flow, 2, 0, 2 * SECOND, 2 * SECOND).worst, 1, 1e-9);
	assert_float_equal(fairness_of(flow, 2, 0, 3 * SECOND, 2 * SECOND).worst, 0.9, 1e-6);
	free(c);
}

TEST(rtt_is_bounded_by_what_binds)
{
	struct wire w = { .op = OP_WRITE, .mtu = 1024, .size = 65536 };
	struct backlog b = { .flows = 4, .depth = 1, .link_bps = 200e6, .queue_bytes = NAN };
	struct prediction p = predict_rtt(&b, &w);

	assert_string_equal(p.bound, "depth");
	assert_float_equal(p.rtt_us, 4 * wire_bytes(&w) * 8 / 200, 1e-6);
	b.depth = 16;
	b.max_packets = 128;
	p = predict_rtt(&b, &w);
	assert_string_equal(p.bound, "unacked packets");
	assert_float_equal(p.outstanding, 2 * wire_bytes(&w), 1e-6);
	b.queue_bytes = 262144;
	p = predict_rtt(&b, &w);
	assert_string_equal(p.bound, "queue");
	assert_float_equal(p.rtt_us, 262144 * 8 / 200.0, 1e-6);
	b.feed_bps = 200e6;
	p = predict_rtt(&b, &w);
	assert_string_equal(p.bound, "senders' links");
	assert_true(isnan(p.rtt_us));
	b.link_bps = 0;
	assert_true(isnan(predict_rtt(&b, &w).rtt_us));
}
