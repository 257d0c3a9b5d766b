/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pacing: the inequalities that gate.c promises, over random rates and loads, by
 * the gate alone and by gate and wheel together. Completions come at once, so
 * that nothing but pacing holds a flow back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "flow/flow.h"
#include "flow/pacer.h"
#include "seed.h"

enum { FLOWS = 40 };

/* An algorithm that is told its rate. */
static void dial_derive(const struct ccs_cc_path *path, double *p)
{
	(void)path;
	(void)p;
}

static void dial_rate(struct ccs_cc *cc, double rate)
{
	cc->out.rate = rate;
}

static void dial_init(struct ccs_cc *cc)
{
	cc->out.rate = cc->path.line_rate;
}

static void dial_ack(struct ccs_cc *cc, const struct ccs_cc_ack *ack)
{
	(void)cc;
	(void)ack;
}

static const struct ccs_cc_ops dial = {
	.abi = CCS_CC_ABI, .name = "dial", .doc = "", .derive = dial_derive,
	.on_init = dial_init, .on_ack = dial_ack, .set_rate = dial_rate,
};

/* The same, but that its rate is one of RTTs: then the gate moves only the rest of a wait. */
static const struct ccs_cc_ops rtt_dial = {
	.abi = CCS_CC_ABI, .name = "rtt_dial", .doc = "", .needs = CCS_NEEDS_RTT,
	.derive = dial_derive, .on_init = dial_init, .on_ack = dial_ack, .set_rate = dial_rate,
};

static const struct ccs_cc_ops *const dials[] = { &dial, &rtt_dial };

static void open_dialled(struct ccs_flow *f, const struct ccs_cc_ops *ops, double line_rate,
			 double segment, double rate, uint64_t now)
{
	static struct ccs_cc_spec spec;
	const struct ccs_flow_config conf = {
		.line_rate = line_rate, .max_rate = INFINITY, .base_rtt_us = 20,
		.segment = segment, .cap = 1e12, .split = true, .enforce = true,
		.seed = seed_next(),
	};

	spec = ccs_cc_plain(ops);
	memset(f, 0, sizeof(*f));
	assert_int_equal(ccs_flow_init(f, &conf, &spec, 4, 16, now), 0);
	ccs_drive_set_rate(f, rate, now);
}

static void open_flow(struct ccs_flow *f, double line_rate, double segment, double rate,
		      uint64_t now)
{
	open_dialled(f, &dial, line_rate, segment, rate, now);
}

/* The length of what is released now, or -1. */
static int64_t release(struct ccs_flow *f, uint64_t now)
{
	struct ccs_done done = { .ok = true, .earliest_ns = now, .latest_ns = now };
	const struct ccs_seg *seg = ccs_flow_next(f, now, &done.number);
	const int64_t len = seg ? (int64_t)seg->len : -1;
	uint64_t wr;

	if (seg)
		ccs_flow_complete(f, &done, &wr);
	return len;
}

/*
 * The bounds over all intervals at once: with y = bytes so far - what a rate
 * allows so far, y rises by no more than k segments from any moment to any later
 * one, and falls by no more while something waits.
 */
struct bounds {
	double bytes, allowed, segment, k;
	double low, high;                /* of y, since the beginning */
	uint64_t at;
};

static void pass_time(struct bounds *b, double rate, uint64_t now)
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

/* What a run is about: its rates, from least to most, and its bounds. */
struct range {
	double least, most;
};

static struct range random_range(void)
{
	const double most = 1e6 * exp2((double)seed_below(17));

	return (struct range){ seed_below(3) ? most / (double)(1 + seed_below(50)) : most, most };
}

/* The unit of the bounds: segment, WR, or what a tick takes. */
static double segment_at(const struct range *r, double wr)
{
	return fmax(fmax(4096, wr), r->most * (double)CCS_PACER_TICK_NS / 8e9);
}

static double random_rate(const struct range *r)
{
	return r->least * pow(r->most / r->least, (double)seed_below(1001) / 1000);
}

