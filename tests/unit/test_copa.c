/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests Copa: the fixed point, drains at the hosts' common time, jitter, losses, bounds. */
#include "test.h"

#include "algorithm.h"
#include "seed.h"

#define SEGMENT 8192.0
#define BASE 42.0
#define LINE_US (8e6 * SEGMENT / 10e9)
#define DELTA 0.6

static const struct ccs_cc_path test_path = { .line_rate = 10e9, .base_rtt_us = BASE,
					      .segment = SEGMENT, .flows = 1 };

static void ack(struct ccs_cc *cc, double now_us, double rtt_us, double bytes)
{
	const struct ccs_cc_ack a = { .now_us = now_us, .rtt_us = rtt_us, .bytes = bytes,
				      .inflight = cc->out.window };

	ccs_cc_advance(cc, now_us);
	cc->ops->on_ack(cc, &a);
}

/* Acknowledge at the flow's rate, each with that RTT, until that time. */
static double stream(struct ccs_cc *cc, double from_us, double until_us, double rtt_us)
{
	double now = from_us;

	while (now < until_us) {
		now += 8e6 * SEGMENT / cc->out.rate;
		ack(cc, now, rtt_us, SEGMENT);
	}
	return now;
}

/* rate = 1 / (delta * (dq - a segment's time)) for any initial rate, so shares are equal. */
TEST(the_rate_goes_to_a_segment_per_delta_times_the_queueing_delay)
{
	const double queue_us = 100;
	const double target = 8e6 * SEGMENT / (DELTA * (queue_us - LINE_US));

	for (double first = 20e6; first < 10e9; first *= 3) {
		struct ccs_cc cc;
		double sum = 0, now;

		start(&cc, "copa:drain=0", &test_path);
		ack(&cc, 1, BASE, SEGMENT);
		ccs_cc_set_rate(&cc, first);
		now = stream(&cc, 1, 100e3, BASE + queue_us);
		for (unsigned i = 0; i < 1000; i++) {
			now = stream(&cc, now, now + 1, BASE + queue_us);
			sum += cc.out.rate;
		}
		assert_true(fabs(sum / 1000 / target - 1) < 0.15);
	}
}

/* Steps of one length would continue around the target, and synchronise the flows of a queue. */
TEST(the_window_comes_to_rest_at_the_target)
{
	struct ccs_cc cc;
	double now, least = INFINITY, most = 0;

	start(&cc, "copa:drain=0", &test_path);
	ack(&cc, 1, BASE, SEGMENT);
	now = stream(&cc, 1, 100e3, BASE + 100);
	for (unsigned i = 0; i < 100; i++) {
		now = stream(&cc, now, now + 1, BASE + 100);
		least = fmin(least, observed(&cc, "cwnd_segments").value);
		most = fmax(most, observed(&cc, "cwnd_segments").value);
	}
	assert_true(most / least < 1.01);
}

/*
 * A queue that oscillates within a few RTTs consists of acknowledgements that wait for other flows'
 * data, which these flows reduce an RTT later. A rate that followed it would keep it oscillating.
 */
TEST(the_rate_follows_the_average_rtt)
{
	struct ccs_cc cc;
	double now, least = INFINITY, most = 0;

	start(&cc, "copa:drain=0", &test_path);
	ack(&cc, 1, BASE, SEGMENT);
	now = stream(&cc, 1, 20e3, BASE + 150);
	for (unsigned i = 0; i < 100; i++) {
		now = stream(&cc, now, now + 600, BASE + (i % 2 ? 110 : 190));
		if (i < 50)
			continue;
		least = fmin(least, cc.out.rate);
		most = fmax(most, cc.out.rate);
	}
	assert_true(most / least < 1.25);
}

/*
 * A drain lasts one round trip and begins at multiples of a power of two of the hosts' common
 * time.
 */
TEST(drains_are_at_the_hosts_common_time)
{
	double first[2] = { 0 };

	for (unsigned host = 0; host < 2; host++) {
		struct ccs_cc_path path = test_path;
		struct ccs_cc cc;
		double now = 0;

		path.epoch_us = host ? 123456.75 : 7000000;
		start(&cc, "copa", &path);
		ack(&cc, 1, BASE, SEGMENT);
		now = stream(&cc, 1, 2000, BASE + 150);
		assert_true(cc.out.timer_us < INFINITY);
		first[host] = cc.out.timer_us + path.epoch_us;
		now = cc.out.timer_us;
		ccs_cc_advance(&cc, now);
		assert_string_equal(observed(&cc, "phase").text, "drain");
		assert_true(cc.out.rate == param(&cc, "min_rate"));
		assert_float_equal(cc.out.timer_us - now, BASE + 150, 5);
		ccs_cc_advance(&cc, cc.out.timer_us);
		assert_string_equal(observed(&cc, "phase").text, "steady");
		assert_true(cc.out.small_next);
	}
	for (unsigned host = 0; host < 2; host++)
		assert_true(fmod(first[host], 4096) == 0);
}

