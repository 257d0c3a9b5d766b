/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_BASE_NUMBER_H
#define CCS_BASE_NUMBER_H
/* Doubles as text, independent of the locale that the application uses. */
#include <stddef.h>

#define CCS_NUMBER_LEN 32 /* holds the text of any double */

/* Like strtod() in the C locale, but decimal only: no sign, hex, inf, nan or leading space.
 * *end == text if no number begins there. */
double ccs_strtod(const char *text, const char **end);

/* Parse a number that consists of decimal digits only. 0, or -1 if the text is anything different or
 * the number is above max. */
int ccs_parse_digits(const char *text, unsigned max, unsigned *value);

/* The shortest decimal text that reads back as exactly value. */
char *ccs_number_text(double value, char *buf, size_t len);

#endif
