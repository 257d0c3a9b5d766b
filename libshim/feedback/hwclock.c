/* SPDX-License-Identifier: BSD-2-Clause */
#include "feedback/hwclock.h"

#define DRIFT_STEP_NS 5000    /* per ns of drift: 200 ppm */
#define SLACK_NS 10000        /* tolerated contradiction of bounds */
#define CONFLICTS_MAX 4       /* larger ones, less than CONFLICT_NS apart */
#define CONFLICT_NS 1000000000ull
#define EXACT_NS 2000         /* bounds that need no query */

bool ccs_hwclock_init(struct ccs_hwclock *c, uint64_t khz, uint64_t mask)
{
	*c = (struct ccs_hwclock){ .khz = khz, .mask = mask & (UINT64_MAX >> 2),
				   .least = INT64_MAX, .most = INT64_MIN };
	return khz && mask && !(mask & (mask + 1));
}

/* Whole milliseconds are converted first, which avoids overflow and accumulated rounding. */
static uint64_t to_ns(const struct ccs_hwclock *c, int64_t ticks)
{
	const uint64_t t = ticks < 0 ? -(uint64_t)ticks : (uint64_t)ticks;
	const uint64_t ns = t / c->khz * 1000000 + t % c->khz * 1000000 / c->khz;

	return ticks < 0 ? -ns : ns;
}

static uint64_t to_ticks(const struct ccs_hwclock *c, uint64_t ns)
{
	return ns / 1000000 * c->khz + ns % 1000000 * c->khz / 1000000;
}

/*
 * The host's clock shows how often the ticks wrapped. Completions are reported late, never early:
 * most of the range is therefore interpreted as past.
 */
static int64_t unwrap(struct ccs_hwclock *c, uint64_t raw, uint64_t now_ns)
{
	const uint64_t past = (c->mask >> 2) * 3;
	uint64_t elapsed, delta;

	if (!c->running) {
		c->running = true;
		c->raw = raw;
		c->host_ns = now_ns;
	}
	elapsed = to_ticks(c, now_ns > c->host_ns ? now_ns - c->host_ns : 0);
	delta = ((raw - c->raw - elapsed + past) & c->mask) - past + elapsed;
	if (now_ns < c->host_ns)
		return (int64_t)((uint64_t)c->ticks + delta);
	c->ticks = (int64_t)((uint64_t)c->ticks + delta);
	c->raw = raw;
	c->host_ns = now_ns;
	return c->ticks;
}

/* Host and device may drift apart: bounds become looser with time. */
static void age(struct ccs_hwclock *c, uint64_t now_ns)
{
	const uint64_t steps = now_ns > c->aged_ns ? (now_ns - c->aged_ns) / DRIFT_STEP_NS : 0;

	if (c->most != INT64_MIN)
		c->most -= (int64_t)steps;
	if (c->least != INT64_MAX)
		c->least += (int64_t)steps;
	c->aged_ns += steps * DRIFT_STEP_NS;
}

/*
 * How far an event's bounds are outside of the known ones; 0: they agree. A CQE that is
 * late in memory contradicts by its delay, and drift beyond the allowed 200 ppm by little.
 */
static int64_t contradiction(const struct ccs_hwclock *c, int64_t low, int64_t high)
{
	if (low != INT64_MIN && low > c->least)
		return low - c->least;
	return high < c->most ? c->most - high : 0;
}

/*
 * The clock was set, or it stopped, or the host was suspended: forget what was known. If that goes
 * on, it counts in another unit than stated, or it is no clock.
 */
static void restart(struct ccs_hwclock *c, int64_t low, int64_t high, uint64_t now_ns)
{
	c->most = low;
	c->least = high;
	c->conflicts = now_ns - c->conflict_ns < CONFLICT_NS ? c->conflicts + 1 : 1;
	c->conflict_ns = now_ns;
	c->broken = c->conflicts >= CONFLICTS_MAX;
}

/* The lower bound of an event is as old as the span's beginning. */
static uint64_t drift_ns(const struct ccs_span *span)
{
	return (span->latest_ns - span->earliest_ns) / DRIFT_STEP_NS;
}

/*
 * Returns whether the event agrees with what is known. Of two bounds that contradict each other a
 * little, the more recent one counts if it is precise.
 */
static bool add_event(struct ccs_hwclock *c, uint64_t ticks, const struct ccs_span *span,
		      uint64_t *device_ns)
{
	int64_t low, high, excess;

	*device_ns = to_ns(c, unwrap(c, ticks, span->latest_ns));
	high = (int64_t)(span->latest_ns - *device_ns);
	low = span->earliest_ns ? (int64_t)(span->earliest_ns - *device_ns - drift_ns(span))
				: INT64_MIN;
	age(c, span->latest_ns);
	excess = contradiction(c, low, high);
	c->doubtful |= excess > 0;
	if (excess > SLACK_NS) {
		restart(c, low, high, span->latest_ns);
	} else if (excess && low != INT64_MIN && high - low < EXACT_NS) {
		c->most = low;
		c->least = high;
	} else if (!excess) {
		c->most = low > c->most ? low : c->most;
		c->least = high < c->least ? high : c->least;
	}
	return !excess;
}

bool ccs_hwclock_wants(const struct ccs_hwclock *c, uint64_t now_ns)
{
	return !c->broken && now_ns - c->queried_ns >= CCS_HWCLOCK_QUERY_NS &&
	       (c->doubtful || c->most == INT64_MIN || c->least - c->most > EXACT_NS);
}

void ccs_hwclock_learn(struct ccs_hwclock *c, uint64_t ticks, const struct ccs_span *span)
{
	uint64_t device_ns;

	c->queried_ns = span->latest_ns;
	if (c->broken)
		return;
	add_event(c, ticks, span, &device_ns);
	c->doubtful = false;
}

/* The clocks may also have drifted between the event and its poll. */
void ccs_hwclock_map(struct ccs_hwclock *c, uint64_t ticks, struct ccs_span *span)
{
	uint64_t device_ns, earliest, latest, drift;

	if (c->broken || !add_event(c, ticks, span, &device_ns))
		return;
	latest = device_ns + (uint64_t)c->least;
	drift = (span->latest_ns - latest) / DRIFT_STEP_NS;
	if (latest + drift < span->latest_ns)
		span->latest_ns = latest + drift;
	earliest = device_ns + (uint64_t)c->most - drift;
	if (c->most != INT64_MIN && earliest > span->earliest_ns)
		span->earliest_ns = earliest;
}

uint64_t ccs_hwclock_ticks(const struct ccs_hwclock *c, uint64_t now_ns)
{
	int64_t passed, ticks;

	if (!c->running || c->broken || c->least == INT64_MAX)
		return 0;
	passed = (int64_t)now_ns - c->least;
	ticks = passed > 0 ? (int64_t)to_ticks(c, (uint64_t)passed) : 0;
	if (ticks < c->ticks)
		ticks = c->ticks;
	return (c->raw + (uint64_t)(ticks - c->ticks)) & c->mask;
}
