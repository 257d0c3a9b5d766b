/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers with units: what is read, what is refused, and what is written. */
#include "test.h"

#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/number.h"
#include "base/units.h"
#include "seed.h"
#include "tools/common/human.h"

static const struct { const char *text; enum ccs_unit unit; double value; } known[] = {
	{ "0", CCS_UNIT_NONE, 0 },
	{ "0.8", CCS_UNIT_NONE, 0.8 },
	{ ".5", CCS_UNIT_NONE, 0.5 },
	{ "1e9", CCS_UNIT_NONE, 1e9 },
	{ "10g", CCS_UNIT_RATE, 10e9 },
	{ "10G", CCS_UNIT_RATE, 10e9 },
	{ "200mbit", CCS_UNIT_RATE, 200e6 },
	{ "25gbps", CCS_UNIT_RATE, 25e9 },
	{ "25Gbit/s", CCS_UNIT_RATE, 25e9 },
	{ "25 Gb/s", CCS_UNIT_RATE, 25e9 }, { "25Gb/s", CCS_UNIT_RATE, 25e9 },
	{ "64 KB", CCS_UNIT_BYTES, 65536 },
	{ "800bps", CCS_UNIT_RATE, 800 },
	{ "1e9", CCS_UNIT_RATE, 1e9 },
	{ "0.1t", CCS_UNIT_RATE, 1e11 },
	{ "64k", CCS_UNIT_BYTES, 65536 },
	{ "64KiB", CCS_UNIT_BYTES, 65536 },
	{ "2mb", CCS_UNIT_BYTES, 2097152 },
	{ "4096", CCS_UNIT_BYTES, 4096 },
	{ "4096B", CCS_UNIT_BYTES, 4096 },
	{ "50us", CCS_UNIT_TIME, 50 },
	{ "50", CCS_UNIT_TIME, 50 },
	{ "2ms", CCS_UNIT_TIME, 2000 },
	{ "1s", CCS_UNIT_TIME, 1e6 },
	{ "300ns", CCS_UNIT_TIME, 0.3 },
	{ "100m", CCS_UNIT_LENGTH, 100 }, { "1.5km", CCS_UNIT_LENGTH, 1500 },
	{ "15", CCS_UNIT_LENGTH, 15 },
	{ "inf", CCS_UNIT_RATE, INFINITY },
	{ "INF", CCS_UNIT_TIME, INFINITY },
};

TEST(known_values_are_read)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		double value = -1;

		if (ccs_parse_unit(known[i].text, known[i].unit, &value) || value != known[i].value)
			fail_msg("%s: read as %g", known[i].text, value);
	}
}

static const struct { const char *text; enum ccs_unit unit; } wrong[] = {
	{ "", CCS_UNIT_RATE }, { " 10g", CCS_UNIT_RATE }, { "10g ", CCS_UNIT_RATE },
	{ "10 g", CCS_UNIT_RATE }, { "64 k", CCS_UNIT_BYTES }, { "10  gbps", CCS_UNIT_RATE }, { "10 ", CCS_UNIT_RATE }, { "5 ", CCS_UNIT_NONE },
	{ "10 GB/s", CCS_UNIT_RATE }, { "-1g", CCS_UNIT_RATE }, { "+1g", CCS_UNIT_RATE },
	{ "10gb", CCS_UNIT_RATE }, { "10GBps", CCS_UNIT_RATE }, { "10gib", CCS_UNIT_RATE },
	{ "10gg", CCS_UNIT_RATE }, { "10us", CCS_UNIT_RATE }, { "g", CCS_UNIT_RATE },
	{ "0x10", CCS_UNIT_RATE }, { "nan", CCS_UNIT_RATE }, { "infinity", CCS_UNIT_RATE },
	{ "-inf", CCS_UNIT_RATE }, { "1e999", CCS_UNIT_RATE }, { "1e300t", CCS_UNIT_RATE },
	{ "1,5g", CCS_UNIT_RATE }, { "1e", CCS_UNIT_RATE }, { "1.2.3", CCS_UNIT_RATE },
	{ "64kbit", CCS_UNIT_BYTES }, { "64ib", CCS_UNIT_BYTES }, { "64s", CCS_UNIT_BYTES },
	{ "1m", CCS_UNIT_TIME }, { "1k", CCS_UNIT_TIME }, { "1min", CCS_UNIT_TIME },
	{ "5k", CCS_UNIT_LENGTH }, { "5cm", CCS_UNIT_LENGTH },
	{ "5k", CCS_UNIT_NONE }, { "5%", CCS_UNIT_NONE }, { ".", CCS_UNIT_NONE },
};

TEST(wrong_text_is_refused_and_writes_nothing)
{
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		double value = 42;

		if (!ccs_parse_unit(wrong[i].text, wrong[i].unit, &value) || value != 42)
			fail_msg("'%s' was read as %g", wrong[i].text, value);
	}
}

