/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Switching a running flow to another algorithm: every ordered pair of the built-in algorithms, in
 * each of their variants.
 */
#include "test.h"

#include <math.h>
#include <string.h>

#include "flow/cc_events.h"
#include "config/plugin.h"
#include "flow_next.h"
#include "seed.h"

enum { MAX_SPECS = 64, ROUNDS = 20 };

static struct ccs_cc_spec specs[MAX_SPECS];
static char spec_names[MAX_SPECS][64];
static unsigned spec_count;

static int find(const struct ccs_cc_ops *ops, const char *name)
{
	for (unsigned i = 0; i < ops->nparams; i++)
		if (strcmp(ops->params[i].name, name) == 0)
			return (int)i;
	return -1;
}

static void add_spec(const struct ccs_cc_ops *ops, int param, unsigned choice)
{
	struct ccs_cc_spec *spec = &specs[spec_count];

	assert_true(spec_count < MAX_SPECS);
	*spec = ccs_cc_default_spec(ops);
	if (param >= 0)
		spec->given[param] = choice;
	snprintf(spec_names[spec_count++], sizeof(*spec_names), "%s:%s", ops->name,
		 param >= 0 ? ops->params[param].choices[choice] : "");
}

static int list_specs(void **state)
{
	for (unsigned i = 0; ccs_cc_all[i]; i++) {
		const int variant = find(ccs_cc_all[i], "variant");

		if (variant < 0)
			add_spec(ccs_cc_all[i], -1, 0);
		for (unsigned k = 0; variant >= 0 && ccs_cc_all[i]->params[variant].choices[k]; k++)
			add_spec(ccs_cc_all[i], variant, k);
	}
	return 0;
}

static double uniform(double low, double high)
{
	return low + (high - low) * (double)(seed_next() >> 11) * 0x1p-53;
}

/* Random on a logarithmic scale: each decade is equally likely. */
static double spread(double low, double high)
{
	return exp(uniform(log(low), log(high)));
}

static struct ccs_cc_path random_path(void)
{
	return (struct ccs_cc_path){
		.line_rate = spread(10e6, 400e9),
		.base_rtt_us = spread(1, 10e3),
		.rtt_jitter_us = seed_below(2) ? 0 : spread(0.1, 1e3),
		.segment = exp2((double)(12 + seed_below(5))),
		.flows = 1 + (unsigned)seed_below(64),
	};
}

/* A flow, and the state of its path that its algorithm gets. */
struct live {
	struct ccs_flow flow;
	struct ccs_cc_path path;
	double now_us;
	uint64_t sent, acked;
	struct ccs_cc_hop hop;
};

static void acknowledge(struct live *l)
{
	const struct ccs_cc_path *path = &l->path;
	struct ccs_cc_ack ack = {
		.now_us = l->now_us,
		.rtt_us = path->base_rtt_us * spread(1, seed_below(4) ? 2 : 100) + path->rtt_jitter_us,
		.bytes = path->segment,
		.path = seed_below(50) == 0,
		.flows = (unsigned)seed_below(4),
	};

	if (l->acked + (uint64_t)path->segment > l->sent)
		return;
	l->acked += (uint64_t)path->segment;
	ack.ack_seq = l->acked;
	ack.snd_nxt = l->sent;
	ack.inflight = (double)(l->sent - l->acked);
	if (seed_below(4)) {
		l->hop.ts_ns = (uint64_t)(l->now_us * 1e3);
		l->hop.tx_bytes += seed_below(2 * (uint64_t)path->segment);
		l->hop.qlen_bytes = seed_below(2) ? 0 : seed_below(1 << 20);
		l->hop.capacity = path->line_rate;
		ack.hops = &l->hop;
		ack.nhops = 1;
	}
	l->flow.cc.ops->on_ack(&l->flow.cc, &ack);
}

static void random_event(struct live *l)
{
	struct ccs_cc *cc = &l->flow.cc;
	const struct ccs_cc_ops *ops = cc->ops;

	l->now_us += l->path.base_rtt_us * spread(1e-3, seed_below(20) ? 1 : 100);
	ccs_cc_advance(cc, l->now_us);
	switch (seed_below(8)) {
	case 0:
		if (ops->on_cnp)
			ops->on_cnp(cc, l->now_us);
		break;
	case 1:
		if (ops->on_loss && seed_below(4) == 0)
			ops->on_loss(cc, l->now_us);
		break;
	case 2:
	case 3:
	case 4:
		l->sent += (uint64_t)l->path.segment;
		if (ops->on_send)
			ops->on_send(cc, l->now_us, l->path.segment);
		break;
	default:
		acknowledge(l);
	}
}

