/* SPDX-License-Identifier: BSD-2-Clause */
#include "test.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/ccbench/result/shares.h"
#include "bench/ccbench/traffic/messages.h"
#include "bench/ccbench/traffic/sequence.h"
#include "bench/ccbench/scenario/opts.h"
#include "bench/common/progress.h"
#include "bench/ccbench/scenario/figures.h"
#include "bench/ccbench/scenario/scenario.h"
#include "seed.h"
#include "bench/ccbench/result/slowdown.h"

#define SECOND 1000000000ll

static struct opts o;
static struct flow_list flows;

/* The flows of a command line, which is a good one. */
static void make(const char *first, ...)
{
	char *argv[32] = { (char *)(uintptr_t)first }, err[512];
	int argc = 1;
	va_list ap;

	va_start(ap, first);
	while ((argv[argc] = va_arg(ap, char *)))
		argc++;
	va_end(ap);
	free(flows.v);
	flows.v = NULL;
	if (opts_parse(&o, 0, argc, argv, err, sizeof(err)) != OPTS_OK)
		fail_msg("%s: %s", first, err);
	assert_int_equal(scenario_flows(&o, &flows), 0);
}

#define MAKE(...) make(__VA_ARGS__, NULL)

static int release(void **state)
{
	free(flows.v);
	flows.v = NULL;
	return 0;
}

TEST(incast_is_senders_to_one_and_a_victim)
{
	unsigned i;

	MAKE("incast", "--senders", "3", "-q", "2", "-s", "4k");
	assert_int_equal(flows.n, 7);
	assert_int_equal(opts_hosts(&o), 5);
	for (i = 0; i < 6; i++) {
		assert_int_equal(flows.v[i].src, 1 + i / 2);
		assert_int_equal(flows.v[i].dst, 0);
		assert_int_equal(flows.v[i].qp, i % 2);
		assert_int_equal(flows.v[i].size, 4096);
		assert_int_equal(flows.v[i].arrival, ARRIVE_BACKLOGGED);
		assert_int_equal(flow_poster(&flows.v[i]), flows.v[i].src);
	}
	assert_int_equal(flows.v[6].class, CLASS_LATENCY);
	assert_int_equal(flows.v[6].src, 4);
	MAKE("readincast", "--no-victim");
	assert_int_equal(flows.n, 4);
	assert_int_equal(flow_poster(&flows.v[0]), 0);
}

/* Every host sends to one other, and receives from one. */
TEST(a_permutation_is_one)
{
	unsigned hosts, i, from[16];
	char n[8];

	for (hosts = 2; hosts <= 16; hosts++) {
		snprintf(n, sizeof(n), "%u", hosts);
		MAKE("permutation", "--hosts", n, "--seed", n);
		assert_int_equal(flows.n, hosts);
		memset(from, 0, sizeof(from));
		for (i = 0; i < hosts; i++) {
			assert_int_equal(flows.v[i].src, i);
			assert_int_not_equal(flows.v[i].dst, i);
			assert_int_equal(from[flows.v[i].dst]++, 0);
		}
	}
	MAKE("alltoall", "--hosts", "5");
	assert_int_equal(flows.n, 20);
}

TEST(the_last_flow_to_start_stops_first)
{
	unsigned i;

	MAKE("joinleave", "--senders", "4", "-D", "8");
	for (i = 0; i < 4; i++) {
		assert_int_equal(flows.v[i].start, i * SECOND);
		assert_int_equal(flows.v[i].stop, (8 - i) * SECOND);
	}
}

TEST(all_begin_together_and_go_one_by_one)
{
	unsigned i;

	MAKE("leave", "--senders", "4", "-D", "8");
	for (i = 0; i < 4; i++) {
		assert_int_equal(flows.v[i].start, 0);
		assert_int_equal(flows.v[i].stop, 2 * (i + 1) * SECOND);
	}
}

TEST(messages_of_others_cross_one_elephant)
{
	unsigned i;

	MAKE("elephant", "--senders", "4", "--rate", "10g");
	assert_int_equal(flows.n, 4);
	assert_int_equal(flows.v[0].arrival, ARRIVE_BACKLOGGED);
	for (i = 1; i < 4; i++)
		assert_int_equal(flows.v[i].arrival, ARRIVE_POISSON);
	/* Of three flows, a tenth of 10 Gb/s in messages of 64 KB. */
	assert_float_equal((double)flows.v[1].interval, 3 * 8e9 * 65536 / 1e9, 2);
}

