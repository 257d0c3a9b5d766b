/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The gate: a window on what is outstanding, and pacing at the algorithm's rate.
 *
 * Pacing guarantee, with k = 3 and a segment being f->segment, the largest WR that
 * is not split, or what leaves in a tick of the wheel at that rate, whichever is
 * longest. Over any interval in which the rate is below the line rate,
 *
 *	bytes released <= rate * interval + k segments
 *
 * and, while something waits and is fetched no later than a segment's time after
 * it is due,
 *
 *	bytes released >= rate * interval - k segments
 *
 * where rate * interval is the integral if the rate changes: the time to the next
 * release, or since, counts in bytes. Of the three segments one is the release that
 * the interval begins with, one what a late or idle flow may make up for, one jitter.
 */
#include <math.h>

#include "cc/minmax.h"
#include "flow/flow.h"
#include "flow/pacer.h"

/* Gaps vary by this share, so that flows of one host do not lock in phase. */
#define JITTER 0.05

#define FAR_NS 0x1p63 /* what a double can tell of the clock, and nobody waits for */

static double gap_ns(const struct ccs_flow *f, double bytes)
{
	return bytes * f->gate_byte_ns;
}

static double paced_rate(const struct ccs_flow *f)
{
	return ccs_max(ccs_min(ccs_flow_rate(f), f->cc.path.line_rate), 1);
}

static void take_rate(struct ccs_flow *f, double rate)
{
	f->gate_rate = rate;
	f->gate_byte_ns = 8e9 / rate;
}

void ccs_gate_init(struct ccs_flow *f, uint64_t now_ns)
{
	take_rate(f, paced_rate(f));
	f->due_ns = (double)now_ns;
	f->phase = 0;
}

/* A change of the rate moves the rest of what waits, as if it were bytes left to send. */
void ccs_gate_follow(struct ccs_flow *f, uint64_t now_ns)
{
	const double rate = paced_rate(f);

	if (rate == f->gate_rate)
		return;
	f->due_ns = (double)now_ns + (f->due_ns - (double)now_ns) * (f->gate_rate / rate);
	take_rate(f, rate);
}

uint64_t ccs_gate_due(const struct ccs_flow *f, uint64_t now_ns)
{
	if (ccs_gate_unpaced(f) || f->due_ns <= (double)now_ns)
		return now_ns;
	return (uint64_t)ceil(ccs_min(f->due_ns, FAR_NS));
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
	f->phase += step;
	return step;
}

/* A release that comes late keeps its place in time, by one segment or tick at most. */
void ccs_gate_charge(struct ccs_flow *f, uint64_t len, uint64_t now_ns)
{
	const double bytes = (double)len, now = (double)now_ns;
	double kept;

	if (ccs_gate_unpaced(f)) {
		f->due_ns = now + gap_ns(f, bytes);
		return;
	}
	kept = ccs_max(gap_ns(f, ccs_max(f->segment, bytes)), CCS_PACER_TICK_NS);
	f->due_ns = ccs_max(f->due_ns, now - kept) + gap_ns(f, bytes + jitter_bytes(f, bytes));
}
