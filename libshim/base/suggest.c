/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/suggest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { ERRORS_MOST = 4 };

static bool is_same_letter(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static unsigned min2(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Insertions, deletions, substitutions and swaps of neighbours that make a into b; above `most`:
 * there are more than that. The time is exponential in `most`. */
static unsigned edit_distance(const char *a, const char *b, unsigned most)
{
	unsigned d = most;

	for (; *a && is_same_letter(*a, *b); a++)
		b++;
	if (!*a && !*b)
		return 0;
	if (!most)
		return 1;
	if (*a && *b)
		d = min2(d, edit_distance(a + 1, b + 1, most - 1));
	if (*a)
		d = min2(d, edit_distance(a + 1, b, most - 1));
	if (*b)
		d = min2(d, edit_distance(a, b + 1, most - 1));
	if (*a && *b && is_same_letter(a[0], b[1]) && is_same_letter(a[1], b[0]))
		d = min2(d, edit_distance(a + 2, b + 2, most - 1));
	return d + 1;
}

struct ccs_suggestion ccs_suggest_for(const char *word)
{
	/* One typing error in a short word, and one more for every four letters. */
	return (struct ccs_suggestion){ word, NULL, 2 + (unsigned)(strlen(word) / 4) };
}

/* Whether the name, or one of its parts as in "out_json", begins with the first letters of the word. */
static bool has_part(const char *name, const char *word, size_t len)
{
	while (strncasecmp(name, word, len) != 0) {
		name += strcspn(name, "-_");
		if (!*name++)
			return false;
	}
	return true;
}

void ccs_suggest_offer(struct ccs_suggestion *n, const char *name)
{
	const size_t wlen = strlen(n->word), nlen = strlen(name);
	const unsigned most = min2(n->distance - 1, ERRORS_MOST);
	unsigned d;

	if (!n->distance)
		return;
	/* The beginning of a name means the name, and so does a longer form of it. */
	if ((wlen >= 2 && has_part(name, n->word, wlen)) || (nlen >= 4 && strncasecmp(n->word, name, nlen) == 0))
		d = nlen != wlen;
	else if (nlen >= 4 && has_part(n->word, name, nlen))
		d = min2(2, edit_distance(n->word, name, most));
	else
		d = edit_distance(n->word, name, most);
	if (d <= most && d < nlen) {
		n->distance = d;
		n->best = name;
	}
}

char *ccs_suggest_hint(const struct ccs_suggestion *n, char *buf, size_t len)
{
	snprintf(buf, len, n->best ? "; did you mean '%s'?" : "%s", n->best ? n->best : "");
	return buf;
}
