/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the simulator with configurations whose results can be computed by hand. */

#include <math.h>
#include <string.h>

#include "bench/sim/star/sim.h"
#include "tests/unit/test.h"

static struct sim_result r, again;

/* Without a queue the RTT is the wire and the port's serialisation of the last packet. */
TEST(an_idle_path_has_wire_rtt_and_no_queue)
{
	const struct sim_conf c = { .cc = "fixed:rate=1g", .flows = 1, .rate = 10e9, .base_us = 20,
				    .net.wire.payload = 1000, .net.layer.segment = 16000, .warm_us = 1e3, .end_us = 50e3 };

	(void)state;
	sim_run(&c, 1, &r);
	assert_float_equal(r.util, 0.1, 0.001);
	assert_float_equal(r.rtt_avg, 20.8, 0.001);
	assert_true(r.q_p99 <= 1);
}

/* The queue holds what N windows exceed the wire by. */
TEST(queue_of_windows_follows_littles_law)
{
	const struct sim_conf c = { .cc = "none", .flows = 4, .rate = 10e9, .base_us = 20,
				    .net.layer.segment = 10000, .net.layer.max_inflight = 100000, .warm_us = 1e3, .end_us = 50e3 };

	(void)state;
	sim_run(&c, 1, &r);
	assert_float_equal(r.util, 1, 0.001);
	assert_float_equal(r.jain, 1, 0.001);
	/* Little's law: RTT plus own segment is outstanding bytes by throughput */
	assert_float_equal(r.rtt_avg, 4 * 80 - 8, 0.5);
}

TEST(equal_seeds_give_equal_results)
{
	const struct sim_conf c = { .cc = "timely", .flows = 8, .guests = { 8, 2e3, 6e3 },
				    .rate = 10e9, .base_us = 20, .net.wire.payload = 1000, .net.layer.segment = 8000,
				    .net.host.noise = { .exp_us = 5 }, .net.marking.red = { 1e4, 1e5, 0.1 },
				    .net.host.gap_jitter = 0.5, .end_us = 10e3 };

	(void)state;
	sim_run(&c, 7, &r);
	sim_run(&c, 7, &again);
	assert_memory_equal(&r, &again, sizeof(r));
	sim_run(&c, 8, &again);
	assert_true(r.rtt_avg != again.rtt_avg);
	assert_true(r.marks > 0);
}

/*
 * Twice as many packets are sent as fit: dropped packets are sent again, in order, and each
 * counts once.
 */
TEST(dropped_packets_are_retransmitted)
{
	const struct sim_conf c = { .cc = "fixed:rate=6g", .flows = 2, .rate = 10e9, .base_us = 20,
				    .net.wire.payload = 1000, .net.layer.segment = 8000, .net.limit = 20000, .net.layer.max_inflight = 80000,
				    .warm_us = 10e3, .end_us = 110e3 };

	(void)state;
	sim_run(&c, 1, &r);
	assert_true(r.drops > 100);
	assert_true(r.util > 0.5 && r.util <= 1);
	assert_true(r.q_p99 <= 20000 * 1.02);
}

/* RED marks its share between its thresholds; the notification point limits CNPs. */
TEST(red_marks_by_queue_and_cnps_are_limited)
{
	struct sim_conf c = { .cc = "none", .flows = 2, .rate = 10e9, .base_us = 20, .net.layer.segment = 1000,
			      .net.layer.max_inflight = 100000, .net.marking.red = { 0, 2e6, 1 }, .net.cnp_us = 50,
			      .warm_us = 1e3, .end_us = 101e3 };

	(void)state;
	sim_run(&c, 1, &r);
	/* the queue is two windows less what is on the wire */
	assert_float_equal((double)r.marks / (double)r.packets, r.q_avg / 2e6, 0.005);
	assert_true(r.cnps <= 2 * 101e3 / 50 + 2);
	assert_true(r.cnps >= 2 * 101e3 / 75);
	c.net.marking.red.pmax = 0;
	sim_run(&c, 1, &r);
	assert_int_equal(r.marks, 0);
	assert_int_equal(r.cnps, 0);
}

