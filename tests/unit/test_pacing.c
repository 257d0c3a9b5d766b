/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pacing: struct ccs_pacing alone, by tables and by the two bounds that pacing.h promises; then the
 * same bounds for a flow, and for a flow and the timer wheel together, over random rates and loads.
 * Completions arrive at once, so that only pacing limits a flow.
 */
#include "test.h"

#include <math.h>
#include <string.h>

#include "base/timer_wheel.h"
#include "flow/cc_events.h"
#include "flow/pacing.h"
#include "flow/run.h"
#include "flow_next.h"
#include "seed.h"

enum { FLOWS = 40 };

/* A line of 100 Gbit/s; 8 Gbit/s are a byte per ns, so that bytes and ns are equal. */
#define LINE 100e9
#define BYTE_PER_NS 8e9

static struct ccs_pacing start_pacing(double rate, double line_rate, uint64_t now)
{
	struct ccs_pacing p;

	ccs_pacing_seed(&p, seed_next());
	ccs_pacing_start(&p, rate, line_rate, now);
	return p;
}

/* Charges of 4096 bytes, each made when due: jitter moves a gap by 5 % at most. */
TEST(the_next_release_is_due_when_the_charge_has_left)
{
	static const struct { double rate, line_rate, gap_ns; } rows[] = {
		{ 8e9, LINE, 4096 },
		{ 16e9, LINE, 2048 },
		{ 8e6, LINE, 4096000 },
		{ 100e9, 8e9, 4096 / 0.98 },    /* the line's rate limits it, less 2 % */
		{ INFINITY, 8e9, 4096 / 0.98 },
	};

	seed_start("due");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct ccs_pacing p = start_pacing(rows[i].rate, rows[i].line_rate, 1000);
		double gap_ns;

		assert_int_equal(ccs_pacing_due_ns(&p, 1000), 1000); /* the first one at once */
		ccs_pacing_charge(&p, 4096, 4096, false, 1000);
		gap_ns = (double)(ccs_pacing_due_ns(&p, 1000) - 1000);
		assert_true(fabs(gap_ns / rows[i].gap_ns - 1) < 0.051);
		assert_int_equal(ccs_pacing_due_ns(&p, 1ull << 40), 1ull << 40);
	}
}

/* How many segments leave at once after a pause of that many gaps; jitter may move one. */
TEST(a_pause_is_made_up_for_by_one_segment_or_sixteen)
{
	static const struct { unsigned pause_gaps; bool burst; unsigned least, most; } rows[] = {
		{ 0, false, 0, 0 }, { 1, false, 0, 1 }, { 5, false, 1, 2 }, { 1000, false, 1, 2 },
		{ 5, true, 4, 6 }, { 1000, true, 16, 18 },
	};

	seed_start("pause");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct ccs_pacing p = start_pacing(BYTE_PER_NS, LINE, 1000);
		uint64_t now = 1000;
		unsigned n = 0;

		ccs_pacing_charge(&p, 4096, 4096, rows[i].burst, now);
		now += rows[i].pause_gaps * 4096ull;
		for (; ccs_pacing_due_ns(&p, now) <= now; n++)
			ccs_pacing_charge(&p, 4096, 4096, rows[i].burst, now);
		if (n < rows[i].least || n > rows[i].most)
			fail_msg("row %zu: %u segments", i, n);
	}
}