/* Any load, fetched whenever somebody happens to look, while the rate moves or not. */
static void never_more_than_the_rate_allows(void **state)
{
	(void)state;
	seed_start("upper");
	for (unsigned round = 0; round < 300; round++) {
		const struct ccs_cc_ops *ops = dials[round % 2];
		const struct range range = random_range();
		const uint64_t whole = seed_below(2) ? 1 + seed_below(100000) : 0;
		uint64_t now = 1 + seed_below(1ull << 45);
		struct bounds b = { .segment = segment_at(&range, (double)whole), .at = now,
				    .k = range.least < range.most && ops == &dial ? 4 : 3 };
		double rate = random_rate(&range);
		unsigned released = 0;
		struct ccs_flow f;

		open_dialled(&f, ops, 2 * range.most, 4096, rate, now);
		for (unsigned step = 0; step < 2000; step++) {
			int64_t len;

			if (seed_below(6) == 0)
				ccs_drive_set_rate(&f, rate = random_rate(&range), now);
			if (!ccs_flow_waiting(&f) && seed_below(3))
				ccs_flow_accept(&f, whole ? 1 + seed_below(whole)
							  : 1 + seed_below(20000),
						CCS_WR_VISIBLE | (whole ? 0 : CCS_WR_SPLIT));
			for (; (len = release(&f, now)) >= 0; released++)
				check_upper(&b, len);
			now += seed_below((uint64_t)(8e9 * b.segment / rate *
						     (seed_below(10) ? 1 : 20)) + 2);
			pass_time(&b, range.most, now);
		}
		assert_true(released > 50);
		ccs_flow_destroy(&f);
	}
}

/* Backlogged and fetched in time, though not at once; what the rate allows does leave. */
static void no_less_than_the_rate_allows(void **state)
{
	(void)state;
	seed_start("lower");
	for (unsigned round = 0; round < 300; round++) {
		const struct range range = random_range();
		const bool small = seed_below(2);
		uint64_t now = 1 + seed_below(1ull << 45), due, move;
		struct bounds b = { .segment = segment_at(&range, 0), .at = now, .k = 3 };
		double rate = random_rate(&range);
		struct ccs_flow f;

		open_dialled(&f, dials[round % 2], 2 * range.most, 4096, rate, now);
		for (unsigned step = 0; step < 2000; step++) {
			int64_t len;

			if (!ccs_flow_waiting(&f))
				ccs_flow_accept(&f, small ? 1 + seed_below(4096) : 1 << 20,
						CCS_WR_VISIBLE | CCS_WR_SPLIT);
			due = ccs_flow_wait(&f, now);
			assert_true(due >= now && due != UINT64_MAX);
			move = now + seed_below((uint64_t)(8e9 * 4096 / rate) + 2);
			if (move < due) {
				pass_time(&b, range.least, now = move);
				ccs_drive_set_rate(&f, rate = random_rate(&range), now);
				continue;
			}
			if (due > now) {
				assert_int_equal(release(&f, due - 1), -1);
				now = due + seed_below((uint64_t)(8e9 * 4090 / rate) + 1);
			}
			pass_time(&b, range.least, now);
			while (ccs_flow_waiting(&f) && (len = release(&f, now)) >= 0)
				b.bytes += (double)len;
			check_lower(&b);
		}
		assert_true(b.bytes > 10 * 4096);
		ccs_flow_destroy(&f);
	}
}

static struct ccs_pacer wheel;

struct driven {
	struct ccs_flow flow;
	struct ccs_timer timer;
	double bytes;
};

static void drive(struct driven *d, uint64_t len, uint64_t now)
{
	int64_t got;

	do {
		if (!ccs_flow_waiting(&d->flow))
			ccs_flow_accept(&d->flow, len, CCS_WR_SPLIT | CCS_WR_VISIBLE);
		got = release(&d->flow, now);
		d->bytes += got > 0 ? (double)got : 0;
	} while (got >= 0);
	ccs_pacer_set(&wheel, &d->timer, ccs_flow_wait(&d->flow, now));
}

