/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_BASE_TEXT_H
#define CCS_BASE_TEXT_H
/* Error texts, and text of unknown origin, which is printed only after ccs_make_printable(). */
#include <stddef.h>
#include <stdint.h>

/* Write a sentence that explains a failure; returns -1. */
int ccs_refuse(char *err, size_t len, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Append to a text in a buffer of len bytes, as much as fits. */
void ccs_append(char *text, size_t len, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Length of the well-formed UTF-8 sequence at text (RFC 3629); 0 if it is malformed. */
unsigned ccs_utf8_len(const char *text);
/* The code point of a character of that length. */
uint32_t ccs_utf8_code(const char *text, unsigned len);

/*
 * The same length, but 0 also for characters that control a terminal or hide or reorder the text
 * around them: C0 and C1 of ECMA-48, and the format characters of Unicode (general category Cf,
 * among them bidirectional overrides; line and paragraph separators).
 */
unsigned ccs_printable_len(const char *text);
/* Replace each other character and byte by '?', except ASCII characters in `keep`. Returns text. */
char *ccs_make_printable(char *text, const char *keep);

#endif
