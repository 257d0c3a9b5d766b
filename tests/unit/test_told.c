/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who looks on learns enough: a twin that hears of a live flow's algorithm only
 * what its sink shows decides the same, bit for bit, whatever happens to the flow.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "cc/told.h"
#include "flow/flow.h"
#include "seed.h"

/* Timers, also two at a time, that say in the rate how often and when they fired. */
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
static struct ccs_cc twin;
static unsigned seen[CCS_TOLD_KINDS];
static double twin_us;

static int list_algorithms(void **state)
{
	(void)state;
	specs[nspecs++] = ccs_cc_plain(&ticker);
	for (; ccs_cc_all[nspecs - 1]; nspecs++) {
		assert_true(nspecs < ALGORITHMS);
		specs[nspecs] = ccs_cc_plain(ccs_cc_all[nspecs - 1]);
	}
	return 0;
}

static void check_same_words(const struct ccs_cc *a, const struct ccs_cc *b)
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

/* As ccshim replay does it. */
static void repeat(const struct ccs_flow *f, const struct ccs_told *told)
{
	if (told->kind == CCS_TOLD_START) {
		twin = (struct ccs_cc){ .ops = f->cc.ops, .spec = f->cc.spec };
	} else {
		assert_true(told->ack.now_us >= twin_us);
		ccs_cc_advance(&twin, told->ack.now_us);
	}
	twin_us = told->ack.now_us;
	ccs_told_repeat(&twin, told);
	seen[told->kind]++;
	assert_memory_equal(&told->out, &f->cc.out, sizeof(told->out));
	if (memcmp(&twin.out, &told->out, sizeof(told->out)) != 0)
		fail_msg("%s, event %d at %.17g us: rate %.17g, not %.17g", f->cc.ops->name,
			 told->kind, twin_us, twin.out.rate, told->out.rate);
	check_same_words(&f->cc, &twin);
}

static struct ccs_telemetry links(uint64_t now_ns)
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
	ccs_drive_repath(f, &path);
}

static void something(struct ccs_flow *f, uint64_t now)
{
	struct ccs_telemetry t;

	switch (seed_below(16)) {
	case 0:
		move_path(f);
		break;
	case 1:
		ccs_drive_set_rate(f, 1e6 * (double)(1 + seed_below(9000)), now);
		break;
	case 2:
		ccs_drive_loss(f, now);
		break;
	case 3:
		ccs_flow_cnp(f, now);
		break;
	case 4:
		ccs_drive_advance(f, now);
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
		ccs_drive_send(f, 4096, now);
		break;
	default:
		t = links(now);
		f->telemetry = seed_below(8) ? &t : NULL;
		f->inflight -= f->inflight ? 4096 : 0;
		/* a completion may be stamped before what was told already */
		ccs_drive_ack(f, (double)seed_below(300000) / 1e3, seed_below(3), 4096, now - seed_below(50000));
		f->telemetry = NULL;
	}
}

static void live(const struct ccs_cc_spec *spec, double max_rate)
{
	const struct ccs_flow_config conf = {
		.line_rate = 10e9, .max_rate = max_rate, .noise_us = 3, .enforce = true,
		.split = true, .seed = 1, .sink = repeat,
	};
	uint64_t now = 1000000000 + seed_below(1000000);
	struct ccs_flow f = { 0 };

	assert_int_equal(ccs_flow_init(&f, &conf, spec, 16, 64, now), 0);
	for (int i = 0; i < 600; i++) {
		now += seed_below(40000);
		if (seed_below(200) == 0) /* longer than all timers are made up for */
			now += 1000000000;
		something(&f, now);
	}
	ccs_flow_destroy(&f);
}

static void a_twin_decides_the_same(void **state)
{
	(void)state;
	seed_start("twin");
	for (unsigned i = 0; i < 20 * nspecs; i++)
		live(&specs[i % nspecs], i % 3 ? INFINITY : 2e9);
	for (int kind = 0; kind < CCS_TOLD_TICK; kind++)
		assert_true(seen[kind] > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(a_twin_decides_the_same) };

	return cmocka_run_group_tests_name("told", tests, list_algorithms, NULL);
}