/* The flow layer and the bare pacer give the same rate to an algorithm with a fixed rate. */
TEST(both_drivers_pace_at_the_same_rate)
{
	struct sim_conf c = { .cc = "fixed:rate=2g", .flows = 4, .rate = 10e9, .base_us = 20,
			      .net.wire.payload = 1024, .net.layer.segment = 8192, .net.layer.max_inflight = 1 << 20, .warm_us = 5e3, .end_us = 105e3 };

	(void)state;
	sim_run(&c, 1, &r);
	c.driver = SIM_SHIM;
	sim_run(&c, 1, &again);
	assert_float_equal(r.util, 0.8, 0.002);
	assert_float_equal(again.util, 0.8, 0.01);
}

/*
 * Two hosts send to each other all the time, as with Soft-RoCE, and a third writes to one of
 * them.
 */
#define BOTH_WAYS \
	.cc = "none", .driver = SIM_PLAIN, .pattern = SIM_RING, .hosts = 2, .rate = 10e9, \
	.net.host.depth = 64, .base_us = 20, .net.wire.payload = 1000, .message = 10000, .warm_us = 10e3, .end_us = 60e3

/* Acknowledgements take their length of the return path. */
TEST(acknowledgements_use_the_return_path)
{
	const struct sim_conf c = { BOTH_WAYS, .flows = 2, .net.wire.ack = 100 };

	(void)state;
	sim_run(&c, 1, &r);
	assert_float_equal(r.util, 1 / 1.01, 0.001);
	assert_float_equal(r.jain, 1, 0.001);
}

/* A wait behind 16 to 64 packets of 0.9 us; one packet if the queue pairs take turns. */
TEST(acknowledgements_wait_behind_own_data)
{
	struct sim_conf c = { BOTH_WAYS, .flows = 2, .nic_rate = 9e9, .net.wire.ack = 100,
			      .victim = true };

	(void)state;
	sim_run(&c, 1, &r);
	assert_true(r.victims > 500);
	assert_true(r.victim_p50 > 20 + 15 * 0.9 && r.victim_p99 < 20 + 66 * 0.9);
	c.net.host.depth = 1;
	sim_run(&c, 1, &r);
	assert_true(r.victim_p99 < 20 + 4 * 0.8);
	c.net.host.depth = 64;
	c.net.wire.ack = 0;
	sim_run(&c, 1, &r);
	assert_true(r.victim_p99 < 20 + 2 * 0.8);
}

/* The port has a queue of ms for a fifth of the time; few of the victim's writes are of that time. */
TEST(the_victim_counts_by_time)
{
	const struct sim_conf c = { .cc = "none", .driver = SIM_PLAIN, .flows = 2, .hosts = 1,
				    .rate = 10e9, .slow = { 1e9, 10e3, 14e3 },
				    .nic_rate = 6e9, .base_us = 10, .net.wire.payload = 4096,
				    .message = 1 << 16, .depth = 16,
				    .victim = true, .warm_us = 1e3, .end_us = 30e3 };

	(void)state;
	sim_run(&c, 1, &r);
	assert_true(r.victim_p50 < 20 && r.victim_p99 > 1000);
}

/* 64 bytes per 20 us and two times a packet's at 100 Mb/s are part of what the port carries. */
TEST(the_victim_counts_as_delivered)
{
	const struct sim_conf c = { .cc = "fixed:rate=50m", .driver = SIM_SHIM, .flows = 1,
				    .rate = 100e6, .base_us = 20, .net.wire.payload = 64, .net.layer.segment = 64,
				    .message = 64, .victim = true, .warm_us = 1e3, .end_us = 101e3 };

	(void)state;
	sim_run(&c, 1, &r);
	assert_float_equal(r.own_util, 0.5, 0.02);
	assert_true(r.util > r.own_util + 0.12);
}

/* A request and the response, with one more packet's serialisation at each end. */
TEST(a_read_request_uses_the_return_path)
{
	const struct sim_conf c = { .cc = "none", .driver = SIM_PLAIN, .op = FAB_READ, .flows = 1,
				    .rate = 10e9, .base_us = 20, .net.wire.payload = 1000, .message = 10000,
				    .depth = 1, .net.wire.ack = 125, .warm_us = 1e3, .end_us = 101e3 };

	(void)state;
	sim_run(&c, 1, &r);
	assert_float_equal(r.util, 8 / (0.1 + 0.1 + 20 + 8 + 0.8), 0.001);
}

