/* SPDX-License-Identifier: BSD-2-Clause */
/* The RTT samples that a flow's algorithm gets: what they include, when they come, what is kept. */
#include "test.h"

#include "flow/run.h"
#include "flow_fixture.h"

static bool no_memory;

/* The linker's --wrap: calls of these in the library arrive here. */
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

void *__wrap_calloc(size_t n, size_t size)
{
	return no_memory ? NULL : __real_calloc(n, size);
}

void *__real_ccs_pool_calloc(size_t n, size_t size);
void *__wrap_ccs_pool_calloc(size_t n, size_t size);

void *__wrap_ccs_pool_calloc(size_t n, size_t size)
{
	return no_memory ? NULL : __real_ccs_pool_calloc(n, size);
}

/* RTT = completion - posting - serialisation at line rate (8 Gbit/s: 1 ns a byte). */
TEST(rtt_leaves_out_serialisation)
{
	const struct ccs_flow_config conf = flow_config(4096);
	struct ccs_flow f;
	uint64_t n;

	spy_rate = INFINITY;
	spy_window = 0;
	open_started(&f, &conf);
	ccs_flow_accept(&f, 4096, CCS_WR_SIGNALED);
	flow_next(&f, 1000000, &n);
	complete_up_to(&f, n, 1000000 + 4096 + 23000);
	assert_int_equal(ack_count, 1);
	assert_true(fabs(last_rtt() - 23) < 1e-9);
	assert_true(acks[0].bytes == 4096);
	assert_true(acks[0].inflight == 0);
	assert_true(fabs(acks[0].now_us - 1027.096) < 1e-9);
	ccs_flow_destroy(&f);
}

/* Two at once: the RTT of the second does not include the first one's serialisation. */
TEST(rtt_leaves_out_predecessors)
{
	const struct ccs_flow_config conf = flow_config(4096);
	struct ccs_flow f;
	uint64_t a, b;

	spy_rate = INFINITY;
	spy_window = 0;
	open_started(&f, &conf);
	ccs_flow_accept(&f, 4096, CCS_WR_SIGNALED);
	ccs_flow_accept(&f, 4096, CCS_WR_SIGNALED);
	assert_non_null(flow_next(&f, 1000000, &a));
	assert_non_null(flow_next(&f, 1000000, &b));
	complete_up_to(&f, a, 1000000 + 4096 + 20000);
	assert_true(fabs(last_rtt() - 20) < 1e-9);
	assert_true(acks[0].inflight == 4096);
	complete_up_to(&f, b, 1000000 + 2 * 4096 + 20000);
	assert_true(fabs(last_rtt() - 20) < 1e-9);
	ccs_flow_destroy(&f);
}

/* It departs at line rate, whatever the flow's rate is: the RTT is what the path adds. */
TEST(an_unsplit_message_departs_at_line_rate)
{
	const struct ccs_flow_config conf = flow_config(4096);
	struct ccs_flow f;
	uint64_t n;

	spy_rate = 1e9; /* 8 ns a byte */
	spy_window = 0;
	open_started(&f, &conf);
	ccs_flow_accept(&f, 10 * 4096, CCS_WR_SIGNALED);
	assert_non_null(flow_next(&f, 1000000, &n));
	complete_up_to(&f, n, 1000000 + 10 * 4096 + 20000);
	assert_true(fabs(last_rtt() - 20) < 1e-9);
	ccs_flow_destroy(&f);
}

static void open_on_unknown_path(struct ccs_flow *f)
{
	struct ccs_flow_config conf = flow_config(4096);

	spy_rate = INFINITY;
	spy_window = 0;
	conf.base_rtt_us = 0;
	open_flow(f, &conf, 16, 144, 0);
}