/* The busiest link has the load that was requested, whichever link that is. */
TEST(load_is_of_the_busiest_link)
{
	static const char *const which[] = { "incast", "permutation", "alltoall", "mice" };
	double in[8], out[8], most;
	unsigned s, i;

	for (s = 0; s < 4; s++) {
		MAKE(which[s], "--senders", "4", "--hosts", "5", "--rate", "10g", "--load", "40%",
		     "--sizes", "hadoop");
		memset(in, 0, sizeof(in));
		memset(out, 0, sizeof(out));
		for (i = 0, most = 0; i < flows.n; i++) {
			const struct flow_spec *f = &flows.v[i];
			double bps = 8e9 * sizes_mean((enum sizes)f->sizes, f->size) /
				     (double)f->interval;

			if (f->arrival != ARRIVE_POISSON)
				continue;
			most = fmax(most, fmax(in[f->dst] += bps, out[f->src] += bps));
		}
		assert_float_equal(most / 4e9, 1, 1e-4);
	}
}

/* A pool's messages arrive at one of its QPs for all, so that it has the load of one flow. */
TEST(a_pool_has_one_arrival_process)
{
	int64_t alone;
	unsigned i;

	MAKE("alltoall", "--hosts", "3", "--rate", "10g", "--load", "40%");
	alone = flows.v[0].interval;
	MAKE("alltoall", "--hosts", "3", "--rate", "10g", "--load", "40%", "--qp-pool", "5");
	assert_int_equal(flows.n, 30);
	for (i = 0; i < 30; i++) {
		assert_int_equal(flows.v[i].pool, 5);
		assert_int_equal(flows.v[i].qp, i % 5);
		assert_int_equal(flow_has_arrivals(&flows.v[i]), i % 5 == 0);
		assert_int_equal(flows.v[i].interval, alone);
		assert_int_equal(flows.v[i].stream, i / 5 + (i % 5 != 0)); /* of a pool's first */
	}
	MAKE("mice", "--senders", "2", "--rate", "10g", "--qp-pool", "4", "-q", "3");
	assert_int_equal(flows.n, 2 * 3 + 2 * 4);
	assert_int_equal(flows.v[0].pool, 0);
	assert_int_equal(flows.v[6].pool, 4);
}

TEST(every_path_is_looked_at_alone)
{
	struct flow_list empty;
	int64_t length;
	unsigned i;

	MAKE("permutation", "--hosts", "6");
	assert_int_equal(scenario_unloaded(&flows, &empty, &length), 0);
	assert_int_equal(empty.n, 6);
	for (i = 0; i < 6; i++) {
		assert_int_equal(empty.v[i].sizes, SIZES_LADDER);
		assert_true(empty.v[i].stop <= (i < 5 ? empty.v[i + 1].start : length));
	}
	free(empty.v);
}

/* Drawn often, they have the mean and the quantiles of their table. */
TEST(distributions_match_their_names)
{
	static const struct { enum sizes s; double median, p90, most; } is[] = {
		{ SIZES_WEBSEARCH, 73077, 5e6, 30e6 }, { SIZES_HADOOP, 700, 120e3, 10e6 },
	};
	unsigned k, i, most = 200000;
	struct rng rng;
	double sum, v;

	seed_start("distributions_match_their_names");
	rng = rng_of(seed_next(), 0);
	for (k = 0; k < 2; k++) {
		unsigned median = 0, p90 = 0;

		for (i = 0, sum = 0; i < most; i++) {
			v = (double)sizes_next(is[k].s, 0, i, &rng);
			assert_true(v >= 1 && v <= is[k].most);
			sum += v;
			median += v <= is[k].median;
			p90 += v <= is[k].p90;
		}
		assert_float_equal(sum / most / sizes_mean(is[k].s, 0), 1, 0.1);
		assert_float_equal((double)median / most, 0.5, 0.01);
		assert_float_equal((double)p90 / most, 0.9, 0.01);
	}
	assert_int_equal(sizes_next(SIZES_FIXED, 77, 5, &rng), 77);
	assert_int_equal(sizes_next(SIZES_LADDER, 77, LADDER_STEPS + 1, &rng), sizes_ladder[1]);
}

