/* SPDX-License-Identifier: BSD-2-Clause */
/* The base RTT: struct ccs_base_rtt alone, by tables, and as part of a flow. */
#include "test.h"

#include "flow/base_rtt.h"
#include "flow_fixture.h"

#define SECOND 1000000000ull

TEST(no_sample_gives_infinity)
{
	struct ccs_base_rtt b;

	ccs_base_rtt_init(&b, 0);
	assert_true(isinf(ccs_base_rtt_us(&b, 5)));
}

/* A shorter RTT counts at once; a longer one when the window after the shorter one has ended. */
TEST(estimate_is_the_minimum_of_this_and_the_previous_window)
{
	static const struct { uint64_t at_s; double rtt_us, estimate; } rows[] = {
		{ 1, 30, 30 },
		{ 2, 40, 30 },
		{ 3, 20, 20 },
		{ 10, 50, 20 },
		{ 11, 50, 20 },  /* the second window begins; 20 was in the first */
		{ 21, 50, 20 },  /* exactly 10 s long */
		{ 22, 50, 50 },  /* the third window begins */
		{ 23, 45, 45 },
	};
	struct ccs_base_rtt b;

	ccs_base_rtt_init(&b, 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		ccs_base_rtt_add(&b, rows[i].rtt_us, 0, false, rows[i].at_s * SECOND);
		assert_true(ccs_base_rtt_us(&b, 0) == rows[i].estimate);
	}
}

/*
 * RTTs of a small segment (with its rest_us) and of a full-size segment, whose serialisation takes
 * 5 us.
 */
TEST(whole_segments_count_up_to_the_least_rtt_and_their_own_time)
{
	static const struct { double small_us, rest_us, whole_us, estimate; } rows[] = {
		{ 20, 0, INFINITY, 20 },  /* no whole segment yet */
		{ 20, 2, INFINITY, 22 },
		{ 20, 2, 24, 24 },        /* the full-size segment's RTT */
		{ 20, 2, 27, 27 },        /* 20 + 2 + 5 */
		{ 20, 2, 90, 27 },        /* the rest is a queue that never empties */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct ccs_base_rtt b;

		ccs_base_rtt_init(&b, 0);
		ccs_base_rtt_add(&b, rows[i].small_us, rows[i].rest_us, false, SECOND);
		if (!isinf(rows[i].whole_us))
			ccs_base_rtt_add(&b, rows[i].whole_us, 0, true, SECOND);
		assert_true(ccs_base_rtt_us(&b, 5) == rows[i].estimate);
	}
}

/* If no base RTT is given, it is the least RTT seen; segment and max_inflight follow. */
TEST(segment_and_max_inflight_follow_the_base_rtt)
{
	struct ccs_flow_config conf = flow_config(0);
	uint64_t now = 1000000;
	struct ccs_flow f;

	conf.base_rtt_us = conf.max_inflight = 0;
	spy_rate = INFINITY;
	open_flow(&f, &conf, 16, 144, 0);
	for (int i = 0; i < 32; i++)
		one_round_trip(&f, &now, i == 5 ? 10 : 14 + i % 3);
	assert_true(fabs(f.cc.path.base_rtt_us - 10) < 1e-9);
	assert_true(f.segments.len >= 4096 && f.segments.len <= 65536);
	assert_int_equal(f.segments.len & (f.segments.len - 1), 0);
	assert_true(8e9 * (double)f.segments.len / 8e9 <= 1e4 * 1.001); /* ser <= base RTT */
	assert_true(f.gate.max_inflight >= 2 * f.segments.len);
	/* a shorter RTT takes effect at once, a longer one after a while */
	one_round_trip(&f, &now, 5);
	assert_true(fabs(f.cc.path.base_rtt_us - 5) < 1e-9);
	for (int i = 0; i < 100; i++)
		one_round_trip(&f, &now, 500);
	assert_true(fabs(f.cc.path.base_rtt_us - 5) < 1e-9);
	now += 11000000000ull;
	one_round_trip(&f, &now, 40);
	assert_true(fabs(f.cc.path.base_rtt_us - 5) < 1e-9); /* of the previous window */
	now += 11000000000ull;
	one_round_trip(&f, &now, 40);
	assert_true(fabs(f.cc.path.base_rtt_us - 40) < 1e-9);
	ccs_flow_destroy(&f);
}
