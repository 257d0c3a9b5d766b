/* SPDX-License-Identifier: BSD-2-Clause */
/* Lengths of segments; see segment.h. */
#include <math.h>

#include "base/pool.h"
#include "cc/minmax.h"
#include "flow/segment.h"

#define SEGMENT_US 8.0
#define SEGMENT_CLOCK_READS 32   /* clock readings that take at most a segment's time */
#define SEGMENT_MIN 4096.0
#define SEGMENT_MAX 65536.0
#define SPLIT_MIN 16384.0
#define CAP_US 250.0 /* of a cap: flows' segments that meet would be a burst */
#define REGROW 1.25 /* a rate that varies by less does not vary the length */

static double clock_us(const struct ccs_flow *f)
{
	return SEGMENT_CLOCK_READS * f->user.clock_cost_ns / 1e3;
}

/*
 * The time of a segment: long enough to be worth a completion, short against the RTT that it
 * measures. It also depends on the host: a segment costs a few clock readings, a WQE and an
 * acknowledgement. Where reading the clock is a system call (some virtual machines; 10 us or more
 * under User-Mode Linux), posts are as expensive, and short segments would use more CPU than the
 * rest of the work for their bytes.
 */
static double segment_us(const struct ccs_flow *f)
{
	return ccs_max(SEGMENT_US, clock_us(f));
}

uint32_t ccs_flow_segment_len(const struct ccs_flow *f, double rate)
{
	const double own = rate * segment_us(f) / 8e6;

	return (uint32_t)ccs_min(ccs_max(exp2(floor(log2(own))), SEGMENT_MIN), SEGMENT_MAX);
}

/* The longest segment within that time of the tenant's cap. */
static uint32_t limit_by_cap(const struct ccs_flow *f, uint32_t len)
{
	while (f->gate.cap->shared && len / 2 >= SEGMENT_MIN && len > f->gate.cap->rate * CAP_US / 8e6)
		len /= 2;
	return len;
}

bool ccs_flow_has_share(const struct ccs_flow *f)
{
	const struct ccs_telemetry *t = f->events.telemetry;
	double capacity = f->cc.path.line_rate;

	if (!(f->cc.ops->needs & CCS_NEEDS_ADVICE) || !t || !(t->advised_rate > 0))
		return false;
	for (unsigned i = 0; i < t->nhops; i++)
		capacity = ccs_min(capacity, t->hops[i].capacity);
	return t->advised_rate < CCS_ADVICE_SHARE * capacity;
}

/*
 * Many long segments that meet in a port of a fast network delay other traffic there, while NICs
 * without control send a packet of each queue pair in turn. So a slow flow's segments have the
 * length that its rate sends in a segment's time. This does not apply where RTTs give flows their
 * shares: a faster flow, with longer segments, would get more and more. The host reads the clock
 * for the segments of all flows, which may fill the line. Shorter segments of the background let
 * other flows pass.
 */
static void follow_rate(struct ccs_flow *f, double shortest)
{
	const double own = ccs_flow_rate(f) * segment_us(f) / 8e6;
	const double least = ccs_max(shortest, f->cc.path.line_rate * clock_us(f) / 8e6);

	while (f->segments.split_len / 2 >= least && f->segments.split_len > own)
		f->segments.split_len /= 2;
	while (f->segments.split_len < f->segments.len && 2 * REGROW * f->segments.split_len <= own)
		f->segments.split_len *= 2;
}

void ccs_flow_update_split_len(struct ccs_flow *f)
{
	if (f->user.segment) {
		f->segments.split_len = f->segments.len;
		return;
	}
	if (!(f->cc.ops->needs & CCS_NEEDS_RTT) || ccs_flow_has_share(f))
		follow_rate(f, f->gate.cap && f->gate.cap->background ? SEGMENT_MIN : SPLIT_MIN);
	else
		f->segments.split_len = f->segments.len;
	if (f->gate.cap)
		f->segments.split_len = limit_by_cap(f, f->segments.split_len);
}

void ccs_flow_set_cap(struct ccs_flow *f, struct ccs_cap *cap, double rate, bool background)
{
	const struct ccs_flow_cap new = { .shared = cap, .rate = rate, .background = background };

	if ((cap || background) && !f->gate.cap)
		f->gate.cap = ccs_pool_calloc(1, sizeof(*f->gate.cap));
	if (!f->gate.cap || (cap == f->gate.cap->shared && !(rate < f->gate.cap->rate || rate > f->gate.cap->rate) &&
			background == f->gate.cap->background))
		return;
	*f->gate.cap = new; /* reserve again */
	ccs_flow_fastpath_revoke(f);
	ccs_flow_update_split_len(f);
}
