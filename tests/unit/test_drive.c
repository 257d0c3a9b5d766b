/* SPDX-License-Identifier: BSD-2-Clause */
/* What a flow tells its algorithm, when, and what becomes of the answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "flow/flow.h"
#include "seed.h"

enum { SEGMENT = 4096, HEARD = 64 };

/* An algorithm that keeps a diary: one letter an event, with its time. */
static struct {
	char what[HEARD];
	double at[HEARD], bytes[HEARD];
	struct ccs_cc_ack ack;           /* the last */
	unsigned n, timers;
} diary;
static double period_us, raise;          /* of the timer, INFINITY: none; and what it adds */
static double first_rate, first_window;

static void note(char what, double now_us, double bytes)
{
	const unsigned i = diary.n++ % (HEARD - 1);

	diary.what[i] = what;
	diary.at[i] = now_us;
	diary.bytes[i] = bytes;
}

static void no_derive(const struct ccs_cc_path *path, double *p)
{
	(void)path;
	(void)p;
}

static void diary_init(struct ccs_cc *cc)
{
	cc->out = (struct ccs_cc_out){ .rate = first_rate, .window = first_window, .timer_us = period_us };
}

static void diary_ack(struct ccs_cc *cc, const struct ccs_cc_ack *ack)
{
	(void)cc;
	diary.ack = *ack;
	note('a', ack->now_us, ack->bytes);
}

static void diary_cnp(struct ccs_cc *cc, double now_us)
{
	(void)cc;
	note('c', now_us, 0);
}

static void diary_send(struct ccs_cc *cc, double now_us, double bytes)
{
	(void)cc;
	note('s', now_us, bytes);
}

static void diary_loss(struct ccs_cc *cc, double now_us)
{
	(void)cc;
	note('l', now_us, 0);
}

static void diary_timer(struct ccs_cc *cc, double now_us)
{
	note('t', now_us, 0);
	diary.timers++;
	cc->out.rate += raise;
	cc->out.timer_us += period_us;
}

static void diary_rate(struct ccs_cc *cc, double rate)
{
	(void)cc;
	note('r', 0, rate);
}

static const struct ccs_cc_ops keeper = {
	.abi = CCS_CC_ABI, .name = "keeper", .doc = "", .needs = CCS_NEEDS_RTT,
	.derive = no_derive, .on_init = diary_init, .on_ack = diary_ack, .on_cnp = diary_cnp,
	.on_send = diary_send, .on_loss = diary_loss, .on_timer = diary_timer,
	.set_rate = diary_rate,
};

/* 8 Gb/s: a byte is a nanosecond. */
static struct ccs_flow_config config(void)
{
	return (struct ccs_flow_config){
		.line_rate = 8e9, .max_rate = INFINITY, .base_rtt_us = 20, .segment = SEGMENT,
		.cap = 1e9, .split = true, .enforce = true,
	};
}

static void open_as(struct ccs_flow *f, const struct ccs_flow_config *conf,
		    const struct ccs_cc_ops *ops)
{
	static struct ccs_cc_spec spec;

	spec = ccs_cc_plain(ops);
	memset(f, 0, sizeof(*f));
	memset(&diary, 0, sizeof(diary));
	assert_int_equal(ccs_flow_init(f, conf, &spec, 64, 256, 0), 0);
}

/* Past slow start. */
static void open_flow(struct ccs_flow *f, double rate, double window, double timer_us)
{
	const struct ccs_flow_config conf = config();

	first_rate = rate;
	first_window = window;
	period_us = timer_us;
	raise = 0;
	open_as(f, &conf, &keeper);
	f->ramping = false;
	f->window = (double)f->cap;
}

static bool complete(struct ccs_flow *f, uint64_t number, uint64_t now)
{
	const struct ccs_done done = { .number = number, .ok = true, .earliest_ns = now,
				       .latest_ns = now };
	uint64_t wr;

	return ccs_flow_complete(f, &done, &wr);
}

