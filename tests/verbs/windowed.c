/* SPDX-License-Identifier: BSD-2-Clause */
/* A plug-in: a window of two segments, and a timer an hour ahead. */
#include <ccshim/cc.h>

#define HOUR_US 3600e6

static void derive(const struct ccs_cc_path *path, double *p)
{
	(void)path, (void)p;
}

static void on_timer(struct ccs_cc *cc, double now_us)
{
	cc->out.rate = cc->path.line_rate;
	cc->out.window = 2 * cc->path.segment;
	cc->out.timer_us = now_us + HOUR_US;
}

static void on_init(struct ccs_cc *cc)
{
	on_timer(cc, 0);
}

static void on_ack(struct ccs_cc *cc, const struct ccs_cc_ack *ack)
{
	on_timer(cc, ack->now_us);
}

const struct ccs_cc_ops ccs_cc_plugin = {
	.abi = CCS_CC_ABI, .size = sizeof(struct ccs_cc_ops),
	.name = "windowed", .doc = "a window of two segments, for tests",
	.needs = CCS_NEEDS_RTT, .derive = derive, .on_init = on_init, .on_ack = on_ack,
	.on_timer = on_timer,
};
