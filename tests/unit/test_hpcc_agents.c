/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests HPCC with telemetry of host agents: the echo variant, counts of flows, and records of
 * longer spans.
 */
#include "test.h"

#include <math.h>
#include <stdio.h>

#include "hpcc.h"

/* An echo derives the queue from the RTT beyond T, using the shorter of two samples. */
TEST(an_echo_derives_the_queue_from_the_rtt)
{
	static const struct { double before, rtt, u; } cases[] = {
		{ 500, 900, 0.9 }, { 1500, 1000, 0.9 }, { 3000, 2000, 1.9 }, { 2000, 3000, 1.9 },
		{ 500, 9000, 0.9 }, { 9000, 500, 0.9 }, { 3000, 0, 0.9 }, { 3000, NAN, 0.9 },
		{ 3000, INFINITY, 0.9 }, { 3000, -1, 0.9 }, { 1500, 1500, 1.4 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct ccs_cc cc;
		struct wire w;

		start_with_steady_flow(&cc, &w, ECHO, 1);
		w.ack.rtt_us = cases[i].before;
		w.ack.nhops = 0; /* RTT samples without telemetry count */
		acknowledge(&cc, &w, 1, 0);
		w.ack.nhops = 1;
		w.ack.rtt_us = cases[i].rtt;
		step(&cc, &w, 0.9, 1u << 30, 0); /* the queue length of a record is ignored */
		check_close("u", (int)i, seen(&cc, "u"), cases[i].u);
	}
}

/* A record of an interval that began before the last update must not change Wc again. */
TEST(an_echo_commits_only_by_intervals_begun_since)
{
	struct ccs_cc cc;
	struct wire w;
	double reference;

	start_with_steady_flow(&cc, &w, ECHO, 1);
	for (reference = seen(&cc, "wc_bytes"); seen(&cc, "wc_bytes") == reference;)
		step(&cc, &w, 0.5, 0, 0);
	reference = seen(&cc, "wc_bytes"); /* just updated; nothing is in flight */
	step(&cc, &w, 0.5, 0, 0);
	assert_true(seen(&cc, "wc_bytes") == reference);
	assert_true(cc.out.window > reference); /* the window still responds at once */
	step(&cc, &w, 0.5, 0, 0);
	assert_true(seen(&cc, "wc_bytes") > reference);
}

/* With a count of flows T is the paper's plus one segment of each, and W_AI is the flow's share. */
TEST(counted_flows_lengthen_the_period)
{
	const double ser_us = 8e6 * 1000 / LINE;
	struct ccs_cc cc;
	struct wire w;

	start(&cc, "hpcc", &test_path);
	open_wire(&w, 1);
	acknowledge(&cc, &w, 1, 0);
	check_close("period", 0, seen(&cc, "period_us"), 100);
	w.ack.flows = 1;                         /* so few flows cannot fill the line */
	acknowledge(&cc, &w, 1, 0);
	check_close("period", 1, seen(&cc, "period_us"), 100 + 4 * ser_us);
	w.ack.flows = 40;
	acknowledge(&cc, &w, 1, 0);
	check_close("period", 2, seen(&cc, "period_us"), 100 + 40 * ser_us);
	for (unsigned i = 0; i < 2; i++) {
		start(&cc, i ? "hpcc:variant=paper" : "hpcc:variant=ns3", &test_path);
		acknowledge(&cc, &w, 1, 0);
		check_close("period", 3, seen(&cc, "period_us"), 100);
	}
}

/* If a segment takes several T, it counts as so many increases, up to eight. */
TEST(an_echo_increases_once_per_T)
{
	static const double gaps[] = { 0.1, 1, 3, 8, 100 }, worth[] = { 1, 1, 3, 8, 8 };

	for (unsigned i = 0; i < 5; i++) {
		struct ccs_cc cc;
		struct wire w;
		double reference;

		start_with_steady_flow(&cc, &w, ECHO, 1);
		step(&cc, &w, 0.95, 0, 1u << 20);
		step(&cc, &w, 0.95, 0, 1u << 20);
		step(&cc, &w, 0.95, 0, 1u << 20); /* no more commits */
		reference = seen(&cc, "wc_bytes");
		pass(&w, 0, T_US * 100, 0.95, 0);
		acknowledge(&cc, &w, T_US * gaps[i], 0);
		check_close("window", (int)i, cc.out.window,
			    reference * ETA / seen(&cc, "u") + worth[i] * W_AI);
	}
}

TEST(an_echo_follows_the_count_of_flows)
{
	const double ser = 8e6 * 1000 / LINE;
	struct ccs_cc cc;
	struct wire w;
	double rate;

	open_wire(&w, 1);
	start(&cc, "hpcc:variant=echo", &test_path);
	cc.ops->set_rate(&cc, LINE / 25);
	acknowledge(&cc, &w, 1, 0);
	rate = cc.out.rate;
	w.ack.flows = 25;
	acknowledge(&cc, &w, 1, 0); /* a repeated record with a new number of flows */
	check_close("period_us", 0, seen(&cc, "period_us"), 100 + 25 * ser);
	assert_true(seen(&cc, "flows") == 25);
	check_close("R", 0, rate, LINE / 25);
	step(&cc, &w, 0.95, 0, 0); /* U = eta: what is added is the increase */
	check_close("increase", 0, cc.out.window / 1.25 - LINE / 25 * 300 / 8e6,
		    LINE / 8e6 * 300 * (1 - ETA) / 50 * (T_US / 300));
	w.ack.flows = 1;
	step(&cc, &w, 0.95, 0, 0);
	check_close("period_us", 0, seen(&cc, "period_us"), 100 + 4 * ser);
	w.ack.flows = 0; /* unknown: keep the last number */
	step(&cc, &w, 0.95, 0, 0);
	assert_true(seen(&cc, "flows") == 1);
	start_variant(&cc, ECHO);
	open_wire(&w, 1);
	w.ack.flows = 25;
	acknowledge(&cc, &w, 1, 0);
	check_close("given", 0, seen(&cc, "period_us"), T_US);
}

/*
 * Agents count the flows: 300 us are T of test_path's 25 flows. The record covers k T and is
 * taken now.
 */
static void agent_record(struct ccs_cc *cc, struct wire *w, double k, double share, uint64_t q)
{
	const double us = k * 300;

	w->ack.flows = 25;
	w->ack.covers_us = w->ack.now_us + us;
	pass(w, 0, us, share, q);
	acknowledge(cc, w, us, 0);
}

static void start_path_with_agent_records(struct ccs_cc *cc, struct wire *w, const char *variant,
					  const struct ccs_cc_path *path)
{
	char spec[64];

	snprintf(spec, sizeof(spec), "hpcc:variant=%s", variant);
	start(cc, spec, path);
	open_wire(w, 1);
	w->ack.now_us = 1000;
	agent_record(cc, w, 1, 0.9, 0);
	cc->ops->set_rate(cc, LINE / 25);
	agent_record(cc, w, 1, 0.9, 0);
}

static void start_with_agent_records(struct ccs_cc *cc, struct wire *w, const char *variant)
{
	start_path_with_agent_records(cc, w, variant, &test_path);
}

static const char *const record_variants[] = { "ccshim", "echo" };

/* Deliver `times` records of `us` each, with the same number of flows. */
static void repeat(struct ccs_cc *cc, struct wire *w, int times, double us, unsigned hop,
		   double share)
{
	while (times-- > 0) {
		w->ack.covers_us = w->ack.now_us + us;
		pass(w, hop, us, share, 0);
		acknowledge(cc, w, us, 0);
	}
}

/*
 * With a NIC of ten times the slowest link's rate, window, increase, floor and T are that
 * link's.
 */
TEST(parameters_follow_the_slowest_link_of_the_records)
{
	const double ser_us = 8e6 * 1000 / (LINE / 10), T_us = 100 + 8 * ser_us;
	struct ccs_cc cc;
	struct wire w;

	start(&cc, "hpcc", &test_path);
	open_wire(&w, 3);
	w.hop[1].capacity = LINE / 10;
	w.hop[2].capacity = 0;                   /* states no capacity */
	w.ack.flows = 8;
	w.ack.covers_us = 1;
	acknowledge(&cc, &w, 1, 0);
	check_close("period", 0, seen(&cc, "period_us"), T_us);
	check_close("rate", 0, cc.out.rate, LINE / 10 / 8);
	repeat(&cc, &w, 100, T_us, 1, 0.01);     /* idle: the whole link */
	check_close("window", 0, cc.out.window, 1.125 * LINE / 10 * T_us / 8e6);
	check_close("rate", 1, cc.out.rate, LINE / 10);
	repeat(&cc, &w, 100, T_us, 1, 100);
	assert_true(cc.out.rate < LINE / 10 / 8 && cc.out.rate >= LINE / 10 / 1000);
	start(&cc, "hpcc:variant=ns3", &test_path);
	acknowledge(&cc, &w, 1, 0);
	check_close("rate of ns3", 2, cc.out.rate, LINE);
}

/* The same holds if the path is known before any record; values that the user gave stay. */
TEST(parameters_follow_a_known_bottleneck)
{
	struct ccs_cc_path path = test_path;
	struct ccs_cc cc;

	path.bottleneck_rate = LINE / 10;
	start(&cc, "hpcc", &path);
	check_close("rate", 0, cc.out.rate, LINE / 10);
	check_close("w_ai", 0, param(&cc, "w_ai"), LINE / 10 * 100 / 8e6 * (1 - ETA) / 32);
	check_close("min_rate", 0, param(&cc, "min_rate"), LINE / 10 / 1000);
	start(&cc, "hpcc:variant=ns3", &path);
	check_close("rate", 1, cc.out.rate, LINE);
	start(&cc, "hpcc:w_ai=100,min_rate=1m", &path);
	check_close("w_ai", 2, param(&cc, "w_ai"), 100);
	check_close("min_rate", 2, param(&cc, "min_rate"), 1e6);
}

/*
 * A flow begins at its share at most, alone or as one of a thousand; floors do not fill the
 * link.
 */
TEST(the_first_record_bounds_the_share)
{
	const double ser_us = 8e6 * 1000 / LINE;

	for (unsigned flows = 1; flows <= 1000; flows *= 10) {
		struct ccs_cc cc;
		struct wire w;

		start(&cc, "hpcc", &test_path);
		open_wire(&w, 1);
		w.ack.flows = flows;
		w.ack.covers_us = 1;
		acknowledge(&cc, &w, 1, 0);
		check_close("rate", (int)flows, cc.out.rate, LINE / flows);
		repeat(&cc, &w, 200, 100 + flows * ser_us, 0, 100);
		assert_true(cc.out.rate * flows <= LINE * 0.9);
	}
}

/* The first of flows that begin together would keep the share that it began with. */
TEST(a_rate_above_the_share_falls_to_it_when_more_flows_are_counted)
{
	struct ccs_cc cc;
	struct wire w;

	start(&cc, "hpcc:variant=echo", &test_path);
	open_wire(&w, 1);
	w.ack.flows = 2;
	w.ack.covers_us = 1;
	acknowledge(&cc, &w, 1, 0);
	check_close("rate", 2, cc.out.rate, LINE / 2);
	w.ack.flows = 5;
	acknowledge(&cc, &w, 1, 0);
	check_close("rate", 5, cc.out.rate, LINE / 5);
	cc.ops->set_rate(&cc, LINE / 2);
	w.ack.flows = 3;
	acknowledge(&cc, &w, 1, 0);
	w.ack.flows = 5; /* no more than before */
	acknowledge(&cc, &w, 1, 0);
	assert_true(cc.out.rate > 0.4 * LINE);
}

/*
 * The part of a span of 600 us before the last update, and 50 us to the link, belong to the
 * earlier window. The answer makes 0.8 of the move.
 */
TEST(an_agent_record_updates_the_average_window_of_its_span)
{
	const double headroom = (1 - ETA) / 2, full = LINE / 8e6 * 300;

	for (unsigned i = 0; i < 2; i++) {
		struct ccs_cc cc;
		struct wire w;
		double before, now, average, asked, spare = i ? 1.25 : 1.125;

		start_with_agent_records(&cc, &w, record_variants[i]);
		agent_record(&cc, &w, 2, 0.5, 0);
		before = cc.out.window / spare;
		agent_record(&cc, &w, 2, 0.8, 0);
		now = cc.out.window / spare;
		assert_true(now > before);
		agent_record(&cc, &w, 2, 0.9, 0);
		average = before + (now - before) * (600 - 50) / 600;
		asked = average * ETA * (1 - 2 * headroom) / (1 - headroom) / 0.9 +
			2 * full * headroom / 25;
		check_close("window", (int)i, cc.out.window / spare,
			    average + 0.8 * (asked - average));
	}
}

/* A record from before the last update shows what that update has answered. */
TEST(an_agent_record_from_before_an_update_changes_nothing)
{
	struct ccs_cc cc;
	struct wire w;
	double once;

	start_with_agent_records(&cc, &w, "ccshim");
	agent_record(&cc, &w, 2, 1, 0);
	once = cc.out.window;
	for (unsigned i = 0; i < 4; i++) {
		pass(&w, 0, 12, 1, i * 10000); /* 50 us are the delay to the link */
		w.ack.covers_us = w.ack.now_us + 10;
		acknowledge(&cc, &w, 12, 0);
		assert_true(cc.out.window == once);
	}
	agent_record(&cc, &w, 2, 1, 40000);
	assert_true(cc.out.window < once);
}

/* With any interval between records the line is equally full in the end, and shares are equal. */
TEST(the_interval_of_agent_records_does_not_change_the_result)
{
	for (double k = 1; k < 6; k++) {
		struct ccs_cc cc[2];
		struct wire w[2];
		double sum = 0;

		for (unsigned i = 0; i < 2; i++) {
			start_with_agent_records(&cc[i], &w[i], "ccshim");
			cc[i].ops->set_rate(&cc[i], LINE / (i ? 100 : 10));
		}
		for (unsigned step = 0; step < 400; step++) {
			sum = (cc[0].out.rate + cc[1].out.rate) * 25 / 2 / LINE;
			for (unsigned i = 0; i < 2; i++)
				agent_record(&cc[i], &w[i], k, fmin(sum, 1), 0);
		}
		assert_true(fabs(cc[0].out.rate / cc[1].out.rate - 1) < 0.01);
		assert_true(fabs(sum - ETA / (1 - (1 - ETA) / 2)) < 0.005);
	}
}

/* Acknowledgements that wait behind data of their host must not stop a flow that has its share. */
TEST(the_window_exceeds_the_rate_if_agents_count_flows)
{
	static const double spare[] = { 1.125, 1.25 };

	for (unsigned i = 0; i < 2; i++) {
		struct ccs_cc cc;
		struct wire w;

		start_with_agent_records(&cc, &w, record_variants[i]);
		check_close("window", (int)i, cc.out.window, spare[i] * cc.out.rate / 8e6 * 300);
	}
}

/* So many records of that load, with RTTs of which every second one is 200 us longer. */
static void vary(struct ccs_cc *cc, struct wire *w, int records, double share)
{
	for (int i = 0; i < records; i++) {
		w->ack.rtt_us = i % 2 ? 100 : 300;
		agent_record(cc, w, 1, share, 0);
	}
}

static double spare(const struct ccs_cc *cc)
{
	return cc->out.window / (cc->out.rate / 8e6 * 300);
}

/* Where no link is full, RTTs vary for the hosts. */
TEST(jitter_widens_the_window_but_not_the_rate)
{
	for (unsigned i = 0; i < 2; i++) {
		const double least = i ? 1.25 : 1.125;
		struct ccs_cc cc;
		struct wire w;

		start_with_agent_records(&cc, &w, record_variants[i]);
		vary(&cc, &w, 200, 0.98);
		check_close("full", (int)i, spare(&cc), least);
		vary(&cc, &w, 200, 0.9);
		assert_true(spare(&cc) > 1 + 90.0 / 300);
		assert_true(spare(&cc) < 1 + 300.0 / 300);
		cc.ops->on_loss(&cc, w.ack.now_us);
		vary(&cc, &w, 1, 0.9);
		assert_true(spare(&cc) < 1 + 150.0 / 300);
		vary(&cc, &w, 2000, 0.98);
		check_close("full again", (int)i, spare(&cc), least);
	}
}

/* Records of one link come to all flows, but T of those that are farther away is longer. */
TEST(agent_records_give_flows_of_any_base_rtt_equal_shares)
{
	struct ccs_cc cc[2];
	struct wire w[2];
	struct ccs_cc_path far = test_path;

	far.base_rtt_us += 300;
	start_with_agent_records(&cc[0], &w[0], "ccshim");
	start_path_with_agent_records(&cc[1], &w[1], "ccshim", &far);
	for (unsigned step = 0; step < 1000; step++) {
		const double sum = (cc[0].out.rate + cc[1].out.rate) * 25 / 2 / LINE;

		for (unsigned i = 0; i < 2; i++)
			agent_record(&cc[i], &w[i], 2.4, fmin(sum, 1), 0);
	}
	assert_true(fabs(cc[0].out.rate / cc[1].out.rate - 1) < 0.01);
}

/* Segments of independent flows meet: a queue of sqrt(25) / 2 is no excess, twice that is. */
TEST(a_queue_by_chance_does_not_count_as_utilisation)
{
	const uint64_t chance = 5 * (uint64_t)test_path.segment / 2;
	struct ccs_cc cc;
	struct wire w;

	start_with_agent_records(&cc, &w, "ccshim");
	agent_record(&cc, &w, 2, 0.9, chance);
	agent_record(&cc, &w, 2, 0.9, chance);
	check_close("u", 0, seen(&cc, "u"), 0.9);
	agent_record(&cc, &w, 2, 0.9, 2 * chance);
	agent_record(&cc, &w, 2, 0.9, 2 * chance);
	check_close("u", 1, seen(&cc, "u"), 0.9 + (double)chance / (LINE / 8e6 * 600));
}

/*
 * In spans longer than T the queue of a full link shows the demand; a draining link counts as
 * half at least.
 */
TEST(a_growing_queue_counts_as_utilisation_above_one)
{
	const double bytes = LINE / 8e6 * 600, chance = 2.5 * test_path.segment / bytes;
	static const struct { double share, from, to, u; } cases[] = {
		{ 1, 0, 0.2, 1.2 }, { 1, 0.1, 0.3, 1.3 }, { 1, 0.3, 0.3, 1.3 }, { 1, 0.3, 0.1, 0.9 },
		{ 1, 0.8, 0, 0.5 }, { 0.5, 0, 0, 0.5 },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct ccs_cc cc;
		struct wire w;

		start_with_agent_records(&cc, &w, "ccshim");
		agent_record(&cc, &w, 2, 0.9, (uint64_t)(cases[i].from * bytes));
		agent_record(&cc, &w, 2, cases[i].share, (uint64_t)(cases[i].to * bytes));
		assert_true(fabs(seen(&cc, "u") + fmin(chance, fmin(cases[i].from, cases[i].to)) -
				 cases[i].u) < 1e-3);
		/* which derives the queue from the RTT */
		start_with_agent_records(&cc, &w, "echo");
		agent_record(&cc, &w, 2, 0.9, (uint64_t)(cases[i].from * bytes));
		agent_record(&cc, &w, 2, cases[i].share, (uint64_t)(cases[i].to * bytes));
		check_close("u", (int)i, seen(&cc, "u"), cases[i].share);
	}
}
