/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_TERMINAL_H
#define CCS_TOOLS_TERMINAL_H
/* Output that fits the width of the terminal, and its attributes. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

/* ECMA-48 attributes of a line of titles, and the end of any. */
#define TERMINAL_TITLES "\033[7m"
#define TERMINAL_PLAIN "\033[0m"

/* Whether control sequences move the cursor: the stream writes to a terminal that is not dumb, by TERM. */
bool terminal_obeys_sequences(FILE *out);

/* Whether to print attributes: the same, and NO_COLOR is unset or empty. */
bool terminal_has_colour(FILE *out);

/* The columns of the stream's terminal: COLUMNS, or the number that the terminal reports. 0: it is
 * not a terminal, so lines may have any length. */
size_t terminal_width(FILE *out);

/*
 * Print one line and its newline. On a terminal a line that is too long is broken at spaces, and
 * each further line begins with `lead`. Words are never broken. Characters that control a
 * terminal are replaced. errno is preserved.
 */
void terminal_print(FILE *out, const char *lead, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The same for a given width, on a terminal or not. */
void terminal_wrap(FILE *out, size_t width, const char *lead, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Replace what ccs_make_printable() replaces, except ends of lines. */
void terminal_replace_controls(char *text);

#endif