/* n flows at that rate each, WRs of len bytes; a thread that does what the helper does. */
static void rate_is_met(unsigned n, double line_rate, double rate, double segment, uint64_t len)
{
	static struct driven driven[FLOWS];
	const uint64_t start = 1 + seed_below(1ull << 45);
	uint64_t now = start, end;

	memset(driven, 0, sizeof(driven));
	ccs_pacer_init(&wheel, now);
	for (unsigned i = 0; i < n; i++) {
		open_flow(&driven[i].flow, line_rate, segment, rate, now);
		drive(&driven[i], len, now);
	}
	end = start + (uint64_t)(8e9 * 500 * fmax(driven[0].flow.segment, 16384) / rate);
	while ((now = ccs_pacer_next(&wheel)) <= end)
		for (struct ccs_timer *t; (t = ccs_pacer_pop(&wheel, now));)
			drive((struct driven *)(void *)((char *)t - offsetof(struct driven, timer)),
			      len, now);
	for (unsigned i = 0; i < n; i++) {
		const double got = 8e9 * driven[i].bytes / (double)(end - start);
		const double wanted = fmin(rate, 0.98 * line_rate);

		if (fabs(got / wanted - 1) >= 0.01)
			fail_msg("flow %u of %u: %g instead of %g bit/s, %g line, WRs of %" PRIu64,
				 i, n, got, wanted, line_rate, len);
		ccs_flow_destroy(&driven[i].flow);
	}
}

static void gate_and_wheel_meet_the_rate(void **state)
{
	static const uint64_t lens[] = { 1000, 4096, 1 << 20 };

	(void)state;
	seed_start("wheel");
	for (double line = 100e6; line <= 400e9; line *= 4)
		for (double rate = 10e6; rate < line && rate <= 100e9; rate *= 2.5)
			for (unsigned i = 0; i < 3; i++)
				rate_is_met(i == 2 ? 1 + (unsigned)seed_below(FLOWS) : 1, line, rate,
					    0, lens[i]);
	for (unsigned i = 0; i < 3; i++) {
		rate_is_met(1, 100e9, 99.9e9, 0, lens[i]);
		rate_is_met(1, 100e9, 99.9e9, 1024, lens[i]); /* twelve of them a tick */
	}
}

/* What was not late before the rate rose is not late by it. */
static void a_rise_lets_one_segment_go(void **state)
{
	struct ccs_flow f;
	uint64_t now = 1000000;

	(void)state;
	seed_start("rise");
	open_flow(&f, 10e9, 4096, 1e6, now);
	ccs_flow_accept(&f, 1 << 20, CCS_WR_SPLIT);
	assert_int_equal(release(&f, now), 4096);
	now += (uint64_t)(8e9 * 4096 / 1e6) / 2;
	ccs_drive_set_rate(&f, 1e9, now);
	assert_true(ccs_flow_wait(&f, now) <= now + 1);
	now = ccs_flow_wait(&f, now);
	assert_int_equal(release(&f, now), 4096);
	assert_int_equal(release(&f, now), -1);
	ccs_flow_destroy(&f);
}

/* Half of a gap has passed when the rate changes: the other half is at the new rate. */
static void only_the_rest_of_a_wait_follows_a_rate_of_rtts(void **state)
{
	static const double factors[] = { 0.01, 0.25, 1, 4, 1000 };

	(void)state;
	seed_start("rest");
	for (size_t i = 0; i < sizeof(factors) / sizeof(*factors); i++) {
		uint64_t now = 1000000, half;
		struct ccs_flow f;
		double rest;

		open_dialled(&f, &rtt_dial, 10e9, 4096, 1e6, now);
		ccs_flow_accept(&f, 1 << 20, CCS_WR_SPLIT);
		assert_int_equal(release(&f, now), 4096);
		half = (ccs_flow_wait(&f, now) - now) / 2;
		now += half;
		ccs_drive_set_rate(&f, 1e6 * factors[i], now);
		rest = (double)(ccs_flow_wait(&f, now) - now);
		assert_true(fabs(rest * factors[i] - (double)half) <= 2 * fmax(factors[i], 1));
		ccs_flow_destroy(&f);
	}
}