/* One segment there and back; false if the gate is closed. */
static bool round_trip(struct ccs_flow *f, uint64_t *now, double rtt_us)
{
	uint64_t n;

	if (!ccs_flow_waiting(f))
		ccs_flow_accept(f, SEGMENT, CCS_WR_VISIBLE);
	if (!ccs_flow_next(f, *now, &n))
		return false;
	*now += SEGMENT + (uint64_t)(rtt_us * 1e3);
	complete(f, n, *now);
	return true;
}

static void events_come_in_order_after_the_timers_due(void **state)
{
	struct ccs_flow f;
	uint64_t n;

	(void)state;
	open_flow(&f, INFINITY, 0, 10);
	ccs_flow_accept(&f, SEGMENT, CCS_WR_VISIBLE);
	assert_non_null(ccs_flow_next(&f, 25000, &n));
	ccs_flow_cnp(&f, 30000);
	complete(&f, n, 45000);
	assert_string_equal(diary.what, "ttstcta");
	for (unsigned i = 0, t = 1; i < diary.n; i++)
		if (diary.what[i] == 't')
			assert_true(diary.at[i] == 10.0 * t++);
	assert_true(diary.at[2] == 25 && diary.bytes[2] == SEGMENT);
	assert_true(diary.at[4] == 30 && diary.at[6] == 45);
	assert_int_equal(f.stats.cnps, 1);
	ccs_flow_destroy(&f);
}

/* A completion that the device stamped before what was told since. */
static void time_does_not_go_back(void **state)
{
	struct ccs_flow f;
	uint64_t a, b;

	(void)state;
	open_flow(&f, INFINITY, 0, 10);
	ccs_flow_accept(&f, 2 * SEGMENT, CCS_WR_VISIBLE | CCS_WR_SPLIT);
	assert_non_null(ccs_flow_next(&f, 1000, &a));
	assert_non_null(ccs_flow_next(&f, 32000, &b));
	complete(&f, a, 29000);
	assert_string_equal(diary.what, "stttsa");
	for (unsigned i = 1; i < diary.n; i++)
		assert_true(diary.at[i] >= diary.at[i - 1]);
	assert_true(fabs(diary.ack.rtt_us - (29000 - 1000 - SEGMENT) / 1e3) < 1e-9);
	ccs_flow_destroy(&f);
}

/* A timer that raises the rate lets a waiting segment go before it was due. */
static void a_timer_releases_what_waits(void **state)
{
	struct ccs_flow f;
	uint64_t n, now = 1000, wakes = 0;

	(void)state;
	open_flow(&f, 1e6, 0, 100); /* 33 ms a segment */
	raise = 1e8;
	ccs_flow_accept(&f, 2 * SEGMENT, CCS_WR_VISIBLE | CCS_WR_SPLIT);
	assert_non_null(ccs_flow_next(&f, now, &n));
	while (!ccs_flow_next(&f, now, &n)) {
		const uint64_t due = ccs_flow_wait(&f, now);

		assert_true(due > now && due <= now + 100001);
		now = due;
		assert_true(++wakes < 20);
	}
	assert_true(now >= 200000 && now < 400000);
	assert_true(diary.timers >= 2);
	ccs_flow_destroy(&f);
}

/* A window of the algorithm's own may be opened by its timer, the cap may not. */
static void a_closed_window_waits_for_the_timer_that_may_open_it(void **state)
{
	struct ccs_flow f;
	uint64_t n;

	(void)state;
	open_flow(&f, INFINITY, SEGMENT, 100);
	ccs_flow_accept(&f, 2 * SEGMENT, CCS_WR_VISIBLE | CCS_WR_SPLIT);
	assert_non_null(ccs_flow_next(&f, 1000, &n));
	assert_int_equal(ccs_flow_wait(&f, 1000), 100000);
	ccs_flow_destroy(&f);
	open_flow(&f, INFINITY, 0, 100);
	f.window = SEGMENT;
	ccs_flow_accept(&f, 2 * SEGMENT, CCS_WR_VISIBLE | CCS_WR_SPLIT);
	assert_non_null(ccs_flow_next(&f, 1000, &n));
	assert_true(ccs_flow_wait(&f, 1000) == UINT64_MAX);
	ccs_flow_destroy(&f);
}

