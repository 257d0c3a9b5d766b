/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the parser of algorithm specifications with TIMELY's parameters. */
#include "test.h"

#include <math.h>
#include <string.h>

#include "seed.h"
#include "timely.h"

static const struct { const char *spec, *says; } wrong[] = {
	{ "", "no algorithm ''" },
	{ "timelly", "no algorithm 'timelly'" },
	{ "timely:", "is not param=value" },
	{ "timely:beta", "is not param=value" },
	{ "timely:beta=0.5,", "is not param=value" },
	{ "timely:gamma=1", "no parameter 'gamma'" },
	{ "timely:beta=", "is not a value for beta" },
	{ "timely:beta=x", "'x' is not a value for beta; allowed: 0 to 1" },
	{ "timely:beta=1.5", "outside" },
	{ "timely:t_low=5g", "is not a value for t_low in us" },
	{ "timely:min_rtt=0", "outside" },
	{ "timely:add_rate=inf", "outside" },
	{ "timely:variant=papyrus", "no variant" },
	{ "fixed:rate=50us", "is not a value for rate in bit/s" },
	{ "fixed:rate=0", "outside" },
	{ "none:rate=1g", "no parameter 'rate'" },
};

TEST(wrong_specs_are_refused_and_change_nothing)
{
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct ccs_cc_spec cc = parse("timely:beta=0.5");
		const struct ccs_cc_spec before = cc;
		char err[256] = "";

		if (!ccs_cc_parse(&cc, wrong[i].spec, err, sizeof(err)))
			fail_msg("'%s' was accepted", wrong[i].spec);
		if (!strstr(err, wrong[i].says))
			fail_msg("'%s' says \"%s\", not \"%s\"", wrong[i].spec, err, wrong[i].says);
		assert_memory_equal(&cc, &before, sizeof(cc));
	}
}

TEST(an_endless_spec_is_refused)
{
	static char spec[4096];
	struct ccs_cc_spec cc = { 0 };
	char err[256] = "";

	memset(spec, 'a', sizeof(spec) - 1);
	assert_int_equal(ccs_cc_parse(&cc, spec, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "longer than"));
	assert_null(cc.ops);
}

TEST(garbage_never_crashes_the_parser)
{
	static const char letters[] = "timelyfxdno:=,.0123456789kmgus_brath";
	unsigned taken = 0;

	seed_start("garbage");
	for (int i = 0; i < 50000; i++) {
		struct ccs_cc_spec cc = { 0 };
		char text[64] = "timely:", err[256];

		seed_garbage(text + (i % 2 ? 7 : 0), sizeof(text) - 7, letters,
			     sizeof(letters) - 1);
		if (ccs_cc_parse(&cc, text, err, sizeof(err)) == 0)
			taken++;
		else
			assert_true(*err);
	}
	assert_true(taken < 50000);
}

TEST(units_and_choices_are_understood)
{
	const struct ccs_cc_path path = { .line_rate = 1e9, .base_rtt_us = 1, .segment = 1,
					  .flows = 1 };
	struct ccs_cc cc;

	start(&cc, "timely:variant=snippet,t_high=2ms,add_rate=5mbit,t_low=1500ns,min_rate=100k", &path);
	assert_true(param(&cc, "t_high") == 2000);
	assert_true(param(&cc, "t_low") == 1.5);
	assert_true(param(&cc, "add_rate") == 5e6);
	assert_true(param(&cc, "min_rate") == 100e3);
	assert_string_equal(ccs_cc_variant(&cc), "snippet");
	start(&cc, "fixed:rate=250m", &path);
	ack(&cc, 10, 1e6);
	assert_true(cc.out.rate == 250e6);
	start(&cc, "none", &path);
	ack(&cc, 10, 1e6);
	assert_true(isinf(cc.out.rate) && cc.out.window == 0);
}
