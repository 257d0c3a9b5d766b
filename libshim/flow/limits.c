/* SPDX-License-Identifier: BSD-2-Clause */
/* Lengths of segments and the limit of outstanding data, as derived from a flow's path. */
#include <math.h>

#include "cc/minmax.h"
#include "flow/cc_events.h"
#include "flow/limits.h"
#include "flow/rtt.h"

#define SEGMENT_US 8.0
#define SEGMENT_CLOCK_READS 32   /* clock readings that take at most a segment's time */
#define SEGMENT_MIN 4096.0
#define SEGMENT_MAX 65536.0
#define SPLIT_MIN 16384.0
#define REGROW 1.25 /* a rate that varies by less does not vary the length */
#define INFLIGHT_SEGMENTS_MAX 1024
#define MESSAGES 64 /* number of shorter messages after which a longer message is forgotten */

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

/* The length that is sent at this rate, bit/s, in a segment's time: a power of two, 4 to 64 KB. */
static uint32_t segment_len(const struct ccs_flow *f, double rate)
{
	const double own = rate * segment_us(f) / 8e6;

	return (uint32_t)ccs_min(ccs_max(exp2(floor(log2(own))), SEGMENT_MIN), SEGMENT_MAX);
}

/*
 * The rate from which the segment is derived. It is the line rate and not a rate learned from the
 * path: flows that share a port must have equal segments, as they share by segments. But a queue
 * that is too short for these segments drops packets, however slow the flows are, and each loss
 * stops a flow for thousands of RTTs. After a loss it is the flow's rate. Algorithms with a window
 * that RTTs control share by segments, so for them a single loss, usual at the start, is ignored.
 */
static double segment_rate(const struct ccs_flow *f, double line_rate)
{
	const struct ccs_cc *cc = &f->cc;
	const bool by_segments = cc->ops && (cc->ops->needs & CCS_NEEDS_RTT) && cc->out.window > 0;

	return f->learned.losses > by_segments ? ccs_min(line_rate, ccs_flow_rate(f)) : line_rate;
}

/*
 * A static worst case of outstanding data (TIMELY 3.3): the bandwidth-delay product, the hosts'
 * jitter included, and three segments. The queue that a lone flow builds from these stays below
 * TIMELY's t_low.
 */
static double derive_max_inflight(double line_rate, double rtt_us, double segment)
{
	const double bdp = line_rate * rtt_us / 8e6;

	return segment * ccs_min(ceil(bdp / segment) + 3, INFLIGHT_SEGMENTS_MAX);
}

void ccs_flow_derive_limits(struct ccs_flow *f, struct ccs_cc_path *path)
{
	if (!f->user.segment)
		f->segments.len = segment_len(f, segment_rate(f, path->line_rate));
	f->segments.split_len = f->segments.len;
	path->segment = ccs_max(f->segments.len, f->message.len);
	if (!f->user.max_inflight)
		f->gate.max_inflight = (uint64_t)derive_max_inflight(
			path->line_rate, path->base_rtt_us + path->rtt_jitter_us, path->segment);
	ccs_slow_start_set_limit(&f->rtt.slow_start, path->segment, (double)f->gate.max_inflight);
	ccs_rtt_copy_slow_start(f);
}

void ccs_flow_update_segment(struct ccs_flow *f)
{
	struct ccs_cc_path path = f->cc.path;

	if (f->user.segment)
		return;
	ccs_flow_derive_limits(f, &path);
	if (path.segment != f->cc.path.segment)
		ccs_flow_cc_repath(f, &path);
}

/*
 * An unsplit message leaves as a burst, so a queue grows by messages, not by segments. The path's
 * segment, from which algorithms and limits are derived, is then the longest recent message.
 */
void ccs_flow_learn_message(struct ccs_flow *f, uint64_t len)
{
	struct ccs_cc_path path;

	if (len <= f->segments.len && !f->message.len)
		return;
	f->message.shorter = len < f->message.len ? f->message.shorter + 1 : 0;
	f->message.longest = (uint32_t)ccs_min(ccs_max(f->message.shorter > 1 ? f->message.longest : 0, (double)len), 0x1p31);
	if (f->message.longest == f->message.len || (f->message.shorter && f->message.shorter < MESSAGES))
		return;
	f->message.len = f->message.longest > f->segments.len ? f->message.longest : 0;
	f->message.shorter = f->message.longest = 0;
	path = f->cc.path;
	ccs_flow_derive_limits(f, &path);
	ccs_flow_cc_repath(f, &path);
}

/*
 * Many long segments that meet in a port of a fast network delay other traffic there, while NICs
 * without control send a packet of each queue pair in turn. So a slow flow's segments have the
 * length that its rate sends in a segment's time. This does not apply where RTTs give flows their
 * shares: a faster flow, with longer segments, would get more and more. The host reads the clock
 * for the segments of all flows, which may fill the line.
 */
void ccs_flow_update_split_len(struct ccs_flow *f)
{
	double own, least;

	if (f->user.segment || (f->cc.ops->needs & CCS_NEEDS_RTT)) {
		f->segments.split_len = f->segments.len;
		return;
	}
	own = ccs_flow_rate(f) * segment_us(f) / 8e6;
	least = ccs_max(SPLIT_MIN, f->cc.path.line_rate * clock_us(f) / 8e6);
	while (f->segments.split_len / 2 >= least && f->segments.split_len > own)
		f->segments.split_len /= 2;
	while (f->segments.split_len < f->segments.len && 2 * REGROW * f->segments.split_len <= own)
		f->segments.split_len *= 2;
}
