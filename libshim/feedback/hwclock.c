/* SPDX-License-Identifier: BSD-2-Clause */
#include "feedback/hwclock.h"

/* Tolerated contradiction of bounds: drift, and a CQE's delay to memory. */
#define SLACK_NS 100000
#define CONFLICTS_MAX 4

static void forget(struct ccs_hwclock *c, unsigned window)
{
	c->least[window] = INT64_MAX;
	c->most[window] = INT64_MIN;
}

bool ccs_hwclock_init(struct ccs_hwclock *c, uint64_t khz, uint64_t mask)
{
	*c = (struct ccs_hwclock){ .khz = khz, .mask = mask & (UINT64_MAX >> 2) };
	forget(c, 0);
	forget(c, 1);
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

static void roll(struct ccs_hwclock *c, uint64_t now_ns)
{
	const uint64_t age = now_ns > c->since_ns ? now_ns - c->since_ns : 0;

	if (age < CCS_HWCLOCK_WINDOW_NS)
		return;
	c->least[1] = c->least[0];
	c->most[1] = c->most[0];
	forget(c, 0);
	if (age >= 2 * CCS_HWCLOCK_WINDOW_NS)
		forget(c, 1);
	c->since_ns = now_ns;
	c->conflicts = 0;
}

static int64_t least(const struct ccs_hwclock *c)
{
	return c->least[0] < c->least[1] ? c->least[0] : c->least[1];
}

static int64_t most(const struct ccs_hwclock *c)
{
	return c->most[0] > c->most[1] ? c->most[0] : c->most[1];
}

static void add(struct ccs_hwclock *c, uint64_t device_ns, const struct ccs_span *span)
{
	const int64_t high = (int64_t)(span->latest_ns - device_ns);
	const int64_t low = (int64_t)(span->earliest_ns - device_ns);

	if (high < c->least[0])
		c->least[0] = high;
	if (span->earliest_ns && low > c->most[0])
		c->most[0] = low;
}

/*
 * Some devices count in another unit than they state, or report something else instead of ticks.
 * The bounds then soon contradict each other. They also do for a moment if the host was suspended,
 * or a thread was preempted between a poll and reading its time.
 */
static void check_bounds(struct ccs_hwclock *c, uint64_t device_ns, const struct ccs_span *span)
{
	if (most(c) == INT64_MIN || least(c) >= most(c) || most(c) - SLACK_NS <= least(c))
		return;
	forget(c, 0);
	forget(c, 1);
	add(c, device_ns, span);
	c->broken = ++c->conflicts >= CONFLICTS_MAX;
}

static uint64_t add_event(struct ccs_hwclock *c, uint64_t ticks, const struct ccs_span *span)
{
	const uint64_t device_ns = to_ns(c, unwrap(c, ticks, span->latest_ns));

	roll(c, span->latest_ns);
	add(c, device_ns, span);
	check_bounds(c, device_ns, span);
	return device_ns;
}

bool ccs_hwclock_wants(const struct ccs_hwclock *c, uint64_t now_ns)
{
	return !c->broken && now_ns - c->since_ns >= CCS_HWCLOCK_WINDOW_NS;
}

void ccs_hwclock_learn(struct ccs_hwclock *c, uint64_t ticks, const struct ccs_span *span)
{
	if (!c->broken)
		add_event(c, ticks, span);
}

void ccs_hwclock_map(struct ccs_hwclock *c, uint64_t ticks, struct ccs_span *span)
{
	const struct ccs_span given = *span;
	uint64_t device_ns;

	if (c->broken)
		return;
	device_ns = add_event(c, ticks, span);
	if (c->broken)
		return;
	span->latest_ns = device_ns + (uint64_t)least(c);
	if (span->latest_ns > given.latest_ns)
		span->latest_ns = given.latest_ns;
	if (span->latest_ns < given.earliest_ns)
		span->latest_ns = given.earliest_ns;
	if (most(c) == INT64_MIN)
		return;
	span->earliest_ns = device_ns + (uint64_t)most(c);
	if (span->earliest_ns < given.earliest_ns)
		span->earliest_ns = given.earliest_ns;
	if (span->earliest_ns > span->latest_ns)
		span->earliest_ns = span->latest_ns;
}

uint64_t ccs_hwclock_ticks(const struct ccs_hwclock *c, uint64_t now_ns)
{
	int64_t passed, ticks;

	if (!c->running || c->broken || least(c) == INT64_MAX)
		return 0;
	passed = (int64_t)now_ns - least(c);
	ticks = passed > 0 ? (int64_t)to_ticks(c, (uint64_t)passed) : 0;
	if (ticks < c->ticks)
		ticks = c->ticks;
	return (c->raw + (uint64_t)(ticks - c->ticks)) & c->mask;
}
