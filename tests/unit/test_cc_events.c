/* SPDX-License-Identifier: BSD-2-Clause */
/* The events that a flow passes to its algorithm, when, and how it applies the results. */
#include "test.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

#include "flow/cc_events.h"
#include "flow/rtt.h"
#include "flow_next.h"
#include "seed.h"

enum { SEGMENT = 4096, HEARD = 64 };

/* An algorithm that records its events: a letter for each, with its time. */
static struct {
	char what[HEARD];
	double at[HEARD], bytes[HEARD];
	struct ccs_cc_ack ack;           /* the last */
	unsigned n, timers;
} events;
static double period_us;                 /* time of the timer; INFINITY if it is not set */
static double raise;                     /* increase of the rate per timer */
static double first_rate, first_window;
static bool divides;                     /* it divides by zero in each event */

static void note(char what, double now_us, double bytes)
{
	const unsigned i = events.n++ % (HEARD - 1);
	volatile double zero = 0, quotient;

	if (divides)
		quotient = 1 / zero;
	(void)quotient;
	events.what[i] = what;
	events.at[i] = now_us;
	events.bytes[i] = bytes;
}

static void no_derive(const struct ccs_cc_path *path, double *p)
{
	(void)path;
	(void)p;
}

static void record_init(struct ccs_cc *cc)
{
	cc->out = (struct ccs_cc_out){ .rate = first_rate, .window = first_window,
				       .timer_us = period_us };
}

static void record_ack(struct ccs_cc *cc, const struct ccs_cc_ack *ack)
{
	(void)cc;
	events.ack = *ack;
	note('a', ack->now_us, ack->bytes);
}

static void record_cnp(struct ccs_cc *cc, double now_us)
{
	(void)cc;
	note('c', now_us, 0);
}

static void record_send(struct ccs_cc *cc, double now_us, double bytes)
{
	(void)cc;
	note('s', now_us, bytes);
}

static void record_loss(struct ccs_cc *cc, double now_us)
{
	(void)cc;
	note('l', now_us, 0);
}

static void record_timer(struct ccs_cc *cc, double now_us)
{
	note('t', now_us, 0);
	events.timers++;
	cc->out.rate += raise;
	cc->out.timer_us += period_us;
}

static void record_rate(struct ccs_cc *cc, double rate)
{
	(void)cc;
	note('r', 0, rate);
}

static const struct ccs_cc_ops recorder = {
	.abi = CCS_CC_ABI, .name = "recorder", .doc = "", .needs = CCS_NEEDS_RTT,
	.derive = no_derive, .on_init = record_init, .on_ack = record_ack, .on_cnp = record_cnp,
	.on_send = record_send, .on_loss = record_loss, .on_timer = record_timer,
	.set_rate = record_rate,
};

/* 8 Gbit/s: a byte takes a nanosecond. */
static struct ccs_flow_config config(void)
{
	return (struct ccs_flow_config){
		.line_rate = 8e9, .max_rate = INFINITY, .base_rtt_us = 20, .segment = SEGMENT,
		.max_inflight = 1e9, .split = true, .enforce = true,
	};
}

static void open_as(struct ccs_flow *f, const struct ccs_flow_config *conf,
		    const struct ccs_cc_ops *ops)
{
	static struct ccs_cc_spec spec;

	spec = ccs_cc_default_spec(ops);
	memset(f, 0, sizeof(*f));
	memset(&events, 0, sizeof(events));
	assert_int_equal(ccs_flow_init(f, conf, &spec, 64, 256, 0), 0);
}

/* A flow whose slow start is over. */
static void open_flow(struct ccs_flow *f, double rate, double window, double timer_us)
{
	const struct ccs_flow_config conf = config();

	first_rate = rate;
	first_window = window;
	period_us = timer_us;
	raise = 0;
	open_as(f, &conf, &recorder);
	ccs_slow_start_end(&f->slow_start, (double)f->gate.max_inflight);
}

static bool complete(struct ccs_flow *f, uint64_t number, uint64_t now)
{
	const struct ccs_done done = { .number = number, .ok = true, .earliest_ns = now,
				       .latest_ns = now };
	uint64_t wr;

	return ccs_flow_complete(f, &done, &wr);
}

