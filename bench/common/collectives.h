/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_COLLECTIVES_H
#define BENCH_COLLECTIVES_H
/* The messages of collective operations, and the order in which hosts can send them. */
#include <stdbool.h>
#include <stdint.h>

/*
 * One host's messages to another. In each operation message m may be sent when message m - lag of the
 * steps `after` has arrived, and the first `lag` messages at once.
 */
struct step {
	unsigned src, dst;       /* hosts, from 0 */
	uint64_t size;           /* of a message, bytes */
	unsigned messages;       /* of an operation */
	unsigned after[2], lag;  /* after: index of a step + 1, or 0 */
};

/* All zero is an empty list. */
struct steps {
	struct step *v;
	unsigned n;
	bool failed;             /* no memory: the list is incomplete */
};

enum collective { COLLECTIVE_HALVING, COLLECTIVE_TREE, COLLECTIVE_RING };

enum { COLLECTIVE_PIECE = 128 << 10 };

/* "halving", "tree", "ring"; NULL for others. */
const char *collective_name(enum collective c);

/*
 * The steps of an all-reduce of `size` bytes at each host. halving: each host exchanges halves of its
 * data with ever closer partners, and back; for a power of two of hosts. tree: two binary trees, each
 * for a half of the data, in pieces of `piece` bytes at most (0: COLLECTIVE_PIECE). ring: parts pass
 * round the hosts. False if there are too few bytes, or too few or the wrong number of hosts.
 */
bool collective_steps(struct steps *s, enum collective c, unsigned hosts, uint64_t size,
		      uint64_t piece);

/* A request, and the response that follows it. */
void request_steps(struct steps *s, unsigned client, unsigned server, uint64_t request,
		   uint64_t response);

void steps_free(struct steps *s);

#endif