/* Whatever comes and goes: bytes posted are bytes done, messages end in order. */
TEST(messages_are_cut_and_put_together)
{
	struct messages q = { 0 };
	uint64_t in = 0, posted = 0, done = 0, ended = 0, pushed = 0, wrs = 0;
	unsigned i;

	seed_start("messages_are_cut_and_put_together");
	for (i = 0; i < 100000; i++) {
		uint64_t size = 1 + seed_below(1000);

		switch (seed_below(3)) {
		case 0:
			if (messages_count(&q) > 100)
				break;
			assert_int_equal(messages_push(&q, (int64_t)pushed++, size, 300), 0);
			in += size;
			break;
		case 1:
			size = messages_next_wr(&q);
			assert_true(size <= 300 && (size || posted == in));
			posted += size;
			wrs += size > 0;
			break;
		default:
			if (!wrs)
				break;
			wrs--;
			done += messages_wr_done(&q);
			assert_true(done <= posted);
			if (!messages_head(&q)->left)
				assert_int_equal(messages_pop(&q).arrived, ended++);
		}
	}
	assert_true(ended > 1000);
	messages_free(&q);
}

/* Two flows; the second comes at 1 s, takes 0.5 s to get its half, and goes at 3 s. */
TEST(convergence_is_when_they_share)
{
	static struct curve a, b;
	struct sharer v[] = { { &a, 0, 4 * SECOND }, { &b, SECOND, 3 * SECOND } };
	struct convergence c;
	uint64_t bytes_a = 0, bytes_b = 0;
	int64_t t;

	curve_start(&a, 0, 0);
	curve_start(&b, SECOND, 0);
	for (t = SECOND / 100; t <= 4 * SECOND; t += SECOND / 100) {
		bool both = t > SECOND + SECOND / 2 && t <= 3 * SECOND;

		bytes_a += both ? 500 : 1000;
		bytes_b += both ? 500 : 0;
		curve_add(&a, t, bytes_a);
		if (t > SECOND)
			curve_add(&b, t, bytes_b);
	}
	c = converge(v, 2, 0, 4 * SECOND, 800e3);
	assert_int_equal(c.events, 3);
	assert_int_equal(c.reached, 3);
	assert_float_equal(c.worst, 0.5, 0.051);
	/* More capacity than they ever use: never. */
	c = converge(v, 2, 0, 4 * SECOND, 1e6);
	assert_int_equal(c.reached, 0);
	assert_true(isnan(c.worst));
}

/* Times of a straight line are reproduced, between its points and beyond them. */
TEST(slowdown_is_counted_from_the_empty_network)
{
	struct flow_sample s[2 * LADDER_STEPS];
	struct unloaded u;
	struct slow v[] = { { 1, 64 }, { 3, 1024 }, { 10, 2048 }, { NAN, 64 } };
	struct slowdown d;
	unsigned i;

	for (i = 0; i < 2 * LADDER_STEPS; i++) {
		uint64_t size = sizes_ladder[i % LADDER_STEPS];

		/* The second round takes longer: it does not count. */
		s[i] = (struct flow_sample){ 0, (int64_t)(10000 + 2 * size) +
						i / LADDER_STEPS * 500, size };
	}
	unloaded_clear(&u);
	assert_true(isnan(unloaded_us(&u, 100)));
	unloaded_add(&u, s, 2 * LADDER_STEPS);
	assert_float_equal(unloaded_us(&u, 1), 10.128, 1e-6);
	assert_float_equal(unloaded_us(&u, 3000), 16, 1e-6);
	assert_float_equal(unloaded_us(&u, 10000000), 20010, 1e-6);
	u.us[LADDER_STEPS - 1] = NAN; /* not reached in time */
	assert_float_equal(unloaded_us(&u, 10000000), 20010, 1e-6);
	assert_int_equal(slowdown_of(&d, v, 4), 0);
	assert_int_equal(d.spread[0].n, 2);
	assert_int_equal(d.spread[1].n, 1);
	assert_float_equal(d.spread[1].p99, 10, 0);
	assert_int_equal(d.spread[SIZE_CLASSES - 1].n, 3);
	assert_float_equal(d.spread[SIZE_CLASSES - 1].p50, 3, 0);
}

