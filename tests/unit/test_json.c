/* SPDX-License-Identifier: BSD-2-Clause */
/* The exact output of the JSON writer; jq checks it, too, if it is installed. */
#include "test.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "seed.h"

static char *text;
static size_t text_len;
static struct ccs_json j;

static int open_stream(void **state)
{
	ccs_json_start(&j, open_memstream(&text, &text_len));
	return j.f ? 0 : -1;
}

static int close_stream(void **state)
{
	fclose(j.f);
	free(text);
	return 0;
}

TEST_WITH(everything, open_stream, close_stream)
{
	ccs_json_object(&j, NULL);
	ccs_json_str(&j, "s", "a\"b\\c\n\x01");
	ccs_json_str(&j, "null", NULL);
	ccs_json_num(&j, "n", 0.1);
	ccs_json_num(&j, "nan", NAN);
	ccs_json_num(&j, "inf", -INFINITY);
	ccs_json_uint(&j, "u", UINT64_MAX);
	ccs_json_bool(&j, "b", true);
	ccs_json_array(&j, "a");
	ccs_json_uint(&j, "ignored", 1);
	ccs_json_object(&j, NULL);
	ccs_json_end(&j);
	ccs_json_array(&j, NULL);
	ccs_json_end(&j);
	ccs_json_end(&j);
	ccs_json_num(&j, "last", -1000);
	assert_true(ccs_json_finish(&j));
	assert_string_equal(text,
		"{\n"
		"  \"s\": \"a\\\"b\\\\c\\u000a\\u0001\",\n"
		"  \"null\": null,\n"
		"  \"n\": 0.1,\n"
		"  \"nan\": null,\n"
		"  \"inf\": null,\n"
		"  \"u\": 18446744073709551615,\n"
		"  \"b\": true,\n"
		"  \"a\": [\n"
		"    1,\n"
		"    {},\n"
		"    []\n"
		"  ],\n"
		"  \"last\": -1000\n"
		"}\n");
}

