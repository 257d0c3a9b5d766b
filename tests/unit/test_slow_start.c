/* SPDX-License-Identifier: BSD-2-Clause */
/* Slow start: struct ccs_slow_start alone, by tables, and as part of a flow. */
#include "test.h"

#include "flow/slow_start.h"
#include "flow_fixture.h"

enum { SEGMENT = 1000, LIMIT = 3000 };

static struct ccs_slow_start begin_slow_start(void)
{
	struct ccs_slow_start s;

	ccs_slow_start_begin(&s, true);
	ccs_slow_start_set_limit(&s, SEGMENT, LIMIT);
	return s;
}

TEST(window_grows_by_half_of_what_is_acknowledged_up_to_the_limit)
{
	static const struct { uint64_t acknowledged; double window; bool ramping; } rows[] = {
		{ 1000, 1500, true },  /* half of the first window */
		{ 500, 1750, true },
		{ 1000, 2250, true },
		{ 1400, 2950, true },
		{ 1000, 3000, false }, /* the limit, not 3450 */
	};
	struct ccs_slow_start s = begin_slow_start();

	assert_true(s.window == SEGMENT && s.ramping);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		ccs_slow_start_sample(&s, rows[i].acknowledged, 10, false, LIMIT);
		assert_true(s.window == rows[i].window && s.ramping == rows[i].ramping);
	}
	assert_int_equal(s.drain_samples, 0);
}

/* Windows of 1000, 1500 and 2000 bytes; one byte per us is 8e6 bit/s. */
TEST(first_queue_ends_the_ramp_at_half_of_the_lowest_rate)
{
	static const struct { double delivery_us; bool queued; double lowest_rate; } rows[] = {
		{ 10, false, 8e6 * 100 },
		{ 10, false, 8e6 * 100 },  /* 150 bytes per us: not lower */
		{ 40, true, 8e6 * 50 },
	};
	struct ccs_slow_start s = begin_slow_start();

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_true(s.ramping);
		ccs_slow_start_sample(&s, 1000, rows[i].delivery_us, rows[i].queued, LIMIT);
		assert_true(s.lowest_rate == rows[i].lowest_rate);
	}
	assert_true(!s.ramping && s.window == LIMIT);
	assert_true(ccs_slow_start_drain(&s) == 8e6 * 25);
}