/*
 * Without a queue to drain, the flow needs neither a pause nor a timer, which would cost each small
 * WR a clock reading.
 */
TEST(an_uncongested_flow_has_no_timer)
{
	struct ccs_cc cc;

	start(&cc, "copa", &test_path);
	stream(&cc, 1, 50e3, BASE);
	assert_true(cc.out.timer_us == INFINITY);
	assert_true(cc.out.rate == test_path.line_rate);
	/* a timer armed by an idle flow ends with the drain */
	stream(&cc, 50e3, 52e3, BASE + 100);
	assert_true(cc.out.timer_us < INFINITY);
	ccs_cc_advance(&cc, 1e9);
	assert_true(cc.out.timer_us == INFINITY);
}

/* RTT above the minimum on an emptied path is jitter, not queueing. */
TEST(jitter_after_drains_is_taken_off_the_queueing_delay)
{
	struct ccs_cc cc;
	double now = 1;

	start(&cc, "copa", &test_path);
	ack(&cc, 1, BASE, SEGMENT);
	for (unsigned i = 0; i < 10000; i++)
		ack(&cc, now += 10, BASE + 60, SEGMENT);
	assert_true(observed(&cc, "jitter_us").value > 40);
	assert_true(observed(&cc, "queue_us").value < 20);
	assert_true(observed(&cc, "queue_us").value >= 60 / 8.0);
}

TEST(jitter_has_a_bound)
{
	struct ccs_cc cc;
	double now = 1;

	start(&cc, "copa:max_jitter=30us", &test_path);
	ack(&cc, 1, BASE, SEGMENT);
	for (unsigned i = 0; i < 40000; i++)
		ack(&cc, now += 10, BASE + 500, SEGMENT);
	assert_true(observed(&cc, "jitter_us").value == 30);
}

/* End eight drains, and after each acknowledge a segment that was sent `sent_us` later. */
static double jitter_learned_from(double sent_us, double rtt_us)
{
	struct ccs_cc cc;
	double now = 1;

	start(&cc, "copa", &test_path);
	ack(&cc, now, BASE, SEGMENT);
	for (unsigned i = 0; i < 8; i++) {
		while (strcmp(observed(&cc, "phase").text, "drain") != 0)
			ack(&cc, now += 10, BASE + 60, SEGMENT);
		now = cc.out.timer_us;
		ccs_cc_advance(&cc, now);
		now += sent_us + rtt_us;
		ack(&cc, now, rtt_us, SEGMENT);
	}
	return observed(&cc, "jitter_us").value;
}

/* Others have a queue before and after: the segment waited for a retransmission, or for its turn. */
TEST(only_a_segment_sent_right_after_a_drain_shows_jitter)
{
	assert_float_equal(jitter_learned_from(1, BASE + 30), 30 - LINE_US, 2);
	assert_float_equal(jitter_learned_from(-20, BASE + 40), 60 - LINE_US, 2);
	assert_float_equal(jitter_learned_from(5000, BASE + 300), 0, 1e-9);
}

/*
 * The queue in the local NIC counts: otherwise two flows in opposite directions would have
 * unequal shares.
 */
TEST(waiting_in_the_local_nic_counts_as_queueing)
{
	struct ccs_cc cc;
	struct ccs_cc_ack a = { .rtt_us = BASE, .nic_wait_us = 80, .bytes = SEGMENT };

	start(&cc, "copa:drain=0", &test_path);
	ack(&cc, 1, BASE, SEGMENT);
	for (unsigned i = 1; i < 100; i++) {
		a.now_us = 10.0 * i;
		cc.ops->on_ack(&cc, &a);
	}
	assert_float_equal(observed(&cc, "queue_us").value, 80 - LINE_US, 1e-6);
}

/* Acknowledge `segments` a hundred times, at once or spaced, with `left` left in flight. */
/* Acknowledge a segment that was handed over at that time, and waited in the NIC. */
static double window_after(struct ccs_cc *cc, double sent_us, double now_us)
{
	const struct ccs_cc_ack a = { .now_us = now_us, .rtt_us = BASE, .nic_wait_us = now_us - sent_us - BASE,
		.bytes = SEGMENT, .inflight = cc->out.window };

	cc->ops->on_ack(cc, &a);
	return observed(cc, "cwnd_segments").value;
}

