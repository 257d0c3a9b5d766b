/* SPDX-License-Identifier: BSD-2-Clause */
/* The order in which switches should change their tables. */
#include <stdlib.h>

#include "fabric/cbd.h"

/* Whether all mixtures of the switches before and any of the group are good. */
static bool is_free_group(const bool *good, unsigned before, unsigned group)
{
	for (unsigned subset = group;; subset = (subset - 1) & group) {
		if (!good[before | subset])
			return false;
		if (!subset)
			return true;
	}
}

/* Groups as large as possible, one after the other. Does not always find an order. */
static unsigned order_groups(const bool *good, unsigned n, unsigned *group)
{
	const unsigned all = (1u << n) - 1;
	unsigned before = 0, groups = 0;

	while (before != all) {
		unsigned members = 0;

		for (unsigned i = 0; i < n; i++) {
			const unsigned bit = 1u << i;

			if (before & bit || !is_free_group(good, before, members | bit))
				continue;
			members |= bit;
			group[i] = groups;
		}
		if (!members)
			return 0;
		before |= members;
		groups++;
	}
	return groups;
}

/* One switch after the other: from[s] is 1 + the last switch changed on a good way to the
 * mixture s. */
static unsigned order_singly(const bool *good, unsigned n, unsigned *group)
{
	const unsigned all = (1u << n) - 1;
	unsigned char *from = calloc(all + 1u, 1);
	unsigned mixture = all;

	if (!from)
		return 0;
	from[0] = good[0];
	for (unsigned s = 1; s <= all; s++)
		for (unsigned i = 0; i < n && good[s] && !from[s]; i++)
			if (s & 1u << i && from[s ^ 1u << i])
				from[s] = (unsigned char)(i + 1);
	for (unsigned place = n; from[all] && place-- > 0; mixture ^= 1u << (from[mixture] - 1))
		group[from[mixture] - 1] = place;
	n = from[all] ? n : 0;
	free(from);
	return n;
}

unsigned ccs_cbd_safe_order(const bool *good, unsigned n, unsigned *group)
{
	const unsigned groups = order_groups(good, n, group);

	return groups ? groups : order_singly(good, n, group);
}