/* A parameter in force; `none` if there is no such parameter. */
static double param(const struct ccs_cc *cc, const char *name, double none)
{
	const int i = find(cc->ops, name);

	return i < 0 ? none : cc->param[i];
}

static double floor_of(const struct ccs_cc *cc)
{
	const double window = param(cc, "min_window", 0);

	const double rtt_us = param(cc, "base_rtt", cc->path.base_rtt_us);

	return fmax(param(cc, "min_rate", 0), 8e6 * window / rtt_us);
}

static double ceiling_of(const struct ccs_cc *cc)
{
	return param(cc, "max_rate", cc->ops->set_rate ? cc->path.line_rate : INFINITY);
}

static bool within(double value, double low, double high)
{
	return value >= low * (1 - 1e-9) && value <= fmax(low, high) * (1 + 1e-9);
}

static const char *find_fault(const struct ccs_cc *cc)
{
	const struct ccs_cc_out *out = &cc->out;

	if (!(out->rate > 0) || (isinf(out->rate) && cc->ops->set_rate))
		return "the rate is no finite number above 0";
	if (!(out->window >= 0) || isinf(out->window))
		return "the window is no finite number";
	if (isnan(out->timer_us) || (!cc->ops->on_timer && out->timer_us < INFINITY))
		return "the timer";
	if (!within(out->rate, param(cc, "min_rate", 0), ceiling_of(cc)))
		return "the rate is out of bounds";
	return NULL;
}

/* True if the rate after the switch is as expected from the rate before. */
static bool keeps_rate(const struct ccs_cc *cc, double before)
{
	struct ccs_cc fresh;

	if (cc->ops->set_rate)
		return within(cc->out.rate,
			      fmax(fmin(before, ceiling_of(cc)), param(cc, "min_rate", 0)),
			      fmax(fmin(before, ceiling_of(cc)), floor_of(cc)));
	ccs_cc_start(&fresh, cc->spec, &cc->path);
	return cc->out.rate == fresh.out.rate;
}

/*
 * A window that limits the flow below its rate would be a further decrease, unless the rate is a
 * floor above the rate before. A window below a segment does not limit: one segment may always be
 * outstanding.
 */
static bool window_admits_rate(const struct ccs_cc *cc, double before)
{
	const double bytes = fmin(cc->out.rate, before) * cc->path.base_rtt_us / 8e6;

	return cc->out.window == 0 || fmax(cc->out.window, cc->path.segment) >= bytes * (1 - 1e-9);
}

static void report(const struct live *l, unsigned from, unsigned to, double before,
		   const char *what)
{
	fail_msg("%s to %s, line %g bit/s, base RTT %g us, from %g to %g bit/s, window %g: %s",
		 spec_names[from], spec_names[to], l->path.line_rate, l->path.base_rtt_us, before,
		 l->flow.cc.out.rate, l->flow.cc.out.window, what);
}

static void start_flow(struct live *l, const struct ccs_cc_spec *spec)
{
	const struct ccs_flow_config conf = {
		.line_rate = l->path.line_rate, .max_rate = INFINITY, .base_rtt_us = l->path.base_rtt_us,
		.segment = l->path.segment, .max_inflight = 1e6, .split = true, .enforce = true,
	};

	assert_int_equal(ccs_flow_init(&l->flow, &conf, spec, 16, 144, 0), 0);
	ccs_flow_cc_start(&l->flow, spec, &l->path, 0);
}

static void switch_once(unsigned from, unsigned to)
{
	struct live l = { .path = random_path() };
	const struct ccs_cc *cc = &l.flow.cc;
	const char *what;
	double before;

	start_flow(&l, &specs[from]);
	for (uint64_t n = seed_below(60); n; n--)
		random_event(&l);
	before = fmin(cc->out.rate, l.path.line_rate);
	if (cc->out.window > 0)
		before = fmin(before, 8e6 * cc->out.window / l.path.base_rtt_us);
	ccs_flow_switch(&l.flow, &specs[to], (uint64_t)(l.now_us * 1e3));
	l.now_us = 0; /* the new instance's time */
	assert_ptr_equal(cc->ops, specs[to].ops);
	what = find_fault(cc);
	if (what || !keeps_rate(cc, before) || !window_admits_rate(cc, before))
		report(&l, from, to, before, what ? what :
		       window_admits_rate(cc, before) ? "another rate"
						      : "the window is too small for the rate");
	for (unsigned n = 0; n < 60; n++) {
		random_event(&l);
		what = find_fault(cc);
		if (what)
			report(&l, from, to, before, what);
	}
	ccs_flow_destroy(&l.flow);
}

