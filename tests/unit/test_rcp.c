/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests rcp: copa below an advised bound, which is the port's capacity while it is not full. */
#include "test.h"

#include "algorithm.h"

#define LINE 10e9
#define PORT 1e9
#define RTT 50.0
#define SEGMENT 8192
#define SER (8e6 * SEGMENT / PORT)
#define SPREAD 0.01 /* of the rate */

static const struct ccs_cc_path path = {
	.line_rate = LINE, .base_rtt_us = RTT, .segment = SEGMENT, .flows = 1,
	.bottleneck_rate = PORT,
};

struct input {
	double rtt_us, advised, load;
};

static void ack(struct ccs_cc *cc, double now_us, struct input in)
{
	const struct ccs_cc_hop hop = {
		.ts_ns = (uint64_t)(now_us * 1e3), .capacity = PORT,
		.tx_bytes = (uint64_t)(now_us * PORT / 8e6 * in.load),
	};
	const struct ccs_cc_ack a = {
		.now_us = now_us, .rtt_us = in.rtt_us, .bytes = in.rtt_us > 0 ? SEGMENT : 0,
		.inflight = cc->out.window, .hops = &hop, .nhops = 1, .path = 1, .flows = 2,
		.advised_rate = in.advised,
	};

	ccs_cc_advance(cc, now_us);
	cc->ops->on_ack(cc, &a);
}

/* Acknowledgements at the flow's rate, for at least `us`. Returns the time of the last. */
static double run(struct ccs_cc *cc, double now_us, double us, struct input in)
{
	for (const double end = now_us + us; now_us < end; ack(cc, now_us, in))
		now_us += 8e6 * SEGMENT / cc->out.rate;
	return now_us;
}

TEST(without_advice_it_is_copa)
{
	static struct ccs_cc_spec copa_spec;
	struct ccs_cc rcp, copa;

	start(&rcp, "rcp", &path);
	copa_spec = parse("copa");
	ccs_cc_start(&copa, &copa_spec, &path);
	for (double now = 1; now < 20e3; now += RTT) {
		const struct input in = { RTT + (now > 5e3 ? 300 : 0), 0, 1 };

		ack(&rcp, now, in);
		ack(&copa, now, in);
		assert_float_equal(rcp.out.rate, copa.out.rate, 1e-6);
		assert_float_equal(rcp.out.window, copa.out.window, 1e-6);
	}
}

/* Agents count packets with their headers. */
TEST(the_bound_is_the_payload_of_the_advice)
{
	static const double mtus[] = { 256, 1024, 4096 };

	for (unsigned i = 0; i < 3; i++)
		for (double advised = PORT / 8; advised <= PORT; advised *= 2) {
			struct ccs_cc_path headers = path;
			struct ccs_cc cc;

			headers.payload_share = mtus[i] / (mtus[i] + 58);
			start(&cc, "rcp", &headers);
			run(&cc, 1, 20e3, (struct input){ RTT, advised, 1 });
			assert_float_equal(cc.out.rate, headers.payload_share * advised * (1 + SPREAD),
					   1e-6 * PORT);
		}
}

TEST(copa_obeys_no_advice)
{
	struct ccs_cc cc;

	start(&cc, "copa", &path);
	run(&cc, 1, 5e3, (struct input){ RTT, PORT / 10, 1 });
	assert_true(cc.out.rate > PORT);
}

TEST(the_rate_of_an_uncongested_flow_is_the_bound)
{
	static const double share[] = { 0.49, 0.1, 0.03 };

	for (unsigned i = 0; i < sizeof(share) / sizeof(*share); i++) {
		struct ccs_cc cc;

		start(&cc, "rcp", &path);
		run(&cc, 1, 100e3, (struct input){ RTT, share[i] * PORT, 0.98 });
		assert_float_equal(cc.out.rate, share[i] * PORT, SPREAD * share[i] * PORT + 1);
	}
}

/* A segment for the gate, one that chance delays, and the data of the base RTT and of four. */
TEST(the_window_of_a_bound_flow_leaves_room_for_few_segments)
{
	const double advised = PORT / 2;
	struct ccs_cc cc;

	start(&cc, "rcp", &path);
	run(&cc, 1, 100e3, (struct input){ RTT, advised, 0.98 });
	assert_in_range((unsigned)cc.out.window, 2 * SEGMENT,
			(unsigned)(advised / 8e6 * (RTT + 4 * SER) + 2 * SEGMENT));
}

/* Without this, flows of equal rate would meet in the queue again and again. */
TEST(a_segment_that_found_a_queue_slows_its_flow_by_a_hundredth)
{
	const double advised = PORT / 10;
	struct ccs_cc cc;
	double now;

	start(&cc, "rcp", &path);
	now = run(&cc, 1, 100e3, (struct input){ RTT, advised, 0.98 });
	assert_float_equal(cc.out.rate, 1.01 * advised, 1);
	ack(&cc, now + 1e3, (struct input){ RTT + SER / 2, advised, 0.98 });
	assert_float_equal(cc.out.rate, advised, 1);
	ack(&cc, now + 2e3, (struct input){ RTT + SER, advised, 0.98 });
	assert_float_equal(cc.out.rate, 0.99 * advised, 1);
}

/* 900 flows of a full link send a segment less often than once per RTT; 45 segments are chance. */
TEST(many_flows_slow_down_by_a_fiftieth_while_a_queue_stands)
{
	const double advised = PORT / 900;
	struct ccs_cc cc;
	double now;

	start(&cc, "rcp", &path);
	now = run(&cc, 1, 20e6, (struct input){ RTT, advised, 0.98 });
	ack(&cc, now + 1e5, (struct input){ RTT + 44 * SER, advised, 0.98 });
	assert_float_equal(cc.out.rate, 0.99 * advised, 0.001 * advised);
	ack(&cc, now + 2e5, (struct input){ RTT + 54 * SER, advised, 0.98 });
	assert_float_equal(cc.out.rate, (0.99 - 9 / 900.0) * advised, 0.001 * advised);
}

