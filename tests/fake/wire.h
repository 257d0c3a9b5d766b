/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FAKERDMA_WIRE_H
#define FAKERDMA_WIRE_H
/*
 * Between processes: each has a file in the directory FAKERDMA_WIRE with a ring of
 * messages for it, and blocks for the data of the requests that it made itself. A
 * responder copies from there, or to there, so no process needs a right on another.
 *
 * A file's owner holds a lock on it, which the kernel drops when it dies. All
 * functions but wire_wait() are called with fake_lock held.
 */
#include "priv.h"

enum {
	WIRE_SLOTS = 1024,               /* processes; a QP number's upper bits, 0: no wire */
	WIRE_SLOT_SHIFT = 13,
	WIRE_RING = 1024,
	WIRE_BLOCKS = 64,                /* requests in flight */
};

struct wire_msg {
	enum { WIRE_REQUEST, WIRE_ANSWER } kind;
	uint32_t from;                   /* slot */
	uint64_t id;                     /* of the process that was there */
	uint32_t block, serial;          /* of the requester; an answer repeats them */
	int answer;
	struct fake_request req;
};

struct wire_file;

/* 0, or an errno. Without FAKERDMA_WIRE there is nothing to join. */
int wire_join(void);
bool wire_on(void); /* without the lock: joined */
/* Our own, 0: not joined. */
uint32_t wire_slot(void);
/* After a fork, in the child: not joined. */
void wire_forked(void);
/* NULL: it is dead, or never was. */
struct wire_file *wire_of(uint32_t slot);
/* 0: unused. The next process in a slot has another. */
uint64_t wire_id(const struct wire_file *file);
unsigned char *wire_block(struct wire_file *file, uint32_t block);
struct wire_file *wire_own(void);
/* False: full. Never for answers: requests leave space for all pending ones. */
bool wire_push(struct wire_file *to, const struct wire_msg *msg);
bool wire_pop(struct wire_msg *msg);
/* Until there is a message, or for a while. */
void wire_wait(void);

#endif
