/* SPDX-License-Identifier: BSD-2-Clause */
/* The device's clock against a model that knows when each completion was made. */
#include "test.h"

#include "seed.h"
#include "feedback/hwclock.h"

#define US 1000ull
#define MS 1000000ull
#define PPM 100
#define ROUNDING_NS 100
#define DRIFT_NS 15000 /* by which bounds are loose for the drift of some tens of ms */
#define SLACK_NS 10000 /* a contradiction of bounds up to this may be a slow CQE */

static const uint64_t rates[] = { 78125, 156250, 800000, 1000000 };
static const unsigned widths[] = { 32, 48, 62, 64 };

static struct {
	struct ccs_hwclock clock;
	uint64_t khz, mask, first;
	double skew;
	uint64_t looked, now, made;      /* times of the last poll, this poll, the completion */
} m;

static void start(unsigned bits)
{
	m.khz = rates[seed_below(4)];
	m.mask = UINT64_MAX >> (64 - bits);
	m.first = seed_next();           /* it may be about to wrap */
	m.skew = 1 + ((double)seed_below(2 * PPM + 1) - PPM) / 1e6;
	m.looked = m.now = 1000000 * MS + seed_below(MS);
	assert_true(ccs_hwclock_init(&m.clock, m.khz, m.mask));
}

/* The device's own time starts with the test, so that a double holds it. */
static uint64_t ticks_at(uint64_t ns)
{
	const double own = (double)(ns - 1000000 * MS) * m.skew;

	return (m.first + (uint64_t)(own * (double)m.khz / 1e6)) & m.mask;
}

/* One completion at m.made, polled at m.now: within what was known, and true. */
static struct ccs_span map(void)
{
	struct ccs_span span = { m.looked, m.now };

	ccs_hwclock_map(&m.clock, ticks_at(m.made), &span);
	assert_false(m.clock.broken);
	assert_true(span.earliest_ns >= m.looked && span.latest_ns <= m.now);
	assert_true(span.earliest_ns <= span.latest_ns);
	if (span.latest_ns + ROUNDING_NS < m.made || span.earliest_ns > m.made + ROUNDING_NS)
		fail_msg("%" PRIu64 " is not in [%" PRIu64 ", %" PRIu64 "]", m.made,
			 span.earliest_ns, span.latest_ns);
	return span;
}

TEST(prompt_polls_make_all_exact)
{
	seed_start("prompt polls");
	for (unsigned round = 0; round < 100; round++) {
		start(widths[round % 4]);
		for (unsigned i = 0; i < 2000; i++) {
			const bool prompt = i % 8 == 0;
			struct ccs_span span;

			m.looked = m.now;
			m.made = m.now + 1 + (prompt ? seed_below(300) : seed_below(MS));
			m.now = m.made + (prompt ? seed_below(300) : seed_below(5 * MS));
			span = map();
			if (span.latest_ns > m.made + DRIFT_NS + 300 && i > 0)
				fail_msg("%" PRIu64 " ns late", span.latest_ns - m.made);
		}
	}
}

/* No poll is in time, but some completions arrive just before or after one. */
TEST(late_polls_make_most_exact)
{
	unsigned exact = 0, all = 0;

	seed_start("late polls");
	for (unsigned round = 0; round < 20; round++) {
		start(widths[round % 4]);
		for (unsigned i = 0; i < 100; i++) {
			m.looked = m.now;
			m.now += 5 * MS + seed_below(100 * US);
			for (m.made = m.looked + seed_below(100 * US); m.made < m.now;
			     m.made += 1 + seed_below(100 * US)) {
				const struct ccs_span span = map();

				all += i > 20;
				exact += i > 20 && span.latest_ns - span.earliest_ns < 50 * US;
			}
		}
	}
	if (exact * 10 < all * 9)
		fail_msg("%u of %u", exact, all);
}