static const struct { const char *in, *out; } utf8[] = {
	{ "\xc3\xa9\xe2\x82\xac\xf0\x9f\x99\x82", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x99\x82" },
	{ "\xff", "\\ufffd" },
	{ "a\x80z", "a\\ufffdz" },
	{ "\xc3", "\\ufffd" },                             /* cut short */
	{ "\xe2\x82", "\\ufffd\\ufffd" },
	{ "\xc0\xaf", "\\ufffd\\ufffd" },                  /* overlong */
	{ "\xe0\x80\x80", "\\ufffd\\ufffd\\ufffd" },
	{ "\xf0\x80\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd" },
	{ "\xed\xa0\x80", "\\ufffd\\ufffd\\ufffd" },       /* surrogate */
	{ "\xf4\x90\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd" }, /* above U+10FFFF */
	{ "\x1f \x7f", "\\u001f \\u007f" },
	{ "\xc2\x9b" "31m\xc2\xa0", "\\u009b31m\xc2\xa0" },       /* CSI of ECMA-48 */
	{ "a\xe2\x80\xae" "b", "a\\u202eb" },                /* right-to-left override */
	{ "\xf3\xa0\x81\x81", "\\udb40\\udc41" },           /* a tag character */
};

TEST_WITH(strings_are_valid_utf8, open_stream, close_stream)
{
	char want[4096] = "[", piece[64];

	ccs_json_array(&j, NULL);
	for (size_t i = 0; i < sizeof(utf8) / sizeof(*utf8); i++) {
		ccs_json_str(&j, NULL, utf8[i].in);
		snprintf(piece, sizeof(piece), "%s\n  \"%s\"", i ? "," : "", utf8[i].out);
		strcat(want, piece);
	}
	strcat(want, "\n]\n");
	assert_true(ccs_json_finish(&j));
	assert_string_equal(text, want);
}

TEST(text_is_printable)
{
	static const struct { const char *in, *keep, *out; } cases[] = {
		{ "plain \xc3\xa9\xe2\x82\xac\xf0\x9f\x99\x82", "", "plain \xc3\xa9\xe2\x82\xac\xf0\x9f\x99\x82" },
		{ "\033[31m\a\x7f", "", "?[31m??" },
		{ "a\nb\tc", "\n", "a\nb?c" },
		{ "\xc2\x9b" "31m\xc2\x9d" "0;t\xc2\x9c", "", "?31m?0;t?" },
		{ "\x9b" "31m\xff", "", "?31m?" },
		{ "a\xd8\x9c\xe2\x80\xae\xe2\x81\xa6\xef\xbb\xbf" "b", "", "a????b" },
		{ "\xc2\x80\xc2\x9f\xc2\xa0\xc2\xad", "", "??\xc2\xa0?" },
		{ "\xf3\xa0\x80\x81\xe2\x80\xa8", "", "??" },
		{ "\xe2\x80", "", "??" },
		{ "", "", "" },
	};
	char text_of[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		strcpy(text_of, cases[i].in);
		assert_string_equal(ccs_make_printable(text_of, cases[i].keep), cases[i].out);
	}
}

TEST_WITH(numbers_read_back, open_stream, close_stream)
{
	seed_start("numbers");
	for (unsigned i = 0; i < 20000; i++) {
		union { uint64_t u; double d; } any = { .u = seed_next() };

		if (!isfinite(any.d))
			continue;
		rewind(j.f);
		ccs_json_num(&j, NULL, any.d);
		assert_true(ccs_json_finish(&j));
		if (strtod(text, NULL) != any.d)
			fail_msg("%.17g is written %s", any.d, text);
	}
}

/* Missing or surplus ends still give valid JSON. */
TEST_WITH(misuse_is_harmless, open_stream, close_stream)
{
	for (unsigned i = 0; i < 50; i++)
		ccs_json_array(&j, NULL);
	ccs_json_uint(&j, NULL, 7);
	assert_true(ccs_json_finish(&j));
	assert_int_equal(j.depth, 0);
	ccs_json_end(&j);
	assert_int_equal(j.depth, 0);
}

TEST(a_write_error_is_reported)
{
	struct ccs_json full;

	ccs_json_start(&full, fopen("/dev/full", "w"));
	if (!full.f)
		skip();
	ccs_json_bool(&full, NULL, false);
	assert_false(ccs_json_finish(&full));
	fclose(full.f);
}

static void write_random(unsigned depth)
{
	char key[16], s[32];

	seed_garbage(key, sizeof(key), "ab\"\\\t\n", 6);
	seed_garbage(s, sizeof(s), "xyz\"\\\r\xc3\xa9", 8);
	switch (seed_below(depth > 5 ? 4 : 6)) {
	case 0:
		ccs_json_str(&j, key, s);
		return;
	case 1:
		ccs_json_num(&j, key, (double)seed_next() / 7);
		return;
	case 2:
		ccs_json_uint(&j, key, seed_next());
		return;
	case 3:
		ccs_json_bool(&j, key, seed_below(2));
		return;
	case 4:
		ccs_json_object(&j, key);
		break;
	default:
		ccs_json_array(&j, key);
	}
	for (uint64_t n = seed_below(5); n; n--)
		write_random(depth + 1);
	ccs_json_end(&j);
}

TEST_WITH(jq_accepts_it, open_stream, close_stream)
{
	FILE *jq;

	if (system("command -v jq >/dev/null 2>&1") != 0)
		skip();
	seed_start("jq");
	jq = popen("jq -e 'length == 200' >/dev/null", "w");
	assert_non_null(jq);
	ccs_json_array(&j, NULL);
	for (unsigned i = 0; i < 200; i++)
		write_random(1);
	assert_true(ccs_json_finish(&j));
	fwrite(text, 1, text_len, jq);
	assert_int_equal(pclose(jq), 0);
}
