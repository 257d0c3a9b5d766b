/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests ccfabric's TCP against the queues and windows that are published for it. */
#include "test.h"

#include <math.h>
#include <stdio.h>

#include "bench/sim/fabric/priv.h"
#include "bench/sim/fabric/baselines.h"
#include "bench/ccfabric/traffic.h"

enum { PAYLOAD = 1460, FRAME = 1460 + 40, PRIORITY = 1 };

/* Long flows from hosts with 40 Gb/s to one with 10 Gb/s. */
struct bottleneck {
	const char *cc;
	unsigned flows;
	double delay_us;         /* of a link; an RTT has four */
	double mark, buffer;     /* frames; 0: no marks, no limit */
};

struct outcome {
	double queue_min, queue_max; /* frames, in the second half */
	double utilisation;
	double rtt;              /* frames of the line, without waiting */
	uint64_t drops;
};

static struct fab_conf conf_of(const struct bottleneck *p)
{
	return (struct fab_conf){
		.wire = { .payload = PAYLOAD, .header = 40, .ack = 40, .cnp = 98, .pause = 84,
			  .tx_unit = 1, .queue_unit = 1 },
		.buffer = { .bytes = p->buffer > 0 ? p->buffer * FRAME : INFINITY, .cell = 1,
			    .alpha = 1000, .headroom = NAN, .headroom_us = NAN },
		.marking = { .red = { p->mark * FRAME, p->mark * FRAME, p->mark > 0 } },
		.lossless = 1u << 3, .ack_priority = 6, .cnp_priority = 6, .ttl = FAB_TTL, .seed = 1,
	};
}

static double queue_min;

/* The link of host 0 is the first, its switch's port the second. */
static void sample(struct sim *s, uint32_t number)
{
	queue_min = fmin(queue_min, s->port[1].bytes / (double)FRAME);
	set_event(s, s->now + ps_of(10), CHANGE, number);
}

static struct outcome outcome_of(const struct fab_conf *conf)
{
	struct fab_result r;
	char err[320] = "";
	struct outcome o;
	struct sim s;

	if (!fab_begin(&s, conf, &r, err, sizeof(err)))
		fail_msg("%s", err);
	s.scenario.change = sample;
	queue_min = INFINITY;
	set_event(&s, conf->warm, CHANGE, 1);
	network_run(&s);
	fab_end(&s);
	o = (struct outcome){
		.queue_min = queue_min, .queue_max = r.port[1].queue_max / FRAME,
		.utilisation = r.port[1].utilisation, .drops = r.dropped,
	};
	fab_result_free(&r);
	return o;
}

static struct outcome measure(const struct bottleneck *p, double ms)
{
	const struct fab_traffic how = { .priority = PRIORITY, .seed = 1, .jitter_us = 100 };
	struct fab_conf conf = conf_of(p);
	struct ccs_cc_spec spec;
	struct fab_routes routes;
	struct fab_flows flows;
	struct topology t;
	struct outcome o;
	char text[48], err[320] = "";

	snprintf(text, sizeof(text), "star:1@10g,%u@40g", p->flows);
	assert_true(fab_topology(&t, text, p->delay_us, err, sizeof(err)));
	snprintf(text, sizeof(text), "incast:%u,10g", p->flows);
	assert_true(fab_traffic(&flows, text, &t, &how, err, sizeof(err)));
	assert_true(fab_cc_parse(&spec, p->cc, err, sizeof(err)));
	fab_routes_init(&routes, &t);
	fab_routes_compute(&routes, &t, NULL);
	conf.topology = &t;
	conf.routes = &routes;
	conf.flows = &flows;
	conf.spec = &spec;
	conf.warm = (uint64_t)(ms / 2 * 1e9);
	conf.end = (uint64_t)(ms * 1e9);
	o = outcome_of(&conf);
	o.rtt = (4 * p->delay_us * 1e-6 * 10e9 / 8 + 2 * FRAME + 2 * 40) / FRAME;
	fab_flows_free(&flows);
	fab_routes_free(&routes);
	topology_free(&t);
	return o;
}

/*
 * Alizadeh et al., Data Center TCP, SIGCOMM 2010, 3.3: N flows with the same RTT have a queue of at
 * most K + N packets, whose amplitude is sqrt(2 N (C RTT + K)) / 2. Figure 12 has it for 10 Gb/s,
 * 100 us, K = 40 and 2, 10 and 40 flows, and the amplitude of 40 is less regular, as they are not in
 * step. Throughput is lost unless K > C RTT / 7 (3.4).
 */
TEST(the_queue_of_dctcp_is_that_of_its_papers_equations)
{
	for (unsigned n = 2; n <= 40; n = n == 2 ? 10 : 4 * n) {
		const struct bottleneck p = { "dctcp", n, 25, 40, 0 };
		const struct outcome o = measure(&p, 60);
		const double amplitude = sqrt(2 * n * (o.rtt + p.mark)) / 2;

		printf("# %u flows: queue %.1f to %.1f, equations %.1f to %.1f; utilisation %.4f\n", n,
		       o.queue_min, o.queue_max, p.mark + n - amplitude, p.mark + n, o.utilisation);
		assert_true(o.queue_max <= p.mark + n + 2 && o.queue_max > p.mark);
		assert_true(o.queue_max - o.queue_min < 1.25 * amplitude);
		assert_true(o.queue_max - o.queue_min > 0.75 * amplitude);
		assert_true(o.utilisation > 0.99);
	}
}

TEST(dctcp_loses_throughput_below_the_papers_least_k_only)
{
	const struct bottleneck enough = { "dctcp", 2, 25, 20, 0 }, little = { "dctcp", 2, 25, 2, 0 };
	const struct outcome o = measure(&enough, 60);

	assert_true(enough.mark > o.rtt / 7 && little.mark < o.rtt / 7);
	assert_true(o.utilisation > 0.99);
	assert_true(measure(&little, 60).utilisation < 0.99);
}

/* g = 1 forgets what came before the last window: each cut is by its share of marks alone. */
TEST(a_gain_of_1_makes_dctcps_queue_oscillate_more)
{
	const struct bottleneck slow = { "dctcp", 2, 25, 40, 0 }, fast = { "dctcp:g=1", 2, 25, 40, 0 };

	assert_true(measure(&fast, 60).queue_min < measure(&slow, 60).queue_min - 2);
}

/*
 * A window is halved by a loss and grows by a packet per RTT (RFC 5681, 3.1), so that a buffer of a
 * bandwidth-delay product keeps the link full, and without one it carries 3/4 (Appenzeller et al.,
 * Sizing Router Buffers, SIGCOMM 2004, 2).
 */
TEST(reno_needs_a_buffer_of_a_bandwidth_delay_product)
{
	const struct bottleneck large = { "reno", 1, 25, 0, 90 }, small = { "reno", 1, 25, 0, 3 };
	const struct outcome full = measure(&large, 200), part = measure(&small, 200);

	printf("# utilisation %.4f with a bandwidth-delay product, %.4f without\n", full.utilisation,
	       part.utilisation);
	assert_true(full.utilisation > 0.999);
	assert_true(part.utilisation > 0.72 && part.utilisation < 0.82);
}

/* RED drops packets that cannot be marked, and these are losses as all others. */
TEST(reno_is_dropped_where_dctcp_is_marked)
{
	const struct bottleneck p = { "reno", 2, 25, 40, 0 };
	const struct outcome o = measure(&p, 60);

	assert_true(o.drops > 0);
	assert_true(o.queue_max <= p.mark + 2);
}