/* The first segment of a flow is small, and no segment follows it before its completion. */
TEST(the_first_segment_measures_the_path)
{
	const struct ccs_seg *seg;
	struct ccs_flow f;
	uint64_t n;

	open_on_unknown_path(&f);
	ccs_flow_accept(&f, 65536, CCS_WR_SIGNALED | CCS_WR_SPLIT);
	seg = flow_next(&f, 1000000, &n);
	assert_non_null(seg);
	assert_true(seg->len == 256 && seg->signal);
	assert_null(flow_next(&f, 1000000, &n));
	complete_up_to(&f, n, 1000000 + 256 + 20000);
	seg = flow_next(&f, 1021000, &n);
	assert_non_null(seg);
	assert_int_equal(seg->len, 4096);
	f.cc.out.small_next = true;
	complete_up_to(&f, n, 1021000 + 4096 + 20000);
	ccs_flow_wait(&f, 1046000);
	seg = flow_next(&f, 1050000, &n);
	assert_non_null(seg);
	assert_int_equal(seg->len, 256);
	assert_false(f.cc.out.small_next);
	ccs_flow_destroy(&f);
}

/* The algorithm asked while no WR waited, as after a drain in a pause of the application. */
TEST(the_first_segment_after_a_pause_is_not_small)
{
	const struct ccs_seg *seg;
	struct ccs_flow f;
	uint64_t n;

	open_on_unknown_path(&f);
	ccs_flow_accept(&f, 256, CCS_WR_SIGNALED | CCS_WR_SPLIT);
	assert_non_null(flow_next(&f, 1000000, &n));
	complete_up_to(&f, n, 1021000);
	ccs_flow_wait(&f, 1021000);
	f.cc.out.small_next = true;
	ccs_flow_accept(&f, 65536, CCS_WR_SIGNALED | CCS_WR_SPLIT);
	seg = flow_next(&f, 2000000, &n);
	assert_non_null(seg);
	assert_int_equal(seg->len, 4096);
	assert_false(f.cc.out.small_next);
	ccs_flow_destroy(&f);
}

/* A completion before the modelled departure does not give a negative RTT. */
TEST(rtt_is_positive)
{
	const struct ccs_flow_config conf = flow_config(4096);
	struct ccs_flow f;
	uint64_t n;

	spy_rate = INFINITY;
	open_started(&f, &conf);
	ccs_flow_accept(&f, 4096, CCS_WR_SIGNALED);
	flow_next(&f, 1000000, &n);
	complete_up_to(&f, n, 1000001);
	assert_true(last_rtt() > 0 && last_rtt() < 1);
	ccs_flow_destroy(&f);
}

/* Of the completions that one poll returns, the last counts, for the bytes of all. */
TEST(completions_of_one_poll_are_one_sample)
{
	const struct ccs_flow_config conf = flow_config(4096);
	struct ccs_done done = { .ok = true, .earliest_ns = 1041000, .latest_ns = 1041000 };
	struct ccs_flow f;
	uint64_t last, wr;

	spy_rate = INFINITY;
	spy_window = 0;
	open_started(&f, &conf);
	send_four(&f, 1000000, &last);
	for (done.number = last - 3; done.number <= last; done.number++) {
		done.more = done.number < last;
		ccs_flow_complete(&f, &done, &wr);
		assert_int_equal(ack_count, !done.more);
	}
	assert_true(acks[0].bytes == 4 * 4096);
	assert_true(fabs(last_rtt() - (41 - 4 * 4.096)) < 1e-9);
	ccs_flow_destroy(&f);
}

/* An application that has not polled for long does not slow the flow. */
TEST(rtt_of_a_rarely_polling_application_is_the_early_end)
{
	const struct ccs_flow_config conf = flow_config(4096);
	struct ccs_done done = { .ok = true };
	struct ccs_flow f;
	uint64_t wr;

	spy_rate = INFINITY;
	open_started(&f, &conf);
	ccs_flow_accept(&f, 4096, CCS_WR_SIGNALED);
	flow_next(&f, 1000000, &done.number);
	done.earliest_ns = 1000000 + 4096 + 30000;
	done.latest_ns = 1000000 + 3000000000ull;
	assert_true(ccs_flow_complete(&f, &done, &wr));
	assert_true(fabs(last_rtt() - 30) < 1e-9);
	ccs_flow_destroy(&f);
}

