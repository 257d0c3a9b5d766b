/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/number.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* glibc and musl return a static object for "C", which need not be freed. */
static locale_t use_c_locale(void)
{
	return uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
}

static const char *skip_digits(const char *p)
{
	while (*p >= '0' && *p <= '9')
		p++;
	return p;
}

int ccs_parse_digits(const char *text, unsigned max, unsigned *value)
{
	const size_t len = (size_t)(skip_digits(text) - text);
	unsigned long n;

	if (!len || text[len] || len > 10)
		return -1;
	n = strtoul(text, NULL, 10);
	if (n > max)
		return -1;
	*value = (unsigned)n;
	return 0;
}

/* The end of digits[.digits][e[+-]digits], or text if no number begins there. */
static const char *decimal_end(const char *text)
{
	const char *p = skip_digits(text), *exp;
	size_t digits = (size_t)(p - text);

	if (*p == '.') {
		const char *frac = skip_digits(p + 1);

		digits += (size_t)(frac - p - 1);
		p = frac;
	}
	if (!digits)
		return text;
	if (*p != 'e' && *p != 'E')
		return p;
	exp = p + 1 + (p[1] == '+' || p[1] == '-');
	return skip_digits(exp) > exp ? skip_digits(exp) : p;
}

double ccs_strtod(const char *text, const char **end)
{
	locale_t old;
	double value;

	*end = decimal_end(text);
	if (*end == text)
		return 0;
	if (*text == '0' && (text[1] == 'x' || text[1] == 'X'))
		return 0; /* strtod() would read hexadecimal; here the number ends at the 0 */
	old = use_c_locale();
	value = strtod(text, NULL);
	uselocale(old);
	return value;
}

char *ccs_number_text(double value, char *buf, size_t len)
{
	locale_t old = use_c_locale();
	char best[CCS_NUMBER_LEN] = "", text[CCS_NUMBER_LEN];

	/* %g with fewer digits may be longer: 1e+03 against 1000. */
	for (int digits = 1; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) != value && value == value)
			continue;
		if (!*best || strlen(text) < strlen(best))
			strcpy(best, text);
	}
	uselocale(old);
	snprintf(buf, len, "%s", best);
	return buf;
}