/* Send a segment and complete it; false if the gate is closed. */
static bool round_trip(struct ccs_flow *f, uint64_t *now, double rtt_us)
{
	uint64_t n;

	if (!ccs_flow_waiting(f))
		ccs_flow_accept(f, SEGMENT, CCS_WR_SIGNALED);
	if (!flow_next(f, *now, &n))
		return false;
	*now += SEGMENT + (uint64_t)(rtt_us * 1e3);
	complete(f, n, *now);
	return true;
}

TEST(events_come_in_order_after_the_timers_due)
{
	struct ccs_flow f;
	uint64_t n;

	open_flow(&f, INFINITY, 0, 10);
	ccs_flow_accept(&f, SEGMENT, CCS_WR_SIGNALED);
	assert_non_null(flow_next(&f, 25000, &n));
	ccs_flow_cnp(&f, 30000);
	complete(&f, n, 45000);
	assert_string_equal(events.what, "ttstcta");
	for (unsigned i = 0, t = 1; i < events.n; i++)
		if (events.what[i] == 't')
			assert_true(events.at[i] == 10.0 * t++);
	assert_true(events.at[2] == 25 && events.bytes[2] == SEGMENT);
	assert_true(events.at[4] == 30 && events.at[6] == 45);
	assert_int_equal(f.stats.cnps, 1);
	ccs_flow_destroy(&f);
}

/* A completion with a timestamp earlier than the events since. */
TEST(time_does_not_go_back)
{
	struct ccs_flow f;
	uint64_t a, b;

	open_flow(&f, INFINITY, 0, 10);
	ccs_flow_accept(&f, 2 * SEGMENT, CCS_WR_SIGNALED | CCS_WR_SPLIT);
	assert_non_null(flow_next(&f, 1000, &a));
	assert_non_null(flow_next(&f, 32000, &b));
	complete(&f, a, 29000);
	assert_string_equal(events.what, "stttsa");
	for (unsigned i = 1; i < events.n; i++)
		assert_true(events.at[i] >= events.at[i - 1]);
	assert_true(fabs(events.ack.rtt_us - (29000 - 1000 - SEGMENT) / 1e3) < 1e-9);
	ccs_flow_destroy(&f);
}

/* A timer that raises the rate releases a waiting segment before it was due. */
TEST(a_timer_that_raises_the_rate_releases_a_waiting_wr)
{
	struct ccs_flow f;
	uint64_t n, now = 1000, wakes = 0;

	open_flow(&f, 1e6, 0, 100); /* 33 ms a segment */
	raise = 1e8;
	ccs_flow_accept(&f, 2 * SEGMENT, CCS_WR_SIGNALED | CCS_WR_SPLIT);
	assert_non_null(flow_next(&f, now, &n));
	while (!flow_next(&f, now, &n)) {
		const uint64_t due = ccs_flow_wait(&f, now);

		assert_true(due > now && due <= now + 100001);
		now = due;
		assert_true(++wakes < 20);
	}
	assert_true(now >= 200000 && now < 400000);
	assert_true(events.timers >= 2);
	ccs_flow_destroy(&f);
}

/* The algorithm's timer may open its window, but not max_inflight. */
TEST(a_closed_window_waits_for_the_timer_that_may_open_it)
{
	struct ccs_flow f;
	uint64_t n;

	open_flow(&f, INFINITY, SEGMENT, 100);
	ccs_flow_accept(&f, 2 * SEGMENT, CCS_WR_SIGNALED | CCS_WR_SPLIT);
	assert_non_null(flow_next(&f, 1000, &n));
	assert_int_equal(ccs_flow_wait(&f, 1000), 100000);
	ccs_flow_destroy(&f);
	open_flow(&f, INFINITY, 0, 100);
	f.slow_start.window = SEGMENT;
	ccs_flow_accept(&f, 2 * SEGMENT, CCS_WR_SIGNALED | CCS_WR_SPLIT);
	assert_non_null(flow_next(&f, 1000, &n));
	assert_true(ccs_flow_wait(&f, 1000) == UINT64_MAX);
	ccs_flow_destroy(&f);
}