/* On a long path that is not known yet, too: an early end would be taken for the empty path's RTT. */
TEST(the_first_rtts_of_a_long_path_are_the_late_end)
{
	struct ccs_flow_config conf = flow_config(4096);
	struct ccs_done done = { .ok = true };
	struct ccs_flow f;
	uint64_t wr;

	spy_rate = INFINITY;
	conf.base_rtt_us = 0;
	open_started(&f, &conf);
	ccs_flow_accept(&f, 4096, CCS_WR_SIGNALED);
	flow_next(&f, 1000000, &done.number);
	done.earliest_ns = 1000000 + 4096 + 470000;
	done.latest_ns = 1000000 + 4096 + 500000;
	assert_true(ccs_flow_complete(&f, &done, &wr));
	assert_true(fabs(last_rtt() - 500) < .01);
	ccs_flow_destroy(&f);
}

/* A SEND takes longer_us more than the 25 us of an idle path; returns the algorithm's RTT. */
static double rtt_of_send(struct ccs_flow *f, uint64_t *now, unsigned longer_us)
{
	uint64_t n;

	ccs_flow_accept(f, 4096, CCS_WR_SIGNALED | CCS_WR_RECV);
	flow_next(f, *now, &n);
	*now += 4096 + 25000 + 1000ull * longer_us;
	complete_up_to(f, n, *now);
	return last_rtt();
}

/* An RNR wait of WRs that consume a receive is filtered out, */
TEST(rtt_of_sends_ignores_rnr_waits)
{
	const struct ccs_flow_config conf = flow_config(4096);
	uint64_t now = 1000000;
	struct ccs_flow f;

	spy_rate = INFINITY;
	open_started(&f, &conf);
	for (int i = 0; i < 12; i++)
		assert_true(fabs(rtt_of_send(&f, &now, i % 3 == 1 ? 5000 : 0) - 25) < 1e-9);
	ccs_flow_destroy(&f);
}

/* but not a short queue. */
TEST(rtts_of_sends_through_a_short_queue_are_not_filtered)
{
	const struct ccs_flow_config conf = flow_config(4096);
	uint64_t now = 1000000;
	struct ccs_flow f;

	spy_rate = INFINITY;
	open_started(&f, &conf);
	for (unsigned i = 0; i < 12; i++)
		assert_true(fabs(rtt_of_send(&f, &now, 2 * (i % 4)) - 25 - 2 * (i % 4)) < 1e-9);
	ccs_flow_destroy(&f);
}

/* Small messages are gathered until they make a segment, or for an RTT. */
TEST(updates_come_per_segment_of_data)
{
	const struct ccs_flow_config conf = flow_config(4096);
	uint64_t n, now = 1000000;
	struct ccs_flow f;

	spy_rate = INFINITY;
	open_started(&f, &conf);
	ccs_flow_accept(&f, 4096, CCS_WR_SIGNALED); /* sets the time of the last update */
	flow_next(&f, now, &n);
	complete_up_to(&f, n, now);
	ack_count = 0;
	for (int i = 0; i < 8; i++) {
		ccs_flow_accept(&f, 512, CCS_WR_SIGNALED);
		flow_next(&f, now, &n);
		now += 100;
		complete_up_to(&f, n, now);
		assert_int_equal(ack_count, i == 7);
	}
	assert_true(acks[0].bytes == 4096);
	ccs_flow_accept(&f, 1024, CCS_WR_SIGNALED);
	flow_next(&f, now, &n);
	complete_up_to(&f, n, now + 21000);
	assert_int_equal(ack_count, 2);
	assert_true(acks[1].bytes == 1024);
	ccs_flow_destroy(&f);
}

/* A segment completed between two polls, at these times after its departure. */
static void poll_between(struct ccs_flow *f, uint64_t *now, uint64_t earliest_ns,
			 uint64_t latest_ns)
{
	struct ccs_done done = { .ok = true };
	uint64_t wr;

	ccs_flow_accept(f, f->segments.len, CCS_WR_SIGNALED);
	assert_non_null(flow_next(f, *now, &done.number));
	done.earliest_ns = *now + f->segments.len + earliest_ns;
	done.latest_ns = *now + f->segments.len + latest_ns;
	ccs_flow_complete(f, &done, &wr);
	*now = done.latest_ns;
}

