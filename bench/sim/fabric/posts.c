/* SPDX-License-Identifier: BSD-2-Clause */
#include "posts.h"

#include "bench/sim/core/memory.h"

static void grow(struct posts *p)
{
	const uint64_t mask = p->post ? 2 * p->mask + 1 : 63;
	struct post *larger = mem_zeroed((size_t)mask + 1, sizeof(*larger));

	for (uint64_t i = p->first; i != p->end; i++)
		larger[i & mask] = *posts_at(p, i);
	free(p->post);
	p->post = larger;
	p->mask = mask;
}

void posts_add(struct posts *p, struct post new)
{
	if (!p->post || p->end - p->first > p->mask)
		grow(p);
	*posts_at(p, p->end++) = new;
}

void posts_free(struct posts *p)
{
	free(p->post);
	*p = (struct posts){ 0 };
}
