/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which segments ask for a completion, which are timed, and what is counted: unsignalled segments
 * never block a flow, and small ones need no time.
 */
#include "test.h"

#include "flow_fixture.h"

/* Small unsignalled WRs precede one that is as large as the window. */
TEST(unsignalled_bytes_never_block_the_window)
{
	const struct ccs_flow_config conf = {
		.line_rate = 10e9, .max_rate = INFINITY, .base_rtt_us = 20,
		.segment = 4096, .max_inflight = 4096, .split = true, .enforce = true,
	};
	struct ccs_flow f;
	uint64_t n;

	spy_rate = INFINITY;
	spy_window = 0;
	open_flow(&f, &conf, 16, 144, 1000);
	ccs_flow_accept(&f, 100, CCS_WR_SPLIT);
	ccs_flow_accept(&f, 4096, CCS_WR_SPLIT | CCS_WR_SIGNALED);
	assert_non_null(flow_next(&f, 1000, &n));
	if (!ccs_flow_seg(&f, 0)->signal)
		assert_non_null(flow_next(&f, 1000, &n));
	ccs_flow_destroy(&f);
}

TEST(unsignalled_reads_never_block_reads)
{
	const struct ccs_flow_config conf = {
		.line_rate = 10e9, .max_rate = INFINITY, .base_rtt_us = 20,
		.segment = 4096, .max_inflight = 65536, .split = true, .enforce = true,
	};
	struct ccs_flow f;
	uint64_t n;

	spy_rate = INFINITY;
	spy_window = 0;
	open_flow(&f, &conf, 16, 144, 1000);
	f.reads.max = 2;
	for (int i = 0; i < 3; i++)
		ccs_flow_accept(&f, 8, CCS_WR_READ);
	assert_non_null(flow_next(&f, 1000, &n));
	assert_non_null(flow_next(&f, 1000, &n));
	assert_null(flow_next(&f, 1000, &n));
	assert_true(ccs_flow_seg(&f, 0)->signal || ccs_flow_seg(&f, 1)->signal);
	ccs_flow_destroy(&f);
}

/* All WRs go to the device unsplit, at once and without added completions. */
TEST(observing_does_not_change_what_the_device_gets)
{
	struct ccs_flow_config conf = flow_config(4096);
	struct ccs_flow f;
	uint64_t n, signals = 0;

	conf.enforce = false;
	spy_rate = 1e3;
	spy_window = 1;
	open_flow(&f, &conf, 128, 256, 0);
	f.reads.max = 1;
	for (int i = 0; i < 50; i++) {
		const uint32_t read = i % 2 ? CCS_WR_READ : 0;
		const struct ccs_seg *seg;

		ccs_flow_accept(&f, 100000, CCS_WR_SPLIT | read);
		seg = flow_next(&f, 1000, &n);
		assert_true(seg && seg->len == 100000 && seg->first && seg->last);
		signals += seg->signal;
	}
	assert_int_equal(signals, 0);
	ccs_flow_destroy(&f);
	spy_rate = INFINITY;
	spy_window = 0;
}

/*
 * Nothing is signalled, and the device reuses its entries. Where a quarter of the queue suffices
 * for what is in flight there are always entries, for few completions.
 */
TEST(a_sender_that_signals_nothing_never_fills_its_queue)
{
	struct ccs_flow_config conf = flow_config(1 << 20);
	uint64_t n;

	for (uint32_t depth = 1; depth <= 300; depth++) {
		for (unsigned enforce = 0; enforce < 2; enforce++) {
			struct ccs_flow f;
			unsigned signals = 0;

			conf.enforce = enforce;
			open_flow(&f, &conf, depth, depth + 128, 0);
			f.reuses_silently = true;
			for (uint32_t i = 0; i < 8 * depth; i++) {
				const struct ccs_seg *seg;

				assert_false(ccs_flow_full(&f));
				ccs_flow_accept(&f, 8, 0);
				seg = flow_next(&f, 1000, &n);
				assert_non_null(seg);
				if (seg->signal && ++signals)
					complete_up_to(&f, n, 1000);
			}
			assert_true(signals <= 8 * (depth < 4 ? depth : 4) + 1);
			ccs_flow_destroy(&f);
		}
	}
}

