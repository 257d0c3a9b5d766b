/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The known differences; see known.h. When one is fixed, random programs no longer see it: then
 * the test fails until its entry is removed here, and the line becomes an ordinary one.
 */
#include "known.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long value;

static bool only_shim(value bare, value shim)
{
	return !bare && shim;
}

enum { MLX5 = 1, OLD = 2, RXE = 4, ALL = MLX5 | OLD | RXE };
static const char *const profiles[] = { "mlx5", "mlx5-33", "rxe" };

static struct known {
	const char *name;
	unsigned profiles;
	bool (*applies)(value bare, value shim);
	unsigned long seen;
} known[] = {
	/* a second event of one request: for a receive and for a send that completed before it, or for a send of another QP, as LIMITS of libccshim(7) say */
	{ "events", ALL, only_shim, 0 },
	/* on one CQ for both ends: SENDs completed before the receive that they arrived in */
	{ "order", ALL, only_shim, 0 },
};

enum { N = sizeof(known) / sizeof(*known) };

static unsigned bit_of(const char *profile)
{
	unsigned i = 0;

	while (i < 2 && strcmp(profiles[i], profile) != 0)
		i++;
	return 1u << i;
}

/* Lines that differ: find the entry that both are about. */
static struct known *find(const char *bare, const char *shim)
{
	const size_t len = strcspn(bare, " \n");

	if (*bare != '~' || strncmp(bare, shim, len + 1) != 0)
		return NULL;
	for (unsigned i = 0; i < N; i++)
		if (strlen(known[i].name) == len - 1 &&
		    strncmp(known[i].name, bare + 1, len - 1) == 0)
			return &known[i];
	return NULL;
}

static bool is_known(unsigned profile, const char *bare, const char *shim)
{
	struct known *k = find(bare, shim);

	if (!k || !(k->profiles & profile) ||
	    !k->applies(strtoull(strchr(bare, ' '), NULL, 0),
			strtoull(strchr(shim, ' '), NULL, 0)))
		return false;
	k->seen++;
	return true;
}

bool known_records_differ(const char *profile, bool not_off, const char *bare, const char *shim)
{
	while (*bare && *shim) {
		const size_t a = strcspn(bare, "\n"), b = strcspn(shim, "\n");

		if ((a != b || strncmp(bare, shim, a) != 0) &&
		    !(not_off && is_known(bit_of(profile), bare, shim)))
			return true;
		bare += a + (bare[a] == '\n');
		shim += b + (shim[b] == '\n');
	}
	return *bare || *shim;
}

void known_start(void)
{
	for (unsigned i = 0; i < N; i++)
		known[i].seen = 0;
}

const char *known_unseen(const char *profile)
{
	const char *unseen = NULL;

	for (unsigned i = 0; i < N; i++) {
		if (!(known[i].profiles & bit_of(profile)))
			continue;
		printf("# known difference %s: %lu times\n", known[i].name, known[i].seen);
		if (!known[i].seen)
			unseen = known[i].name;
	}
	return unseen;
}
