/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_BASE_NUMBER_H
#define CCS_BASE_NUMBER_H
/* Doubles as text, whatever locale the application has chosen. */
#include <stddef.h>

#define CCS_NUMBER_LEN 32 /* holds the text of any double */

/* As strtod() in the C locale, but decimal only: no sign, hex, inf, nan or leading space.
 * *end == text if there is no number. */
double ccs_strtod(const char *text, const char **end);

/* The shortest decimal text that reads back as exactly value. */
char *ccs_number_text(double value, char *buf, size_t len);

#endif