/* READs of a flow that was only observed are in flight, and no completion reports their end. */
TEST(unsignalled_reads_of_observe_mode_block_nothing)
{
	struct ccs_flow_config conf = flow_config(4096);
	struct ccs_flow f;
	uint64_t n;

	conf.enforce = false;
	spy_rate = INFINITY;
	spy_window = 0;
	open_flow(&f, &conf, 64, 128, 0);
	f.reads.max = 2;
	for (int i = 0; i < 4; i++) {
		ccs_flow_accept(&f, 100, CCS_WR_SPLIT | CCS_WR_READ);
		assert_non_null(flow_next(&f, 1000, &n));
	}
	conf.enforce = true;
	ccs_flow_configure(&f, &conf, f.cc.spec, 1000);
	for (int i = 0; i < 4; i++)
		ccs_flow_accept(&f, 100, CCS_WR_SPLIT | CCS_WR_READ);
	for (int i = 0; i < 4; i++) {
		const struct ccs_seg *seg = flow_next(&f, 1000, &n);

		if (!seg) { /* then a completion was asked for before, and comes */
			assert_true(i > 0);
			complete_up_to(&f, n, 1000);
			seg = flow_next(&f, 1000, &n);
		}
		assert_non_null(seg);
	}
	ccs_flow_destroy(&f);
}

/* One in 128 is timed, or one per quarter of a segment's worth; the bytes of all count. */
TEST(one_small_wr_in_128_is_timed)
{
	const struct ccs_flow_config conf = flow_config(4096);
	unsigned timed = 0;
	struct ccs_flow f;

	spy_rate = INFINITY;
	open_started(&f, &conf);
	ack_count = 0;
	for (unsigned i = 0; i < 512; i++) {
		const bool asked = is_time_needed(&f, 4, CCS_WR_SIGNALED, 1000);

		assert_int_equal(asked, i % 128 == 127);
		assert_int_equal(ccs_flow_is_timed(&f, i), asked);
		assert_int_equal(f.timed, asked);
		/* The time of the others is not read. */
		complete_up_to(&f, i, asked ? 31000 + i : CCS_TIME_UNKNOWN);
		assert_int_equal(f.timed, 0);
	}
	assert_int_equal(ack_count, 1); /* of four in one base RTT */
	assert_true(acks[0].bytes == 512 && fabs(acks[0].rtt_us - 30) < 0.2);
	for (unsigned i = 0; i < 8; i++)
		timed += is_time_needed(&f, 512, CCS_WR_SIGNALED, 1000);
	assert_int_equal(timed, 4);
	assert_true(is_time_needed(&f, 1024, CCS_WR_SIGNALED, 1000));
	assert_int_equal(f.timed, 5);
	ccs_flow_unsend(&f, f.seg_head - 1);
	assert_int_equal(f.timed, 4);
	ccs_flow_reset(&f);
	assert_int_equal(f.timed, 0);
	ccs_flow_destroy(&f);
}

/* The device does not complete these visibly: the next signalled one is timed. */
TEST(unsignalled_wrs_are_not_timed)
{
	const struct ccs_flow_config conf = flow_config(4096);
	struct ccs_flow f;

	spy_rate = INFINITY;
	open_started(&f, &conf);
	for (unsigned i = 0; i < 130; i++) {
		assert_false(is_time_needed(&f, 8, 0, 1000));
		if (i % 8 == 7)
			complete_up_to(&f, i, CCS_TIME_UNKNOWN);
	}
	assert_int_equal(f.timed, 0);
	assert_true(is_time_needed(&f, 8, CCS_WR_SIGNALED, 1000));
	assert_int_equal(f.timed, 1);
	ccs_flow_destroy(&f);
}