/* Sleeps end late: a poll by the shim must not count as the early end, on an idle or a full path. */
TEST(the_rtt_of_a_late_poll_ends_at_the_poll)
{
	const struct ccs_flow_config conf = flow_config(4096);
	uint64_t now = 1000000, poll_ns;
	struct ccs_flow f;

	spy_rate = INFINITY;
	open_started(&f, &conf);
	for (uint64_t rtt_ns = 30000; rtt_ns < 100000000; rtt_ns *= 3) {
		poll_between(&f, &now, rtt_ns, rtt_ns);
		poll_ns = (uint64_t)ccs_flow_poll_ns(&f, INFINITY, now);
		assert_in_range(poll_ns, rtt_ns > 500000 ? rtt_ns / 17 : 5000, rtt_ns / 4);
		poll_between(&f, &now, rtt_ns, rtt_ns + 2 * poll_ns);
		assert_float_equal(last_rtt(), (double)(rtt_ns + 2 * poll_ns) / 1e3, 1e-3);
	}
	ccs_flow_destroy(&f);
}

/* An application's pause is no queue: the next poll is not later for it. */
TEST(a_pause_leaves_the_polls_as_they_were)
{
	const struct ccs_flow_config conf = flow_config(4096);
	uint64_t now = 1000000;
	struct ccs_flow f;
	double poll_ns;

	spy_rate = INFINITY;
	open_started(&f, &conf);
	poll_between(&f, &now, 21000, 21000);
	poll_ns = ccs_flow_poll_ns(&f, INFINITY, now);
	poll_between(&f, &now, 1000, 100000000);
	assert_float_equal(ccs_flow_poll_ns(&f, INFINITY, now), poll_ns, 0);
	ccs_flow_destroy(&f);
}

/* Before the first sample, the age of the oldest segment shows a queue. */
TEST(polls_become_rarer_as_the_oldest_segment_ages)
{
	const struct ccs_flow_config conf = flow_config(4096);
	uint64_t now = 1000000, n;
	struct ccs_flow f;

	spy_rate = INFINITY;
	open_started(&f, &conf);
	ccs_flow_accept(&f, 4096, CCS_WR_SIGNALED);
	flow_next(&f, now, &n);
	assert_float_equal(ccs_flow_poll_ns(&f, 1000, now), 1000, 0);
	assert_float_equal(ccs_flow_poll_ns(&f, 1000, now + 80000000), 5e6, 1e4);
	ccs_flow_destroy(&f);
}

/*
 * With a poll every 60 us, an RTT of 150 us is known to within half of itself, though not to within
 * half of what is assumed of an unknown path. An application's pause teaches nothing.
 */
TEST(base_rtt_is_learned_despite_rare_polling)
{
	struct ccs_flow_config conf = flow_config(0);
	uint64_t now = 1000000;
	struct ccs_flow f;

	conf.base_rtt_us = conf.max_inflight = 0;
	spy_rate = INFINITY;
	open_flow(&f, &conf, 16, 144, 0);
	for (int i = 0; i < 32; i++)
		poll_between(&f, &now, 10000, 3000000);
	assert_true(f.cc.path.base_rtt_us == 50);
	assert_null(f.rtt.stats);
	for (unsigned i = 0; i < 32; i++)
		poll_between(&f, &now, 90000 + i % 6 * 10000, 150000 + i % 6 * 10000);
	assert_true(fabs(f.cc.path.base_rtt_us - 150) < 1e-9);
	assert_int_equal(f.rtt.stats->count, 32);
	ccs_flow_destroy(&f);
}

/* No memory for the rings: no flow. None for the statistics of RTTs: only counted. */
TEST(without_memory_init_fails_and_rtts_go_unrecorded)
{
	const struct ccs_flow_config conf = flow_config(4096);
	const struct ccs_cc_spec spec = ccs_cc_default_spec(&spy);
	struct ccs_flow f = { 0 };
	uint64_t now = 1000000;

	spy_rate = INFINITY;
	no_memory = true;
	assert_int_equal(ccs_flow_init(&f, &conf, &spec, 16, 4096, 0), -1); /* not of a pool */
	no_memory = false;
	open_flow(&f, &conf, 16, 144, 0);
	no_memory = true;
	one_round_trip(&f, &now, 20);
	one_round_trip(&f, &now, 20);
	no_memory = false;
	assert_null(f.rtt.stats);
	assert_int_equal(f.stats.unrecorded, 2);
	one_round_trip(&f, &now, 20);
	assert_int_equal(f.rtt.stats->count, 1);
	ccs_flow_destroy(&f);
}