/* A window that is posted after a pause waits in the NIC. All of it was sent before the window fell. */
TEST(segments_sent_before_the_window_fell_do_not_reduce_it_again)
{
	struct ccs_cc cc;
	double now, before, fallen;

	start(&cc, "copa:drain=0", &test_path);
	now = stream(&cc, 0, 20e3, BASE);
	fallen = observed(&cc, "cwnd_segments").value;
	do {
		before = fallen;
		now += LINE_US;
		fallen = window_after(&cc, now - 200, now);
	} while (fallen > .8 * before);
	for (unsigned n = 1; n < 10; n++)
		assert_float_equal(window_after(&cc, now - 1, now + 300 * n), fallen, 1e-9);
	assert_true(window_after(&cc, now + 1, now + 3000) < fallen);
}

static void ack_batches(struct ccs_cc *cc, unsigned segments, unsigned left, double spacing_us)
{
	for (unsigned i = 0; i < 100; i++) {
		for (unsigned k = 0; k < segments; k++) {
			const struct ccs_cc_ack a = {
				.now_us = 200.0 * (i + 1) + k * spacing_us, .rtt_us = BASE + 150,
				.bytes = SEGMENT, .inflight = (segments - k - 1 + left) * SEGMENT,
			};

			cc->ops->on_ack(cc, &a);
		}
	}
}

/* The path would have spaced them, so hosts held them back. */
TEST(delay_of_acks_that_arrive_at_once_is_not_queueing)
{
	struct ccs_cc cc;

	start(&cc, "copa:drain=0", &test_path);
	ack(&cc, 1, BASE, SEGMENT);
	ack_batches(&cc, 8, 0, LINE_US);
	assert_float_equal(observed(&cc, "queue_us").value, 150 - LINE_US, 1e-6);
	assert_true(observed(&cc, "held_us").value == 0);
	start(&cc, "copa:drain=0", &test_path);
	ack(&cc, 1, BASE, SEGMENT);
	ack_batches(&cc, 8, 0, 0);
	assert_true(observed(&cc, "queue_us").value < 5);
	assert_true(cc.out.window > 8 * SEGMENT);
}

/* A queue of data spaces them by a segment's time at line rate, at least. */
TEST(acks_that_arrive_closer_than_data_leave_were_held_back)
{
	const double spacing_us[] = { 0, 0.1 * LINE_US, 0.6 * LINE_US };
	double held_us[3];

	for (unsigned i = 0; i < 3; i++) {
		struct ccs_cc cc;

		start(&cc, "copa:drain=0", &test_path);
		ack(&cc, 1, BASE, SEGMENT);
		ack_batches(&cc, 9, 15, spacing_us[i]);
		held_us[i] = observed(&cc, "held_us").value;
	}
	assert_true(held_us[1] > 0.3 * 150);
	assert_true(held_us[1] < held_us[0]); /* some of them by each other only */
	assert_true(held_us[2] == 0);
}

/* The number of segments in a batch does not count, which a faster flow has more of. */
TEST(queueing_depends_on_the_share_of_the_window_that_arrives_at_once)
{
	double queue_us[2];

	for (unsigned i = 0; i < 2; i++) {
		struct ccs_cc cc;

		start(&cc, "copa:drain=0", &test_path);
		ack(&cc, 1, BASE, SEGMENT);
		ack_batches(&cc, i ? 33 : 9, i ? 31 : 7, 0);
		queue_us[i] = observed(&cc, "queue_us").value;
	}
	assert_float_equal(queue_us[0], 150 / 8.0 - LINE_US, 1);
	assert_float_equal(queue_us[1], queue_us[0], 1);
}

/* Flows that lose different numbers of packets would have unequal shares otherwise. */
TEST(the_share_of_the_queue_does_not_depend_on_the_number_of_losses)
{
	const unsigned losses[] = { 0, 1, 8 };
	double rate[3];

	for (unsigned i = 0; i < 3; i++) {
		struct ccs_cc cc;
		double now;

		start(&cc, "copa:drain=0", &test_path);
		ack(&cc, 1, BASE, SEGMENT);
		now = stream(&cc, 1, 50e3, BASE + 100);
		for (unsigned k = 0; k < losses[i]; k++) {
			cc.ops->on_loss(&cc, now);
			assert_true(observed(&cc, "cwnd_segments").value >= 1);
			now = stream(&cc, now, now + 400, BASE + 100);
		}
		stream(&cc, now, now + 50e3, BASE + 100);
		rate[i] = cc.out.rate;
	}
	assert_float_equal(rate[1] / rate[0], 0.6, 0.05);
	assert_float_equal(rate[2], rate[1], 0.05 * rate[1]);
}