TEST(a_queue_elsewhere_lowers_the_rate_below_the_bound)
{
	struct ccs_cc cc;

	start(&cc, "rcp", &path);
	run(&cc, 1, 200e3, (struct input){ 40 * RTT, PORT / 2, 0.5 });
	assert_true(cc.out.rate < PORT / 10);
}

/* Whether the flow pauses in the next 50 ms, with its RTTs. */
static bool pauses(struct ccs_cc *cc, double *now_us, struct input in)
{
	bool paused = false;

	for (unsigned i = 0; i < 1000; i++) {
		ack(cc, *now_us += RTT, in);
		paused |= strcmp(observed(cc, "phase").text, "drain") == 0;
	}
	return paused;
}

/* Pauses would look like fewer flows. */
TEST(a_flow_that_sends_most_of_its_bound_does_not_pause)
{
	double now_us = 0;
	struct ccs_cc cc;

	start(&cc, "rcp", &path);
	assert_false(pauses(&cc, &now_us, (struct input){ RTT + SER, PORT, 1 }));
	assert_false(pauses(&cc, &now_us, (struct input){ RTT + SER, PORT / 2, 1 }));
	assert_true(pauses(&cc, &now_us, (struct input){ RTT + 10 * SER, PORT / 2, 1 }));
}

TEST(a_flow_goes_on_when_its_bound_ends)
{
	struct ccs_cc cc;
	double now;

	start(&cc, "rcp", &path);
	now = run(&cc, 1, 100e3, (struct input){ RTT, PORT / 10, 0.98 });
	run(&cc, now, 20e3, (struct input){ RTT, 0, 0.1 });
	assert_true(cc.out.rate > PORT / 2);
}

/* Acknowledge `rtts` times; every second RTT is longer by `us`. */
static double vary(struct ccs_cc *cc, double now, unsigned rtts, double us, struct input in)
{
	for (unsigned i = 0; i < rtts; i++) {
		in.rtt_us = i % 2 ? RTT : RTT + us;
		ack(cc, now += RTT, in);
	}
	return now;
}

TEST(rtts_that_vary_are_jitter_where_the_port_is_not_full)
{
	struct ccs_cc cc;
	double now;

	start(&cc, "rcp", &path);
	now = vary(&cc, 1, 300, 400, (struct input){ .advised = PORT, .load = 0.5 });
	assert_in_range((unsigned)observed(&cc, "jitter_us").value, 200, 400);
	now = vary(&cc, now, 1000, 400, (struct input){ .advised = PORT, .load = 0.97 });
	assert_true(observed(&cc, "jitter_us").value > 150);
	vary(&cc, now, 30000, 400, (struct input){ .advised = PORT, .load = 0.97 });
	assert_true(observed(&cc, "jitter_us").value < 1);
}

/* Flows that come and go vary a queue elsewhere, hosts vary all RTTs. */
TEST(rtts_that_vary_at_times_are_no_jitter)
{
	const struct input in = { .advised = PORT, .load = 0.5 };
	double now = 1, most = 0;
	struct ccs_cc cc;

	start(&cc, "rcp", &path);
	now = vary(&cc, now, 200, 0, in);
	for (unsigned i = 0; i < 20; i++) {
		now = vary(&cc, now, 16, 400, in);
		most = fmax(most, observed(&cc, "jitter_us").value);
		now = vary(&cc, now, 64, 0, in);
	}
	if (most > 40)
		fail_msg("%g us of jitter", most);
}

TEST(rtts_that_vary_at_a_full_port_or_an_unmeasured_one_are_no_jitter)
{
	struct ccs_cc cc;

	start(&cc, "rcp", &path);
	vary(&cc, 1, 1000, 400, (struct input){ .advised = PORT, .load = 0.97 });
	assert_float_equal(observed(&cc, "jitter_us").value, 0, 0);
	start(&cc, "rcp", &path);
	vary(&cc, 1, 1000, 400, (struct input){ .advised = 0, .load = 0.5 });
	assert_float_equal(observed(&cc, "jitter_us").value, 0, 0);
}

TEST(a_record_with_an_earlier_time_or_no_capacity_is_no_measurement)
{
	struct ccs_cc_hop hop = { .ts_ns = 2000000000, .tx_bytes = 1000, .capacity = PORT };
	const struct ccs_cc_ack a = { .now_us = 1e3, .rtt_us = RTT, .bytes = SEGMENT, .hops = &hop,
				      .nhops = 1, .advised_rate = PORT };
	struct ccs_cc cc;

	start(&cc, "rcp", &path);
	cc.ops->on_ack(&cc, &a);
	hop = (struct ccs_cc_hop){ .ts_ns = 1000, .tx_bytes = 0, .capacity = PORT };
	cc.ops->on_ack(&cc, &a);
	hop = (struct ccs_cc_hop){ .ts_ns = 1001000, .tx_bytes = 62500, .capacity = PORT };
	cc.ops->on_ack(&cc, &a);
	assert_float_equal(cc.out.utilisation, 0.5, 1e-9);
	hop = (struct ccs_cc_hop){ .ts_ns = 2001000, .tx_bytes = 125000,
				    .capacity = 0.5 };
	cc.ops->on_ack(&cc, &a);
	assert_float_equal(cc.out.utilisation, 0.5, 1e-9);
}
