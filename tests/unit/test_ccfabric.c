/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the parts of ccfabric's simulator: the event queue, topologies, tables, and headroom. */
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/sim/fabric/delays.h"
#include "bench/sim/core/event.h"
#include "bench/sim/fabric/fabric.h"
#include "bench/sim/fabric/ranges.h"
#include "bench/ccfabric/traffic.h"
#include "bench/common/rng.h"
#include "fabric/headroom.h"

static uint64_t seed_of_run(void)
{
	const char *text = getenv("CCS_SEED");

	return text ? strtoull(text, NULL, 10) : 1;
}

/* -- the event queue ------------------------------------------------------------------------- */

enum { EVENTS = 20000 };

/* Events are set at random distances, also while others are taken; equal times are frequent. */
/* An event is a number in the order of setting, above its kind; kind 0 is an arrival. */
TEST(events_are_taken_by_time_arrivals_first_then_as_they_were_set)
{
	static struct event_queue q;
	struct queued_event e;
	struct rng random = rng_of(seed_of_run(), 1);
	static uint64_t at[EVENTS];
	uint64_t now = 0;
	uint32_t last = 1, set = 0, taken = 0, ahead;

	while (taken < EVENTS) {
		const unsigned burst = (unsigned)(rng_next(&random) % 4);

		for (unsigned i = 0; i < burst && set < EVENTS; i++, set++) {
			at[set] = now + 1 + (rng_next(&random) >> (rng_next(&random) % 60 + 4));
			if (rng_next(&random) % 3 == 0 && set && at[set - 1] > now)
				at[set] = at[set - 1];
			event_queue_set(&q, at[set], set << EVENT_KIND_BITS | (rng_next(&random) % 2), set);
		}
		if (set == taken || !event_queue_next(&q, &e, &ahead))
			continue;
		assert_int_equal(e.at, at[e.with]);
		assert_int_equal(e.what >> EVENT_KIND_BITS, e.with);
		assert_true(e.at >= now);
		if (e.at == now && taken)
			assert_true((e.what & 1) > (last & 1) ||
				    ((e.what & 1) == (last & 1) && e.what > last));
		now = e.at;
		last = e.what;
		taken++;
	}
	assert_false(event_queue_next(&q, &e, &ahead));
	event_queue_free(&q);
}

/* -- sets of ranges -------------------------------------------------------------------------- */

enum { BYTES = 200 };

TEST(ranges_are_the_set_of_their_bytes)
{
	struct rng random = rng_of(seed_of_run(), 5);

	for (unsigned run = 0; run < 200; run++) {
		struct fab_ranges r = { 0 };
		bool in[BYTES + 1] = { false };

		for (unsigned step = 0; step < 40; step++) {
			const uint64_t from = rng_next(&random) % (BYTES - 1);
			const uint64_t to = from + 1 + rng_next(&random) % (BYTES - from - 1);
			const bool drop = rng_next(&random) % 8 == 0;

			for (uint64_t i = drop ? 0 : from; i < (drop ? from : to); i++)
				in[i] = !drop;
			if (drop)
				fab_ranges_drop(&r, from);
			else
				fab_ranges_add(&r, from, to);
			for (uint64_t at = 0; at < BYTES; at++) {
				uint64_t gap = at, next = at;

				while (in[gap])
					gap++;
				while (next < BYTES && !in[next])
					next++;
				assert_int_equal(fab_ranges_gap(&r, at), gap);
				assert_int_equal(fab_ranges_next(&r, at), next < BYTES ? next : UINT64_MAX);
			}
			for (unsigned i = 1; i < r.n; i++)
				assert_true(r.range[i - 1].to < r.range[i].from);
		}
		fab_ranges_free(&r);
	}
}

/* -- topologies and tables ------------------------------------------------------------------- */

static void generate(struct topology *t, const char *text)
{
	char err[320] = "";

	if (!fab_topology(t, text, 1, err, sizeof(err)))
		fail_msg("%s: %s", text, err);
}

