/* SPDX-License-Identifier: BSD-2-Clause */
/* A flow with an algorithm that records its samples; see flow_fixture.h. */
#include "test.h"

#include "flow/rtt.h"
#include "flow_fixture.h"

struct ccs_cc_ack acks[64];
unsigned ack_count;
double spy_rate = INFINITY, spy_window;

static void no_derive(const struct ccs_cc_path *path, double *p)
{
	(void)path;
	(void)p;
}

static void spy_init(struct ccs_cc *cc)
{
	cc->out.rate = spy_rate;
	cc->out.window = spy_window;
}

static void spy_ack(struct ccs_cc *cc, const struct ccs_cc_ack *ack)
{
	(void)cc;
	acks[ack_count++ % 64] = *ack;
}

static void spy_cnp(struct ccs_cc *cc, double now_us)
{
	(void)now_us;
	spy_init(cc);
}

const struct ccs_cc_ops spy = {
	.abi = CCS_CC_ABI, .name = "spy", .doc = "",
	.needs = CCS_NEEDS_RTT, .derive = no_derive, .on_init = spy_init,
	.on_ack = spy_ack, .on_cnp = spy_cnp,
};

struct ccs_flow_config flow_config(double segment)
{
	return (struct ccs_flow_config){ .line_rate = 8e9, .max_rate = INFINITY,
					 .base_rtt_us = 20, .segment = segment,
					 .max_inflight = 1e9, .split = true, .enforce = true };
}

void open_flow(struct ccs_flow *f, const struct ccs_flow_config *conf, uint32_t wr_limit,
	       uint32_t seg_limit, uint64_t now)
{
	static struct ccs_cc_spec spec;

	spec = ccs_cc_default_spec(&spy);
	memset(f, 0, sizeof(*f));
	ack_count = 0;
	assert_int_equal(ccs_flow_init(f, conf, &spec, wr_limit, seg_limit, now), 0);
}

void end_slow_start(struct ccs_flow *f)
{
	ccs_slow_start_end(&f->slow_start, (double)f->gate.max_inflight);
}

void open_started(struct ccs_flow *f, const struct ccs_flow_config *conf)
{
	open_flow(f, conf, 16, 144, 0);
	end_slow_start(f);
}

void complete_up_to(struct ccs_flow *f, uint64_t number, uint64_t now)
{
	const struct ccs_done done = { .number = number, .ok = true, .earliest_ns = now,
				       .latest_ns = now };
	uint64_t wr;

	ccs_flow_complete(f, &done, &wr);
}

void one_round_trip(struct ccs_flow *f, uint64_t *now, double rtt_us)
{
	uint64_t n;

	ccs_flow_accept(f, f->segments.len, CCS_WR_SIGNALED);
	assert_non_null(flow_next(f, *now, &n));
	*now += f->segments.len + (uint64_t)(rtt_us * 1e3);
	complete_up_to(f, n, *now);
}

void send_four(struct ccs_flow *f, uint64_t now, uint64_t *last)
{
	ccs_flow_accept(f, 4 * 4096, CCS_WR_SIGNALED | CCS_WR_SPLIT);
	for (int i = 0; i < 4; i++)
		assert_non_null(flow_next(f, now, last));
}

double last_rtt(void)
{
	assert_true(ack_count > 0);
	return acks[(ack_count - 1) % 64].rtt_us;
}

static uint64_t clock_ns;

static uint64_t read_clock(void)
{
	return clock_ns;
}

bool is_time_needed(struct ccs_flow *f, uint64_t len, uint32_t flags, uint64_t now)
{
	const uint64_t head = f->seg_head;
	uint64_t now_ns = CCS_TIME_UNKNOWN;
	const struct ccs_seg *seg;

	clock_ns = now;
	ccs_flow_accept(f, len, flags);
	seg = ccs_flow_next(f, &now_ns, read_clock);
	assert_non_null(seg);
	assert_int_equal(ccs_flow_newest(f), head);
	assert_int_equal(seg->depart_ns != 0, now_ns == now);
	return now_ns == now;
}
