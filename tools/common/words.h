/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_COMMON_WORDS_H
#define CCS_COMMON_WORDS_H
/*
 * Reads text files of words and numbers, line by line. Every function that fails has written
 * "FILE:LINE: what is wrong" into the caller's buffer.
 */
#include <stdbool.h>
#include <stdio.h>

#include "base/units.h"

struct words {
	const char *path;
	FILE *f;
	char *line, *at;
	size_t size;
	unsigned number;         /* line number */
	char *err;
	size_t err_len;
	bool refused;            /* there is a message in err */
};

bool words_open(struct words *w, const char *path, char *err, size_t len);
void words_close(struct words *w);

/* To be closed after this; always false. */
bool words_refuse(struct words *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Read the next line that is not empty. `what` is the message if the file ends; NULL: the end is not a
 * mistake, and `refused` stays unset. The lengths of lines and of sequences of empty lines are limited,
 * since devices and pipes may not end. */
bool words_line(struct words *w, const char *what);

/* The next word of the line; NULL at its end. */
const char *words_next(struct words *w);

/* Whether the line has another word. */
bool words_more(struct words *w);

/* Refuse a line that has another word; `expected` is its format. */
bool words_end_line(struct words *w, const char *expected);

/* Refuse a further line after `what`. After an empty line there may be text that does not begin with a
 * number: the files of the HPCC simulator end with an explanation of their format. */
bool words_end_file(struct words *w, const char *what);

/* The next word as a whole number below `below`, called `what` in messages. */
bool words_number(struct words *w, const char *what, unsigned long long below,
		  unsigned long long *value);

/* The next word as a quantity above 0, but times and plain numbers may be 0. */
bool words_quantity(struct words *w, const char *what, enum ccs_unit unit, double *value);

#endif