TEST(reads_outstanding_are_limited)
{
	struct sim_conf c = { .cc = "none", .driver = SIM_SHIM, .op = FAB_READ, .flows = 1,
			      .rate = 10e9, .base_us = 92, .net.layer.segment = 10000, .net.layer.max_inflight = 1 << 20,
			      .net.layer.reads = 2, .end_us = 100e3 };

	(void)state;
	sim_run(&c, 1, &r);
	assert_float_equal(r.util, 2 * 8 / (92 + 8 + 8.0), 0.01);
	c.net.layer.reads = 16;
	sim_run(&c, 1, &r);
	assert_true(r.util > 0.98);
}

/* Segments are longer where too few can be in flight to hold what a long path takes. */
TEST(few_entries_or_reads_fill_a_long_path)
{
	struct sim_conf c = { .cc = "copa", .driver = SIM_SHIM, .flows = 1, .rate = 10e9,
			      .base_us = 1000, .net.wire.payload = 4096, .message = 1 << 20, .net.layer.entries = 31,
			      .warm_us = 100e3, .end_us = 200e3 };

	(void)state;
	sim_run(&c, 1, &r);
	assert_true(r.util > 0.95);
	c.net.layer.entries = 0;
	c.op = FAB_READ;
	sim_run(&c, 1, &r);
	assert_true(r.util > 0.95);
}

/* A device's queue has 15 entries for segments, if the application's has fewer. */
TEST(few_entries_limit_messages_and_not_segments)
{
	struct sim_conf c = { .cc = "fixed:rate=10g", .driver = SIM_SHIM, .flows = 1, .rate = 10e9,
			      .base_us = 91.8, .net.wire.payload = 4096, .message = 4096, .net.layer.entries = 8,
			      .net.layer.max_inflight = 1 << 20, .warm_us = 10e3, .end_us = 110e3 };

	(void)state;
	sim_run(&c, 1, &r);
	assert_float_equal(r.util, 8 * 3.28 / (91.8 + 2 * 3.28), 0.01);
	c.message = 1 << 16;
	sim_run(&c, 1, &r);
	assert_true(r.util > 0.97);
}

/* A message of ten segments is one work request, one acknowledgement, one RTT. */
TEST(a_send_is_not_split)
{
	const struct sim_conf c = { .cc = "fixed:rate=1g", .driver = SIM_SHIM, .op = FAB_SEND, .flows = 1,
			      .rate = 10e9, .base_us = 20, .net.wire.payload = 1000, .net.layer.segment = 8000,
			      .message = 80000, .net.layer.max_inflight = 1 << 20, .warm_us = 10e3, .end_us = 110e3 };

	(void)state;
	sim_run(&c, 1, &r);
	assert_float_equal(r.util, 0.1, 0.005);
	assert_float_equal(r.rtt_p99, 20.8, 0.5);
}

/* As in Soft-RoCE, the packets of a queue pair in flight are limited, whatever is posted. */
TEST(unacknowledged_packets_are_limited)
{
	struct sim_conf c = { .cc = "none", .driver = SIM_PLAIN, .flows = 1, .rate = 1e9,
			      .nic_rate = 10e9, .base_us = 20, .net.wire.payload = 1000, .message = 1000000,
			      .depth = 4, .net.host.unacked = 128, .net.wire.ack = 64, .end_us = 100e3 };

	(void)state;
	sim_run(&c, 1, &r);
	assert_true(r.util > 0.99);
	assert_true(r.q_p99 <= 128e3 && r.q_p99 > 96e3);
	c.base_us = 8000; /* half of the packets that fill one round trip */
	sim_run(&c, 1, &r);
	assert_true(r.util < 0.2 && r.util > 0.05);
	c.net.host.unacked = 0;
	sim_run(&c, 1, &r);
	assert_true(r.util > 0.8);
}

