/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_MESSAGES_H
#define BENCH_MESSAGES_H
/*
 * The messages of one QP that have arrived and are not complete, in order: those in front
 * are posted, WR by WR, the others wait. All zero is an empty one. Pure but for its memory.
 */
#include <stddef.h>
#include <stdint.h>

struct message {
	int64_t arrived;
	uint64_t size;
	uint64_t left;      /* bytes whose WRs have not completed */
};

struct messages {
	struct message *v;  /* a ring */
	size_t room;        /* a power of two */
	uint64_t head, tail, posting; /* oldest, past the newest, first that is not wholly posted */
	uint64_t posted;    /* bytes of the message at `posting` */
	uint64_t wr_size;
};

/* 0, or -1 without memory. wr_size is the same for all. */
int messages_push(struct messages *q, int64_t arrived, uint64_t size, uint64_t wr_size);

/* The length of the next WR, which counts as posted now; 0 if all are posted. */
uint32_t messages_next_wr(struct messages *q);

/* The oldest WR is complete: its length. */
uint64_t messages_wr_done(struct messages *q);

/* The oldest message, which is there. */
struct message *messages_head(const struct messages *q);
struct message messages_pop(struct messages *q);

static inline uint64_t messages_count(const struct messages *q)
{
	return q->tail - q->head;
}

void messages_free(struct messages *q);

#endif