/* Timers at fractions of a nanosecond: calling when ccs_flow_wait() says fires each. */
TEST(wait_always_makes_progress)
{
	seed_start("timers");
	for (unsigned round = 0; round < 200; round++) {
		struct ccs_flow f;
		uint64_t n, now = 1000, due;

		open_flow(&f, 1, 0, 1 + (double)seed_below(1000000) / 7919);
		ccs_flow_accept(&f, 2 * SEGMENT, CCS_WR_SPLIT);
		assert_non_null(flow_next(&f, now, &n));
		for (unsigned i = 0; i < 200; i++) {
			due = ccs_flow_wait(&f, now);
			assert_true(due > now);
			now = due;
		}
		assert_true(events.timers >= 100);
		ccs_flow_destroy(&f);
	}
}

/* After an idle day its timers are not fired one by one. */
TEST(timers_of_an_idle_day_are_skipped)
{
	const uint64_t day = 86400ull * 1000000000;
	struct ccs_flow f;
	uint64_t n;
	double before;

	open_flow(&f, INFINITY, 0, 50);
	ccs_flow_accept(&f, SEGMENT, CCS_WR_SIGNALED);
	assert_non_null(flow_next(&f, day, &n));
	assert_true(events.timers > 1000 && events.timers < 10000);
	complete(&f, n, day + 40000);
	assert_true(events.timers < 10002);
	before = events.ack.now_us;
	ccs_flow_accept(&f, SEGMENT, CCS_WR_SIGNALED);
	assert_non_null(flow_next(&f, day + 50000, &n));
	complete(&f, n, day + 80000);
	assert_true(fabs(events.ack.now_us - before - 40) < 1e-6);
	ccs_flow_destroy(&f);
}

/* A faulty plug-in sets timers ever earlier. The flow's time stays at the clock's. */
TEST(timers_in_the_past_do_not_stop_a_flow)
{
	struct ccs_flow f;
	uint64_t n;

	open_flow(&f, INFINITY, 0, -1);
	for (uint64_t now = 1000000; now < 20000000; now += 1000000) {
		ccs_flow_accept(&f, SEGMENT, CCS_WR_SIGNALED);
		assert_non_null(flow_next(&f, now, &n));
		complete(&f, n, now + 60000);
		assert_true(events.ack.now_us >= 0 &&
			    events.ack.now_us <= (double)(now + 60000) / 1e3);
	}
	ccs_flow_destroy(&f);
}

/* They count bytes of the flow, whatever was taken back or flushed in between. */
TEST(acks_carry_sequence_numbers)
{
	struct ccs_flow f;
	uint64_t a, b, c;

	open_flow(&f, INFINITY, 0, INFINITY);
	ccs_flow_accept(&f, 3 * SEGMENT, CCS_WR_SIGNALED | CCS_WR_SPLIT);
	assert_non_null(flow_next(&f, 1000, &a));
	assert_non_null(flow_next(&f, 1000, &b));
	assert_non_null(flow_next(&f, 1000, &c));
	ccs_flow_unsend(&f, c);
	complete(&f, a, 30000);
	assert_int_equal(events.ack.ack_seq, SEGMENT);
	assert_int_equal(events.ack.snd_nxt, 2 * SEGMENT);
	assert_non_null(flow_next(&f, 31000, &c));
	complete(&f, b, 40000);
	assert_int_equal(events.ack.ack_seq, 2 * SEGMENT);
	assert_int_equal(events.ack.snd_nxt, 3 * SEGMENT);
	ccs_flow_reset(&f);
	ccs_flow_accept(&f, SEGMENT, CCS_WR_SIGNALED);
	assert_non_null(flow_next(&f, 50000, &a));
	complete(&f, a, 80000);
	assert_int_equal(events.ack.ack_seq, 4 * SEGMENT);
	assert_int_equal(events.ack.snd_nxt, 4 * SEGMENT);
	ccs_flow_destroy(&f);
}

TEST(a_reset_flow_does_not_wait_for_what_was_discarded)
{
	struct ccs_flow f;
	uint64_t number;

	open_flow(&f, 1e6, 0, INFINITY);
	ccs_flow_accept(&f, SEGMENT, CCS_WR_SIGNALED);
	assert_non_null(flow_next(&f, 1000, &number));
	ccs_flow_reset(&f);
	ccs_flow_accept(&f, SEGMENT, CCS_WR_SIGNALED);
	assert_non_null(flow_next(&f, 2000, &number));
	ccs_flow_destroy(&f);
}

