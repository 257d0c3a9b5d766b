/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_SIM_POSTS_H
#define BENCH_SIM_POSTS_H
/* The segments of a flow that were handed to its NIC and are not acknowledged. Zero is empty. */
#include <stdint.h>

struct post {
	uint64_t at;             /* ps */
	uint64_t end;            /* the flow's bytes up to the end of this segment */
	uint32_t len;
};

struct posts {
	struct post *post;       /* ring: [first, end) */
	uint64_t first, end, mask;
	uint64_t next;           /* the segment whose bytes are sent next */
};

void posts_add(struct posts *p, struct post new);
void posts_free(struct posts *p);

static inline struct post *posts_at(const struct posts *p, uint64_t i)
{
	return &p->post[i & p->mask];
}

#endif