/* Timers at times that are no whole nanoseconds: following wait() fires each. */
static void wait_never_stands_still(void **state)
{
	(void)state;
	seed_start("timers");
	for (unsigned round = 0; round < 200; round++) {
		struct ccs_flow f;
		uint64_t n, now = 1000, due;

		open_flow(&f, 1, 0, 1 + (double)seed_below(1000000) / 7919);
		ccs_flow_accept(&f, 2 * SEGMENT, CCS_WR_SPLIT);
		assert_non_null(ccs_flow_next(&f, now, &n));
		for (unsigned i = 0; i < 200; i++) {
			due = ccs_flow_wait(&f, now);
			assert_true(due > now);
			now = due;
		}
		assert_true(diary.timers >= 100);
		ccs_flow_destroy(&f);
	}
}

/* A day without a word: the timers of a day are not made up for one by one. */
static void a_long_pause_is_no_time_for_the_algorithm(void **state)
{
	const uint64_t day = 86400ull * 1000000000;
	struct ccs_flow f;
	uint64_t n;
	double before;

	(void)state;
	open_flow(&f, INFINITY, 0, 50);
	ccs_flow_accept(&f, SEGMENT, CCS_WR_VISIBLE);
	assert_non_null(ccs_flow_next(&f, day, &n));
	assert_true(diary.timers > 1000 && diary.timers < 10000);
	complete(&f, n, day + 40000);
	assert_true(diary.timers < 10002);
	before = diary.ack.now_us;
	ccs_flow_accept(&f, SEGMENT, CCS_WR_VISIBLE);
	assert_non_null(ccs_flow_next(&f, day + 50000, &n));
	complete(&f, n, day + 80000);
	assert_true(fabs(diary.ack.now_us - before - 40) < 1e-6);
	ccs_flow_destroy(&f);
}

/* A plug-in's slip: a timer that only goes back. The flow's time does not leave the clock's. */
static void a_timer_before_all_time_is_survived(void **state)
{
	struct ccs_flow f;
	uint64_t n;

	(void)state;
	open_flow(&f, INFINITY, 0, -1);
	for (uint64_t now = 1000000; now < 20000000; now += 1000000) {
		ccs_flow_accept(&f, SEGMENT, CCS_WR_VISIBLE);
		assert_non_null(ccs_flow_next(&f, now, &n));
		complete(&f, n, now + 60000);
		assert_true(diary.ack.now_us >= 0 && diary.ack.now_us <= (double)(now + 60000) / 1e3);
	}
	ccs_flow_destroy(&f);
}

/* Bytes of the flow, whatever was taken back or thrown away in between. */
static void acks_carry_sequence_numbers(void **state)
{
	struct ccs_flow f;
	uint64_t a, b, c;

	(void)state;
	open_flow(&f, INFINITY, 0, INFINITY);
	ccs_flow_accept(&f, 3 * SEGMENT, CCS_WR_VISIBLE | CCS_WR_SPLIT);
	assert_non_null(ccs_flow_next(&f, 1000, &a));
	assert_non_null(ccs_flow_next(&f, 1000, &b));
	assert_non_null(ccs_flow_next(&f, 1000, &c));
	ccs_flow_unsend(&f, c);
	complete(&f, a, 30000);
	assert_int_equal(diary.ack.ack_seq, SEGMENT);
	assert_int_equal(diary.ack.snd_nxt, 2 * SEGMENT);
	assert_non_null(ccs_flow_next(&f, 31000, &c));
	complete(&f, b, 40000);
	assert_int_equal(diary.ack.ack_seq, 2 * SEGMENT);
	assert_int_equal(diary.ack.snd_nxt, 3 * SEGMENT);
	ccs_flow_reset(&f);
	ccs_flow_accept(&f, SEGMENT, CCS_WR_VISIBLE);
	assert_non_null(ccs_flow_next(&f, 50000, &a));
	complete(&f, a, 80000);
	assert_int_equal(diary.ack.ack_seq, 4 * SEGMENT);
	assert_int_equal(diary.ack.snd_nxt, 4 * SEGMENT);
	ccs_flow_destroy(&f);
}

