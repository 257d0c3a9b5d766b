/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The gate: a window on what is outstanding, and pacing at the algorithm's rate.
 *
 * Pacing guarantee: over any interval of t seconds in which the rate is at most
 * R, at most R*t/8 bytes plus two segments (the one whose release the interval
 * begins with and the one carried over from an idle or late pacer) are released,
 * times 1/(1 - JITTER).
 */
#include <math.h>

#include "flow/flow.h"

/* Gaps vary by this share, so that flows of one host do not lock in phase. */
#define JITTER 0.05

static double gap_ns(const struct ccs_flow *f)
{
	return 8e9 * f->paced_bytes / ccs_flow_rate(f) * f->jitter;
}

/* A flow at full rate is not paced: the NIC does that. */
static bool unpaced(const struct ccs_flow *f)
{
	return ccs_flow_rate(f) >= f->conf.line_rate;
}

/* The rate is read anew each time, so that a change moves what already waits. */
uint64_t ccs_gate_due(const struct ccs_flow *f, uint64_t now_ns)
{
	if (unpaced(f))
		return now_ns;
	return (uint64_t)ceil(f->paced_at_ns + gap_ns(f));
}

static double draw(struct ccs_flow *f)
{
	/* xorshift64: plenty for de-phasing, and repeatable from the seed */
	f->random ^= f->random << 13;
	f->random ^= f->random >> 7;
	f->random ^= f->random << 17;
	return (double)(f->random >> 11) * 0x1p-53;
}

/* A release that comes late keeps its place in time, by one gap at most. */
void ccs_gate_charge(struct ccs_flow *f, uint64_t len, uint64_t now_ns)
{
	const double gap = unpaced(f) ? 0 : gap_ns(f);

	f->paced_at_ns = fmax(f->paced_at_ns + gap, (double)now_ns - gap);
	f->paced_bytes = (double)len;
	f->jitter = 1 + JITTER * (2 * draw(f) - 1);
}

/*
 * One segment may always be outstanding: pacing alone slows a flow below that.
 * Nor do bytes count that nobody asked a completion for, if there are no others:
 * nothing would ever open the gate again.
 */
bool ccs_gate_window_open(const struct ccs_flow *f, uint64_t len)
{
	const double limit = f->cc.out.window > 0 ? fmin(f->cc.out.window, f->window) : f->window;

	return f->inflight <= f->unsignalled_bytes || (double)(f->inflight + len) <= limit;
}
