/* SPDX-License-Identifier: BSD-2-Clause */
/* What a flow derives from its settings and its path, and what a change of settings keeps. */
#include "test.h"

#include "flow/cc_events.h"
#include "flow_fixture.h"

/* Where reading the clock is a slow system call, segments are longer. */
TEST(segments_grow_with_the_cost_of_reading_the_clock)
{
	const struct { double line_rate, clock_cost_us, segment; } rows[] = {
		{ 10e9, 0, 8192 }, { 10e9, 0.025, 8192 }, { 10e9, 0.256, 8192 }, { 10e9, 1, 32768 },
		{ 10e9, 15, 65536 }, { 100e9, 0.025, 65536 }, { 1e9, 10, 32768 },
		{ 10e9, 1e9, 65536 },
	};
	struct ccs_flow_config conf = flow_config(0);
	struct ccs_flow f;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		conf.line_rate = rows[i].line_rate;
		conf.clock_cost_us = rows[i].clock_cost_us;
		open_flow(&f, &conf, 16, 144, 0);
		assert_true(f.segments.len == rows[i].segment);
		ccs_flow_destroy(&f);
	}
}

/* The segment that algorithms get is the longest recent message; splitting is unchanged. */
TEST(path_segment_follows_unsplit_messages)
{
	enum { LONG = 3 }; /* also if the longest was sent more than once */
	const struct ccs_flow_config conf = flow_config(4096);
	uint64_t n, now = 1000000;
	struct ccs_flow f;

	spy_rate = INFINITY;
	spy_window = 0;
	open_started(&f, &conf);
	for (unsigned i = 0; i < 1000; i++) {
		const uint64_t len = i < LONG ? 40960 : 4096;

		ccs_flow_accept(&f, len, CCS_WR_SIGNALED);
		assert_non_null(flow_next(&f, now, &n));
		if (i < 60)
			assert_true(f.cc.path.segment == 40960);
		assert_int_equal(f.segments.len, 4096);
		now += len + 20000;
		complete_up_to(&f, n, now);
		now += 100000;
	}
	assert_true(f.cc.path.segment == 4096);
	ccs_flow_destroy(&f);
}

TEST(a_given_base_rtt_stays)
{
	const struct ccs_flow_config conf = flow_config(4096);
	uint64_t now = 1000000;
	struct ccs_flow f;

	spy_rate = INFINITY;
	open_flow(&f, &conf, 16, 144, 0);
	for (int i = 0; i < 32; i++)
		one_round_trip(&f, &now, 3);
	assert_true(f.cc.path.base_rtt_us == 20);
	ccs_flow_destroy(&f);
}

/* What a plug-in can get wrong after it was checked: everything is still sent. */
TEST(invalid_output_of_an_algorithm_does_not_stop_a_flow)
{
	static const double slips[] = { 0, -1, NAN, -INFINITY };
	const struct ccs_flow_config conf = flow_config(4096);
	uint64_t now = 1000000;
	struct ccs_flow f;

	spy_rate = INFINITY;
	spy_window = 0;
	open_flow(&f, &conf, 16, 144, 0);
	for (unsigned i = 0; i < 4; i++)
		for (unsigned k = 0; k < 4; k++) {
			f.cc.out.rate = slips[i];
			f.cc.out.window = slips[k];
			f.cc.out.timer_us = slips[(i + k) % 4];
			one_round_trip(&f, &now, 10);
			assert_true(ccs_flow_cc_next_timer(&f, now) == UINT64_MAX);
		}
	ccs_flow_destroy(&f);
}

/* What was learned of the path stays, unless the path changes or a given value is withdrawn. */
TEST(new_settings_keep_what_was_learned)
{
	struct ccs_flow_config conf = flow_config(4096);
	uint64_t now = 1000000;
	struct ccs_flow f;
	double learnt;

	conf.base_rtt_us = 0;
	conf.max_inflight = 65536;
	spy_rate = INFINITY;
	spy_window = 0;
	open_flow(&f, &conf, 16, 144, 0);
	for (int i = 0; i < 32 || (f.slow_start.ramping && i < 10000); i++)
		one_round_trip(&f, &now, 30);
	learnt = f.cc.path.base_rtt_us;
	assert_true(learnt > 25 && learnt < 35 && !f.slow_start.ramping);
	conf.max_rate = 1e9;
	conf.rtt_jitter_us = 3;
	conf.segment = 8192;
	ccs_flow_configure(&f, &conf, f.cc.spec, now);
	assert_true(f.cc.path.base_rtt_us == learnt && f.cc.path.rtt_jitter_us == 3);
	assert_false(f.slow_start.ramping);
	assert_true(f.segments.len == 8192 && f.cc.path.segment == 8192 && ccs_flow_rate(&f) == 1e9);
	assert_true(f.gate.pacing.rate == 1e9);
	conf.max_rate = INFINITY;
	ccs_flow_configure(&f, &conf, f.cc.spec, now);
	assert_true(isinf(ccs_flow_rate(&f)) && f.gate.pacing.rate == 0.98 * 8e9);
	conf.base_rtt_us = 50;
	ccs_flow_configure(&f, &conf, f.cc.spec, now);
	assert_true(f.cc.path.base_rtt_us == 50);
	conf.base_rtt_us = 0;
	ccs_flow_configure(&f, &conf, f.cc.spec, now);
	assert_true(f.learned.base_samples == 0 && f.slow_start.ramping);
	conf.line_rate = 25e9;
	ccs_flow_configure(&f, &conf, f.cc.spec, now);
	assert_true(f.cc.path.line_rate == 25e9 && f.slow_start.ramping);
	ccs_flow_destroy(&f);
}

/* Once raised it binds no longer, even where the rate is the algorithm's state. */
TEST(max_rate_binds_only_while_it_is_set)
{
	static struct ccs_cc_spec spec;
	struct ccs_flow_config conf = flow_config(4096);
	uint64_t now = 1000000;
	struct ccs_flow f = { 0 };

	spec = ccs_cc_default_spec(&ccs_cc_timely);
	conf.max_rate = 1e8;
	assert_int_equal(ccs_flow_init(&f, &conf, &spec, 16, 144, now), 0);
	for (int i = 0; i < 100; i++) {
		now += 1000000;
		one_round_trip(&f, &now, 3);
	}
	assert_true(ccs_flow_rate(&f) <= 1e8);
	conf.max_rate = INFINITY;
	ccs_flow_configure(&f, &conf, &spec, now);
	for (int i = 0; i < 5000 && ccs_flow_rate(&f) < 1e9; i++) {
		now += 1000000;
		one_round_trip(&f, &now, 3);
	}
	assert_true(ccs_flow_rate(&f) >= 1e9);
	conf.max_rate = 1e8;
	ccs_flow_configure(&f, &conf, &spec, now);
	assert_true(ccs_flow_rate(&f) <= 1e8 && f.gate.pacing.rate <= 1e8);
	ccs_flow_destroy(&f);
}
