/* SPDX-License-Identifier: BSD-2-Clause */
/* The timing wheel against a plain list of (due, order of setting). */
#include "test.h"

#include <stdbool.h>
#include <string.h>

#include "base/timer_wheel.h"
#include "seed.h"

#define HORIZON_NS (CCS_TIMER_WHEEL_TICK_NS * CCS_TIMER_WHEEL_BUCKETS)

enum { TIMERS = 200 };

struct model {
	struct ccs_timer timer[TIMERS];
	bool is_set[TIMERS];
	uint64_t due[TIMERS];
	uint64_t from[TIMERS];           /* due, or later: when it was set */
};

static struct ccs_timer_wheel wheel;
static struct model model;

static void start_wheel(uint64_t now)
{
	memset(&model, 0, sizeof(model));
	ccs_timer_wheel_init(&wheel, now);
}

static void set_at(unsigned i, uint64_t due, uint64_t now)
{
	ccs_timer_wheel_set(&wheel, &model.timer[i], due);
	model.is_set[i] = true;
	model.due[i] = due;
	model.from[i] = due > now ? due : now;
}

static void set_timer(unsigned i, uint64_t due)
{
	set_at(i, due, due);
}

static unsigned index_of(const struct ccs_timer *t)
{
	return (unsigned)(t - model.timer);
}

/* The tick at whose beginning a timer of that due time may fire. */
static uint64_t tick_of(uint64_t due)
{
	return (due + CCS_TIMER_WHEEL_TICK_NS - 1) / CCS_TIMER_WHEEL_TICK_NS;
}

/* All timers that must fire by now do, and no others. */
static unsigned pop_all(uint64_t now)
{
	unsigned n = 0;
	struct ccs_timer *t;

	while ((t = ccs_timer_wheel_pop(&wheel, now))) {
		const unsigned i = index_of(t);

		assert_true(i < TIMERS && model.is_set[i]);
		if (model.due[i] > now)
			fail_msg("a timer due at %" PRIu64 " fired at %" PRIu64, model.due[i], now);
		assert_false(ccs_timer_is_set(t));
		model.is_set[i] = false;
		n++;
	}
	for (unsigned i = 0; i < TIMERS; i++) {
		if (model.is_set[i] && model.from[i] + CCS_TIMER_WHEEL_TICK_NS <= now)
			fail_msg("a timer due at %" PRIu64 " has not fired at %" PRIu64,
				 model.due[i], now);
		assert_int_equal(model.is_set[i], ccs_timer_is_set(&model.timer[i]));
	}
	return n;
}

/* next() is never after the first timer's tick and never before pop() can return one. */
static void check_next(uint64_t now)
{
	const uint64_t next = ccs_timer_wheel_next(&wheel);
	uint64_t first = UINT64_MAX;

	for (unsigned i = 0; i < TIMERS; i++)
		if (model.is_set[i] && tick_of(model.due[i]) * CCS_TIMER_WHEEL_TICK_NS < first)
			first = tick_of(model.due[i]) * CCS_TIMER_WHEEL_TICK_NS;
	if (first == UINT64_MAX) {
		assert_true(next == UINT64_MAX);
		return;
	}
	if (next > first && next > now + CCS_TIMER_WHEEL_TICK_NS)
		fail_msg("next is %" PRIu64 ", the first is due at %" PRIu64, next, first);
}

static uint64_t random_due(uint64_t now)
{
	switch (seed_below(8)) {
	case 0:
		return now - seed_below(now < 100000 ? now + 1 : 100000);
	case 1:
		return now;
	case 2:
		return now + seed_below(4 * HORIZON_NS);
	case 3:
		return now + HORIZON_NS - 3 * CCS_TIMER_WHEEL_TICK_NS +
		       seed_below(6 * CCS_TIMER_WHEEL_TICK_NS);
	default:
		return now + seed_below(200 * CCS_TIMER_WHEEL_TICK_NS);
	}
}

TEST(random_programs_match_the_model)
{
	seed_start("wheel");
	for (unsigned program = 0; program < 60; program++) {
		uint64_t now = seed_below(1ull << 40);
		unsigned fired = 0;

		start_wheel(now);
		for (unsigned step = 0; step < 1500; step++) {
			const unsigned i = (unsigned)seed_below(TIMERS);

			switch (seed_below(10)) {
			case 0:
				ccs_timer_wheel_cancel(&wheel, &model.timer[i]);
				model.is_set[i] = false;
				break;
			case 1:
				now += seed_below(HORIZON_NS / (1 + seed_below(100)));
				break;
			case 2:
				now += seed_below(3 * CCS_TIMER_WHEEL_TICK_NS);
				break;
			case 3:
				fired += pop_all(now);
				break;
			default:
				set_at(i, random_due(now), now);
				break;
			}
			check_next(now);
		}
		now += 5 * HORIZON_NS;
		fired += pop_all(now);
		assert_true(ccs_timer_wheel_next(&wheel) == UINT64_MAX);
		assert_true(fired > 100);
	}
}

