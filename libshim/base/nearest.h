/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_BASE_NEAREST_H
#define CCS_BASE_NEAREST_H
/*
 * "Did you mean": the offered name that is nearest to a mistyped word.
 *
 *	struct ccs_nearest n = ccs_nearest_to(word);
 *	for each known name: ccs_nearest_offer(&n, name);
 *	printf("no '%s'%s", word, ccs_nearest_hint(&n, buf, sizeof(buf)));
 */
#include <stddef.h>

struct ccs_nearest {
	const char *word;
	const char *best;   /* NULL while nothing is near enough */
	unsigned distance;  /* of best; else the first distance that is too far */
};

struct ccs_nearest ccs_nearest_to(const char *word);
void ccs_nearest_offer(struct ccs_nearest *n, const char *name);

/* "; did you mean 'best'?", or "" if nothing is near. */
char *ccs_nearest_hint(const struct ccs_nearest *n, char *buf, size_t len);

#endif