TEST(generated_topologies_have_their_nodes_and_links)
{
	static const struct {
		const char *text;
		unsigned nodes, links, switches;
	} expected[] = {
		{ "star:4@100g", 5, 4, 1 },
		{ "leaf-spine:4x8x2@100g:400g", 38, 40, 6 },
		{ "clos:2x4x4x8/10@25g:100g", 2 * 40 + 16 + 8, 2 * (40 + 16) + 8 * 2, 24 },
		{ "clos:1x4x2x0/8@100g", 38, 40, 6 },
		{ "clos:1x10x4x0/2x32@25g:100g", 320 + 14, 640 + 40, 14 },
	};

	for (unsigned i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		struct topology t;
		unsigned switches = 0;

		generate(&t, expected[i].text);
		for (unsigned n = 0; n < t.nodes; n++)
			switches += t.is_switch[n];
		assert_int_equal(t.nodes, expected[i].nodes);
		assert_int_equal(t.links, expected[i].links);
		assert_int_equal(switches, expected[i].switches);
		topology_free(&t);
	}
}

/* Whether each host reaches each other host over any choice of next hops. */
static bool all_reach(const struct fab_routes *r, const struct topology *t, struct rng *random)
{
	for (unsigned a = 0; a < r->hosts; a++)
		for (unsigned b = 0; b < r->hosts; b++) {
			unsigned node = r->node[a];

			for (unsigned hops = 0; node != r->node[b]; hops++) {
				const struct fab_next_hops *n = fab_next_hops(r, node, b);

				if (!n->n || hops > 6)
					return false;
				node = fab_port_peer(t, n->port[rng_next(random) % n->n]);
			}
		}
	return true;
}

TEST(all_next_hops_lead_there_also_after_a_failure)
{
	struct rng random = rng_of(seed_of_run(), 2);
	struct topology t;
	struct fab_routes r;
	bool failed[64] = { false };

	generate(&t, "leaf-spine:4x4x4@25g:100g");
	fab_routes_init(&r, &t);
	fab_routes_compute(&r, &t, NULL);
	assert_int_equal(fab_next_hops(&r, 16, 4)->n, 4);  /* leaf 0 to a host of leaf 1 */
	assert_int_equal(fab_next_hops(&r, 16, 0)->n, 1);
	assert_true(all_reach(&r, &t, &random));
	for (unsigned l = 0; l < t.links; l++)
		failed[l] = t.link[l].from == 16 && t.link[l].to == 20;
	fab_routes_compute(&r, &t, failed);
	assert_int_equal(fab_next_hops(&r, 16, 4)->n, 3);
	assert_int_equal(fab_next_hops(&r, 17, 0)->n, 3);  /* others avoid the spine that lost it */
	assert_true(all_reach(&r, &t, &random));
	fab_routes_free(&r);
	topology_free(&t);
}

/* Hosts do not forward, even where that would be shorter. */
TEST(a_host_with_two_links_is_no_switch)
{
	struct rng random = rng_of(seed_of_run(), 3);
	struct topology t;
	struct fab_routes r;

	generate(&t, "clos:1x4x2x0/2x3@25g:100g");
	fab_routes_init(&r, &t);
	fab_routes_compute(&r, &t, NULL);
	assert_true(all_reach(&r, &t, &random));
	for (unsigned host = 0; host < r.hosts; host++)
		for (unsigned to = 0; to < r.hosts; to++)
			for (unsigned i = 0; i < fab_next_hops(&r, r.node[host], to)->n; i++)
				assert_true(t.is_switch[fab_port_peer(&t, fab_next_hops(&r, r.node[host],
										to)->port[i])]);
	fab_routes_free(&r);
	topology_free(&t);
}

/* -- PFC's headroom -------------------------------------------------------------------------- */