/* Not a nanosecond early, and at the beginning of the tick if popped then. */
TEST(never_early_and_at_most_a_tick_late)
{
	seed_start("exact");
	for (unsigned i = 0; i < 20000; i++) {
		const uint64_t now = seed_below(1ull << 50);
		const uint64_t due = now + 1 + seed_below(HORIZON_NS - 2 * CCS_TIMER_WHEEL_TICK_NS);

		start_wheel(now);
		set_timer(0, due);
		assert_null(ccs_timer_wheel_pop(&wheel, due - 1));
		assert_ptr_equal(ccs_timer_wheel_pop(&wheel, due + CCS_TIMER_WHEEL_TICK_NS - 1),
				 &model.timer[0]);
	}
}

/* A thread that sleeps until next() pops each timer in time. */
TEST(sleeping_until_next_pops_each_timer_in_time)
{
	seed_start("alarm");
	for (unsigned round = 0; round < 200; round++) {
		uint64_t now = seed_below(1ull << 45), wakes = 0;
		unsigned left = 0;

		start_wheel(now);
		for (unsigned i = 0; i < 50; i++, left++)
			set_timer(i, now + seed_below(3 * HORIZON_NS));
		while (left) {
			const uint64_t next = ccs_timer_wheel_next(&wheel);

			assert_true(next != UINT64_MAX);
			assert_true(next <= now + HORIZON_NS + CCS_TIMER_WHEEL_TICK_NS);
			if (next > now)
				now = next;
			left -= pop_all(now);
			assert_true(++wakes < 200);
		}
	}
}

/* Timers of one tick fire in the order of setting; one that is set again comes last. */
TEST(flows_of_one_tick_take_turns)
{
	const uint64_t now = 77 * CCS_TIMER_WHEEL_TICK_NS, due = now + 10 * CCS_TIMER_WHEEL_TICK_NS;
	unsigned served[5] = { 0 };

	start_wheel(now);
	for (unsigned i = 0; i < 5; i++)
		set_timer(i, due - i); /* not by due time: the tick is the same */
	set_timer(1, due);
	assert_int_equal(index_of(ccs_timer_wheel_pop(&wheel, due)), 0);
	assert_int_equal(index_of(ccs_timer_wheel_pop(&wheel, due)), 2);
	assert_int_equal(index_of(ccs_timer_wheel_pop(&wheel, due)), 3);
	assert_int_equal(index_of(ccs_timer_wheel_pop(&wheel, due)), 4);
	assert_int_equal(index_of(ccs_timer_wheel_pop(&wheel, due)), 1);

	/* Always due again at once: no timer fires twice before all fired once. */
	start_wheel(now);
	for (unsigned i = 0; i < 5; i++)
		set_timer(i, now);
	for (unsigned n = 0; n < 500; n++) {
		const uint64_t then = now + CCS_TIMER_WHEEL_TICK_NS;
		const unsigned i = index_of(ccs_timer_wheel_pop(&wheel, then));

		served[i]++;
		for (unsigned k = 0; k < 5; k++)
			assert_true(served[k] + 1 >= served[i] && served[k] <= served[i] + 1);
		set_timer(i, now);
	}
}

TEST(earlier_ticks_fire_first)
{
	uint64_t last;

	seed_start("order");
	for (unsigned round = 0; round < 300; round++) {
		const uint64_t now = seed_below(1ull << 45);
		struct ccs_timer *t;

		start_wheel(now);
		for (unsigned i = 0; i < TIMERS; i++)
			set_timer(i, now + CCS_TIMER_WHEEL_TICK_NS + seed_below(HORIZON_NS / 2));
		last = 0;
		while ((t = ccs_timer_wheel_pop(&wheel, now + HORIZON_NS))) {
			assert_true(tick_of(t->due_ns) >= last);
			last = tick_of(t->due_ns);
		}
	}
}

/* A wheel that was not used for years catches up in one step: horizon by horizon would take days. */
TEST(a_long_idle_wheel_catches_up_at_once)
{
	const uint64_t now = 1ull << 61;

	start_wheel(12345);
	for (unsigned i = 0; i < 3; i++)
		set_timer(i, now + 5 * CCS_TIMER_WHEEL_TICK_NS + i * 3 * HORIZON_NS);
	set_at(3, now - 5000, now);
	assert_int_equal(pop_all(now), 1);
	assert_int_equal(pop_all(now + 4 * CCS_TIMER_WHEEL_TICK_NS), 0);
	assert_int_equal(pop_all(now + 6 * CCS_TIMER_WHEEL_TICK_NS), 1);
	assert_int_equal(pop_all(now + 7 * HORIZON_NS), 2);
}

TEST(cancel_is_idempotent)
{
	start_wheel(0);
	ccs_timer_wheel_cancel(&wheel, &model.timer[0]);
	set_timer(0, 5000);
	ccs_timer_wheel_cancel(&wheel, &model.timer[0]);
	ccs_timer_wheel_cancel(&wheel, &model.timer[0]);
	assert_false(ccs_timer_is_set(&model.timer[0]));
	assert_true(ccs_timer_wheel_next(&wheel) == UINT64_MAX);
	assert_null(ccs_timer_wheel_pop(&wheel, 1ull << 40));
}
