/* SPDX-License-Identifier: BSD-2-Clause */
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/ccbench/scenario/opts.h"
#include "bench/ccbench/place/preload.h"

#define SECOND 1000000000ll
#define PARSE(...) parse((const char *[]){ "incast", __VA_ARGS__, NULL })

static struct opts o;
static char err[512];

static enum opts_result parse(const char **argv)
{
	int argc = 0;

	while (argv[argc])
		argc++;
	err[0] = '\0';
	return opts_parse(&o, 0, argc, (char **)(uintptr_t)argv, err, sizeof(err));
}

static int no_lab(void **state)
{
	static const char *const names[] = {
		"LAB_SEED", "LAB_RATE_BPS", "LAB_NIC_BPS", "LAB_QUEUE_BYTES", "LAB_SWITCH_NS",
		"LAB_SWITCH_PORT", "LAB_ENGINE", "LAB_TIME", "LAB_OUT", "LAB_HOSTS",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unsetenv(names[i]);
	return 0;
}

TEST(defaults)
{
	assert_int_equal(PARSE("-F"), OPTS_OK);
	assert_int_equal(o.senders, 4);
	assert_int_equal(o.size, 65536);
	assert_int_equal(o.depth, 16);
	assert_int_equal(o.duration, 2 * SECOND);
	assert_int_equal(o.warmup, SECOND / 10);
	assert_string_equal(o.device[0], "rxe_1");
	assert_string_equal(o.device[5], "rxe_6");
	assert_int_equal(opts_hosts(&o), 6);
	assert_int_equal(o.cc.n, 1);
	assert_string_equal(o.cc.v[0].name, "none");
	assert_false(o.cc.v[0].preload);
	assert_true(isnan(o.link.queue_bytes));
	assert_false(o.out_given);
}

TEST(units_and_letters)
{
	assert_int_equal(PARSE("-s", "1m", "-q", "2", "-D", "0.5", "--warmup", "20ms", "-x", "3",
			       "--victim-interval", "500us", "--rate", "200mbit", "-m", "1024"),
			 OPTS_OK);
	assert_int_equal(o.size, 1 << 20);
	assert_int_equal(o.depth, 2);
	assert_int_equal(o.qps, 2);
	assert_int_equal(o.duration, SECOND / 2);
	assert_int_equal(o.warmup, SECOND / 50);
	assert_int_equal(o.gid_index, 3);
	assert_int_equal(o.victim.interval, 500000);
	assert_float_equal(o.link.rate_bps, 200e6, 0);
	assert_int_equal(o.mtu, 1024);
	assert_int_equal(PARSE("-s", "64", "-D", "250ms"), OPTS_OK);
	assert_int_equal(o.depth, 128);
	assert_int_equal(o.duration, SECOND / 4);
	assert_int_equal(o.warmup, SECOND / 16); /* never most of a short run */
	assert_int_equal(PARSE("-n", "5"), OPTS_OK);
	assert_int_equal(o.warmup, 0); /* the duration is unknown */
	assert_int_equal(PARSE("-n", "5", "--warmup", "10ms"), OPTS_OK);
	assert_int_equal(o.warmup, SECOND / 100);
}

TEST(polls_are_events_or_prompt_or_late)
{
	assert_int_equal(PARSE("-s", "64"), OPTS_OK);
	assert_true(!o.poll && o.late_share == 0);
	assert_int_equal(PARSE("--poll"), OPTS_OK);
	assert_true(o.poll && o.poll_interval == 0);
	assert_int_equal(PARSE("--poll=2us", "--late", "1%:1ms"), OPTS_OK);
	assert_true(o.poll && o.poll_interval == 2000 && o.late == 1000000);
	assert_float_equal(o.late_share, 0.01, 1e-9);
}

TEST(the_lab_speaks_first_and_the_user_last)
{
	setenv("LAB_SEED", "7", 1);
	setenv("LAB_RATE_BPS", "10000000000", 1);
	setenv("LAB_QUEUE_BYTES", "262144", 1);
	setenv("LAB_OUT", "/out", 1);
	assert_int_equal(PARSE("--senders", "2"), OPTS_OK);
	assert_int_equal(o.seed, 7);
	assert_float_equal(o.link.rate_bps, 10e9, 0);
	assert_float_equal(o.link.queue_bytes, 262144, 0);
	assert_int_equal(o.warmup, SECOND / 50);
	assert_string_equal(o.out, "/out");
	assert_true(o.out_given);
	assert_int_equal(PARSE("--seed", "9", "--rate", "1g", "--out", "here"), OPTS_OK);
	assert_int_equal(o.seed, 9);
	assert_float_equal(o.link.rate_bps, 1e9, 0);
	assert_string_equal(o.out, "here");
	no_lab(NULL);
}

TEST(devices_by_name_and_by_number)
{
	assert_int_equal(PARSE("-d", "mlx5_7", "--senders", "2"), OPTS_OK);
	assert_string_equal(o.device[3], "mlx5_10");
	assert_int_equal(PARSE("--devices", "a,b,c", "--senders", "1"), OPTS_OK);
	assert_string_equal(o.device[2], "c");
	assert_int_equal(PARSE("--devices", "a,b", "--senders", "1"), OPTS_BAD);
	assert_non_null(strstr(err, "3 are needed"));
	assert_int_equal(PARSE("--devices", "a,b", "--senders", "1", "--no-victim"), OPTS_OK);
	assert_int_equal(PARSE("--devices", "a,,b", "--senders", "1"), OPTS_BAD);
	assert_int_equal(PARSE("-d", "rxe"), OPTS_BAD);
	assert_non_null(strstr(err, "--devices"));
}

TEST(settings_may_have_parameters)
{
	assert_int_equal(PARSE("--cc", "none,timely:beta=0.7,alpha=0.02,observe", "--cc",
			       "off,timely"), OPTS_OK);
	assert_int_equal(o.cc.n, 5);
	assert_string_equal(o.cc.v[1].name, "timely:beta=0.7,alpha=0.02");
	assert_string_equal(o.cc.v[1].spec, "timely:beta=0.7,alpha=0.02");
	assert_string_equal(o.cc.v[1].mode, "enforce");
	assert_true(o.cc.v[1].preload);
	assert_string_equal(o.cc.v[2].mode, "observe");
	assert_null(o.cc.v[2].spec);
	assert_string_equal(o.cc.v[3].mode, "off");
	assert_string_equal(o.cc.v[4].spec, "timely");
}

TEST(a_pool_is_for_messages_that_arrive)
{
	assert_int_equal(PARSE("--rate", "1g", "--load", "50%", "--qp-pool", "16"), OPTS_OK);
	assert_int_equal(o.qp_pool, 16);
	assert_int_equal(PARSE("--rate", "1g", "--qp-pool", "16"), OPTS_BAD);
	assert_non_null(strstr(err, "--load"));
	assert_int_equal(PARSE("--rate", "1g", "--load", "1", "--qp-pool", "2", "-q", "2"), OPTS_BAD);
	assert_non_null(strstr(err, "-q"));
	assert_int_equal(PARSE("--rate", "1g", "--load", "1", "--qp-pool", "2", "-n", "9"), OPTS_BAD);
	assert_non_null(strstr(err, "-n"));
	assert_int_equal(PARSE("--rate", "1g", "--load", "1", "--qp-pool", "1025"), OPTS_BAD);
	assert_int_equal(PARSE("--rate", "1g", "--load", "1", "--qp-pool", "0"), OPTS_BAD);
	assert_int_equal(PARSE("--rate", "1g", "--load", "1", "--qp-pool", "1024", "--senders", "5"),
			 OPTS_BAD);
	assert_non_null(strstr(err, "4096"));
}

TEST(wrong_ones_are_named)
{
	static const struct { const char *option, *value, *says; } wrong[] = {
		{ "-s", "0", "-s 0" }, { "-s", "3q", "3q" }, { "-s", "-1", "-s" },
		{ "-D", "fast", "-D fast" }, { "-n", "0", "-n 0" }, { "-n", "1x", "1x" },
		{ "-q", "-2", "-q -2" }, { "-m", "1000", "path MTU" }, { "--op", "atomic", "--op" },
		{ "--cc", "timly", "timly" }, { "--cc", "none,,off", "empty" },
		{ "--cc", "none,none", "twice" }, { "--cc", "beta=1", "beta=1" },
		{ "--sizes", "wide", "fixed|websearch|hadoop" }, { "--late", "1%", "--late" },
		{ "--late", "2:1ms", "--late" }, { "--late", "1%:soon", "soon" },
		{ "--poll=often", NULL, "often" }, { "--rate", "5", "--rate" },
		{ "--rate", "inf", "--rate" }, { "--warmup", "3s", "warm-up" },
		{ "--senders", "0", "--senders" }, { "--frob", "1", "--frob" },
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(PARSE(wrong[i].option, wrong[i].value), OPTS_BAD);
		if (!strstr(err, wrong[i].says))
			fail_msg("%s %s: %s", wrong[i].option, wrong[i].value, err);
	}
	assert_int_equal(PARSE("-s"), OPTS_BAD);
	assert_int_equal(PARSE("stray"), OPTS_BAD);
	assert_int_equal(PARSE("--help"), OPTS_HELP);
}

TEST(titles)
{
	char buf[256];

	PARSE("--rate", "200mbit", "-q", "2");
	assert_string_equal(opts_title(&o, buf, sizeof(buf)),
			    "4:1 x 2 QPs incast of 64 KB writes into 200 Mb/s");
	parse((const char *[]){ "permutation", "--hosts", "6", NULL });
	assert_string_equal(opts_title(&o, buf, sizeof(buf)),
			    "permutation among 6 hosts of 64 KB writes");
	parse((const char *[]){ "mice", "--rate", "1g", NULL });
	assert_string_equal(opts_title(&o, buf, sizeof(buf)),
			    "4:1 mice of 64 KB writes, hadoop sizes at load 10.0 % into 1 Gb/s");
}

/* Other preloads stay, and ours is there at most once. */
TEST(preload_is_first_but_for_sanitizers_and_others_stay)
{
	static const struct { const char *old, *lib, *value; } cases[] = {
		{ NULL, NULL, "" }, { NULL, "/l/libccshim.so", "/l/libccshim.so" },
		{ "", "/l/libccshim.so", "/l/libccshim.so" },
		{ "/a.so /b.so", "/l/libccshim.so", "/l/libccshim.so:/a.so:/b.so" },
		{ "/a.so:/o/libccshim.so:/b.so", "/l/libccshim.so", "/l/libccshim.so:/a.so:/b.so" },
		{ "/libasan.so.8:/a.so", "/l/libccshim.so", "/libasan.so.8:/l/libccshim.so:/a.so" },
		{ "/a.so:/old/libccshim.so:/b.so", NULL, "/a.so:/b.so" },
		{ "libccshim.so", "/l/libccshim.so", "/l/libccshim.so" },
		{ "/o/libccshim.so /b.so libccshim.so", "/l/libccshim.so", "/l/libccshim.so:/b.so" },
		{ "/x/mylibccshim.so", NULL, "/x/mylibccshim.so" },
	};
	char buf[128];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		preload_value(cases[i].old, cases[i].lib, buf, sizeof(buf));
		assert_string_equal(buf, cases[i].value);
	}
}

int main(void)
{
	return test_run(no_lab, NULL);
}