static struct fab_conf lossless(const struct topology *t, struct fab_routes *r,
				const struct fab_flows *f, const struct ccs_cc_spec *none)
{
	fab_routes_init(r, t);
	fab_routes_compute(r, t, NULL);
	return (struct fab_conf){
		.topology = t, .routes = r, .flows = f, .spec = none,
		.wire = { .payload = 1024, .header = 82, .ack = 86, .cnp = 98, .pause = 84, .gap = CCS_FRAME_GAP,
			  .tx_unit = 1, .queue_unit = 1 },
		.buffer = { .bytes = 16e6, .cell = 256, .pfc = true, .alpha = 0.125, .guarantee = 9216,
			    .headroom = NAN, .headroom_us = NAN, .hysteresis = 3072, .t0_us = 1.5 },
		.lossless = 1u << 3, .ack_priority = 6, .cnp_priority = 6, .ttl = FAB_TTL, .seed = 1,
		.end = UINT64_MAX,
	};
}

static void run(const struct fab_conf *conf, struct fab_result *result)
{
	char err[160] = "";

	if (!fab_run(conf, result, err, sizeof(err)))
		fail_msg("%s", err);
}

/* One host sends the smallest frames into a port that sends almost no frames. */
static uint64_t drops_with(double cells, const char *rate, double cable_us, double t0_us)
{
	const struct ccs_cc_spec none = ccs_cc_default_spec(&ccs_cc_none);
	struct fab_flows flows = { 0 };
	struct fab_result result;
	struct fab_routes routes;
	struct fab_conf conf;
	struct topology t;
	char text[32];
	uint64_t drops;

	snprintf(text, sizeof(text), "star:2@%s", rate);
	generate(&t, text);
	t.link[0].delay_us = cable_us;
	t.link[1].rate_bps = 1e6;
	fab_flows_add(&flows, (struct fab_flow_spec){ .dst = 1, .priority = 3, .size = 1000000 });
	conf = lossless(&t, &routes, &flows, &none);
	conf.wire.payload = 2;
	conf.wire.pause = 0;
	conf.buffer.t0_us = t0_us;
	conf.buffer.headroom = cells * 256;
	conf.buffer.bytes = 1e6;
	conf.end = 200000000;
	run(&conf, &result);
	drops = result.drops.ingress;
	assert_true(result.pauses > 0);
	fab_result_free(&result);
	fab_flows_free(&flows);
	fab_routes_free(&routes);
	topology_free(&t);
	return drops;
}

/* The frames of the MTU that delay the PAUSE and the stop are part of t0 here: arriving frames have the smallest size, a cell each, which is the worst case. */
TEST(computed_headroom_loses_nothing_and_a_cell_less_does)
{
	static const struct {
		const char *rate;
		double rate_bps, metres, cells;
	} published[] = { { "100g", 100e9, 100, 408 }, { "25g", 25e9, 15, 98 } };

	for (unsigned i = 0; i < 2; i++) {
		const struct ccs_headroom h = {
			.rate_bps = published[i].rate_bps, .t0_us = 1.5, .mtu_bytes = 1500,
			.cable_us = ccs_headroom_cable_us(published[i].metres, 2e8),
			.slot_bits = 672, .cell_bytes = 256,
		};
		const double cells = (double)ccs_headroom_need(&h).cells;
		const double t0_us = h.t0_us + 2 * 8e6 * h.mtu_bytes / h.rate_bps;

		assert_float_equal(cells, published[i].cells, 0);
		assert_int_equal(drops_with(cells, published[i].rate, h.cable_us, t0_us), 0);
		assert_true(drops_with(cells - 1, published[i].rate, h.cable_us, t0_us) > 0);
	}
}

