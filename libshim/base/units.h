/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_BASE_UNITS_H
#define CCS_BASE_UNITS_H
/*
 * Numbers with units, as users type them or copy them from the tools' output, which has a space
 * before the unit.
 */
#include <stddef.h>

#define CCS_UNIT_LEN 40 /* holds any formatted value */

enum ccs_unit {
	CCS_UNIT_NONE,   /* a plain number */
	CCS_UNIT_RATE,   /* bit/s: 10g, 200mbit, 25gbps, 1.5 Gb/s, 1e9; decimal prefixes */
	CCS_UNIT_BYTES,  /* bytes: 64k, 2mb, 64 KB, 4096; binary prefixes, as perftest's -s */
	CCS_UNIT_TIME,   /* microseconds: 50us, 2ms, 1s, 300ns; a bare number is us */
	CCS_UNIT_LENGTH, /* metres: 15m, 2km; a bare number is metres */
};

/* The unit of a parameter by the name in its table: "bit/s", "bytes" or "us"; other names have
 * no unit. */
enum ccs_unit ccs_unit_named(const char *name);

/*
 * Parse all of text into *value. 0, or -1 if it is not a finite non-negative
 * number of that unit ("inf" is accepted and gives INFINITY). *value is only
 * written on success.
 */
int ccs_parse_unit(const char *text, enum ccs_unit unit, double *value);

/* Write value in the shortest usual form ("10g", "64k", "50us") that parses back to it. */
char *ccs_format_unit(double value, enum ccs_unit unit, char *buf, size_t len);

#endif