/* At 100 Gb/s: a segment of 64 KB, whose retransmission takes 2 ms. */
static uint32_t segment_after_losses(struct ccs_flow *f, unsigned losses, double given, double rate)
{
	struct ccs_flow_config conf = flow_config(given);
	uint64_t now = 1000000;

	conf.line_rate = 100e9;
	spy_rate = rate;
	spy_window = 0;
	open_started(f, &conf);
	f->rtt.loss_us = 1000;
	for (unsigned i = 0; i < losses; i++)
		one_round_trip(f, &now, 2000);
	return f->segments.len;
}

TEST(a_slow_flow_with_losses_has_shorter_segments)
{
	struct ccs_flow f;
	uint64_t now = 11000 * 1000000ull;

	assert_int_equal(segment_after_losses(&f, 0, 0, 300e6), 65536);
	ccs_flow_destroy(&f);
	assert_int_equal(segment_after_losses(&f, 1, 0, 10e9), 8192);
	ccs_flow_destroy(&f);
	assert_int_equal(segment_after_losses(&f, 1, 0, 100e9), 65536);
	ccs_flow_destroy(&f);
	assert_int_equal(segment_after_losses(&f, 1, 32768, 300e6), 32768);
	ccs_flow_destroy(&f);
	assert_int_equal(segment_after_losses(&f, 1, 0, 300e6), 4096);
	assert_true(f.cc.path.segment == 4096);
	one_round_trip(&f, &now, 20);
	assert_int_equal(f.segments.len, 65536); /* ten seconds later */
	ccs_flow_destroy(&f);
}

static uint32_t split_len_at(struct ccs_flow *f, double rate)
{
	spy_rate = rate;
	ccs_flow_cnp(f, 1000000);
	assert_int_equal(f->segments.len, 65536);
	return f->segments.split_len;
}

/* Post a WR of 64 bytes as a run of one, and complete it. */
static void post_and_complete(struct ccs_flow *f)
{
	struct ccs_flow_run run;

	ccs_flow_run_begin(f, true, &run);
	assert_true(ccs_flow_run_fits(f, &run, 64, CCS_RUN_SIGNALED));
	ccs_flow_run_add(f, &run, 64, 0, CCS_RUN_SIGNALED, 0);
	ccs_flow_run_end(f, &run, 1, CCS_RUN_SIGNALED);
	assert_non_null(ccs_flow_complete_whole(f, (uint32_t)f->seg_tail));
}

TEST(a_shallow_queue_gets_a_budget_until_a_wr_must_be_timed)
{
	struct ccs_flow_config conf = flow_config(65536);
	struct ccs_flow f;
	unsigned n = 0;

	(void)state;
	spy_rate = INFINITY;
	open_flow(&f, &conf, 4, 4, 0);
	end_slow_start(&f);
	for (; f.budget.wrs || ccs_flow_grant(&f, 64); n++)
		post_and_complete(&f);
	assert_int_equal(n, 127);
	ccs_flow_destroy(&f);
}

/* Of 16 KB at least, and without a change for a rate that varies a little. */
TEST(a_slow_flow_of_a_fast_link_splits_into_shorter_segments)
{
	struct ccs_flow f;
	struct ccs_cc_ops advised = spy;
	struct ccs_flow_config conf = flow_config(0);

	advised.needs = CCS_NEEDS_ADVICE;
	conf.line_rate = 100e9;
	spy_rate = 100e9;
	open_started(&f, &conf);
	f.cc.ops = &advised;
	assert_int_equal(split_len_at(&f, 60e9), 32768);
	assert_int_equal(split_len_at(&f, 70e9), 32768);
	assert_int_equal(split_len_at(&f, 90e9), 65536);
	assert_int_equal(split_len_at(&f, 300e6), 16384);
	assert_int_equal(split_len_at(&f, 100e9), 65536);
	f.user.clock_cost_ns = 50; /* 32 readings take as long as 20 KB */
	assert_int_equal(split_len_at(&f, 300e6), 32768);
	f.cc.ops = &spy;
	assert_int_equal(split_len_at(&f, 300e6), 65536); /* RTTs give it its share */
	ccs_flow_destroy(&f);
}