/* Of what it missed meanwhile it makes up for sixteen segments at once, and goes on at .98. */
static void a_flow_at_line_rate_leaves_a_fiftieth_of_the_line(void **state)
{
	const uint64_t late = 1000000;
	uint64_t now = 1000, end;
	struct ccs_flow f;
	double bytes = 0;

	(void)state;
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

/* Backlogged, and fetched up to so many gaps after it is due; the share of the rate that leaves. */
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
			ccs_flow_accept(&f, 1 << 30, CCS_WR_VISIBLE | CCS_WR_SPLIT);
		while ((len = release(&f, now)) >= 0)
			bytes += (double)len;
		now = ccs_flow_wait(&f, now) + seed_below((uint64_t)(gap_ns * late_gaps) + 1);
	}
	ccs_flow_destroy(&f);
	return 8e9 * bytes / (rate * (double)(now - start));
}

static void a_late_host_takes_nothing_from_a_flow_that_waits(void **state)
{
	(void)state;
	seed_start("late");
	for (unsigned gaps = 0; gaps <= 14; gaps += 2)
		assert_true(fabs(share_of_rate(gaps) - 1) < 0.01);
	assert_true(share_of_rate(200) < 0.5); /* a burst of all that would be a queue */
}

static void an_infinite_rate_is_not_paced(void **state)
{
	struct ccs_flow f;

	(void)state;
	seed_start("infinite");
	open_flow(&f, 10e9, 4096, INFINITY, 1000);
	ccs_flow_accept(&f, 50 * 4096, CCS_WR_SPLIT);
	for (int i = 0; i < 50; i++)
		assert_int_equal(release(&f, 1000), 4096);
	ccs_flow_destroy(&f);
}

/* The cap of the user's paces, whatever rate the algorithm is at. */
static void the_users_cap_binds(void **state)
{
	struct ccs_flow f;

	(void)state;
	seed_start("cap");
	open_flow(&f, 10e9, 4096, INFINITY, 1000);
	f.max_rate = 1e9;
	ccs_drive_set_rate(&f, 5e9, 1000);
	assert_true(ccs_flow_rate(&f) == 1e9 && f.cc.out.rate == 5e9);
	ccs_flow_accept(&f, 2 * 4096, CCS_WR_SPLIT);
	assert_int_equal(release(&f, 1000), 4096);
	assert_true(ccs_flow_wait(&f, 1000) > 1000 + (uint64_t)(0.94 * 8 * 4096));
	ccs_flow_destroy(&f);
}

/* 4 GiB at 1 bit/s is due after the end of the clock: a time all the same. */
static void the_longest_gap_is_a_time(void **state)
{
	struct ccs_flow f;
	uint64_t due;

	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(never_more_than_the_rate_allows),
		cmocka_unit_test(no_less_than_the_rate_allows),
		cmocka_unit_test(gate_and_wheel_meet_the_rate),
		cmocka_unit_test(a_rise_lets_one_segment_go),
		cmocka_unit_test(only_the_rest_of_a_wait_follows_a_rate_of_rtts),
		cmocka_unit_test(a_flow_at_line_rate_leaves_a_fiftieth_of_the_line),
		cmocka_unit_test(a_late_host_takes_nothing_from_a_flow_that_waits),
		cmocka_unit_test(an_infinite_rate_is_not_paced),
		cmocka_unit_test(the_users_cap_binds),
		cmocka_unit_test(the_longest_gap_is_a_time),
	};

	return cmocka_run_group_tests_name("gate", tests, NULL, NULL);
}