/* A wait of 4000 ns, of which 1000 have passed when the rate changes by that factor. */
TEST(a_change_of_the_rate_moves_the_whole_wait_or_its_rest)
{
	static const struct { enum ccs_pacing_change change; double factor, due_ns; } rows[] = {
		{ CCS_PACING_WHOLE_WAIT, 0.5, 8000 },
		{ CCS_PACING_WHOLE_WAIT, 2, 2000 },
		{ CCS_PACING_WHOLE_WAIT, 8, 1000 },      /* 500 is past: due now, but not late */
		{ CCS_PACING_REST_OF_WAIT, 0.5, 7000 },
		{ CCS_PACING_REST_OF_WAIT, 2, 2500 },
		{ CCS_PACING_REST_OF_WAIT, 8, 1375 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct ccs_pacing p = { .bytes = 4000, .rate = BYTE_PER_NS, .random = 1 };

		ccs_pacing_change_rate(&p, BYTE_PER_NS, rows[i].change, 1000);
		assert_int_equal(ccs_pacing_due_ns(&p, 0), 4000); /* the same rate */
		ccs_pacing_change_rate(&p, BYTE_PER_NS * rows[i].factor, rows[i].change, 1000);
		assert_int_equal(ccs_pacing_due_ns(&p, 0), (uint64_t)rows[i].due_ns);
	}
}

TEST(a_random_charge_is_a_part_of_a_segment)
{
	double sum = 0;

	seed_start("random charge");
	for (unsigned i = 0; i < 1000; i++) {
		struct ccs_pacing p = start_pacing(BYTE_PER_NS, LINE, 1000);

		ccs_pacing_charge_random(&p, 4096, false, 1000);
		assert_true(ccs_pacing_due_ns(&p, 0) <= 1000 + 4096 * 1.05);
		sum += (double)(ccs_pacing_due_ns(&p, 0) - 1000);
	}
	assert_true(sum / 1000 > 0.4 * 4096 && sum / 1000 < 0.6 * 4096);
}

/* An algorithm whose rate the test sets. */
static void settable_derive(const struct ccs_cc_path *path, double *p)
{
	(void)path;
	(void)p;
}

static void settable_rate(struct ccs_cc *cc, double rate)
{
	cc->out.rate = rate;
}

static void settable_init(struct ccs_cc *cc)
{
	cc->out.rate = cc->path.line_rate;
}

static void settable_ack(struct ccs_cc *cc, const struct ccs_cc_ack *ack)
{
	(void)cc;
	(void)ack;
}

static const struct ccs_cc_ops settable = {
	.abi = CCS_CC_ABI, .name = "settable", .doc = "", .derive = settable_derive,
	.on_init = settable_init, .on_ack = settable_ack, .set_rate = settable_rate,
};

/* The same, but RTTs are its only feedback: only the rest of a wait follows its rate then. */
static const struct ccs_cc_ops settable_rtt = {
	.abi = CCS_CC_ABI, .name = "settable_rtt", .doc = "", .needs = CCS_NEEDS_RTT,
	.derive = settable_derive, .on_init = settable_init, .on_ack = settable_ack,
	.set_rate = settable_rate,
};

static const struct ccs_cc_ops *const settables[] = { &settable, &settable_rtt };

static void open_settable(struct ccs_flow *f, const struct ccs_cc_ops *ops, double line_rate,
			 double segment, double rate, uint64_t now)
{
	static struct ccs_cc_spec spec;
	const struct ccs_flow_config conf = {
		.line_rate = line_rate, .max_rate = INFINITY, .base_rtt_us = 20,
		.segment = segment, .max_inflight = 1e12, .split = true, .enforce = true,
		.seed = seed_next(),
	};

	spec = ccs_cc_default_spec(ops);
	memset(f, 0, sizeof(*f));
	assert_int_equal(ccs_flow_init(f, &conf, &spec, 4, 16, now), 0);
	ccs_flow_cc_set_rate(f, rate, now);
}

static void open_flow(struct ccs_flow *f, double line_rate, double segment, double rate,
		      uint64_t now)
{
	open_settable(f, &settable, line_rate, segment, rate, now);
}

/* Release what is due now; its length, or -1. */
static int64_t release(struct ccs_flow *f, uint64_t now)
{
	struct ccs_done done = { .ok = true, .earliest_ns = now, .latest_ns = now };
	const struct ccs_seg *seg = flow_next(f, now, &done.number);
	const int64_t len = seg ? (int64_t)seg->len : -1;
	uint64_t wr;

	if (seg)
		ccs_flow_complete(f, &done, &wr);
	return len;
}

/*
 * The bounds over all intervals at once: let y be the bytes so far less what the rate allows so
 * far. From any time to any later one y rises by at most k segments, and falls by at most k while
 * data is waiting.
 */
struct bounds {
	double bytes, allowed, segment, k;
	double low, high;                /* of y, since the start */
	uint64_t at;
};

static void advance_to(struct bounds *b, double rate, uint64_t now)
{
	b->allowed += rate * (double)(now - b->at) / 8e9;
	b->at = now;
}

static void check_upper(struct bounds *b, int64_t len)
{
	b->low = fmin(b->low, b->bytes - b->allowed);
	b->bytes += (double)len;
	if (b->bytes - b->allowed - b->low > b->k * b->segment + 1)
		fail_msg("%g bytes more than the rate allows; %g is a segment",
			 b->bytes - b->allowed - b->low, b->segment);
}

static void check_lower(struct bounds *b)
{
	b->high = fmax(b->high, b->bytes - b->allowed);
	if (b->high - (b->bytes - b->allowed) > b->k * b->segment + 1)
		fail_msg("%g bytes less than the rate allows; %g is a segment",
			 b->high - (b->bytes - b->allowed), b->segment);
}

/* The rates of a run, from least to most. */
struct range {
	double least, most;
};

static struct range random_range(void)
{
	const double most = 1e6 * exp2((double)seed_below(17));

	return (struct range){ seed_below(3) ? most / (double)(1 + seed_below(50)) : most, most };
}

/* The unit of the bounds: segment, WR, or what leaves in a tick. */
static double segment_at(const struct range *r, double wr)
{
	return fmax(fmax(4096, wr), r->most * (double)CCS_TIMER_WHEEL_TICK_NS / 8e9);
}

static double random_rate(const struct range *r)
{
	return r->least * pow(r->most / r->least, (double)seed_below(1001) / 1000);
}

/* The struct alone, with random rates, segments and times. */
TEST(pacing_alone_keeps_the_upper_bound)
{
	seed_start("alone");
	for (unsigned round = 0; round < 300; round++) {
		const enum ccs_pacing_change change = (enum ccs_pacing_change)(round % 2);
		const struct range range = random_range();
		uint64_t now = 1 + seed_below(1ull << 45);
		struct bounds b = { .segment = segment_at(&range, 0), .at = now,
				    .k = change == CCS_PACING_WHOLE_WAIT ? 4 : 3 };
		double rate = random_rate(&range);
		struct ccs_pacing p = start_pacing(rate, 2 * range.most, now);

		for (unsigned step = 0; step < 2000; step++) {
			if (seed_below(6) == 0) {
				rate = random_rate(&range);
				ccs_pacing_change_rate(&p, rate, change, now);
			}
			while (ccs_pacing_due_ns(&p, now) <= now) {
				const uint64_t len = 1 + seed_below(4096);

				ccs_pacing_charge(&p, len, 4096, false, now);
				check_upper(&b, (int64_t)len);
			}
			now += seed_below((uint64_t)(8e9 * b.segment / rate) + 2);
			advance_to(&b, range.most, now);
		}
	}
}

/* Any load, released at random times, while the rate changes or not. */
TEST(a_flow_releases_no_more_than_its_rate_allows)
{
	seed_start("upper");
	for (unsigned round = 0; round < 300; round++) {
		const struct ccs_cc_ops *ops = settables[round % 2];
		const struct range range = random_range();
		const uint64_t whole = seed_below(2) ? 1 + seed_below(100000) : 0;
		uint64_t now = 1 + seed_below(1ull << 45);
		struct bounds b = { .segment = segment_at(&range, (double)whole), .at = now,
				    .k = range.least < range.most && ops == &settable ? 4 : 3 };
		double rate = random_rate(&range);
		unsigned released = 0;
		struct ccs_flow f;

		open_settable(&f, ops, 2 * range.most, 4096, rate, now);
		for (unsigned step = 0; step < 2000; step++) {
			int64_t len;

			if (seed_below(6) == 0)
				ccs_flow_cc_set_rate(&f, rate = random_rate(&range), now);
			if (!ccs_flow_waiting(&f) && seed_below(3))
				ccs_flow_accept(&f, whole ? 1 + seed_below(whole)
							  : 1 + seed_below(20000),
						CCS_WR_SIGNALED | (whole ? 0 : CCS_WR_SPLIT));
			for (; (len = release(&f, now)) >= 0; released++)
				check_upper(&b, len);
			now += seed_below((uint64_t)(8e9 * b.segment / rate *
						     (seed_below(10) ? 1 : 20)) + 2);
			advance_to(&b, range.most, now);
		}
		assert_true(released > 50);
		ccs_flow_destroy(&f);
	}
}

static bool post_run(struct ccs_flow *f, uint64_t len)
{
	struct ccs_flow_run run;

	if (!f->budget.wrs && !ccs_flow_grant(f, len))
		return false;
	ccs_flow_run_begin(f, false, &run);
	if (!ccs_flow_run_fits(f, &run, len, CCS_RUN_SIGNALED))
		return false;
	ccs_flow_run_add(f, &run, len, 0, CCS_RUN_SIGNALED, 0);
	ccs_flow_run_end(f, &run, 1, CCS_RUN_SIGNALED);
	return true;
}

/* Hand over a small WR, without the time if the flow allows that. Its length, or -1: it waits. */
static int64_t release_small(struct ccs_flow *f, uint64_t len, uint64_t now, unsigned *fast)
{
	struct ccs_done done = { .ok = true, .earliest_ns = now, .latest_ns = now };
	uint64_t wr;

	if (post_run(f, len)) {
		done.number = ccs_flow_newest(f);
		ccs_flow_complete(f, &done, &wr);
		++*fast;
		return (int64_t)len;
	}
	if (!ccs_flow_waiting(f))
		ccs_flow_accept(f, len, CCS_WR_SIGNALED);
	return release(f, now);
}

/* Small WRs, most of which leave without the time; the rate changes or not. */
TEST(untimed_wrs_leave_at_the_rate)
{
	unsigned fast = 0;

	seed_start("untimed");
	for (unsigned round = 0; round < 300; round++) {
		const struct range range = random_range();
		const uint64_t most = 1 + seed_below(1000);
		uint64_t now = 1 + seed_below(1ull << 45);
		struct bounds b = { .segment = segment_at(&range, 0), .at = now,
				    .k = range.least < range.most ? 4 : 3 };
		double rate = random_rate(&range);
		struct ccs_flow f;

		open_flow(&f, 2 * range.most, 4096, rate, now);
		for (unsigned step = 0; step < 2000; step++) {
			int64_t len;

			if (seed_below(6) == 0)
				ccs_flow_cc_set_rate(&f, rate = random_rate(&range), now);
			while ((len = release_small(&f, 1 + seed_below(most), now, &fast)) >= 0 &&
			       seed_below(40))
				check_upper(&b, len);
			if (len >= 0)
				check_upper(&b, len);
			now += seed_below((uint64_t)(8e9 * b.segment / rate *
						     (seed_below(10) ? .1 : 20)) + 2);
			advance_to(&b, range.most, now);
		}
		ccs_flow_destroy(&f);
	}
	assert_true(fast > 100000);
}

/* A backlog of small WRs, released each 5 us: it takes the time of its bytes at the rate. */
TEST(a_backlog_of_untimed_wrs_uses_the_rate)
{
	const double rate = 1e9;
	uint64_t bytes = 0;
	unsigned fast = 0;
	struct ccs_flow f;
	int64_t len;

	open_flow(&f, 2 * rate, 4096, rate, 1000000);
	for (uint64_t now = 1000000; now < 11000000; now += 5000)
		while ((len = release_small(&f, 64, now, &fast)) >= 0)
			bytes += (uint64_t)len;
	assert_true(fast > bytes / 64 / 2);
	assert_true((double)bytes > .99 * rate * .01 / 8 &&
		    (double)bytes < 1.01 * rate * .01 / 8 + 3 * 4096);
	ccs_flow_destroy(&f);
}

/* Backlogged, and released in time though not at once. */
TEST(a_flow_releases_no_less_than_its_rate_allows)
{
	seed_start("lower");
	for (unsigned round = 0; round < 300; round++) {
		const struct range range = random_range();
		const bool small = seed_below(2);
		uint64_t now = 1 + seed_below(1ull << 45), due, move;
		struct bounds b = { .segment = segment_at(&range, 0), .at = now, .k = 3 };
		double rate = random_rate(&range);
		struct ccs_flow f;

		open_settable(&f, settables[round % 2], 2 * range.most, 4096, rate, now);
		for (unsigned step = 0; step < 2000; step++) {
			int64_t len;

			if (!ccs_flow_waiting(&f))
				ccs_flow_accept(&f, small ? 1 + seed_below(4096) : 1 << 20,
						CCS_WR_SIGNALED | CCS_WR_SPLIT);
			due = ccs_flow_wait(&f, now);
			assert_true(due >= now && due != UINT64_MAX);
			move = now + seed_below((uint64_t)(8e9 * 4096 / rate) + 2);
			if (move < due) {
				advance_to(&b, range.least, now = move);
				ccs_flow_cc_set_rate(&f, rate = random_rate(&range), now);
				continue;
			}
			if (due > now) {
				assert_int_equal(release(&f, due - 1), -1);
				now = due + seed_below((uint64_t)(8e9 * 4090 / rate) + 1);
			}
			advance_to(&b, range.least, now);
			while (ccs_flow_waiting(&f) && (len = release(&f, now)) >= 0)
				b.bytes += (double)len;
			check_lower(&b);
		}
		assert_true(b.bytes > 10 * 4096);
		ccs_flow_destroy(&f);
	}
}

static struct ccs_timer_wheel wheel;

struct driven {
	struct ccs_flow flow;
	struct ccs_timer timer;
	double bytes;
};

static void release_due(struct driven *d, uint64_t len, uint64_t now)
{
	int64_t got;

	do {
		if (!ccs_flow_waiting(&d->flow))
			ccs_flow_accept(&d->flow, len, CCS_WR_SPLIT | CCS_WR_SIGNALED);
		got = release(&d->flow, now);
		d->bytes += got > 0 ? (double)got : 0;
	} while (got >= 0);
	ccs_timer_wheel_set(&wheel, &d->timer, ccs_flow_wait(&d->flow, now));
}

static struct driven *driven_by(struct ccs_timer *t)
{
	return (struct driven *)(void *)((char *)t - offsetof(struct driven, timer));
}

/* n flows at that rate each, WRs of len bytes; a thread that works as the pacer thread does. */
static void check_rate_is_met(unsigned n, double line_rate, double rate, double segment,
			      uint64_t len)
{
	static struct driven driven[FLOWS];
	const uint64_t start = 1 + seed_below(1ull << 45);
	uint64_t now = start, end;

	memset(driven, 0, sizeof(driven));
	ccs_timer_wheel_init(&wheel, now);
	for (unsigned i = 0; i < n; i++) {
		open_flow(&driven[i].flow, line_rate, segment, rate, now);
		release_due(&driven[i], len, now);
	}
	end = start + (uint64_t)(8e9 * 500 * fmax(driven[0].flow.segments.len, 16384) / rate);
	while ((now = ccs_timer_wheel_next(&wheel)) <= end)
		for (struct ccs_timer *t; (t = ccs_timer_wheel_pop(&wheel, now));)
			release_due(driven_by(t), len, now);
	for (unsigned i = 0; i < n; i++) {
		const double got = 8e9 * driven[i].bytes / (double)(end - start);
		const double wanted = fmin(rate, 0.98 * line_rate);

		if (fabs(got / wanted - 1) >= 0.01)
			fail_msg("flow %u of %u: %g instead of %g bit/s, %g line, WRs of %" PRIu64,
				 i, n, got, wanted, line_rate, len);
		ccs_flow_destroy(&driven[i].flow);
	}
}

TEST(flow_and_timer_wheel_meet_the_rate)
{
	static const uint64_t lens[] = { 1000, 4096, 1 << 20 };

	seed_start("wheel");
	for (double line = 100e6; line <= 400e9; line *= 4)
		for (double rate = 10e6; rate < line && rate <= 100e9; rate *= 2.5)
			for (unsigned i = 0; i < 3; i++)
				check_rate_is_met(i == 2 ? 1 + (unsigned)seed_below(FLOWS) : 1,
						  line, rate, 0, lens[i]);
	for (unsigned i = 0; i < 3; i++) {
		check_rate_is_met(1, 100e9, 99.9e9, 0, lens[i]);
		check_rate_is_met(1, 100e9, 99.9e9, 1024, lens[i]); /* twelve of them a tick */
	}
}

/* A segment that was not late before the rate rose is not late after it. */
TEST(a_rise_releases_one_segment)
{
	struct ccs_flow f;
	uint64_t now = 1000000;

	seed_start("rise");
	open_flow(&f, 10e9, 4096, 1e6, now);
	ccs_flow_accept(&f, 1 << 20, CCS_WR_SPLIT);
	assert_int_equal(release(&f, now), 4096);
	now += (uint64_t)(8e9 * 4096 / 1e6) / 2;
	ccs_flow_cc_set_rate(&f, 1e9, now);
	assert_true(ccs_flow_wait(&f, now) <= now + 1);
	now = ccs_flow_wait(&f, now);
	assert_int_equal(release(&f, now), 4096);
	assert_int_equal(release(&f, now), -1);
	ccs_flow_destroy(&f);
}

/* Half of a gap has passed when the rate changes: the other half follows the new rate. */
TEST(only_the_rest_of_a_wait_follows_a_rate_from_rtts)
{
	static const double factors[] = { 0.01, 0.25, 1, 4, 1000 };

	seed_start("rest");
	for (size_t i = 0; i < sizeof(factors) / sizeof(*factors); i++) {
		uint64_t now = 1000000, half;
		struct ccs_flow f;
		double rest;

		open_settable(&f, &settable_rtt, 10e9, 4096, 1e6, now);
		ccs_flow_accept(&f, 1 << 20, CCS_WR_SPLIT);
		assert_int_equal(release(&f, now), 4096);
		half = (ccs_flow_wait(&f, now) - now) / 2;
		now += half;
		ccs_flow_cc_set_rate(&f, 1e6 * factors[i], now);
		rest = (double)(ccs_flow_wait(&f, now) - now);
		assert_true(fabs(rest * factors[i] - (double)half) <= 2 * fmax(factors[i], 1));
		ccs_flow_destroy(&f);
	}
}

/* After a pause it makes up for sixteen segments at once, and then continues at .98. */
TEST(a_flow_at_line_rate_leaves_a_fiftieth_of_the_line)
{
	const uint64_t late = 1000000;
	uint64_t now = 1000, end;
	struct ccs_flow f;
	double bytes = 0;

	seed_start("line");
	open_flow(&f, 10e9, 4096, 10e9, now);
	ccs_flow_accept(&f, 5000 * 4096, CCS_WR_SPLIT);
	now += late;
	for (int got; (got = (int)release(&f, now)) > 0;)
		bytes += got;
	assert_in_range(bytes, 16 * 4096, 19 * 4096);
	for (bytes = 0, end = now + late; now < end; now = ccs_flow_wait(&f, now))
		for (int got; (got = (int)release(&f, now)) > 0;)
			bytes += got;
	assert_true(fabs(8e9 * bytes / (double)late / 0.98e10 - 1) < 0.01);
	ccs_flow_destroy(&f);
}

/* Backlogged, and released up to late_gaps after it is due; the share of the rate that leaves. */
static double share_of_rate(unsigned late_gaps)
{
	const double rate = 1e9, gap_ns = 8e9 * 4096 / rate;
	uint64_t start = 1000000, now = start;
	struct ccs_flow f;
	double bytes = 0;

	open_flow(&f, 10e9, 4096, rate, now);
	while (now < start + 100000000) {
		int64_t len;

		if (!ccs_flow_waiting(&f))
			ccs_flow_accept(&f, 1 << 30, CCS_WR_SIGNALED | CCS_WR_SPLIT);
		while ((len = release(&f, now)) >= 0)
			bytes += (double)len;
		now = ccs_flow_wait(&f, now) + seed_below((uint64_t)(gap_ns * late_gaps) + 1);
	}
	ccs_flow_destroy(&f);
	return 8e9 * bytes / (rate * (double)(now - start));
}

TEST(late_releases_cost_a_waiting_flow_no_throughput)
{
	seed_start("late");
	for (unsigned gaps = 0; gaps <= 14; gaps += 2)
		assert_true(fabs(share_of_rate(gaps) - 1) < 0.01);
	assert_true(share_of_rate(200) < 0.5); /* a burst of all of it would be a queue */
}

TEST(an_infinite_rate_is_not_paced)
{
	struct ccs_flow f;

	seed_start("infinite");
	open_flow(&f, 10e9, 4096, INFINITY, 1000);
	ccs_flow_accept(&f, 50 * 4096, CCS_WR_SPLIT);
	for (int i = 0; i < 50; i++)
		assert_int_equal(release(&f, 1000), 4096);
	ccs_flow_destroy(&f);
}

/* The user's max_rate paces, whatever the algorithm's rate is. */
TEST(max_rate_limits_pacing)
{
	struct ccs_flow f;

	seed_start("max_rate");
	open_flow(&f, 10e9, 4096, INFINITY, 1000);
	f.user.max_rate = 1e9;
	ccs_flow_cc_set_rate(&f, 5e9, 1000);
	assert_true(ccs_flow_rate(&f) == 1e9 && f.cc.out.rate == 5e9);
	ccs_flow_accept(&f, 2 * 4096, CCS_WR_SPLIT);
	assert_int_equal(release(&f, 1000), 4096);
	assert_true(ccs_flow_wait(&f, 1000) > 1000 + (uint64_t)(0.94 * 8 * 4096));
	ccs_flow_destroy(&f);
}

/* 4 GiB at 1 bit/s is due after the end of the clock: it is a time even so. */
TEST(the_longest_gap_is_a_time)
{
	struct ccs_flow f;
	uint64_t due;

	seed_start("longest");
	open_flow(&f, 10e9, 4096, 1, 1000);
	ccs_flow_accept(&f, 1ull << 32, 0);
	assert_int_equal(release(&f, 1000), 1ll << 32);
	ccs_flow_accept(&f, 1, 0);
	due = ccs_flow_wait(&f, 1000);
	assert_true(due > 1ull << 60 && due < UINT64_MAX);
	assert_int_equal(release(&f, 1ull << 60), -1);
	ccs_flow_destroy(&f);
}
