/* SPDX-License-Identifier: BSD-2-Clause */
#include "words.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_LINE_MAX = 1 << 20, WORDS_EMPTY_MAX = 1 << 20, WORDS_LINES_MAX = 1 << 29 };

bool words_open(struct words *w, const char *path, char *err, size_t len)
{
	*w = (struct words){ .path = path, .f = fopen(path, "re"), .err = err, .err_len = len };
	if (!w->f)
		snprintf(err, len, "%s: %s", path, strerror(errno));
	return w->f;
}

void words_close(struct words *w)
{
	if (w->f)
		fclose(w->f);
	free(w->line);
	w->f = NULL;
	w->line = NULL;
}

bool words_refuse(struct words *w, const char *fmt, ...)
{
	char text[200];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	snprintf(w->err, w->err_len, "%s:%u: %s", w->path, w->number, text);
	w->refused = true;
	return false;
}

/* Add a character to the line; false without memory. */
static bool add_char(struct words *w, size_t at, char c)
{
	if (at == w->size) {
		const size_t size = w->size ? 2 * w->size : 256;
		char *line = realloc(w->line, size);

		if (!line)
			return false;
		w->line = line;
		w->size = size;
	}
	w->line[at] = c;
	return true;
}

/* 1: a line; 0: the end of the file; -1: refused. Devices such as /dev/zero have lines without end. */
static int read_line(struct words *w)
{
	size_t n = 0;
	int c;

	w->number++;
	while ((c = getc_unlocked(w->f)) != EOF && c != '\n') {
		if (!c || n == WORDS_LINE_MAX || !add_char(w, n, (char)c)) {
			words_refuse(w, c ? "the line is too long" : "this is not a text: it has null bytes");
			return -1;
		}
		n++;
	}
	if (ferror(w->f)) {
		words_refuse(w, "%s", strerror(errno));
		return -1;
	}
	if (c == EOF && !n)
		return 0;
	n -= n && w->line[n - 1] == '\r'; /* of Windows */
	if (!add_char(w, n, '\0')) {
		words_refuse(w, "the line is too long");
		return -1;
	}
	return 1;
}

bool words_line(struct words *w, const char *what)
{
	const unsigned first = w->number;

	for (int got; (got = read_line(w)) != 0;) {
		if (got < 0)
			return false;
		w->at = w->line + (w->number == 1 && strncmp(w->line, "\xef\xbb\xbf", 3) == 0 ? 3 : 0); /* of editors */
		w->at += strspn(w->at, " \t");
		if (*w->at && w->number < WORDS_LINES_MAX)
			return true;
		if (w->number - first > WORDS_EMPTY_MAX || w->number >= WORDS_LINES_MAX)
			return words_refuse(w, *w->at ? "the file has too many lines"
					    : "the file has only empty lines from line %u",
					    first + 1);
	}
	if (what)
		words_refuse(w, "%s", what);
	return false;
}

const char *words_next(struct words *w)
{
	char *word;

	while ((word = strsep(&w->at, " \t")))
		if (*word)
			return word;
	return NULL;
}

bool words_number(struct words *w, const char *what, unsigned long long below,
		  unsigned long long *value)
{
	const char *word = words_next(w);
	char *end;

	errno = 0;
	*value = word ? strtoull(word, &end, 10) : 0;
	if (word && *word >= '0' && *word <= '9' && !*end && !errno && *value < below)
		return true;
	return words_refuse(w, "'%.40s' is not %s, a whole number below %llu", word ? word : "",
			    what, below);
}

bool words_quantity(struct words *w, const char *what, enum ccs_unit unit, double *value)
{
	const char *word = words_next(w);

	if (word && ccs_parse_unit(word, unit, value) == 0 && *value >= 0 && *value < 1e18 &&
	    (*value > 0 || unit == CCS_UNIT_TIME || unit == CCS_UNIT_NONE))
		return true;
	return words_refuse(w, "'%.40s' is not the %s", word ? word : "", what);
}

bool words_more(struct words *w)
{
	return w->at && w->at[strspn(w->at, " \t")];
}

bool words_end_line(struct words *w, const char *expected)
{
	return !words_more(w) ||
	       words_refuse(w, "'%.40s' is a word too many; the line is: %s", words_next(w), expected);
}

bool words_end_file(struct words *w, const char *what)
{
	const unsigned last = w->number;

	if (!words_line(w, NULL))
		return !w->refused;
	if (w->number > last + 1 && !strchr("+-.0123456789", *w->at))
		return true;
	return words_refuse(w, "the file has a line after %s", what);
}