TEST(repeats_have_a_middle)
{
	double odd[] = { 3, NAN, 1, 2 }, even[] = { 4, 1 }, none[] = { NAN };
	struct repeats r = repeats_of(odd, 4);

	assert_float_equal(r.median, 2, 0);
	assert_float_equal(r.min, 1, 0);
	assert_float_equal(r.max, 3, 0);
	assert_float_equal(repeats_of(even, 2).median, 2.5, 0);
	assert_true(isnan(repeats_of(none, 1).median));
}

TEST(a_bar_is_as_long_as_it_is_far)
{
	char buf[16];

	assert_string_equal(progress_fill(buf, 4, 0.5), "[##..]");
	assert_string_equal(progress_fill(buf, 4, -1), "[....]");
	assert_string_equal(progress_fill(buf, 4, 7), "[####]");
	assert_string_equal(progress_fill(buf, 4, NAN), "[....]");
}

/* What a simple host does: posts what it may, and all arrives at once. Returns the operations that
 * each host has ended. */
static unsigned simulate(unsigned hosts, unsigned rounds, int64_t pause)
{
	static struct proto_end end[8][128];
	static struct sequence order[8];
	static uint64_t posted[8][128];
	unsigned n[8] = { 0 }, index[8][128], ended[8] = { 0 }, least = UINT_MAX;
	int64_t now = 0;

	memset(posted, 0, sizeof(posted));
	for (unsigned i = 0; i < flows.n; i++)
		for (unsigned h = 0; h < hosts; h++)
			if (flows.v[i].src == h || flows.v[i].dst == h) {
				index[h][i] = n[h];
				end[h][n[h]++] = (struct proto_end){
					.flow = i, .posts = flows.v[i].src == h, .spec = flows.v[i] };
			}
	for (unsigned h = 0; h < hosts; h++) {
		assert_int_equal(sequence_init(&order[h], end[h], n[h], 0), 0);
		sequence_begin(&order[h], now);
	}
	for (unsigned round = 0; round < rounds; round++, now += pause / 2) {
		for (unsigned i = 0; i < flows.n; i++) {
			const unsigned src = flows.v[i].src, dst = flows.v[i].dst, k = index[src][i];
			const struct operation *over;

			if (!sequence_may_post(&order[src], k, posted[src][k]))
				continue;
			posted[src][k]++;
			if ((over = sequence_done(&order[src], k))) {
				sequence_pause(&order[src], over, now);
				ended[src]++;
			}
			if ((over = sequence_done(&order[dst], index[dst][i]))) {
				sequence_pause(&order[dst], over, now);
				ended[dst]++;
			}
		}
		for (unsigned h = 0; h < hosts; h++)
			sequence_begin(&order[h], now);
	}
	for (unsigned h = 0; h < hosts; h++) {
		least = ended[h] < least ? ended[h] : least;
		sequence_free(&order[h]);
	}
	return least;
}

TEST(operations_follow_each_other_at_every_host)
{
	static const char *const kind[] = { "halving", "tree", "ring" };

	for (unsigned k = 0; k < 3; k++) {
		MAKE("collective", "--hosts", "8", "--collective", kind[k], "-q", "2", "-s", "64k");
		for (unsigned i = 0; i < flows.n; i++)
			for (unsigned a = 0; a < 2; a++)
				if (flows.v[i].after[a])
					assert_int_equal(flows.v[flows.v[i].after[a] - 1].dst, flows.v[i].src);
		assert_in_range(simulate(8, 200, 1000000), 5, 100);
	}
	MAKE("kv", "--senders", "3");
	for (unsigned i = 0; i < flows.n; i++)
		if (flows.v[i].group && flows.v[i].after[0]) {
			assert_int_equal(flows.v[i].size, 4096);
			assert_int_equal(flows.v[i].src, 0);
		}
}

