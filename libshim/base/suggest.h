/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_BASE_SUGGEST_H
#define CCS_BASE_SUGGEST_H
/*
 * "Did you mean": the offered name that is nearest to a mistyped word.
 *
 *	struct ccs_suggestion n = ccs_suggest_for(word);
 *	for each known name: ccs_suggest_offer(&n, name);
 *	printf("no '%s'%s", word, ccs_suggest_hint(&n, buf, sizeof(buf)));
 */
#include <stddef.h>

struct ccs_suggestion {
	const char *word;
	const char *best;   /* NULL while no name is near enough */
	unsigned distance;  /* distance of best; without it the lowest distance that is too far */
};

struct ccs_suggestion ccs_suggest_for(const char *word);
void ccs_suggest_offer(struct ccs_suggestion *n, const char *name);

/* "; did you mean 'best'?", or "" if no name is near. */
char *ccs_suggest_hint(const struct ccs_suggestion *n, char *buf, size_t len);

#endif
