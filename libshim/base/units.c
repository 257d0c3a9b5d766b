/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/units.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/number.h"

/* One written scale. ns divides, because x / 1000 is exact where x * 0.001 is not. */
struct scale {
	const char *suffix;
	double mul, div;
};

/* The scales of each unit in rising order. Rates are decimal, bytes binary. */
static const struct scale none[] = { { "", 1, 1 }, { 0 } };
static const struct scale rate[] = {
	{ "", 1, 1 }, { "k", 1e3, 1 }, { "m", 1e6, 1 }, { "g", 1e9, 1 }, { "t", 1e12, 1 }, { 0 }
};
static const struct scale bytes[] = {
	{ "", 1, 1 }, { "k", 0x1p10, 1 }, { "m", 0x1p20, 1 }, { "g", 0x1p30, 1 },
	{ "t", 0x1p40, 1 }, { 0 }
};
static const struct scale times[] = {
	{ "ns", 1, 1e3 }, { "us", 1, 1 }, { "ms", 1e3, 1 }, { "s", 1e6, 1 }, { 0 }
};
static const struct scale lengths[] = { { "m", 1, 1 }, { "km", 1e3, 1 }, { 0 } };
static const struct scale *const scales[] = {
	[CCS_UNIT_NONE] = none, [CCS_UNIT_RATE] = rate,
	[CCS_UNIT_BYTES] = bytes, [CCS_UNIT_TIME] = times,
	[CCS_UNIT_LENGTH] = lengths,
};

enum ccs_unit ccs_unit_named(const char *name)
{
	if (strcmp(name, "us") == 0)
		return CCS_UNIT_TIME;
	if (strcmp(name, "bit/s") == 0)
		return CCS_UNIT_RATE;
	return strcmp(name, "bytes") == 0 ? CCS_UNIT_BYTES : CCS_UNIT_NONE;
}

/* Whether text may follow the prefix. The b of a rate is never upper case: a "GBps" is bytes. */
static bool is_tail(const char *text, enum ccs_unit unit)
{
	if (!*text)
		return true;
	if (unit == CCS_UNIT_RATE)
		return strcmp(text, "bit") == 0 || strcmp(text, "bps") == 0 ||
		       strcmp(text, "bit/s") == 0 || strcmp(text, "b/s") == 0;
	return unit == CCS_UNIT_BYTES &&
	       (strcasecmp(text, "b") == 0 || strcasecmp(text, "ib") == 0);
}

static const struct scale *find_scale(const char *suffix, enum ccs_unit unit)
{
	static const struct scale one = { "", 1, 1 };

	if (unit == CCS_UNIT_TIME || unit == CCS_UNIT_LENGTH) {
		for (const struct scale *s = scales[unit]; s->suffix; s++)
			if (strcasecmp(s->suffix, suffix) == 0)
				return s;
		return *suffix ? NULL : &one;
	}
	if (is_tail(suffix, unit))
		return strcasecmp(suffix, "ib") == 0 ? NULL : &one;
	for (const struct scale *s = scales[unit]; s->suffix; s++)
		if (*s->suffix && *s->suffix == tolower((unsigned char)*suffix) &&
		    is_tail(suffix + 1, unit))
			return s;
	return NULL;
}

/* After a space the unit is needed, as it is printed: "10 Gb/s", not "10 g". */
static bool has_unit(const char *suffix, enum ccs_unit unit)
{
	if (unit == CCS_UNIT_TIME || unit == CCS_UNIT_LENGTH)
		return *suffix;
	return unit != CCS_UNIT_NONE && strpbrk(suffix, "bB");
}

int ccs_parse_unit(const char *text, enum ccs_unit unit, double *value)
{
	const struct scale *scale;
	const char *suffix;
	double number;

	if (strcasecmp(text, "inf") == 0) {
		*value = INFINITY;
		return 0;
	}
	number = ccs_strtod(text, &suffix);
	if (suffix == text)
		return -1;
	if (suffix[0] == ' ' && has_unit(suffix + 1, unit))
		suffix++;
	scale = find_scale(suffix, unit);
	if (!scale)
		return -1;
	number = number * scale->mul / scale->div;
	if (!isfinite(number))
		return -1;
	*value = number;
	return 0;
}

/* The text of value in one scale; false if it does not parse back to the same value. */
static bool write_scaled(double value, const struct scale *scale, enum ccs_unit unit, char *buf,
			 size_t len)
{
	char number[CCS_NUMBER_LEN];
	double back;

	ccs_number_text(value * scale->div / scale->mul, number, sizeof(number));
	snprintf(buf, len, "%s%s", number, scale->suffix);
	return ccs_parse_unit(buf, unit, &back) == 0 && back == value;
}

/* The largest scale not above the value is the most readable. */
static const struct scale *usual_scale(double value, enum ccs_unit unit)
{
	const struct scale *usual = scales[unit];

	for (const struct scale *s = usual; s->suffix; s++)
		if (s->mul / s->div <= value)
			usual = s;
	return usual;
}

char *ccs_format_unit(double value, enum ccs_unit unit, char *buf, size_t len)
{
	char best[CCS_UNIT_LEN] = "", text[CCS_UNIT_LEN];

	if (!isfinite(value) || value <= 0) {
		snprintf(buf, len, "%s", value == 0 ? "0" : value > 0 ? "inf" : "nan");
		return buf;
	}
	if (write_scaled(value, usual_scale(value, unit), unit, text, sizeof(text)))
		strcpy(best, text);
	/* Another scale only if it is much shorter: 65537, but not 3125m or 0.16k. */
	for (const struct scale *s = scales[unit]; s->suffix; s++)
		if (write_scaled(value, s, unit, text, sizeof(text)) &&
		    (!*best || strlen(text) + 2 < strlen(best)))
			strcpy(best, text);
	snprintf(buf, len, "%s", best);
	return buf;
}