/* At a port of 10 Gb/s: its capacity is the advice of a free port, where RTTs give the shares. */
TEST(a_flow_with_a_share_of_a_full_port_splits_into_shorter_segments)
{
	struct ccs_flow f;
	struct ccs_cc_ops rcp = spy;
	struct ccs_telemetry port = { .nhops = 1, .hops = { { .capacity = 10e9 } } };
	struct ccs_flow_config conf = flow_config(0);

	(void)state;
	rcp.needs = CCS_NEEDS_RTT | CCS_NEEDS_ADVICE;
	conf.line_rate = 100e9;
	spy_rate = 100e9;
	open_started(&f, &conf);
	f.cc.ops = &rcp;
	f.events.telemetry = &port;
	assert_int_equal(split_len_at(&f, 300e6), 65536);
	port.advised_rate = 300e6;
	assert_int_equal(split_len_at(&f, 300e6), 16384);
	port.advised_rate = 10e9;
	assert_int_equal(split_len_at(&f, 300e6), 65536);
	f.events.telemetry = NULL;
	ccs_flow_destroy(&f);
}

static void raise_rate(struct ccs_cc *cc, double now_us)
{
	(void)now_us;
	cc->out.rate = 100e9;
	cc->out.timer_us = INFINITY;
}

/* A timer that makes segments longer is due when the WR leaves. */
TEST(no_segment_is_longer_than_the_rest_of_its_wr)
{
	struct ccs_flow f;
	struct ccs_cc_ops advised = spy;
	struct ccs_flow_config conf = flow_config(0);
	const struct ccs_seg *seg;
	uint64_t n;

	advised.needs = CCS_NEEDS_ADVICE;
	advised.on_timer = raise_rate;
	conf.line_rate = 100e9;
	spy_rate = 100e9;
	open_started(&f, &conf);
	f.cc.ops = &advised;
	assert_int_equal(split_len_at(&f, 300e6), 16384);
	f.cc.out.timer_us = 1500;
	ccs_flow_accept(&f, 20000, CCS_WR_SIGNALED | CCS_WR_SPLIT);
	seg = flow_next(&f, 2000000, &n);
	assert_int_equal(f.segments.split_len, 65536);
	assert_non_null(seg);
	assert_int_equal(seg->len, 20000);
	assert_true(seg->last);
	ccs_flow_destroy(&f);
}

/* Their shares are in segments. */
TEST(a_single_loss_shortens_no_segments_of_a_window_by_rtts)
{
	struct ccs_flow f;
	struct ccs_flow_config conf = flow_config(0);
	uint64_t now = 1000000;

	conf.line_rate = 100e9;
	spy_rate = 300e6;
	spy_window = 1e6;
	open_started(&f, &conf);
	f.rtt.loss_us = 1000;
	one_round_trip(&f, &now, 2000);
	assert_int_equal(f.segments.len, 65536);
	now += 2000000;
	one_round_trip(&f, &now, 2000);
	assert_int_equal(f.segments.len, 4096);
	ccs_flow_destroy(&f);
}

/* 4.096 us * 2^14 is 67 ms, which Soft-RoCE may shorten to 50 on a kernel with ticks of 10. */
TEST(a_pause_that_is_shorter_than_the_timeout_is_no_loss)
{
	const struct ccs_flow_config conf = flow_config(4096);
	struct ccs_flow f;
	uint64_t now = 1000000;

	spy_rate = INFINITY;
	spy_window = 0;
	open_started(&f, &conf);
	f.rtt.loss_us = ccs_flow_loss_us(14, 10000);
	one_round_trip(&f, &now, 44000);
	assert_int_equal(f.stats.losses, 0);
	one_round_trip(&f, &now, 50000);
	assert_int_equal(f.stats.losses, 1);
	f.rtt.loss_us = ccs_flow_loss_us(14, 1000);
	now += 50000000;
	one_round_trip(&f, &now, 64000);
	assert_int_equal(f.stats.losses, 1);
	ccs_flow_destroy(&f);
}

TEST(a_timeout_of_few_ticks_may_be_half_as_long)
{
	assert_true(fabs(ccs_flow_loss_us(8, 10000) - 524.288) < 1e-3);
	assert_true(ccs_flow_loss_us(31, 10000) > 8e9);
	assert_true(ccs_flow_loss_us(0, 10000) == 0);
}