TEST(no_lossless_packet_is_dropped_with_the_computed_headroom)
{
	static const unsigned payloads[] = { 2, 64, 256, 1024, 4096, 9000 };
	const struct ccs_cc_spec none = ccs_cc_default_spec(&ccs_cc_none);
	struct rng random = rng_of(seed_of_run(), 4);

	for (unsigned i = 0; i < 40; i++) {
		const unsigned n = 1 + (unsigned)(rng_next(&random) % 64);
		const double alpha = ldexp(1, (int)(rng_next(&random) % 10) - 6);
		const unsigned payload = payloads[rng_next(&random) % 6];
		struct fab_flows flows;
		struct fab_result result;
		struct fab_routes routes;
		struct fab_conf conf;
		struct topology t;
		char text[48], err[320];
		const struct fab_traffic how = { .priority = 3, .jitter_us = 5, .seed = i };

		snprintf(text, sizeof(text), "star:%u@%s", n + 1, rng_next(&random) % 2 ? "100g" : "25g");
		generate(&t, text);
		snprintf(text, sizeof(text), "incast:%u,%u", n, 300 * payload);
		assert_true(fab_traffic(&flows, text, &t, &how, err, sizeof(err)));
		conf = lossless(&t, &routes, &flows, &none);
		conf.wire.payload = payload;
		conf.buffer.alpha = alpha;
		run(&conf, &result);
		if (result.dropped || result.done < flows.n)
			fail_msg("seed %llu, case %u: %u senders, alpha %g, payload %u: %llu dropped",
				 (unsigned long long)seed_of_run(), i, n, alpha, payload,
				 (unsigned long long)result.dropped);
		fab_result_free(&result);
		fab_flows_free(&flows);
		fab_routes_free(&routes);
		topology_free(&t);
	}
}

/* Frames that fill the cells badly, the smallest, and full packets, which all delay PAUSE frames. */
static uint64_t message_of(struct rng *random, const struct fab_conf *c)
{
	const double cell = c->buffer.cell, stored = c->wire.header - CCS_FRAME_GAP;
	const double cells = ceil(fmax(64, stored + 1) / cell) + (double)(rng_next(random) % 2);
	const double payload = fmax(cells * cell + 1 - stored, 2);

	switch (rng_next(random) % 3) {
	case 0: return 2;
	case 1: return c->wire.payload;
	default: return payload < c->wire.payload ? (uint64_t)payload : c->wire.payload;
	}
}

/* Two hosts exchange data beside incasts, so PAUSE frames wait for frames. */
static void add_flows(struct rng *random, const struct fab_conf *c, unsigned hosts, uint64_t size,
		      struct fab_flows *flows)
{
	for (unsigned i = 1; i < hosts; i++)
		for (unsigned k = 0; k < 4; k++) {
			const unsigned q = c->lossless >> 4 & k ? 4 : 3;

			fab_flows_add(flows, (struct fab_flow_spec){
				.src = i, .dst = 0, .priority = q, .port = k, .size = size,
				.message = message_of(random, c), .start = rng_next(random) % 1000000 });
			fab_flows_add(flows, (struct fab_flow_spec){
				.src = 0, .dst = i, .priority = q, .port = k, .size = size,
				.message = message_of(random, c), .start = rng_next(random) % 1000000 });
		}
	fab_flows_sort(flows);
}

struct headroom_case {
	double gbps, metres, cell, mtu;
	unsigned classes, hosts;
	double slow;             /* the receiver's link is slower by this factor */
};

static struct headroom_case draw_case(struct rng *random)
{
	static const double gbps[] = { 10, 25, 40, 50, 100, 200, 400, 800 };
	static const double mtus[] = { 256, 512, 1024, 2048, 4096, 9000 };

	return (struct headroom_case){
		.gbps = gbps[rng_next(random) % 8], .metres = (double)(rng_next(random) % 300),
		.cell = 48 + (double)(rng_next(random) % 465), .mtu = mtus[rng_next(random) % 6],
		.classes = 1 + (unsigned)(rng_next(random) % 2),
		.hosts = 2 + (unsigned)(rng_next(random) % 4),
		.slow = 1 + (double)(rng_next(random) % 30),
	};
}