static void acks_carry_the_latest_telemetry(void **state)
{
	struct ccs_telemetry seen = { .hops = { { .ts_ns = 7 }, { .ts_ns = 8 } }, .nhops = 2,
					    .path = 99, .flows = 5, .covers_ns = 500 };
	struct ccs_flow f;
	uint64_t now = 1000;

	(void)state;
	open_flow(&f, INFINITY, 0, INFINITY);
	assert_true(round_trip(&f, &now, 20));
	assert_true(diary.ack.nhops == 0 && diary.ack.flows == 0);
	f.telemetry = &seen;
	assert_true(round_trip(&f, &now, 20));
	assert_ptr_equal(diary.ack.hops, seen.hops);
	assert_true(diary.ack.nhops == 2 && diary.ack.path == 99 && diary.ack.flows == 5);
	assert_true(diary.ack.covers_us > 0 && diary.ack.covers_us < 1); /* before the flow began */
	seen.covers_ns = f.origin_ns + 2500;
	assert_true(round_trip(&f, &now, 20));
	assert_true(diary.ack.covers_us == 2.5);
	seen.covers_ns = 0;
	assert_true(round_trip(&f, &now, 20));
	assert_true(diary.ack.covers_us == 0);
	ccs_flow_destroy(&f);
}

static unsigned count(char what)
{
	unsigned n = 0;

	assert_true(diary.n < HEARD);
	for (unsigned i = 0; i < diary.n; i++)
		n += diary.what[i] == what;
	return n;
}

/* All that was in flight waited for the same retransmission. */
static void a_retransmission_is_one_loss(void **state)
{
	struct ccs_flow f;
	uint64_t n[4], now = 1000;

	(void)state;
	open_flow(&f, INFINITY, 0, INFINITY);
	f.loss_us = 1000;
	assert_true(round_trip(&f, &now, 900));
	assert_int_equal(count('l'), 0);
	ccs_flow_accept(&f, 4 * SEGMENT, CCS_WR_VISIBLE | CCS_WR_SPLIT);
	for (int i = 0; i < 4; i++)
		assert_non_null(ccs_flow_next(&f, now, &n[i]));
	now += 4 * SEGMENT + 1500000;
	for (int i = 0; i < 4; i++)
		complete(&f, n[i], now + (uint64_t)i * 1000);
	assert_int_equal(count('l'), 1);
	assert_int_equal(count('a'), 4); /* the first that is late may be a host's doing */
	now += 10000;
	assert_true(round_trip(&f, &now, 1500));
	assert_int_equal(f.stats.losses, 2);
	ccs_flow_destroy(&f);
}

static void a_silent_peer_is_a_loss(void **state)
{
	struct ccs_done done = { .lost = true, .earliest_ns = 50000, .latest_ns = 50000 };
	struct ccs_flow f;
	uint64_t wr;

	(void)state;
	open_flow(&f, INFINITY, 0, INFINITY);
	ccs_flow_accept(&f, SEGMENT, CCS_WR_VISIBLE);
	assert_non_null(ccs_flow_next(&f, 1000, &done.number));
	assert_true(ccs_flow_complete(&f, &done, &wr));
	assert_string_equal(diary.what, "sl");
	ccs_flow_destroy(&f);
}

