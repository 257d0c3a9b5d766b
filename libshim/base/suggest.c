/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/suggest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define LONGEST 48u /* longer words are not taken for typing errors */

static unsigned min2(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static bool is_same_letter(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Insertions, deletions, substitutions and swaps of neighbours that make a into b. */
static unsigned edit_distance(const char *a, size_t alen, const char *b, size_t blen)
{
	unsigned char rows[3][LONGEST + 1];
	unsigned char *before = rows[0], *last = rows[1], *row = rows[2], *oldest;

	for (size_t j = 0; j <= blen; j++)
		last[j] = (unsigned char)j;
	for (size_t i = 1; i <= alen; i++) {
		row[0] = (unsigned char)i;
		for (size_t j = 1; j <= blen; j++) {
			unsigned d = last[j - 1] + !is_same_letter(a[i - 1], b[j - 1]);

			d = min2(d, min2(last[j], row[j - 1]) + 1u);
			if (i > 1 && j > 1 && is_same_letter(a[i - 1], b[j - 2]) &&
			    is_same_letter(a[i - 2], b[j - 1]))
				d = min2(d, before[j - 2] + 1u);
			row[j] = (unsigned char)d;
		}
		oldest = before;
		before = last;
		last = row;
		row = oldest;
	}
	return last[blen];
}

struct ccs_suggestion ccs_suggest_for(const char *word)
{
	/* One typing error in a short word, and one more for every four letters. */
	return (struct ccs_suggestion){ word, NULL, 2 + (unsigned)(strlen(word) / 4) };
}

void ccs_suggest_offer(struct ccs_suggestion *n, const char *name)
{
	const size_t wlen = strlen(n->word), nlen = strlen(name);
	unsigned d;

	if (wlen > LONGEST || nlen > LONGEST)
		return;
	/* The beginning of a name means the name, and so does a longer form of it. */
	if ((wlen >= 2 && strncasecmp(n->word, name, wlen) == 0) ||
	    (nlen >= 4 && strncasecmp(n->word, name, nlen) == 0))
		d = nlen != wlen;
	else
		d = edit_distance(n->word, wlen, name, nlen);
	if (d < n->distance && d < nlen) {
		n->distance = d;
		n->best = name;
	}
}

char *ccs_suggest_hint(const struct ccs_suggestion *n, char *buf, size_t len)
{
	snprintf(buf, len, n->best ? "; did you mean '%s'?" : "%s", n->best ? n->best : "");
	return buf;
}
