/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A trace is complete: an instance that is fed only with the recorded events of a flow makes
 * bit-identical decisions, whatever happens to the flow.
 */
#include "test.h"

#include <math.h>
#include <string.h>

#include "cc/event.h"
#include "flow/cc_events.h"
#include "seed.h"

/* Timers, also two at a time, that encode in the rate how often and when they fired. */
static void ticker_init(struct ccs_cc *cc)
{
	cc->out = (struct ccs_cc_out){ .rate = 1e9, .timer_us = 55 };
}

static void ticker_timer(struct ccs_cc *cc, double now_us)
{
	unsigned *n = CCS_CC_PRIV(unsigned, cc);

	cc->out.rate = 1e9 + fmod(cc->out.rate * 3 + now_us, 1e9);
	cc->out.timer_us = ++*n % 3 ? now_us + 55 : now_us;
}

static void ticker_ack(struct ccs_cc *cc, const struct ccs_cc_ack *ack)
{
	cc->out.rate = 1e9 + fmod(cc->out.rate + ack->rtt_us, 1e9);
}

static void ticker_derive(const struct ccs_cc_path *path, double *param)
{
	(void)path;
	(void)param;
}

static const struct ccs_cc_ops ticker = {
	.abi = CCS_CC_ABI, .size = sizeof(struct ccs_cc_ops), .name = "ticker", .doc = "ticks",
	.derive = ticker_derive, .on_init = ticker_init, .on_ack = ticker_ack,
	.on_timer = ticker_timer,
};

enum { ALGORITHMS = 16 };

static struct ccs_cc_spec specs[ALGORITHMS];
static unsigned nspecs;
static struct ccs_cc replica;
static unsigned seen[CCS_CC_EVENT_KINDS];
static double replica_us;

static int list_algorithms(void **state)
{
	specs[nspecs++] = ccs_cc_default_spec(&ticker);
	for (; ccs_cc_all[nspecs - 1]; nspecs++) {
		assert_true(nspecs < ALGORITHMS);
		specs[nspecs] = ccs_cc_default_spec(ccs_cc_all[nspecs - 1]);
	}
	return 0;
}

static void assert_same_state(const struct ccs_cc *a, const struct ccs_cc *b)
{
	struct ccs_cc_obs x[32], y[32];
	const unsigned n = a->ops->observe ? a->ops->observe(a, x, 32) : 0;

	if (!n)
		return;
	assert_int_equal(b->ops->observe(b, y, 32), n);
	for (unsigned i = 0; i < n; i++) {
		assert_memory_equal(&x[i].value, &y[i].value, sizeof(double));
		assert_ptr_equal(x[i].text, y[i].text);
	}
}

/* Apply the event as ccshim replay does. */
static void replay_event(const struct ccs_flow *f, const struct ccs_cc_event *event)
{
	if (event->kind == CCS_CC_EVENT_START) {
		replica = (struct ccs_cc){ .ops = f->cc.ops, .spec = f->cc.spec };
	} else {
		assert_true(event->ack.now_us >= replica_us);
		ccs_cc_advance(&replica, event->ack.now_us);
	}
	replica_us = event->ack.now_us;
	ccs_cc_event_replay(&replica, event);
	seen[event->kind]++;
	assert_memory_equal(&event->out, &f->cc.out, sizeof(event->out));
	if (memcmp(&replica.out, &event->out, sizeof(event->out)) != 0)
		fail_msg("%s, event %d at %.17g us: rate %.17g, not %.17g", f->cc.ops->name,
			 event->kind, replica_us, replica.out.rate, event->out.rate);
	assert_same_state(&f->cc, &replica);
}

static struct ccs_telemetry random_telemetry(uint64_t now_ns)
{
	static uint64_t bytes;
	struct ccs_telemetry t = { .nhops = (unsigned)seed_below(CCS_CC_MAX_HOPS + 1),
				   .path = seed_below(20) ? 1 : 2,
				   .flows = (unsigned)seed_below(3) };

	bytes += seed_below(100000);
	for (unsigned i = 0; i < t.nhops; i++)
		t.hops[i] = (struct ccs_cc_hop){ now_ns, bytes + i, seed_below(50000), 1e9 };
	return t;
}

static void move_path(struct ccs_flow *f)
{
	struct ccs_cc_path path = f->cc.path;

	path.base_rtt_us = 1 + (double)seed_below(1000) / 7;
	ccs_flow_cc_repath(f, &path);
}

static void random_event(struct ccs_flow *f, uint64_t now)
{
	struct ccs_telemetry t;

	switch (seed_below(16)) {
	case 0:
		move_path(f);
		break;
	case 1:
		ccs_flow_cc_set_rate(f, 1e6 * (double)(1 + seed_below(9000)), now);
		break;
	case 2:
		ccs_flow_cc_on_loss(f, now);
		break;
	case 3:
		ccs_flow_cnp(f, now);
		break;
	case 4:
		ccs_flow_cc_fire_timers(f, now);
		break;
	case 5:
		if (seed_below(8) == 0)
			ccs_flow_switch(f, &specs[seed_below(nspecs)], now);
		break;
	case 6:
	case 7:
	case 8:
		f->sent += 4096;
		f->inflight += 4096;
		ccs_flow_cc_on_send(f, 4096, now);
		break;
	default:
		t = random_telemetry(now);
		f->events.telemetry = seed_below(8) ? &t : NULL;
		f->inflight -= f->inflight ? 4096 : 0;
		/* a completion may have an earlier time than an event already recorded */
		ccs_flow_cc_on_ack(f, (double)seed_below(300000) / 1e3, seed_below(3), 4096, now - seed_below(50000));
		f->events.telemetry = NULL;
	}
}

static void run_flow(const struct ccs_cc_spec *spec, double max_rate)
{
	const struct ccs_flow_config conf = {
		.line_rate = 10e9, .max_rate = max_rate, .rtt_jitter_us = 3, .enforce = true,
		.split = true, .seed = 1, .sink = replay_event,
	};
	uint64_t now = 1000000000 + seed_below(1000000);
	struct ccs_flow f = { 0 };

	assert_int_equal(ccs_flow_init(&f, &conf, spec, 16, 64, now), 0);
	for (int i = 0; i < 600; i++) {
		now += seed_below(40000);
		if (seed_below(200) == 0) /* longer than missed timers are made up for */
			now += 1000000000;
		random_event(&f, now);
	}
	ccs_flow_destroy(&f);
}

static void replayed_events_give_identical_decisions(void **state)
{
	seed_start("replica");
	for (unsigned i = 0; i < 20 * nspecs; i++)
		run_flow(&specs[i % nspecs], i % 3 ? INFINITY : 2e9);
	for (int kind = 0; kind < CCS_CC_EVENT_TICK; kind++)
		assert_true(seen[kind] > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(replayed_events_give_identical_decisions) };

	return cmocka_run_group_tests_name("event", tests, list_algorithms, NULL);
}