TEST(a_query_makes_late_polls_exact)
{
	seed_start("query");
	for (unsigned round = 0; round < 50; round++) {
		start(widths[round % 4]);
		for (unsigned i = 0; i < 500; i++) {
			struct ccs_span span;

			m.looked = m.now;
			m.made = m.looked + 50 * US;
			m.now = m.looked + 5 * MS;
			if (ccs_hwclock_wants(&m.clock, m.now)) {
				span = (struct ccs_span){ m.now - 1 * US, m.now };
				ccs_hwclock_learn(&m.clock, ticks_at(m.now - seed_below(US)), &span);
			}
			span = map();
			assert_true(span.latest_ns <= m.made + US + DRIFT_NS);
			assert_true(span.latest_ns - span.earliest_ns <= US + DRIFT_NS);
		}
	}
}

/* Up to three quarters of a range may pass between two completions. */
TEST(pauses_do_not_lose_a_wrap)
{
	seed_start("wraps");
	for (unsigned round = 0; round < 200; round++) {
		start(32);
		for (unsigned i = 0; i < 50; i++) {
			const uint64_t wrap = (1ull << 32) * 1000000 / m.khz;

			m.looked = m.now;
			m.made = m.looked + 1 + seed_below(20 * wrap);
			m.now = m.made + seed_below(wrap / 2);
			map();
			/* A prompt one after it, to find out if it came to another time. */
			m.looked = m.now;
			m.made = m.now + 10;
			m.now += 20;
			map();
		}
	}
}

TEST(bounds_become_loose_by_the_drift_of_a_pause)
{
	const uint64_t pause_ns = 60000 * MS, drift_ns = pause_ns / 5000;
	struct ccs_span span;

	seed_start("pause");
	start(48);
	m.made = m.now = m.looked + 10;
	map();
	m.looked = m.now;
	m.now += pause_ns;
	m.made = m.looked + 100 * US;
	span = map();
	assert_in_range(span.latest_ns - span.earliest_ns, drift_ns, 2 * drift_ns + MS);
}

/*
 * One request at a time to an application that waits for events: it polls at once or late, and
 * the queue was last seen empty long ago. Returns by how much the completion seems to be late.
 */
static int64_t request(bool late)
{
	struct ccs_span span;

	m.looked = m.now + US;           /* posted */
	m.made = m.looked + 45 * US;
	m.now = m.made + (late ? 200 * US : 300);
	span = (struct ccs_span){ m.now - 300, m.now };
	if (ccs_hwclock_wants(&m.clock, m.now))
		ccs_hwclock_learn(&m.clock, ticks_at(m.now - 150), &span);
	span = (struct ccs_span){ m.looked, m.now };
	ccs_hwclock_map(&m.clock, ticks_at(m.made), &span);
	assert_true(span.earliest_ns >= m.looked && span.latest_ns <= m.now);
	return (int64_t)(span.latest_ns - m.made);
}

/* A step that is shorter than an RTT is seen at the next query. */
TEST(a_step_shortens_rtts_until_the_next_query_at_most)
{
	static const int64_t steps_us[] = { 20, -20, 40, -40, 50, -50, 200, -200, 5000, -1000000 };

	seed_start("steps");
	for (unsigned k = 0; k < sizeof(steps_us) / sizeof(*steps_us); k++) {
		uint64_t stepped_ns = 0;

		start(62);
		m.first = UINT64_MAX >> 3;
		for (unsigned i = 0; i < 600; i++) {
			const int64_t late_ns = request(i % 10 == 9);
			const bool unseen = steps_us[k] < 0 && steps_us[k] > -45 && stepped_ns &&
					    m.now - stepped_ns < CCS_HWCLOCK_QUERY_NS + MS;

			if (i == 200) {
				m.first += (uint64_t)(steps_us[k] * (int64_t)m.khz / 1000);
				stepped_ns = m.now;
			}
			if (!unseen && late_ns < -SLACK_NS)
				fail_msg("step of %" PRId64 " us: %" PRId64 " ns short at %u",
					 steps_us[k], -late_ns, i);
			if (late_ns > 4000 && i % 200 > 100)
				fail_msg("step of %" PRId64 " us: %" PRId64 " ns late at %u",
					 steps_us[k], late_ns, i);
		}
		assert_false(m.clock.broken);
	}
}