TEST(nothing_is_posted_in_a_pause)
{
	const struct operation *over;
	struct proto_end end = { .posts = 1 };
	struct sequence order;

	MAKE("collective", "--hosts", "2", "--pause", "5ms");
	end.spec = flows.v[0];
	assert_int_equal(sequence_init(&order, &end, 1, 100), 0);
	assert_false(sequence_may_post(&order, 0, 0));
	assert_int_equal(sequence_begin(&order, 99), 100);
	assert_false(sequence_may_post(&order, 0, 0));
	assert_int_equal(sequence_begin(&order, 100), FLOW_FOREVER);
	assert_true(sequence_may_post(&order, 0, 0));
	assert_false(sequence_may_post(&order, 0, 1));
	over = sequence_done(&order, 0);
	assert_non_null(over);
	assert_int_equal(over->start, 100);
	sequence_pause(&order, over, 1000);
	assert_false(sequence_may_post(&order, 0, 1));
	assert_int_equal(sequence_begin(&order, 1001), 5001000);
	assert_int_equal(sequence_begin(&order, 5001000), FLOW_FOREVER);
	assert_true(sequence_may_post(&order, 0, 1));
	sequence_free(&order);
}

TEST(a_tenants_hosts_have_its_queue_pairs_in_turn)
{
	static const unsigned tenant[] = { 0, 1, 2, 2, 3, 3, 3, 0, 0 };
	static const unsigned src[] = { 1, 2, 3, 2, 3, 2, 4, 5, 6, 4 };
	static const unsigned qp[] = { 0, 0, 0, 1, 1, 2, 0, 0, 0, 1 };

	MAKE("tenants", "--tenants", "1:.01,5:2.5:2,4:100:3");
	assert_int_equal(flows.n, 11);
	assert_int_equal(opts_hosts(&o), 8);
	for (unsigned i = 0; i < sizeof(tenant) / sizeof(*tenant); i++)
		assert_int_equal(scenario_tenant(&o, i), tenant[i]);
	for (unsigned i = 0; i < sizeof(src) / sizeof(*src); i++) {
		assert_int_equal(flows.v[i].src, src[i]);
		assert_int_equal(flows.v[i].qp, qp[i]);
	}
	assert_int_equal(flows.v[10].class, CLASS_LATENCY);
	MAKE("tenants", "--no-victim");
	assert_int_equal(flows.n, 1 + 16 + 64);
	MAKE("incast");
	assert_int_equal(scenario_tenant(&o, 1), 0);
}

TEST(what_a_scenario_cannot_do_is_refused)
{
	static const char *const wrong[][5] = {
		{ "joinleave", "-n", "5" }, { "alltoall", "--sizes", "web" },
		{ "alltoall", "--load", "3" }, { "alltoall", "--load", "50%" },
		{ "incast", "--claims", "3" }, { "trunk", "--pause", "1ms" }, { "kv", "--collective", "ring" },
		{ "incast", "--response", "4k" }, { "incast", "--repeat", "0" }, { "permutation", "--hosts", "1" },
		{ "collective", "--hosts", "3" }, { "collective", "--op", "read" },
		{ "collective", "--collective", "star" }, { "trunk", "--hosts", "5" },
		{ "trunk", "--hosts", "2" }, { "kv", "--response", "0" }, { "claims", "--claims", "0" },
		{ "tenants", "--tenants", "" }, { "tenants", "--tenants", "1" },
		{ "tenants", "--tenants", "1:" }, { "tenants", "--tenants", "1:0" },
		{ "tenants", "--tenants", "1:101" }, { "tenants", "--tenants", "1:1," },
		{ "tenants", "--tenants", "1:1:2" }, { "tenants", "--tenants", "0:1" },
		{ "tenants", "--tenants", "-1:1" }, { "tenants", "--tenants", "1:nan" },
		{ "tenants", "--tenants", "1:1:0" }, { "tenants", "--tenants", "1:1;2:1" },
		{ "tenants", "--tenants", "99999999999999999999:1" },
		{ "tenants", "--tenants", "300:1:255" }, { "tenants", "--tenants", "200:1:200,200:1:200" },
		{ "tenants", "--tenants", "1:1,1:1,1:1,1:1,1:1,1:1,1:1,1:1,1:1,1:1,1:1,1:1,1:1,1:1,1:1,1:1,1:1" },
		{ "tenants", "--op", "read" }, { "tenants", "--load", "0.5" },
	};
	char err[512];
	unsigned i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(opts_parse(&o, 0, 3, (char **)(uintptr_t)wrong[i], err,
					    sizeof(err)), OPTS_BAD);
}

int main(void)
{
	return test_run(NULL, release);
}