static const struct { double value; enum ccs_unit unit; const char *text; } usual[] = {
	{ 10e9, CCS_UNIT_RATE, "10g" }, { 100e9, CCS_UNIT_RATE, "100g" },
	{ 400e6, CCS_UNIT_RATE, "400m" }, { 1.5e9, CCS_UNIT_RATE, "1.5g" },
	{ 3.125e9, CCS_UNIT_RATE, "3.125g" }, { 163.84, CCS_UNIT_BYTES, "163.84" },
	{ 1e12, CCS_UNIT_RATE, "1t" }, { 1e15, CCS_UNIT_RATE, "1000t" },
	{ 0, CCS_UNIT_RATE, "0" }, { INFINITY, CCS_UNIT_RATE, "inf" },
	{ 65536, CCS_UNIT_BYTES, "64k" }, { 65537, CCS_UNIT_BYTES, "65537" },
	{ 1000, CCS_UNIT_BYTES, "1000" }, { 1048576, CCS_UNIT_BYTES, "1m" },
	{ 50, CCS_UNIT_TIME, "50us" }, { 0.3, CCS_UNIT_TIME, "300ns" },
	{ 2000, CCS_UNIT_TIME, "2ms" }, { 1e6, CCS_UNIT_TIME, "1s" },
	{ 0, CCS_UNIT_TIME, "0" }, { 12.5, CCS_UNIT_TIME, "12.5us" },
	{ 0.8, CCS_UNIT_NONE, "0.8" }, { 1000, CCS_UNIT_NONE, "1000" },
	{ -0.0, CCS_UNIT_NONE, "0" },
};

TEST(the_canonical_form_is_written)
{
	char text[CCS_UNIT_LEN];

	for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++)
		assert_string_equal(ccs_format_unit(usual[i].value, usual[i].unit, text,
						    sizeof(text)), usual[i].text);
}

/* Any bit pattern, or a number that users would write. */
static double random_value(void)
{
	union { uint64_t u; double d; } any = { .u = seed_next() };

	switch (seed_below(4)) {
	case 0:
		return isfinite(any.d) ? fabs(any.d) : INFINITY;
	case 1:
		return (double)seed_below(10000) * pow(10, (double)seed_below(15) - 3);
	case 2:
		return (double)seed_below(2000) * (double)(UINT64_C(1) << seed_below(42));
	default:
		return (double)seed_below(UINT64_C(1) << (1 + seed_below(63))) / 1000;
	}
}

TEST(written_values_read_back)
{
	char text[CCS_UNIT_LEN];

	seed_start("parse(format(x)) == x");
	for (unsigned i = 0; i < 100000; i++) {
		const double value = random_value();
		const enum ccs_unit unit = (enum ccs_unit)(i % 4);
		double back = -1;

		ccs_format_unit(value, unit, text, sizeof(text));
		if (ccs_parse_unit(text, unit, &back) || back != value)
			fail_msg("%.17g as unit %d is written '%s', read as %.17g",
				 value, (int)unit, text, back);
	}
}

/* The precision is that of three digits. */
TEST(what_tools_print_reads_back)
{
	static char *(*const print[])(double, char *, size_t) = {
		[CCS_UNIT_RATE] = human_rate, [CCS_UNIT_BYTES] = human_bytes, [CCS_UNIT_TIME] = human_us,
	};
	char text[CCS_UNIT_LEN];

	seed_start("parse(print(x)) is x");
	for (unsigned i = 0; i < 100000; i++) {
		const enum ccs_unit unit = (enum ccs_unit)(CCS_UNIT_RATE + i % 3);
		const double value = pow(10, (double)seed_below(14000) / 1000);
		double back = -1;

		print[unit](value, text, sizeof(text));
		if (ccs_parse_unit(text, unit, &back) || fabs(back - value) > 0.006 * value)
			fail_msg("%.17g as unit %d is printed '%s', read as %.17g",
				 value, (int)unit, text, back);
	}
}

TEST(garbage_is_refused_or_reads_back)
{
	static const char letters[] = "0123456789.e+-kmgtbpsuniKMGTBx/ ";
	char text[24], again[CCS_UNIT_LEN];

	seed_start("garbage");
	for (unsigned i = 0; i < 200000; i++) {
		const enum ccs_unit unit = (enum ccs_unit)(i % 4);
		double value, back;

		seed_garbage(text, sizeof(text), letters, sizeof(letters) - 1);
		if (ccs_parse_unit(text, unit, &value))
			continue;
		assert_true(value >= 0);
		ccs_format_unit(value, unit, again, sizeof(again));
		if (ccs_parse_unit(again, unit, &back) || back != value)
			fail_msg("'%s' and '%s' differ", text, again);
	}
}

/* German, French and others write 0,8: an application's setlocale() must have no effect. */
TEST(the_locale_does_not_matter)
{
	static const char *const commas[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", NULL };
	bool set = false;

	for (unsigned i = 0; commas[i] && !set; i++)
		set = setlocale(LC_ALL, commas[i]) != NULL;
	if (!set)
		skip();
	known_values_are_read(state);
	the_canonical_form_is_written(state);
	setlocale(LC_ALL, "C");
}

TEST(numbers_are_decimal_only)
{
	static const struct { const char *text; double value; size_t taken; } texts[] = {
		{ "0x10", 0, 1 }, { "1e5x", 1e5, 3 }, { "1e+", 1, 1 }, { "1.e1", 10, 4 },
		{ "-1", 0, 0 }, { "inf", 0, 0 }, { "e5", 0, 0 }, { "", 0, 0 },
	};
	const char *end;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		assert_true(ccs_strtod(texts[i].text, &end) == texts[i].value);
		assert_int_equal(end - texts[i].text, texts[i].taken);
	}
}

TEST(a_short_buffer_is_not_overrun)
{
	char text[8] = "#######";

	ccs_format_unit(1.0 / 3, CCS_UNIT_RATE, text, 4);
	assert_int_equal(strlen(text), 3);
	assert_string_equal(text + 4, "###");
}