TEST(acks_carry_the_latest_telemetry)
{
	struct ccs_telemetry seen = { .hops = { { .ts_ns = 7 }, { .ts_ns = 8 } }, .nhops = 2,
					    .path = 99, .flows = 5, .covers_ns = 500 };
	struct ccs_flow f;
	uint64_t now = 1000;

	open_flow(&f, INFINITY, 0, INFINITY);
	assert_true(round_trip(&f, &now, 20));
	assert_true(events.ack.nhops == 0 && events.ack.flows == 0);
	f.events.telemetry = &seen;
	assert_true(round_trip(&f, &now, 20));
	assert_ptr_equal(events.ack.hops, seen.hops);
	assert_true(events.ack.nhops == 2 && events.ack.path == 99 && events.ack.flows == 5);
	/* from before the flow began */
	assert_true(events.ack.covers_us > 0 && events.ack.covers_us < 1);
	seen.covers_ns = f.events.origin_ns + 2500;
	assert_true(round_trip(&f, &now, 20));
	assert_true(events.ack.covers_us == 2.5);
	seen.covers_ns = 0;
	assert_true(round_trip(&f, &now, 20));
	assert_true(events.ack.covers_us == 0);
	ccs_flow_destroy(&f);
}

static unsigned count(char what)
{
	unsigned n = 0;

	assert_true(events.n < HEARD);
	for (unsigned i = 0; i < events.n; i++)
		n += events.what[i] == what;
	return n;
}

/* All segments in flight waited for the same retransmission. */
TEST(a_retransmission_is_one_loss)
{
	struct ccs_flow f;
	uint64_t n[4], now = 1000;

	open_flow(&f, INFINITY, 0, INFINITY);
	f.rtt.loss_us = 1000;
	assert_true(round_trip(&f, &now, 900));
	assert_int_equal(count('l'), 0);
	ccs_flow_accept(&f, 4 * SEGMENT, CCS_WR_SIGNALED | CCS_WR_SPLIT);
	for (int i = 0; i < 4; i++)
		assert_non_null(flow_next(&f, now, &n[i]));
	now += 4 * SEGMENT + 1500000;
	for (int i = 0; i < 4; i++)
		complete(&f, n[i], now + (uint64_t)i * 1000);
	assert_int_equal(count('l'), 1);
	assert_int_equal(count('a'), 4); /* the first late one may be a host's pause */
	now += 10000;
	assert_true(round_trip(&f, &now, 1500));
	assert_int_equal(f.stats.losses, 2);
	ccs_flow_destroy(&f);
}

TEST(a_retry_exceeded_completion_is_a_loss)
{
	struct ccs_done done = { .lost = true, .earliest_ns = 50000, .latest_ns = 50000 };
	struct ccs_flow f;
	uint64_t wr;

	open_flow(&f, INFINITY, 0, INFINITY);
	ccs_flow_accept(&f, SEGMENT, CCS_WR_SIGNALED);
	assert_non_null(flow_next(&f, 1000, &done.number));
	assert_true(ccs_flow_complete(&f, &done, &wr));
	assert_string_equal(events.what, "sl");
	ccs_flow_destroy(&f);
}

/* Slow start sets the rate of algorithms without such a rule, which get no events before. */
TEST(slow_start_sets_the_rate_only_for_rtt_algorithms_without_a_window)
{
	struct ccs_cc_ops by_cnp = recorder;
	const struct { const struct ccs_cc_ops *ops; double window; bool led; } rows[] = {
		{ &recorder, 0, true }, { &recorder, 1e6, false }, { &by_cnp, 0, false },
	};

	by_cnp.needs = CCS_NEEDS_CNP;
	for (unsigned i = 0; i < 3; i++) {
		struct ccs_flow_config conf = config();
		struct ccs_flow f;
		uint64_t now = 1000;

		conf.max_inflight = 100 * SEGMENT;
		first_window = rows[i].window;
		first_rate = period_us = INFINITY;
		open_as(&f, &conf, rows[i].ops);
		assert_true(round_trip(&f, &now, 20) && round_trip(&f, &now, 20));
		assert_true(f.slow_start.ramping && f.slow_start.window == 2 * SEGMENT);
		assert_int_equal(count('a'), rows[i].led ? 0 : 2);
		assert_true(round_trip(&f, &now, 60)); /* a queue of ten segments, or a pause */
		if (rows[i].led) {
			assert_true(f.slow_start.ramping && f.slow_start.window == 2 * SEGMENT);
			assert_true(round_trip(&f, &now, 60)); /* a queue */
		}
		assert_false(f.slow_start.ramping);
		assert_true(f.slow_start.window == 100 * SEGMENT);
		assert_int_equal(count('r'), rows[i].led);
		assert_int_equal(count('a'), rows[i].led ? 0 : 3);
		ccs_flow_destroy(&f);
	}
}

