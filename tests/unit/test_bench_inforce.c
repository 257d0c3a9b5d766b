/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether a setting was in force, according to the shim's report of a worker. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "bench/ccbench/scenario/inforce.h"
#include "tools/common/json_read.h"

static struct inforce sum;
static char why[256];

static const struct setting timely = { .name = "timely", .preload = true, .mode = "enforce",
				       .spec = "timely" };
static const struct setting hpcc = { .name = "hpcc", .preload = true, .mode = "enforce",
				     .spec = "hpcc" };
static const struct setting off = { .name = "off", .preload = true, .mode = "off" };

/* A report of one queue pair, number 17, with those members. */
static const char *report(const char *qp)
{
	static char text[1024];

	snprintf(text, sizeof(text),
		 "{\"mode\": \"enforce\", \"uncontrolled\": {\"no-memory\": 0, \"refused\": 2}, "
		 "\"missing_feedback\": [], \"qps_omitted\": 0, \"qps\": [{\"lqpn\": 17%s, "
		 "\"state\": {\"gradient\": -0.07}}]}", qp);
	return text;
}

#define GOOD ", \"enforced\": true, \"wrs_posted\": 9, \"sent_bytes\": 100" \
	     ", \"asked\": {\"mode\": \"enforce\", \"cc\": \"timely\"}"

static int check_of(const struct setting *s, const char *text, uint32_t qpn)
{
	struct inforce_qp v = { .qpn = qpn, .used = true };

	sum = (struct inforce){ 0 };
	return inforce_check(&sum, text, s, &v, 1, why, sizeof(why));
}

static void refused(const struct setting *s, const char *text, uint32_t qpn, const char *word)
{
	assert_int_equal(check_of(s, text, qpn), -1);
	if (!strstr(why, word))
		fail_msg("'%s' is not in: %s", word, why);
}

TEST(a_controlled_queue_pair_is_in_force)
{
	assert_int_equal(check_of(&timely, report(GOOD), 17), 0);
	assert_string_equal(why, "");
	assert_int_equal(sum.qps, 0);
	assert_int_equal(check_of(&off, "{\"mode\": \"off\", \"qps\": []}", 17), 0);
}

TEST(a_shim_that_was_not_called_is_not_in_force)
{
	refused(&timely, NULL, 17, "was not called");
	refused(&off, NULL, 17, "was not called");
	refused(&timely, "{\"mode\": ", 17, "cannot be read");
	refused(&off, report(GOOD), 17, "mode enforce");
}

TEST(each_queue_pair_is_looked_for)
{
	refused(&timely, report(GOOD), 18, "queue pair 18 was not controlled (passed: refused 2)");
	refused(&timely, report(", \"enforced\": false, \"pass\": \"no-thread\", \"asked\": "
				"{\"mode\": \"enforce\", \"cc\": \"timely\"}"), 17, "no-thread");
	refused(&timely, report(", \"enforced\": true, \"wrs_posted\": 0, \"asked\": "
				"{\"mode\": \"enforce\", \"cc\": \"timely\"}"), 17, "past the shim");
}

/* A section of a configuration file may want something else of this peer. */
TEST(requested_settings_are_compared)
{
	refused(&timely, report(", \"enforced\": true, \"asked\": {\"mode\": \"enforce\", "
				"\"cc\": \"swift\"}"), 17, "cc=swift");
	refused(&timely, report(", \"enforced\": false, \"asked\": {\"mode\": \"observe\", "
				"\"cc\": \"timely\"}"), 17, "mode observe");
}

TEST(the_fallback_is_counted_by_bytes)
{
	assert_int_equal(check_of(&hpcc, report(", \"enforced\": true, \"wrs_posted\": 9, "
		"\"feedback\": \"no-agent\", \"sent_bytes\": 200, \"asked\": {\"mode\": \"enforce\", "
		"\"cc\": \"hpcc\"}, \"fallback\": {\"cc\": \"swift\", \"sent_bytes\": 50}"), 17), 0);
	assert_float_equal(sum.fallback / sum.sent, 0.25, 1e-9);
	assert_int_equal(sum.fallen, 1);
	assert_int_equal(sum.qps, 1);
	assert_string_equal(sum.cc, "swift");
	assert_string_equal(sum.feedback, "no-agent");
}

TEST(settings_omitted_from_the_report_do_not_fail)
{
	assert_int_equal(check_of(&timely, "{\"mode\": \"enforce\", \"qps_omitted\": 3, "
				  "\"qps\": []}", 17), 0);
}

TEST(numbers_have_signs)
{
	static const struct { const char *text; double value; } good[] = {
		{ "-0.5,", -0.5 }, { "12]", 12 }, { " -3e2 ", -300 },
	};
	double value;

	for (unsigned i = 0; i < 3; i++) {
		struct json_read j = { .text = good[i].text, .at = good[i].text };

		assert_true(json_number(&j, &value));
		assert_float_equal(value, good[i].value, 1e-12);
	}
	assert_false(json_number(&(struct json_read){ .at = "--1" }, &value));
	assert_false(json_number(&(struct json_read){ .at = "-" }, &value));
}
