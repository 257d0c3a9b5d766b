/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the CNPs of a marking probability, and marks on a polled average, with UCloud's port. */
#include "test.h"

#include <math.h>

#include "fabric/marking.h"
#include "seed.h"

static const double pps = 2227007; /* of the article's shaped port */

TEST(the_effective_pmax_is_the_published_one)
{
	static const struct { double mtu, percent; } rows[] = {
		{ 256, 0.216 }, { 512, 0.380 }, { 1024, 0.708 }, { 2048, 1.363 }, { 4096, 2.674 },
	};

	assert_true(fabs(100 * ccs_pmax_effective(pps, 50) - 0.898) < 0.5e-3);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_true(fabs(100 * ccs_pmax_effective(25e9 / 8 / (rows[i].mtu + 82), 50) -
				 rows[i].percent) < 0.5e-3);
	assert_true(ccs_pmax_effective(100, 50) == 1);
}

TEST(the_effective_pmax_is_a_knee)
{
	static const struct { double p, cnps; } rows[] = {
		{ 0.0025, 4355 }, { 0.0045, 6676 }, { 0.01, 10537 },
		{ 0.02, 13802 }, { 0.0405, 16370 }, { 1, 19822 },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_true(fabs(ccs_cnp_rate(rows[i].p, pps, 50) - rows[i].cnps) < 1);
	assert_true(fabs(ccs_cnp_rate(ccs_pmax_effective(pps, 50), pps, 50) - 10000) < 1e-6);
}

/* One sender of 25 Gb/s, packets of 1 KB in 5 cells, Kmax 1400, Pmax 1 %. */
static struct ccs_ramp experiment(double kmin, double poll_us, double weight)
{
	return (struct ccs_ramp){
		.red = { .kmin = kmin, .kmax = 1400, .pmax = 0.01 }, .pps = pps,
		.growth = (25e9 / 8 / 1106 - pps) * 5e-6, .poll_us = poll_us, .weight = weight,
		.marks = 2, .reaction_us = 8,
	};
}

static bool alarms(double kmin, double poll_us, double weight)
{
	const struct ccs_ramp r = experiment(kmin, poll_us, weight);

	return ccs_ramp_peak(&r) > 1400;
}

TEST(polling_explains_the_published_alarm)
{
	assert_false(alarms(1, 50, 1 / 4.));
	assert_true(alarms(800, 50, 1 / 4.));
	assert_false(alarms(1, 50, 1));
	assert_true(alarms(800, 50, 1));
	assert_true(alarms(800, 100, 1));
}

TEST(marks_on_the_queue_itself_would_not_have_alarmed)
{
	assert_false(alarms(1, 0, 1));
	assert_false(alarms(800, 0, 1));
}

TEST(the_largest_kmin_is_the_largest)
{
	seed_start("marking");
	for (int i = 0; i < 30; i++) {
		struct ccs_ramp r = experiment(0, (double)seed_below(120), 1 / (1 + (double)seed_below(4)));
		const double kmin = ccs_ramp_largest_kmin(&r);

		r.red.kmin = fmax(kmin - 1, 0);
		assert_true(kmin < 0 || ccs_ramp_peak(&r) <= 1400);
		r.red.kmin = fmax(kmin, 0) + 1;
		assert_true(ccs_ramp_peak(&r) > 1400 - 2);
	}
}

/* It ends, and polls do not matter if the queue grows by little from one to the next. */
TEST(extreme_ramps_end)
{
	struct ccs_ramp slow = experiment(800, 50, 1), itself = experiment(800, 0, 1);
	struct ccs_ramp rare = experiment(1, 1e12, 1 / 1024.), few = experiment(1, 50, 1 / 1024.);

	slow.growth = itself.growth = 1e-9;
	slow.reaction_us = itself.reaction_us = 0;
	assert_true(fabs(ccs_ramp_peak(&slow) - ccs_ramp_peak(&itself)) < 1);
	assert_true(ccs_ramp_peak(&rare) > 1e12);
	few.pps = 1e-3;
	assert_true(ccs_ramp_peak(&few) > 1400);
}

TEST(a_polled_average_is_late_and_converges)
{
	struct ccs_polled_queue a = { .interval_us = 50, .weight = 0.25 };

	assert_true(ccs_polled_queue(&a, 0, 100) == 25);
	assert_true(ccs_polled_queue(&a, 49, 1e6) == 25);
	assert_true(ccs_polled_queue(&a, 50, 100) == 43.75);
	assert_true(fabs(ccs_polled_queue(&a, 10000, 100) - 100) < 1e-3);
	a.interval_us = 0;
	assert_true(ccs_polled_queue(&a, 10001, 7) == 7);
}
