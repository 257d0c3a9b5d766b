/* SPDX-License-Identifier: BSD-2-Clause */
#include "collectives.h"

#include "base/array.h"

static void add(struct steps *s, struct step step)
{
	s->failed = s->failed || !CCS_GROW(s->v, s->n);
	if (!s->failed)
		s->v[s->n++] = step;
}

/* After N - 1 steps each host has a part that is reduced, after as many again all parts. A host
 * sends the data that arrived in the step before. */
static bool add_ring(struct steps *s, unsigned n, uint64_t size)
{
	const unsigned first = s->n + 1;

	if (size < n)
		return false;
	for (unsigned i = 0; i < n; i++)
		add(s, (struct step){
			.src = i, .dst = (i + 1) % n, .size = (size + n - 1) / n,
			.messages = 2 * (n - 1), .after = { first + (i + n - 1) % n }, .lag = 1,
		});
	return true;
}

/* Node i of a tree, whose parent is (i - 1) / 2, is host i, or the last but i. */
static unsigned host_of(unsigned n, unsigned tree, unsigned i)
{
	return tree ? n - 1 - i : i;
}

/* Pieces go up when the children's have arrived, and down when they have arrived from above; from
 * the root when all its children's have. */
static void add_tree(struct steps *s, unsigned n, unsigned tree, uint64_t size, uint64_t piece)
{
	const unsigned up = s->n; /* node i's step is up + n - i */
	struct step step = { .messages = (unsigned)((size + piece - 1) / piece) };

	step.size = (size + step.messages - 1) / step.messages;
	for (unsigned i = n - 1; i; i--) {
		step.src = host_of(n, tree, i);
		step.dst = host_of(n, tree, (i - 1) / 2);
		step.after[0] = 2 * i + 1 < n ? up + n - (2 * i + 1) : 0;
		step.after[1] = 2 * i + 2 < n ? up + n - (2 * i + 2) : 0;
		add(s, step);
	}
	for (unsigned i = 1; i < n; i++) {
		const unsigned parent = (i - 1) / 2, down = up + n - 1;

		step.src = host_of(n, tree, parent);
		step.dst = host_of(n, tree, i);
		step.after[0] = parent ? down + parent : up + n - 1;
		step.after[1] = parent || n < 3 ? 0 : up + n - 2;
		add(s, step);
	}
}

static bool add_trees(struct steps *s, unsigned n, uint64_t size, uint64_t piece)
{
	if (size < 2)
		return false;
	add_tree(s, n, 0, size / 2, piece);
	add_tree(s, n, 1, size - size / 2, piece);
	return true;
}

/* Each host exchanges data with the partner that differs in one bit; *last is the bit before. */
static void add_exchange(struct steps *s, unsigned n, unsigned bit, unsigned *last, uint64_t size)
{
	const unsigned before = s->n - n + 1; /* of host 0 in the exchange before, if there is one */

	for (unsigned i = 0; i < n; i++)
		add(s, (struct step){
			.src = i, .dst = i ^ bit, .size = size, .messages = 1,
			.after = { *last ? before + (i ^ *last) : 0 },
		});
	*last = bit;
}

/* First the highest bit, then back. */
static bool add_halving(struct steps *s, unsigned n, uint64_t size)
{
	unsigned last = 0;

	if ((n & (n - 1)) != 0 || size < n)
		return false;
	for (unsigned bit = n / 2; bit; bit /= 2)
		add_exchange(s, n, bit, &last, size / n * bit);
	for (unsigned bit = 1; bit < n; bit *= 2)
		add_exchange(s, n, bit, &last, size / n * bit);
	return true;
}

static const char *const names[] = { "halving", "tree", "ring" };

const char *collective_name(enum collective c)
{
	return c < sizeof(names) / sizeof(*names) ? names[c] : NULL;
}

bool collective_steps(struct steps *s, enum collective c, unsigned hosts, uint64_t size,
		      uint64_t piece)
{
	if (hosts < 2)
		return false;
	switch (c) {
	case COLLECTIVE_HALVING: return add_halving(s, hosts, size);
	case COLLECTIVE_TREE: return add_trees(s, hosts, size, piece ? piece : COLLECTIVE_PIECE);
	case COLLECTIVE_RING: return add_ring(s, hosts, size);
	}
	return false;
}

void request_steps(struct steps *s, unsigned client, unsigned server, uint64_t request,
		   uint64_t response)
{
	const unsigned first = s->n + 1;

	add(s, (struct step){ .src = client, .dst = server, .size = request, .messages = 1 });
	add(s, (struct step){ .src = server, .dst = client, .size = response, .messages = 1,
			      .after = { first } });
}

void steps_free(struct steps *s)
{
	free(s->v);
	*s = (struct steps){ 0 };
}
