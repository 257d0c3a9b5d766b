/* SPDX-License-Identifier: BSD-2-Clause */
/* Lengths of segments and the limit of outstanding data, as derived from a flow's path. */
#include <math.h>

#include "cc/minmax.h"
#include "flow/cc_events.h"
#include "flow/limits.h"
#include "flow/rtt.h"
#include "flow/segment.h"

#define INFLIGHT_SEGMENTS_MAX 1024
#define MESSAGES 64 /* number of shorter messages after which a longer message is forgotten */

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
		f->segments.len = ccs_flow_segment_len(f, segment_rate(f, path->line_rate));
	f->segments.split_len = f->segments.len;
	path->segment = ccs_max(f->segments.len, f->message.len);
	if (!f->user.max_inflight)
		f->gate.max_inflight = (uint64_t)derive_max_inflight(
			path->line_rate, path->base_rtt_us + path->rtt_jitter_us, path->segment);
	ccs_slow_start_set_limit(&f->slow_start, path->segment, (double)f->gate.max_inflight);
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