/* The buffer is hardly larger than its headroom, so senders are paused soon. */
static void run_case(struct rng *random, const struct headroom_case *k, struct fab_result *result)
{
	const struct ccs_cc_spec none = ccs_cc_default_spec(&ccs_cc_none);
	const double cable_us = ccs_headroom_cable_us(k->metres, 2e8);
	const struct ccs_headroom h = {
		.rate_bps = k->gbps * 1e9, .cable_us = cable_us, .t0_us = 2, .mtu_bytes = 2 * k->mtu,
		.slot_bits = 672, .cell_bytes = k->cell,
	};
	const double headroom = (double)ccs_headroom_need(&h).bytes + 20000;
	struct fab_flows flows = { 0 };
	struct fab_routes routes;
	struct fab_conf conf;
	struct topology t;
	char text[32];

	snprintf(text, sizeof(text), "star:%u@%.0fg", k->hosts, k->gbps);
	generate(&t, text);
	for (unsigned i = 0; i < t.links; i++)
		t.link[i].delay_us = cable_us;
	t.link[0].rate_bps /= k->slow;
	conf = lossless(&t, &routes, &flows, &none);
	conf.lossless = k->classes == 2 ? 1u << 3 | 1u << 4 : 1u << 3;
	conf.wire.payload = (uint32_t)k->mtu;
	conf.buffer.cell = k->cell;
	conf.buffer.guarantee = 1000;
	conf.buffer.bytes = k->hosts * k->classes * headroom + 100000;
	conf.end = (uint64_t)(100 * headroom * 8e3 / k->gbps);
	add_flows(random, &conf, k->hosts, (uint64_t)(6 * headroom), &flows);
	run(&conf, result);
	fab_flows_free(&flows);
	fab_routes_free(&routes);
	topology_free(&t);
}

TEST(no_cell_mtu_rate_or_cable_makes_the_computed_headroom_too_small)
{
	struct rng random = rng_of(seed_of_run(), 6);
	unsigned paused = 0;

	for (unsigned i = 0; i < 100; i++) {
		const struct headroom_case k = draw_case(&random);
		struct fab_result result;

		run_case(&random, &k, &result);
		if (result.drops.lossless)
			fail_msg("seed %llu, case %u: %g Gb/s (1/%g), %g m, cell %g, MTU %g, %u classes, %u hosts: "
				 "%llu dropped", (unsigned long long)seed_of_run(), i, k.gbps, k.slow, k.metres,
				 k.cell, k.mtu, k.classes, k.hosts, (unsigned long long)result.drops.lossless);
		paused += result.pauses > 0;
		fab_result_free(&result);
	}
	if (paused < 50)
		fail_msg("seed %llu: only %u of 100 cases had PAUSE frames", (unsigned long long)seed_of_run(), paused);
}

/* -- delays ---------------------------------------------------------------------------------- */

static int by_ns(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

TEST(quantiles_of_delays_are_at_most_a_32nd_above_the_exact_ones)
{
	enum { N = 5000 };
	static uint64_t ns[N];
	struct rng random = rng_of(seed_of_run(), 5);
	static struct ccs_hist d;

	assert_true(isnan(fab_delays_quantile(&d, 0.99)));
	for (unsigned i = 0; i < N; i++) {
		ns[i] = rng_next(&random) >> (24 + i % 40);
		ccs_hist_record(&d, ns[i]);
	}
	qsort(ns, N, sizeof(*ns), by_ns);
	for (double q = 0.002; q <= 1; q += 0.002) {
		const double exact = (double)ns[(unsigned)ceil(q * N) - 1] / 1e3;
		const double got = fab_delays_quantile(&d, q);

		assert_true(got >= exact * (1 - 1e-9) && got <= exact * (33.0 / 32) + 1e-9);
	}
	ccs_hist_record(&d, UINT64_MAX);
	assert_true(fab_delays_quantile(&d, 1) > 1e15);
}

int main(void)
{
	printf("# CCS_SEED=%llu\n", (unsigned long long)seed_of_run());
	return test_run(NULL, NULL);
}