/* It has stopped, or its frequency is another than stated. */
TEST(a_wrong_rate_is_found_in_25_ms)
{
	static const double skews[] = { 0, 0.5, 0.99, 0.995, 1.005, 1.01, 2 };

	seed_start("rates");
	for (unsigned k = 0; k < sizeof(skews) / sizeof(*skews); k++) {
		start(62);
		m.skew = skews[k];
		while (!m.clock.broken && m.now < 1000027 * MS)
			request(seed_below(10) == 0);
		if (!m.clock.broken)
			fail_msg("rate %g is not found", skews[k]);
	}
}

/* The device's timestamp of a completion at this time. */
TEST(the_time_now)
{
	const uint64_t slack_ns = DRIFT_NS + 300;

	seed_start("now");
	for (unsigned round = 0; round < 1000; round++) {
		const unsigned bits = widths[round % 3];
		uint64_t late, wrap;

		start(bits);
		wrap = UINT64_MAX >> (64 - bits);
		assert_int_equal(ccs_hwclock_ticks(&m.clock, m.now), 0);
		for (unsigned i = 0; i < 1 + seed_below(50); i++) {
			m.looked = m.now;
			m.made = m.now + 1 + seed_below(300);
			m.now = m.made + seed_below(300);
			map();
		}
		late = ccs_hwclock_ticks(&m.clock, m.now + round * 10 * US);
		late = (ticks_at(m.now + round * 10 * US + slack_ns) - late) & wrap;
		if (late > 2 * slack_ns * m.khz / 1000000 + 2)
			fail_msg("%" PRIu64 " ticks off", late);
		assert_true(((ccs_hwclock_ticks(&m.clock, m.now) - ticks_at(m.made)) & wrap) <
			    wrap / 2);
	}
}

TEST(what_is_unknown_stays_so)
{
	struct ccs_span span = { 0, 2000000 * MS };

	seed_start("unknown");
	start(48);
	ccs_hwclock_map(&m.clock, 12345, &span);
	assert_int_equal(span.earliest_ns, 0);
	assert_int_equal(span.latest_ns, 2000000 * MS);
}

/* Such values exist: something else than the time, or in another unit. */
TEST(no_clock_is_left_alone)
{
	seed_start("no clock");
	for (unsigned kind = 0; kind < 3; kind++) {
		start(48);
		for (unsigned i = 0; i < 1000; i++) {
			const uint64_t value[] = { seed_below(100), seed_next(), m.now / 1000 };
			struct ccs_span span = { m.now, m.now + US };
			const struct ccs_span given = span;

			ccs_hwclock_map(&m.clock, value[kind], &span);
			assert_true(span.earliest_ns >= given.earliest_ns);
			assert_true(span.latest_ns <= given.latest_ns);
			assert_true(span.earliest_ns <= span.latest_ns);
			m.now += 20 * US;
		}
		assert_true(m.clock.broken);
		assert_false(ccs_hwclock_wants(&m.clock, m.now + 1000 * MS));
	}
}

TEST(what_cannot_be_a_clock)
{
	struct ccs_hwclock c;

	assert_false(ccs_hwclock_init(&c, 0, UINT64_MAX));
	assert_false(ccs_hwclock_init(&c, 156250, 0));
	assert_false(ccs_hwclock_init(&c, 156250, 0xfff0));
	assert_true(ccs_hwclock_init(&c, 156250, UINT64_MAX));
	assert_true(ccs_hwclock_init(&c, 1, 0xffffffff));
}