TEST(baselines_keep_their_rate)
{
	struct ccs_flow_config conf = config();
	struct ccs_flow f;
	uint64_t now = 1000;

	conf.base_rtt_us = 0;
	for (unsigned i = 0; i < 2; i++) {
		open_as(&f, &conf, i ? &ccs_cc_fixed : &ccs_cc_none);
		for (unsigned k = 0; k < 200; k++)
			assert_true(round_trip(&f, &now, k % 7 ? 20 : 400));
		assert_true(ccs_flow_rate(&f) == (i ? conf.line_rate : INFINITY));
		ccs_flow_destroy(&f);
	}
}

/*
 * TIMELY's rate is its state: it must not grow beyond the user's max_rate, or it would have to
 * fall all the way before congestion reduces the flow's rate.
 */
TEST(timely_does_not_grow_beyond_max_rate)
{
	struct ccs_flow_config conf = config();
	struct ccs_flow f;
	uint64_t now = 1000;

	conf.max_rate = 1e9;
	conf.base_rtt_us = 0; /* so that parameters are derived again meanwhile */
	open_as(&f, &conf, &ccs_cc_timely);
	ccs_slow_start_end(&f.slow_start, (double)f.gate.max_inflight);
	for (unsigned k = 0; k < 300; k++) {
		while (!round_trip(&f, &now, 20))
			now = ccs_flow_wait(&f, now);
		assert_true(ccs_flow_rate(&f) <= 1e9);
		assert_true(f.cc.out.rate <= 1e9);
	}
	assert_true(f.cc.path.base_rtt_us < 21 && f.cc.path.line_rate == 8e9);
	assert_true(f.cc.out.rate == 1e9);
	for (unsigned k = 0; k < 2; k++)
		while (!round_trip(&f, &now, 5000))
			now = ccs_flow_wait(&f, now);
	assert_true(ccs_flow_rate(&f) < 0.6e9);
	ccs_flow_destroy(&f);
}

/* With a window below a segment one segment is in flight, at the algorithm's rate. */
TEST(a_window_below_a_segment_leaves_pacing)
{
	struct ccs_flow f;
	uint64_t n, now = 1000, due;

	open_flow(&f, 1e9, SEGMENT / 8.0, INFINITY);
	ccs_flow_accept(&f, 4 * SEGMENT, CCS_WR_SIGNALED | CCS_WR_SPLIT);
	for (unsigned i = 0; i < 4; i++) {
		assert_non_null(flow_next(&f, now, &n));
		assert_null(flow_next(&f, now, &n));
		assert_int_equal(f.inflight, SEGMENT);
		complete(&f, f.seg_head - 1, now + 5000);
		if (i == 3)
			break;
		due = ccs_flow_wait(&f, now + 5000);
		assert_true(due > now + (uint64_t)(0.9 * 8 * SEGMENT));
		assert_true(due < now + (uint64_t)(1.1 * 8 * SEGMENT));
		now = due;
	}
	ccs_flow_destroy(&f);
}

/* A program may trap the exceptions (gfortran's -ffpe-trap), and tests the flags. */
TEST(an_algorithms_float_exceptions_are_not_the_applications)
{
	const int traps = FE_DIVBYZERO | FE_OVERFLOW | FE_INVALID;
	struct ccs_flow f;
	uint64_t n;

	open_flow(&f, INFINITY, 0, 10);
	divides = true;
	feclearexcept(FE_ALL_EXCEPT);
	feenableexcept(traps);
	ccs_flow_accept(&f, SEGMENT, CCS_WR_SIGNALED);
	assert_non_null(flow_next(&f, 25000, &n));
	ccs_flow_cnp(&f, 30000);
	complete(&f, n, 45000);
	ccs_flow_cc_on_loss(&f, 46000);
	ccs_flow_set_rate(&f, 1e9, 47000);
	fedisableexcept(traps);
	divides = false;
	assert_string_equal(events.what, "ttstctalr");
	assert_int_equal(fetestexcept(traps), 0);
	ccs_flow_destroy(&f);
}
