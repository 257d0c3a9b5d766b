/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests TIMELY's variant ns3 against values of the simulator and a second implementation. */
#include "test.h"

#include <math.h>

#include "seed.h"
#include "timely.h"

/*
 * The simulator of HPCC's authors at 100 Gb/s with the settings of its run.py: its own
 * thresholds, steps of 100 and 500 Mb/s, a floor of 1 Gb/s. The steps below are computed by
 * hand.
 */
static void start_ns3(struct ccs_cc *cc)
{
	const struct ccs_cc_path path = { .line_rate = 100e9, .base_rtt_us = 4.16, .segment = 1000,
					  .flows = 1 };

	start(cc, "timely:variant=ns3,min_rate=1g", &path);
	check_close("min_rtt", 0, param(cc, "min_rtt"), 20);
	check_close("t_low", 0, param(cc, "t_low"), 50);
	check_close("t_high", 0, param(cc, "t_high"), 500);
	check_close("add_rate", 0, param(cc, "add_rate"), 100e6);
	check_close("alpha", 0, param(cc, "alpha"), 0.875);
}

TEST(ns3_begins_with_the_second_window)
{
	struct ccs_cc cc;

	start_ns3(&cc);
	ack_window(&cc, 65, 65, 1000, 800000); /* any first RTT is only recorded */
	assert_true(cc.out.rate == 100e9);
	assert_true(observed(&cc, "avg_rtt_diff_us").value == 0);
	ack_window(&cc, 130, 69, 801000, 1600000);
	/* diff 4, average .875 * 4 = 3.5, gradient .175: 1 - .8 * .175 = .86 */
	check_close("gradient", 1, observed(&cc, "norm_grad").value, 0.175);
	check_close("rate", 1, cc.out.rate, 86e9);
}

TEST(ns3_takes_one_step_per_window)
{
	struct ccs_cc cc;

	start_ns3(&cc);
	ack_window(&cc, 65, 65, 1000, 800000);
	for (uint64_t seq = 2000; seq <= 800000; seq += 1000) {
		ack_window(&cc, 65.1, 300, seq, 800000 + seq);
		assert_string_equal(observed(&cc, "branch").text, "wait");
	}
	assert_true(cc.out.rate == 100e9);
	/* samples in between are not part of the difference: 69 - 65 */
	ack_window(&cc, 130, 69, 801000, 1600000);
	check_close("rate", 1, cc.out.rate, 86e9);
}

TEST(ns3_counts_increases_below_t_low_too)
{
	struct ccs_cc cc;
	uint64_t seq = 1000;
	double want = 1e9;

	start_ns3(&cc);
	ccs_cc_set_rate(&cc, want);
	ack_window(&cc, 1, 20, seq, seq);
	for (int i = 0; i < 20; i++, seq += 1000) {
		want += i < 5 ? 100e6 : 500e6;
		ack_window(&cc, 2 + i, i % 2 ? 20 : 30, seq + 1000, seq + 1000);
		check_close("rate", i, cc.out.rate, want);
	}
	/* 1 - .8 * (1 - 500/1000) = .6, at any time, and the count restarts */
	ack_window(&cc, 22, 1000, seq + 1000, seq + 1000);
	check_close("rate", 20, cc.out.rate, want *= 0.6);
	ack_window(&cc, 23, 20, seq + 2000, seq + 2000);
	check_close("rate", 21, cc.out.rate, want + 100e6);
}

/* diff 135, average 118.125, gradient 5.9: the decrease is not limited to a half. */
TEST(ns3_has_no_limit_of_a_half)
{
	struct ccs_cc cc;

	start_ns3(&cc);
	ack_window(&cc, 65, 65, 1000, 2000);
	ack_window(&cc, 66, 200, 3000, 4000);
	assert_true(cc.out.rate == 1e9);
}

/* A second implementation of its rule, from the text of rdma-hw.cc. */
struct ns3 {
	double rate, diff, last;
	uint64_t update;
	int stage;
};

static void ns3_ack(struct ns3 *n, double rtt, uint64_t ack_seq, uint64_t snd_nxt)
{
	double gradient, c = -1;

	if (ack_seq <= n->update)
		return;
	if (n->update) {
		n->diff = 0.125 * n->diff + 0.875 * (rtt - n->last);
		gradient = n->diff / 20;
		if (rtt > 500)
			c = 1 - 0.8 * (1 - 500 / rtt);
		else if (rtt >= 50 && gradient > 0)
			c = fmax(0, 1 - 0.8 * gradient);
		if (c < 0)
			n->rate = fmin(n->rate + (n->stage++ < 5 ? 100e6 : 500e6), 100e9);
		else
			n->rate = fmax(n->rate * c, 1e9);
		n->stage = c < 0 ? n->stage : 0;
	}
	n->update = snd_nxt;
	n->last = rtt;
}

TEST(ns3_equals_the_simulator_over_random_walks)
{
	seed_start("ns3");
	for (unsigned walk = 0; walk < 200; walk++) {
		struct ns3 n = { .rate = 100e9 };
		uint64_t acked = 0, sent = 0;
		double rtt = 60;
		struct ccs_cc cc;

		start_ns3(&cc);
		for (int i = 0; i < 300; i++) {
			acked += seed_below(sent - acked + 1);
			sent += 1 + seed_below(50000);
			rtt = fmax(4, rtt * (0.8 + 0.4 * (double)seed_below(1000) / 1000));
			ack_window(&cc, i, rtt, acked, sent);
			ns3_ack(&n, rtt, acked, sent);
			check_close("rate", i, cc.out.rate, n.rate);
		}
	}
}