/* Of the samples after the ramp, those before the queue has drained are withheld. */
TEST(draining_ends_with_the_queue_or_after_16_samples)
{
	static const struct { unsigned queued_samples, withheld; } rows[] = {
		{ 0, 0 }, { 1, 1 }, { 5, 5 }, { 15, 15 }, { 16, 15 }, { 100, 15 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct ccs_slow_start s = begin_slow_start();
		unsigned n = 0;

		ccs_slow_start_sample(&s, 1000, 10, true, LIMIT);
		ccs_slow_start_drain(&s);
		while (ccs_slow_start_is_draining(&s, n < rows[i].queued_samples))
			n++;
		assert_int_equal(n, rows[i].withheld);
	}
}

TEST(new_limit_applies_at_once_after_the_ramp)
{
	struct ccs_slow_start s = begin_slow_start();

	ccs_slow_start_set_limit(&s, 2 * SEGMENT, 10 * LIMIT);
	assert_true(s.window == 2 * SEGMENT && s.ramping); /* never less than a segment */
	ccs_slow_start_end(&s, LIMIT);
	assert_true(s.window == LIMIT && !s.ramping);
	ccs_slow_start_grow(&s, 1000);
	assert_true(s.window == LIMIT);
	ccs_slow_start_set_limit(&s, SEGMENT, 10 * LIMIT);
	assert_true(s.window == 10 * LIMIT);
}

TEST(without_enforcement_there_is_no_ramp)
{
	struct ccs_slow_start s;

	ccs_slow_start_begin(&s, false);
	ccs_slow_start_set_limit(&s, SEGMENT, LIMIT);
	assert_true(s.window == LIMIT && !s.ramping && !s.drain_samples);
}

/* However often the host pauses. */
TEST(a_host_pause_does_not_end_slow_start)
{
	struct ccs_flow_config conf = flow_config(4096);
	uint64_t now = 1000000, n;
	struct ccs_flow f;

	conf.max_inflight = 8 * 4096;
	spy_rate = INFINITY;
	spy_window = 0;
	open_flow(&f, &conf, 16, 144, 0);
	ccs_flow_accept(&f, 1 << 20, CCS_WR_SIGNALED | CCS_WR_SPLIT);
	for (int i = 0; f.slow_start.ramping; i++) {
		const double before = f.slow_start.window;

		assert_true(i < 40);
		assert_non_null(flow_next(&f, now, &n));
		complete_up_to(&f, n, now += 4096 + 20000 + (i % 2 ? 3000000 : 0));
		assert_true(i % 2 ? f.slow_start.window == before : f.slow_start.window > before);
	}
	assert_true(f.slow_start.lowest_rate > 8e9 * 4096 / 40000 && f.slow_start.window == 8 * 4096);
	ccs_flow_destroy(&f);
}

/* A new flow begins with one segment and reaches max_inflight after some idle round trips. */
TEST(a_flow_ramps_up_while_the_path_is_idle)
{
	struct ccs_flow_config conf = flow_config(4096);
	uint64_t now = 1000000, n, most = 0;
	struct ccs_flow f;

	conf.max_inflight = 8 * 4096;
	spy_rate = INFINITY;
	spy_window = 0;
	open_flow(&f, &conf, 64, 256, 0);
	ccs_flow_accept(&f, 1 << 20, CCS_WR_SPLIT | CCS_WR_SIGNALED);
	assert_non_null(flow_next(&f, now, &n));
	assert_null(flow_next(&f, now, &n));
	for (int trip = 0; trip < 20; trip++) {
		now += 25000;
		complete_up_to(&f, f.seg_head - 1, now);
		while (flow_next(&f, now, &n))
			;
		assert_true(f.inflight <= 8 * 4096);
		assert_true(f.inflight >= most);
		most = f.inflight;
	}
	assert_int_equal(most, 8 * 4096);
	ccs_flow_destroy(&f);
}

static double rate_set;

static void spy_set_rate(struct ccs_cc *cc, double rate)
{
	(void)cc;
	rate_set = rate;
}

/*
 * The first queue ends slow start, once a segment that was sent after the queue was seen is late,
 * too. The flow continues at half of the lowest rate delivered; the window is max_inflight. What
 * hosts add to an RTT, up to rtt_jitter_us, is not a queue.
 */
static void check_first_queue_beyond(double rtt_jitter_us)
{
	struct ccs_cc_ops settable = spy;
	const struct ccs_cc_spec spec = ccs_cc_default_spec(&settable);
	struct ccs_flow_config conf = flow_config(4096);
	const uint64_t jitter_ns = (uint64_t)(1e3 * rtt_jitter_us);
	uint64_t a, b, now = 1000000;
	struct ccs_flow f = { 0 };

	conf.rtt_jitter_us = rtt_jitter_us;
	settable.set_rate = spy_set_rate;
	conf.max_inflight = 16 * 4096;
	spy_rate = INFINITY;
	spy_window = 0;
	ack_count = 0;
	rate_set = 0;
	assert_int_equal(ccs_flow_init(&f, &conf, &spec, 16, 144, 0), 0);
	ccs_flow_accept(&f, 1 << 20, CCS_WR_SPLIT | CCS_WR_SIGNALED);
	assert_non_null(flow_next(&f, now, &a));
	complete_up_to(&f, a, now += 4096 + 20000); /* the unloaded path */
	assert_true(rate_set == 0 && f.slow_start.ramping);
	assert_non_null(flow_next(&f, now, &a));
	complete_up_to(&f, a, now += 4096 + 20000 + jitter_ns);
	assert_true(rate_set == 0 && f.slow_start.ramping);
	assert_non_null(flow_next(&f, now, &a));
	now += 4096 + 20000 + jitter_ns + 10 * 4096; /* ten segments of others */
	complete_up_to(&f, a, now);
	assert_true(rate_set == 0 && f.slow_start.ramping && f.slow_start.window == 2 * 4096);
	assert_non_null(flow_next(&f, now, &a));
	now += 4096 + 20000 + jitter_ns + 10 * 4096;
	complete_up_to(&f, a, now);
	assert_false(f.slow_start.ramping);
	assert_true(f.slow_start.window == 16 * 4096);
	assert_true(fabs(rate_set / (0.5 * 8e9 * 2 * 4096 / (20000 + 11 * 4096)) - 1) < 1e-9);
	assert_int_equal(ack_count, 0);
	assert_non_null(flow_next(&f, now, &b));
	complete_up_to(&f, b, now + 4096 + 20000);
	assert_int_equal(ack_count, 1);
	ccs_flow_destroy(&f);
}

TEST(the_first_queue_ends_slow_start)
{
	check_first_queue_beyond(0);
	check_first_queue_beyond(100);
}

enum { LEN = 4096 };

/* A new flow with advice, whose small first segment is in flight. */
static void begin_advised(struct ccs_flow *f, struct ccs_telemetry *t, uint64_t seed, uint64_t now)
{
	static struct ccs_cc_ops ops;
	struct ccs_flow_config conf = flow_config(LEN);
	uint64_t n;

	conf.base_rtt_us = 0;
	conf.seed = seed;
	spy_rate = INFINITY;
	spy_window = 2 * LEN;
	open_flow(f, &conf, 16, 144, now);
	ops = spy;
	ops.needs |= CCS_NEEDS_ADVICE;
	f->cc.ops = &ops;
	*t = (struct ccs_telemetry){ .advised_rate = conf.line_rate };
	f->events.telemetry = t;
	ccs_flow_accept(f, 1 << 20, CCS_WR_SPLIT | CCS_WR_SIGNALED);
	ccs_flow_advise(f, now);
	assert_true(f->slow_start.ramping); /* the agent does not know yet that the flow sends */
	assert_int_equal(flow_next(f, now, &n)->len, 256);
	assert_null(flow_next(f, now, &n));
}

TEST(advice_of_a_free_port_allows_a_second_segment)
{
	const uint64_t now = 1000000, then = now + 25000;
	struct ccs_telemetry t;
	struct ccs_flow f;
	uint64_t n;

	begin_advised(&f, &t, 1, now);
	ccs_flow_advise(&f, then);
	assert_true(f.slow_start.ramping);
	complete_up_to(&f, 0, then);
	assert_non_null(flow_next(&f, then, &n)); /* it does not wait for pacing */
	assert_non_null(flow_next(&f, then + 2 * LEN, &n));
	assert_int_equal(f.inflight, 2 * LEN);
	ccs_flow_destroy(&f);
}

/* The time of a flow's first data after advice of a port's share, ns from the advice. */
static uint64_t first_data_ns(uint64_t seed, double share)
{
	const uint64_t now = 1000000, then = now + 25000;
	struct ccs_telemetry t;
	struct ccs_flow f;
	uint64_t due;

	begin_advised(&f, &t, seed, now);
	t.advised_rate = share;
	f.cc.out.rate = share; /* as an algorithm does that follows the advice */
	ccs_flow_advise(&f, then);
	assert_false(f.slow_start.ramping);
	complete_up_to(&f, 0, then);
	due = ccs_flow_wait(&f, then);
	ccs_flow_destroy(&f);
	return due > then ? due - then : 0;
}

/* Flows that begin together at a full port are spread over the time between two segments of a flow. */
TEST(flows_of_a_full_port_begin_at_random_times)
{
	const double share = 8e9 / 32;
	const uint64_t gap = 32 * LEN;
	unsigned halves[2] = { 0, 0 };

	for (uint64_t i = 1; i <= 64; i++) {
		const uint64_t ns = first_data_ns(i * 0x9e3779b97f4a7c15ull, share);

		assert_in_range(ns, 0, gap + gap / 4);
		halves[ns > gap / 2]++;
	}
	assert_in_range(halves[0], 16, 48);
	assert_int_equal(halves[0] + halves[1], 64);
}