/* A flow that is limited or still learns its path needs the time of each WR. */
TEST(only_an_unpaced_flow_that_knows_its_path_needs_no_time)
{
	struct ccs_flow_config conf = flow_config(4096);
	struct ccs_flow f;

	spy_rate = 7e9;
	open_started(&f, &conf);
	assert_true(is_time_needed(&f, 8, CCS_WR_SIGNALED, 1000)); /* paced */
	ccs_flow_destroy(&f);
	spy_rate = INFINITY;
	open_flow(&f, &conf, 16, 144, 0);
	assert_false(is_time_needed(&f, 8, CCS_WR_SIGNALED, 1000)); /* slow start */
	assert_true(is_time_needed(&f, 1024, CCS_WR_SIGNALED, 1000));
	assert_true(is_time_needed(&f, 8, CCS_WR_SIGNALED, 1000)); /* with much outstanding */
	ccs_flow_destroy(&f);
	conf.base_rtt_us = 0;
	open_started(&f, &conf);
	for (unsigned i = 0; i < 8; i++) { /* to learn the base RTT */
		assert_true(is_time_needed(&f, 8, CCS_WR_SIGNALED, 1000 + i));
		complete_up_to(&f, i, 9000 + i);
	}
	assert_false(is_time_needed(&f, 8, CCS_WR_SIGNALED, 1000));
	ccs_flow_destroy(&f);
}

static void complete_between(struct ccs_flow *f, uint64_t number, uint64_t earliest,
			     uint64_t latest)
{
	const struct ccs_done done = { .number = number, .ok = true, .earliest_ns = earliest,
				       .latest_ns = latest };
	uint64_t wr;

	ccs_flow_complete(f, &done, &wr);
}

/* If every poll finds everything complete, timing each WR would teach no more. */
TEST(rare_polling_does_not_time_every_wr)
{
	struct ccs_flow_config conf = flow_config(4096);
	struct ccs_flow f;

	spy_rate = INFINITY;
	conf.base_rtt_us = 0;
	open_started(&f, &conf);
	for (unsigned i = 0; i < 8; i++) {
		assert_true(is_time_needed(&f, 8, CCS_WR_SIGNALED, 1000));
		complete_between(&f, i, 1000, 1000000);
	}
	assert_int_equal(f.learned.base_samples, 0);
	assert_false(is_time_needed(&f, 8, CCS_WR_SIGNALED, 1000));
	ccs_flow_destroy(&f);
}

/* The time for which a WR waited at the gate, no more and no less. */
TEST(gated_time_is_counted)
{
	const struct ccs_flow_config conf = flow_config(4096);
	uint64_t n, now = 1000000, due;
	struct ccs_flow f;

	spy_rate = 1e9;
	spy_window = 0;
	open_flow(&f, &conf, 16, 144, now);
	ccs_flow_accept(&f, 4096, CCS_WR_SIGNALED);
	assert_non_null(flow_next(&f, now, &n));
	complete_up_to(&f, n, now);
	assert_int_equal(ccs_flow_wait(&f, now), 0);
	assert_int_equal(f.stats.gated_ns, 0);
	now += 5; /* no WR is waiting: not counted */
	ccs_flow_accept(&f, 4096, CCS_WR_SIGNALED);
	assert_null(flow_next(&f, now, &n));
	due = ccs_flow_wait(&f, now);
	assert_true(due > now + 25000 && due < now + 40000);
	assert_non_null(flow_next(&f, due, &n));
	assert_int_equal(ccs_flow_wait(&f, due), 0);
	assert_int_equal(f.stats.gated_ns, due - now);

	/* A thread that read the clock before another one had to wait. */
	ccs_flow_accept(&f, 4096, CCS_WR_SIGNALED);
	assert_true(ccs_flow_wait(&f, due) > due);
	ccs_flow_unaccept(&f, f.wr_next);
	assert_int_equal(ccs_flow_wait(&f, due - 1), 0);
	assert_int_equal(f.stats.gated_ns, due - now);
	ccs_flow_destroy(&f);
}

TEST(completed_work_is_counted)
{
	const struct ccs_flow_config conf = flow_config(4096);
	uint64_t now = 1000000, n;
	struct ccs_flow f;

	spy_rate = INFINITY;
	spy_window = 0;
	open_flow(&f, &conf, 16, 144, 0);
	ccs_flow_accept(&f, 3 * 4096 + 1024, CCS_WR_SPLIT | CCS_WR_SIGNALED);
	for (int i = 0; i < 4; i++) {
		assert_non_null(flow_next(&f, now, &n));
		now += 25000;
		complete_up_to(&f, n, now);
	}
	assert_int_equal(f.stats.bytes, 3 * 4096 + 1024);
	assert_int_equal(f.stats.segments, 4);
	assert_int_equal(f.stats.wrs, 1);
	assert_int_equal(f.stats.internal_completions, 3);
	assert_int_equal(f.rtt.stats->count, 4);
	ccs_flow_destroy(&f);
}