/* With one message at a time a share depends on the RTT, 20 or 60 us. */
TEST(shares_depend_on_the_rtt_with_one_message_outstanding)
{
	const struct sim_conf c = { .cc = "none", .driver = SIM_PLAIN, .flows = 2, .rate = 100e9,
				    .base_us = 20, .far_us = 60, .message = 1000, .depth = 1,
				    .end_us = 100e3 };

	(void)state;
	sim_run(&c, 1, &r);
	assert_float_equal(r.jain, 4 * 4 / (2 * (1 + 9.0)), 0.005);
}

TEST(a_port_slows_down_for_a_while)
{
	const struct sim_conf c = { .cc = "none", .driver = SIM_PLAIN, .flows = 2, .rate = 10e9,
				    .slow = { 1e9, 30e3, 60e3 }, .net.wire.payload = 1000,
				    .base_us = 20, .warm_us = 10e3, .end_us = 100e3, .bin_us = 10e3 };

	(void)state;
	sim_run(&c, 1, &r);
	assert_float_equal(r.util, 1, 0.001);
	assert_float_equal(r.bin[4].util, 0.1, 0.001);
}

/* All later packets of the window are sent again, too. */
TEST(packets_lost_on_links_are_retransmitted)
{
	const struct sim_conf c = { .cc = "none", .driver = SIM_PLAIN, .flows = 4, .rate = 10e9,
				    .base_us = 20, .net.wire.payload = 1000, .message = 10000, .depth = 10, .net.loss = 0.001,
				    .warm_us = 10e3, .end_us = 510e3 };

	(void)state;
	sim_run(&c, 1, &r);
	assert_float_equal((double)r.lost / (double)r.packets, 0.001, 1e-4);
	assert_int_equal(r.drops, 0);
	assert_true(r.util > 0.8 && r.util < 1);
}

/* Acknowledgements are also dropped. */
TEST(drops_in_both_directions_are_recovered)
{
	const struct sim_conf c = { BOTH_WAYS, .flows = 4, .nic_rate = 40e9, .net.limit = 20000,
				    .depth = 3, .net.wire.ack = 500 };

	(void)state;
	sim_run(&c, 1, &r);
	assert_true(r.late_drops > 100 && r.late_drops <= r.drops);
	assert_true(r.util > 0.3 && r.util < 1);
}

TEST(a_competitor_is_counted_separately)
{
	const struct sim_conf c = { .cc = "fixed:rate=2g", .flows = 2, .rivals = 1, .rate = 10e9,
				    .base_us = 20, .net.wire.payload = 1000, .net.layer.segment = 8000, .message = 1000000,
				    .net.layer.max_inflight = 1 << 20, .depth = 1, .warm_us = 10e3, .end_us = 110e3 };

	(void)state;
	sim_run(&c, 1, &r);
	assert_float_equal(r.own_util, 0.4, 0.01);
	assert_true(r.util > 0.95);
	assert_float_equal(r.jain, 1, 0.01);
}

/* Each of six hosts sends to each of the other five, and receives as much. */
TEST(all_to_all_fills_every_port)
{
	const struct sim_conf c = { .cc = "none", .driver = SIM_PLAIN, .pattern = SIM_ALL_TO_ALL,
				    .hosts = 6, .flows = 30, .rate = 10e9, .base_us = 20, .net.wire.payload = 1000,
				    .message = 100000, .warm_us = 20e3, .end_us = 100e3 };

	(void)state;
	sim_run(&c, 1, &r);
	assert_true(r.util > 0.99);
	assert_true(r.jain > 0.99);
}

TEST(a_thousand_flows_get_their_fixed_rates)
{
	const struct sim_conf c = { .cc = "fixed:rate=10m", .driver = SIM_SHIM, .flows = 1000,
				    .hosts = 40, .rate = 25e9, .base_us = 20, .net.wire.payload = 4096,
				    .net.layer.segment = 16384, .start_spread_us = 10e3, .net.wire.ack = 64,
				    .warm_us = 20e3, .end_us = 120e3 };

	(void)state;
	sim_run(&c, 1, &r);
	assert_float_equal(r.util, 0.4, 0.01);
	assert_true(r.jain > 0.98);
}
