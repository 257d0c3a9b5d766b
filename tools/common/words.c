/* SPDX-License-Identifier: BSD-2-Clause */
#include "words.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

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
	return false;
}

bool words_line(struct words *w, const char *what)
{
	while (getline(&w->line, &w->size, w->f) > 0) {
		w->number++;
		w->line[strcspn(w->line, "\r\n")] = '\0';
		w->at = w->line + strspn(w->line, " \t");
		if (*w->at)
			return true;
	}
	w->number++;
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
