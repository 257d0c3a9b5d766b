/* SPDX-License-Identifier: BSD-2-Clause */
/* The filters of host delay: alone, by tables, and as part of a flow. */
#include "test.h"

#include "flow/rtt_outlier.h"
#include "flow_fixture.h"

struct outlier_row {
	uint32_t seq, next_seq;  /* the segment that completes, and the next one to be sent */
	double rtt_us;
	bool outlier;
};

/* An RTT is late above 30 us, and may exceed the last accepted one by 10 us. */
static void check_outliers(const struct outlier_row *rows, size_t n)
{
	struct ccs_rtt_outlier o;

	ccs_rtt_outlier_init(&o);
	for (size_t i = 0; i < n; i++) {
		const struct ccs_rtt_outlier_sample sample = {
			.rtt_us = rows[i].rtt_us, .limit_us = 30, .tolerance_us = 10,
			.seq = rows[i].seq, .next_seq = rows[i].next_seq,
		};

		if (ccs_rtt_is_outlier(&o, &sample) != rows[i].outlier)
			fail_msg("row %zu: %s", i, rows[i].outlier ? "accepted" : "rejected");
	}
}

TEST(late_rtts_of_segments_in_flight_at_a_pause_are_outliers)
{
	static const struct outlier_row rows[] = {
		{ 0, 4, 20, false },
		{ 1, 5, 900, true },   /* the host was away; 1 to 4 were in flight */
		{ 2, 6, 900, true },
		{ 3, 7, 900, true },
		{ 4, 8, 900, true },
		{ 5, 9, 20, false },   /* sent after it, in time */
		{ 6, 10, 900, true },  /* the next pause */
	};

	check_outliers(rows, sizeof(rows) / sizeof(*rows));
}

TEST(late_rtts_of_segments_sent_after_the_first_late_one_count)
{
	static const struct outlier_row rows[] = {
		{ 0, 2, 20, false },
		{ 1, 3, 900, true },
		{ 2, 4, 900, true },
		{ 3, 5, 900, false },  /* sent after the first late RTT was seen */
		{ 4, 6, 900, false },
	};

	check_outliers(rows, sizeof(rows) / sizeof(*rows));
}

TEST(rtts_that_grow_within_the_tolerance_count_at_once)
{
	static const struct outlier_row rows[] = {
		{ 0, 8, 25, false },
		{ 1, 9, 34, false },   /* late, but only 9 us more */
		{ 2, 10, 44, false },
		{ 3, 11, 55, true },   /* 11 us more than the last accepted one */
		{ 4, 12, 54, false },
	};

	check_outliers(rows, sizeof(rows) / sizeof(*rows));
}

TEST(segment_numbers_may_wrap)
{
	static const struct outlier_row rows[] = {
		{ UINT32_MAX - 2, 0, 20, false },
		{ UINT32_MAX - 1, 1, 900, true },
		{ UINT32_MAX, 2, 900, true },
		{ 0, 3, 900, true },
		{ 1, 4, 900, false },
	};

	check_outliers(rows, sizeof(rows) / sizeof(*rows));
}

/* RTTs up to 30 us are not filtered. */
TEST(rnr_filter_gives_the_least_of_four_for_long_rtts)
{
	static const struct { double rtt_us, result_us; } rows[] = {
		{ 90, 90 },            /* nothing to compare it with */
		{ 25, 25 },
		{ 5000, 25 },
		{ 28, 28 },
		{ 5000, 25 },
		{ 5000, 28 },          /* 25 is the fifth last */
		{ 5000, 28 },
		{ 5000, 5000 },
	};
	struct ccs_rnr_filter r = { 0 };

	ccs_rnr_filter_init(&r);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_true(ccs_rnr_filter_us(&r, rows[i].rtt_us, 30) == rows[i].result_us);
}

static void four_come_back(struct ccs_flow *f, uint64_t last, uint64_t now)
{
	for (uint64_t n = last - 3; n <= last; n++)
		complete_up_to(f, n, now);
}

/* Send four segments and complete them all after rtt ns. */
static void four_round_trips(struct ccs_flow *f, uint64_t rtt, uint64_t *now)
{
	uint64_t last;

	send_four(f, *now, &last);
	four_come_back(f, last, *now += rtt);
}

/* A flow of 4 KB segments that nothing limits. Returns the ns that four of them take. */
static uint64_t open_unlimited(struct ccs_flow *f)
{
	const struct ccs_flow_config conf = flow_config(4096);

	spy_rate = INFINITY;
	spy_window = 0;
	open_started(f, &conf);
	return 4 * 4096 + 20000;
}

/*
 * A host pauses for 5 ms: all that was in flight is late, at once, and nothing else is. If it were
 * a queue, segments sent after that would be late too.
 */
TEST(a_host_pause_is_not_a_queue)
{
	uint64_t now = 1000000;
	struct ccs_flow f;
	const uint64_t trip = open_unlimited(&f);

	for (int i = 0; i < 3; i++) {
		four_round_trips(&f, trip + 5000000, &now);
		assert_int_equal(ack_count, 4 * i);
		four_round_trips(&f, trip, &now);
		assert_int_equal(ack_count, 4 * (i + 1));
		assert_true(acks[4 * i].bytes == 5 * 4096 && acks[4 * i].rtt_us < 40);
	}
	four_round_trips(&f, trip + 1000000, &now);
	assert_int_equal(ack_count, 12);
	four_round_trips(&f, trip + 1000000, &now);
	assert_int_equal(ack_count, 16);
	assert_true(last_rtt() > 1000);
	four_round_trips(&f, trip + 500000, &now); /* and so on while the queue lasts */
	assert_int_equal(ack_count, 20);
	ccs_flow_destroy(&f);
}

/* If RTTs grow gradually, they count from the first late one on. */
TEST(a_growing_queue_is_not_a_host_pause)
{
	uint64_t now = 1000000;
	struct ccs_flow f;
	const uint64_t trip = open_unlimited(&f);

	for (uint64_t i = 0; i < 6; i++) {
		four_round_trips(&f, trip + i * 4 * 4096, &now);
		assert_int_equal(ack_count, 4 * (i + 1));
	}
	ccs_flow_destroy(&f);
}

/* Such an algorithm gets every sample, for each may carry its feedback. */
TEST(outlier_filter_is_off_for_algorithms_with_other_feedback)
{
	struct ccs_cc_ops other = spy;
	const struct ccs_cc_spec spec = ccs_cc_default_spec(&other);
	const struct ccs_flow_config conf = flow_config(4096);
	struct ccs_flow f = { 0 };
	uint64_t last;

	other.needs = CCS_NEEDS_TELEMETRY;
	spy_rate = INFINITY;
	spy_window = 0;
	ack_count = 0;
	assert_int_equal(ccs_flow_init(&f, &conf, &spec, 16, 144, 0), 0);
	end_slow_start(&f);
	send_four(&f, 1000000, &last);
	four_come_back(&f, last, 9000000);
	assert_int_equal(ack_count, 4);
	ccs_flow_destroy(&f);
}