/* Slow start finds a rate for who has no rule of his own, and is silent until then. */
static void slow_start_leads_only_who_asks_for_it(void **state)
{
	struct ccs_cc_ops by_cnp = keeper;
	const struct { const struct ccs_cc_ops *ops; double window; bool led; } rows[] = {
		{ &keeper, 0, true }, { &keeper, 1e6, false }, { &by_cnp, 0, false },
	};

	(void)state;
	by_cnp.needs = CCS_NEEDS_CNP;
	for (unsigned i = 0; i < 3; i++) {
		struct ccs_flow_config conf = config();
		struct ccs_flow f;
		uint64_t now = 1000;

		conf.cap = 100 * SEGMENT;
		first_window = rows[i].window;
		first_rate = period_us = INFINITY;
		open_as(&f, &conf, rows[i].ops);
		assert_true(round_trip(&f, &now, 20) && round_trip(&f, &now, 20));
		assert_true(f.ramping && f.window == 2 * SEGMENT);
		assert_int_equal(count('a'), rows[i].led ? 0 : 2);
		assert_true(round_trip(&f, &now, 60)); /* a queue of ten segments, or a host's doing */
		if (rows[i].led) {
			assert_true(f.ramping && f.window == 2 * SEGMENT);
			assert_true(round_trip(&f, &now, 60)); /* a queue */
		}
		assert_false(f.ramping);
		assert_true(f.window == 100 * SEGMENT);
		assert_int_equal(count('r'), rows[i].led);
		assert_int_equal(count('a'), rows[i].led ? 0 : 3);
		ccs_flow_destroy(&f);
	}
}

static void baselines_keep_their_rate(void **state)
{
	struct ccs_flow_config conf = config();
	struct ccs_flow f;
	uint64_t now = 1000;

	(void)state;
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
 * TIMELY's rate is its state: under the user's cap it must not grow beyond it
 * unseen, or it would have to fall all the way before congestion shows.
 */
static void timely_does_not_grow_beyond_the_users_cap(void **state)
{
	struct ccs_flow_config conf = config();
	struct ccs_flow f;
	uint64_t now = 1000;

	(void)state;
	conf.max_rate = 1e9;
	conf.base_rtt_us = 0; /* so that parameters are derived anew under way */
	open_as(&f, &conf, &ccs_cc_timely);
	f.ramping = false;
	f.window = (double)f.cap;
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

/* Less than a segment of window: one segment at a time, at the algorithm's rate. */
static void a_window_below_a_segment_paces(void **state)
{
	struct ccs_flow f;
	uint64_t n, now = 1000, due;

	(void)state;
	open_flow(&f, 1e9, SEGMENT / 8.0, INFINITY);
	ccs_flow_accept(&f, 4 * SEGMENT, CCS_WR_VISIBLE | CCS_WR_SPLIT);
	for (unsigned i = 0; i < 4; i++) {
		assert_non_null(ccs_flow_next(&f, now, &n));
		assert_null(ccs_flow_next(&f, now, &n));
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_come_in_order_after_the_timers_due),
		cmocka_unit_test(time_does_not_go_back),
		cmocka_unit_test(a_timer_releases_what_waits),
		cmocka_unit_test(a_closed_window_waits_for_the_timer_that_may_open_it),
		cmocka_unit_test(wait_never_stands_still),
		cmocka_unit_test(a_long_pause_is_no_time_for_the_algorithm),
		cmocka_unit_test(a_timer_before_all_time_is_survived),
		cmocka_unit_test(acks_carry_sequence_numbers),
		cmocka_unit_test(acks_carry_the_latest_telemetry),
		cmocka_unit_test(a_retransmission_is_one_loss),
		cmocka_unit_test(a_silent_peer_is_a_loss),
		cmocka_unit_test(slow_start_leads_only_who_asks_for_it),
		cmocka_unit_test(baselines_keep_their_rate),
		cmocka_unit_test(timely_does_not_grow_beyond_the_users_cap),
		cmocka_unit_test(a_window_below_a_segment_paces),
	};

	return cmocka_run_group_tests_name("drive", tests, NULL, NULL);
}
