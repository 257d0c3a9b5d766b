/* SPDX-License-Identifier: BSD-2-Clause */
#include "messages.h"

#include <stdlib.h>

static struct message *at(const struct messages *q, uint64_t i)
{
	return &q->v[i & (q->room - 1)];
}

static int grow(struct messages *q)
{
	struct messages larger = *q;
	uint64_t i;

	larger.room = q->room ? 2 * q->room : 16;
	larger.v = calloc(larger.room, sizeof(*larger.v));
	if (!larger.v)
		return -1;
	for (i = q->head; i != q->tail; i++)
		*at(&larger, i) = *at(q, i);
	free(q->v);
	*q = larger;
	return 0;
}

int messages_push(struct messages *q, int64_t arrived, uint64_t size, uint64_t wr_size)
{
	if (messages_count(q) == q->room && grow(q))
		return -1;
	q->wr_size = wr_size;
	*at(q, q->tail++) = (struct message){ arrived, size, size };
	return 0;
}

uint32_t messages_next_wr(struct messages *q)
{
	uint64_t rest;

	if (q->posting == q->tail)
		return 0;
	rest = at(q, q->posting)->size - q->posted;
	if (rest > q->wr_size) {
		q->posted += q->wr_size;
		return (uint32_t)q->wr_size;
	}
	q->posting++;
	q->posted = 0;
	return (uint32_t)rest;
}

uint64_t messages_wr_done(struct messages *q)
{
	struct message *m = messages_head(q);
	uint64_t length = m->left < q->wr_size ? m->left : q->wr_size;

	m->left -= length;
	return length;
}

struct message *messages_head(const struct messages *q)
{
	return at(q, q->head);
}

struct message messages_pop(struct messages *q)
{
	return *at(q, q->head++);
}

void messages_free(struct messages *q)
{
	free(q->v);
}