/* A queue that is longer than the timeout would stay, because devices repeat what waits in it. */
TEST(without_an_rtt_between_losses_the_rate_is_half_of_what_arrives)
{
	struct ccs_cc cc;
	double now;

	start(&cc, "copa:drain=0", &test_path);
	ack(&cc, 1, BASE, SEGMENT);
	now = stream(&cc, 1, 50e3, BASE + 100);
	for (unsigned ms = 10; ms <= 640; ms *= 2) {
		cc.ops->on_loss(&cc, now);
		if (ms > 10)
			assert_float_equal(cc.out.rate, 0.5 * 8e6 * SEGMENT / (1e3 * ms / 2), 1);
		ack(&cc, now, 70e3, SEGMENT);
		now += 1e3 * ms;
	}
	stream(&cc, now, now + 1e6, BASE + 100);
	assert_true(observed(&cc, "cwnd_segments").value >= 1);
}

/* It takes as long as a timeout. A pause of this length would leave the path to other flows. */
TEST(the_rtt_of_a_retransmission_does_not_lengthen_a_drain)
{
	struct ccs_cc cc;
	double now;

	start(&cc, "copa", &test_path);
	ack(&cc, 1, BASE, SEGMENT);
	stream(&cc, 1, 2000, BASE + 100);
	now = cc.out.timer_us - 100;
	cc.ops->on_loss(&cc, now);
	for (unsigned i = 0; i < 8; i++)
		ack(&cc, now += 10, 4000, SEGMENT);
	now = cc.out.timer_us;
	ccs_cc_advance(&cc, now);
	assert_string_equal(observed(&cc, "phase").text, "drain");
	assert_float_equal(cc.out.timer_us - now, BASE + 100, 5);
}

/* Rate and window are finite and within their bounds for any RTTs. */
TEST(rate_and_window_stay_within_bounds)
{
	seed_start("bounds");
	for (unsigned run = 0; run < 50; run++) {
		struct ccs_cc_path path = test_path;
		struct ccs_cc cc;
		double now = 0;

		path.line_rate = 1e8 * (double)(1 + seed_below(4000));
		start(&cc, "copa", &path);
		for (unsigned i = 0; i < 2000; i++) {
			now += (double)seed_below(1000) / 10;
			if (seed_below(100) == 0)
				cc.ops->on_loss(&cc, now);
			ack(&cc, now, (double)seed_below(1 << seed_below(20)), (double)seed_below(1 << 17));
			assert_true(cc.out.rate >= param(&cc, "min_rate"));
			assert_true(cc.out.rate <= path.line_rate);
			assert_true(cc.out.window > 0 && cc.out.window < 1e12);
			assert_true(cc.out.timer_us > 0);
		}
	}
}

/*
 * Hosts that return a window at once, after RTTs of very different length: the RTT used for pacing
 * is between the smallest and the largest sample, whatever part of the last sample batches account
 * for. It was below zero, which paused the flow for the time of a segment at the least rate, 26
 * seconds.
 */
TEST(the_window_leaves_within_the_longest_rtt)
{
	seed_start("the longest RTT");
	for (unsigned run = 0; run < 50; run++) {
		struct ccs_cc cc;
		double now = 0, longest = BASE;

		start(&cc, "copa:drain=0", &test_path);
		ack(&cc, 1, BASE, SEGMENT);
		for (unsigned i = 0; i < 500; i++) {
			const double rtt = BASE + (double)seed_below(1 << seed_below(16));
			const unsigned batch = 1 + seed_below(16);

			now += rtt;
			longest = fmax(longest, rtt);
			for (unsigned k = 0; k < batch; k++) {
				const double cwnd = observed(&cc, "cwnd_segments").value;

				assert_true(cc.out.rate * (longest + LINE_US) >=
					    fmin(8e6 * cwnd * SEGMENT, 1e10 * longest) * .999);
				ack(&cc, now, rtt, SEGMENT);
			}
		}
	}
}

/* It doubled to infinity with each RTT of a target out of reach. */
TEST(the_velocity_has_a_bound)
{
	struct ccs_cc cc;

	start(&cc, "copa:drain=0", &test_path);
	ack(&cc, 1, BASE, SEGMENT);
	ccs_cc_set_rate(&cc, 100e6);
	for (unsigned i = 1; i < 3000; i++)
		ack(&cc, i * 2 * BASE, BASE, SEGMENT / 1024);
	assert_true(observed(&cc, "velocity").value <= 1e6);
}