TEST(every_pair_keeps_a_sane_rate)
{
	seed_start("switch");
	assert_true(spec_count >= 3);
	for (unsigned from = 0; from < spec_count; from++)
		for (unsigned to = 0; to < spec_count; to++)
			for (unsigned i = 0; i < ROUNDS; i++)
				switch_once(from, to);
}

/* The rules for plug-ins hold for built-in algorithms; but "none" has no finite rate. */
TEST(all_follow_the_rules_of_plugins)
{
	char err[256] = "";

	for (unsigned i = 0; ccs_cc_all[i]; i++)
		if (ccs_plugin_check(ccs_cc_all[i], err, sizeof(err)) &&
		    (ccs_cc_all[i] != &ccs_cc_none || !strstr(err, "rate of inf")))
			fail_msg("%s: %s", ccs_cc_all[i]->name, err);
}

/* At 8 Gbit/s a byte takes a nanosecond. */
enum { SEGMENT = 4096, RTT_NS = 20000 };

static void open_flow(struct ccs_flow *f, const struct ccs_cc_spec *spec)
{
	const struct ccs_flow_config conf = {
		.line_rate = 8e9, .max_rate = 6e9, .base_rtt_us = RTT_NS / 1e3,
		.segment = SEGMENT, .max_inflight = 16 * SEGMENT, .split = true, .enforce = true,
	};

	memset(f, 0, sizeof(*f));
	assert_int_equal(ccs_flow_init(f, &conf, spec, 16, 144, 0), 0);
}

/* A given parameter applies in the algorithm that it was given for. */
TEST(given_parameters_bind_after_a_switch)
{
	struct ccs_cc_spec timely, fixed;
	struct ccs_flow f;
	char err[128];

	assert_int_equal(ccs_cc_parse(&fixed, "fixed:rate=3g", err, sizeof(err)), 0);
	assert_int_equal(ccs_cc_parse(&timely, "timely:max_rate=2g", err, sizeof(err)), 0);
	open_flow(&f, &fixed);
	ccs_flow_switch(&f, &timely, 1000);
	assert_true(ccs_flow_rate(&f) == 2e9);
	ccs_flow_switch(&f, &fixed, 2000);
	assert_true(ccs_flow_rate(&f) == 3e9);
	assert_ptr_equal(f.cc.spec, &fixed);
	ccs_flow_destroy(&f);
}

static void complete(struct ccs_flow *f, uint64_t number, uint64_t now)
{
	const struct ccs_done done = { .number = number, .ok = true, .earliest_ns = now,
				       .latest_ns = now };
	uint64_t wr;

	ccs_flow_complete(f, &done, &wr);
}

/* One round trip of all that may leave at once, then a pause; Copa may drain at its end. */
static void round_trip(struct ccs_flow *f, uint64_t *now)
{
	uint64_t number = 0;

	if (!ccs_flow_waiting(f))
		ccs_flow_accept(f, 1 << 24, CCS_WR_SPLIT | CCS_WR_SIGNALED);
	*now += 100 * RTT_NS;
	*now = ccs_flow_wait(f, *now);
	assert_non_null(flow_next(f, *now, &number));
	while (flow_next(f, *now, &number))
		;
	*now += SEGMENT + RTT_NS;
	complete(f, number, *now);
	assert_int_equal(f->inflight, 0);
}

TEST(a_flow_continues_through_all_algorithms)
{
	uint64_t now = 1000000, number;
	struct ccs_flow f;

	open_flow(&f, &specs[0]);
	for (unsigned i = 0; i < 2 * spec_count; i++) {
		const struct ccs_flow before = f;
		const struct ccs_cc_spec *spec = &specs[i % spec_count];

		while (flow_next(&f, now, &number)) /* with data in flight */
			;
		ccs_flow_switch(&f, spec, now);
		assert_null(find_fault(&f.cc));
		assert_true(ccs_flow_rate(&f) <= 6e9);
		assert_true(ccs_flow_cc_next_timer(&f, now) > now);
		assert_true(f.slow_start.ramping == before.slow_start.ramping);
		assert_true(f.wr_head == before.wr_head && f.slow_start.window == before.slow_start.window);
		complete(&f, f.seg_head - 1, now);
		for (unsigned k = 0; k < 40; k++)
			round_trip(&f, &now);
		assert_false(f.slow_start.ramping);
		assert_true(f.stats.samples > before.stats.samples);
	}
	assert_int_equal(f.stats.bytes, f.sent);
	ccs_flow_destroy(&f);
}

