/* SPDX-License-Identifier: BSD-2-Clause */
/* Pacing: the release times of one flow's data. The guarantee is in pacing.h. */
#include <math.h>

#include "base/timer_wheel.h"
#include "cc/minmax.h"
#include "flow/pacing.h"

/* Gaps vary by this share, so that the flows of one host do not stay in phase. */
#define JITTER 0.05

#define FAR_NS 0x1p63 /* later than any time that a double can express in ns of the clock */

static double gap_ns(const struct ccs_pacing *p, double bytes)
{
	return 8e9 * bytes / p->rate;
}

static double due_ns(const struct ccs_pacing *p)
{
	return p->at_ns + gap_ns(p, p->bytes);
}

void ccs_pacing_start(struct ccs_pacing *p, double rate, double line_rate, uint64_t now_ns)
{
	p->rate = ccs_pacing_rate(rate, line_rate);
	p->at_ns = (double)now_ns;
	p->bytes = 0;
	p->phase = 0;
}

/*
 * As if the new rate had applied since the last release. But a rise makes no release late that
 * was not late before it: two segments would leave at once.
 */
static void change_whole_wait(struct ccs_pacing *p, double rate, double now)
{
	const double due = ccs_min(due_ns(p), now);

	p->rate = rate;
	p->at_ns += ccs_max(due - due_ns(p), 0);
}

/* The part of the wait that has passed was at the old rate; only the rest is at the new one. */
static void change_rest_of_wait(struct ccs_pacing *p, double rate, double now)
{
	const double due = due_ns(p), at = ccs_min(ccs_max(now, p->at_ns), due);

	p->bytes = (due - at) * p->rate / 8e9;
	p->at_ns = at;
	p->rate = rate;
}

void ccs_pacing_change_rate(struct ccs_pacing *p, double rate, enum ccs_pacing_change change,
			    uint64_t now_ns)
{
	if (change == CCS_PACING_REST_OF_WAIT)
		change_rest_of_wait(p, rate, (double)now_ns);
	else
		change_whole_wait(p, rate, (double)now_ns);
}

uint64_t ccs_pacing_due_ns(const struct ccs_pacing *p, uint64_t now_ns)
{
	const double due = due_ns(p);

	if (due <= (double)now_ns)
		return now_ns;
	return (uint64_t)ceil(ccs_min(due, FAR_NS));
}

double ccs_pacing_credit(const struct ccs_pacing *p, uint32_t segment, uint64_t now_ns)
{
	const double late = ccs_min((double)now_ns - due_ns(p), gap_ns(p, segment));

	return ccs_max(late, 0) * p->rate / 8e9;
}

/* A random number from 0 (included) to 1 (excluded). */
static double next_random(struct ccs_pacing *p)
{
	/* xorshift64: good enough against phase locking, and repeatable from the seed */
	p->random ^= p->random << 13;
	p->random ^= p->random >> 7;
	p->random ^= p->random << 17;
	return (double)(p->random >> 11) * 0x1p-53;
}

/* A random walk of bounded length: the bytes that it adds now it removes later. */
static double next_jitter(struct ccs_pacing *p, double bytes, uint32_t segment)
{
	double step = JITTER * bytes * (2 * next_random(p) - 1);

	if (fabs(p->phase + step) > 0.5 * ccs_max(segment, bytes))
		step = -copysign(step, p->phase);
	p->phase += (float)step;
	return step;
}

void ccs_pacing_charge_random(struct ccs_pacing *p, uint32_t segment, bool burst, uint64_t now_ns)
{
	ccs_pacing_charge(p, (uint64_t)(next_random(p) * segment), segment, burst, now_ns);
}

void ccs_pacing_charge(struct ccs_pacing *p, uint64_t len, uint32_t segment, bool burst,
		       uint64_t now_ns)
{
	const double bytes = (double)(int64_t)len, now = (double)(int64_t)now_ns;
	double kept; /* how late a release may be and still be charged from its due time */

	kept = ccs_max(gap_ns(p, ccs_max(segment, bytes)), CCS_TIMER_WHEEL_TICK_NS);
	if (burst)
		kept *= CCS_PACING_BURST_SEGMENTS;
	p->at_ns = ccs_max(due_ns(p), now - kept);
	p->bytes = bytes + next_jitter(p, bytes, segment);
}
