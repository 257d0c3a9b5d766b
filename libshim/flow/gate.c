/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The gate: a window on what is outstanding, and pacing at the algorithm's rate.
 *
 * Pacing guarantee, a segment being f->segment, the largest WR that is not split, or
 * what leaves in a tick of the wheel at that rate, whichever is longest. Over any
 * interval in which the rate is at most R, and R is below the line rate,
 *
 *	bytes released <= R * interval + 3 segments (4 if the rate rises)
 *
 * and over one in which it is at least r, something waits, and is fetched when due
 * or, while the rate stands, no later than a segment's time after that,
 *
 *	bytes released >= r * interval - 3 segments
 *
 * Of the three segments one is the release that the interval begins with, one what
 * an idle flow may make up for, one jitter. The fourth is the wait that a rise cuts
 * short, where all of it follows the rate. If a segment waits for its release time alone
 * and the host fetches it late, the flow may make up for KEPT_MOST segments instead of one.
 */
#include <math.h>

#include "base/probe.h"
#include "cc/minmax.h"
#include "flow/flow.h"
#include "flow/pacer.h"

/* Gaps vary by this share, so that flows of one host do not lock in phase. */
#define JITTER 0.05

/*
 * A flow at line rate leaves the NIC this share of it: the rest is for acknowledgements, which
 * else wait behind the flow's own data and come back in bunches, so that flows in opposite
 * directions take each other's bursts for queues.
 */
#define LINE_SHARE 0.98

/*
 * Segments that a flow may make up for at line rate, where its NIC bounds the burst, or where
 * the host was late to fetch one that was due. The window bounds both.
 */
#define KEPT_MOST 16

#define FAR_NS 0x1p63 /* what a double can tell of the clock, and nobody waits for */

static double gap_ns(const struct ccs_flow *f, double bytes)
{
	return 8e9 * bytes / f->gate_rate;
}

static double due_ns(const struct ccs_flow *f)
{
	return f->paced_at_ns + gap_ns(f, f->paced_bytes);
}

static double paced_rate(const struct ccs_flow *f)
{
	return ccs_max(ccs_min(ccs_flow_rate(f), LINE_SHARE * f->cc.path.line_rate), 1);
}

void ccs_gate_init(struct ccs_flow *f, uint64_t now_ns)
{
	f->gate_rate = paced_rate(f);
	f->paced_at_ns = (double)now_ns;
	f->paced_bytes = 0;
	f->phase = 0;
}

/*
 * As if it had been the rate since the last release. But nothing is late by a rise that
 * was not late before: two segments would go at once.
 */
static void move_wait(struct ccs_flow *f, double rate, double now)
{
	const double due = ccs_min(due_ns(f), now);

	f->gate_rate = rate;
	f->paced_at_ns += ccs_max(due - due_ns(f), 0);
}

/* The part of the wait that has passed was at the old rate; only the rest is at the new one. */
static void move_rest(struct ccs_flow *f, double rate, double now)
{
	const double due = due_ns(f), at = ccs_min(ccs_max(now, f->paced_at_ns), due);

	f->paced_bytes = (due - at) * f->gate_rate / 8e9;
	f->paced_at_ns = at;
	f->gate_rate = rate;
}

/*
 * A change of the rate moves what already waits. DCQCN and HPCC move all of the wait, as
 * their authors' simulators do, and Swift's gap is what its newest window says. A rate that
 * follows each RTT moves the rest only: where a flow has a segment or less in an RTT, the
 * sample of each segment alone would else place the next one, and the flows lock in
 * phase. Then no RTT changes, the gradient is zero, and a queue of three times the size
 * persists (TIMELY 5 fixes the release time when a segment is queued).
 */
void ccs_gate_follow(struct ccs_flow *f, uint64_t now_ns)
{
	const double rate = paced_rate(f);

	if (rate == f->gate_rate)
		return;
	if (ccs_flow_lives_on_rtts(f))
		move_rest(f, rate, (double)now_ns);
	else
		move_wait(f, rate, (double)now_ns);
	CCS_PROBE2(rate, f->stats.qp_num, (int64_t)rate);
}

uint64_t ccs_gate_due(const struct ccs_flow *f, uint64_t now_ns)
{
	double due;

	if (ccs_flow_rate(f) == INFINITY)
		return now_ns;
	due = due_ns(f);
	if (due <= (double)now_ns)
		return now_ns;
	return (uint64_t)ceil(ccs_min(due, FAR_NS));
}

static double draw(struct ccs_flow *f)
{
	/* xorshift64: plenty for de-phasing, and repeatable from the seed */
	f->random ^= f->random << 13;
	f->random ^= f->random >> 7;
	f->random ^= f->random << 17;
	return (double)(f->random >> 11) * 0x1p-53;
}

/* A walk of bounded length: what it adds now it takes away later. */
static double jitter_bytes(struct ccs_flow *f, double bytes)
{
	double step = JITTER * bytes * (2 * draw(f) - 1);

	if (fabs(f->phase + step) > 0.5 * ccs_max(f->segment, bytes))
		step = -copysign(step, f->phase);
	f->phase += (float)step;
	return step;
}

/*
 * A segment that measures the path is small, and a whole one follows its completion. Flows that
 * begin or drain together would go on in phase; so it is charged as any part of a segment.
 */
void ccs_gate_charge_small(struct ccs_flow *f, uint64_t now_ns)
{
	ccs_gate_charge(f, (uint64_t)(draw(f) * f->segment), now_ns);
}

/* A release that comes late keeps its place in time, by that much at most. */
void ccs_gate_charge(struct ccs_flow *f, uint64_t len, uint64_t now_ns)
{
	const double bytes = (double)len, now = (double)now_ns;
	double kept;

	kept = ccs_max(gap_ns(f, ccs_max(f->segment, bytes)), CCS_PACER_TICK_NS);
	if (ccs_gate_at_line(f) || f->paced)
		kept *= KEPT_MOST;
	f->paced_at_ns = ccs_max(due_ns(f), now - kept);
	f->paced_bytes = bytes + jitter_bytes(f, bytes);
}