/* An algorithm with a window and a timer that the test sets. */
static double clock_window;
static unsigned clock_fired;

static void clock_derive(const struct ccs_cc_path *path, double *p)
{
	(void)path;
	(void)p;
}

static void clock_init(struct ccs_cc *cc)
{
	cc->out = (struct ccs_cc_out){ .rate = 6e9, .window = clock_window, .timer_us = 10 };
}

static void clock_ack(struct ccs_cc *cc, const struct ccs_cc_ack *ack)
{
	assert_true(ack->now_us < cc->out.timer_us);
}

static void clock_timer(struct ccs_cc *cc, double now_us)
{
	assert_true(now_us == cc->out.timer_us);
	cc->out.timer_us += 10;
	clock_fired++;
}

static const struct ccs_cc_ops clock_ops = {
	.abi = CCS_CC_ABI, .size = sizeof(struct ccs_cc_ops), .name = "clock", .doc = "",
	.derive = clock_derive, .on_init = clock_init, .on_ack = clock_ack, .on_timer = clock_timer,
};

TEST(timers_of_the_new_algorithm_start_at_the_switch)
{
	const struct ccs_cc_spec spec = ccs_cc_default_spec(&clock_ops);
	struct ccs_flow f;

	clock_window = 0;
	clock_fired = 0;
	open_flow(&f, &spec);
	ccs_flow_switch(&f, &spec, 30000); /* 30 us: three were due */
	assert_int_equal(clock_fired, 3);
	assert_int_equal(ccs_flow_cc_next_timer(&f, 30000), 40000);
	ccs_flow_switch(&f, ccs_cc_all[0] == &ccs_cc_none ? &spec : &specs[spec_count - 1], 39999);
	assert_int_equal(clock_fired, 3);
	assert_int_equal(ccs_flow_cc_next_timer(&f, 39999), UINT64_MAX);
	ccs_flow_cc_fire_timers(&f, 1000000000);
	assert_int_equal(clock_fired, 3);
	ccs_flow_switch(&f, &spec, 39999); /* time does not go back */
	assert_int_equal(ccs_flow_cc_next_timer(&f, 39999), 49999);
	ccs_flow_destroy(&f);
}

TEST(a_smaller_window_waits_for_what_is_in_flight)
{
	const struct ccs_cc_spec spec = ccs_cc_default_spec(&clock_ops);
	uint64_t now = 1000000, number;
	struct ccs_flow f;

	clock_window = 0;
	open_flow(&f, &spec);
	while (f.slow_start.ramping)
		round_trip(&f, &now);
	for (unsigned i = 0; i < 8; i++, now += RTT_NS)
		assert_non_null(flow_next(&f, now, &number));
	clock_window = 2 * SEGMENT;
	ccs_flow_switch(&f, &spec, now);
	now += RTT_NS;
	assert_null(flow_next(&f, now, &number));
	complete(&f, f.seg_tail + 5, now); /* two are left */
	assert_null(flow_next(&f, now, &number));
	complete(&f, f.seg_tail, now);
	assert_non_null(flow_next(&f, now, &number));
	assert_int_equal(f.inflight, 2 * SEGMENT);
	clock_window = 0;
	ccs_flow_switch(&f, &spec, now); /* and a larger one opens at once, except for pacing */
	assert_non_null(flow_next(&f, now + RTT_NS, &number));
	ccs_flow_destroy(&f);
}

/* If a window limited the flow, the rate that it allowed is passed on. */
TEST(a_window_is_passed_on_as_a_rate)
{
	const struct ccs_cc_spec timely = ccs_cc_default_spec(&ccs_cc_timely);
	const struct ccs_cc_spec spec = ccs_cc_default_spec(&clock_ops);
	struct ccs_flow f;

	clock_window = 2 * SEGMENT;
	open_flow(&f, &spec);
	ccs_flow_switch(&f, &timely, 1000);
	assert_true(fabs(ccs_flow_rate(&f) / (8e9 * 2 * SEGMENT / RTT_NS) - 1) < 1e-9);
	ccs_flow_destroy(&f);
}

int main(void)
{
	return test_run(list_specs, NULL);
}
