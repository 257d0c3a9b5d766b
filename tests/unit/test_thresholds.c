/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests DCQCN's thresholds with the paper's switch, and that they keep their premises. */
#include "test.h"

#include <math.h>

#include "fabric/marking.h"
#include "seed.h"

/* KB, as the paper has them */
static struct ccs_thresholds trident(double priorities)
{
	return (struct ccs_thresholds){ .buffer = 12000, .flight = 22.4, .ports = 32,
					.priorities = priorities, .beta = 8 };
}

static void assert_near(double value, double expected)
{
	if (fabs(value - expected) >= 0.5e-2)
		fail_msg("%g is not %g", value, expected);
}

TEST(the_papers_switch_has_its_thresholds)
{
	const struct ccs_thresholds t = trident(8), two = trident(2), one = trident(1);

	assert_near(ccs_thresholds_pfc_static(&t), 24.475);
	assert_near(ccs_thresholds_ecn_dynamic(&t, 8), 21.756);
	assert_near(ccs_thresholds_ecn_static(&t), 0.765);
	assert_near(ccs_thresholds_ecn_dynamic(&two, 2), 146.76);
	assert_near(ccs_thresholds_ecn_dynamic(&one, 1), 313.42);
}

TEST(the_printed_premise_gives_another_bound)
{
	const struct ccs_thresholds t = trident(8);

	assert_near(ccs_thresholds_ecn_dynamic(&t, 1), 97.9);
}

TEST(at_t_ecn_all_queues_together_just_reach_t_pfc)
{
	seed_start("thresholds");
	for (int i = 0; i < 1000; i++) {
		const struct ccs_thresholds t = {
			.buffer = 1e6 + (double)seed_below(50000000), .flight = (double)seed_below(3000),
			.ports = 1 + (double)seed_below(32), .priorities = 1 + (double)seed_below(8),
			.beta = ldexp(1, (int)seed_below(8) - 3),
		};
		const double ecn = ccs_thresholds_ecn_dynamic(&t, t.priorities);
		const double used = t.priorities * t.ports * ecn;

		assert_true(fabs(ccs_thresholds_pfc_dynamic(&t, used) - t.ports * ecn) < 1e-6 * t.buffer);
		assert_true(used < ccs_thresholds_rest(&t));
	}
}
