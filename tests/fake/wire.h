/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FAKERDMA_WIRE_H
#define FAKERDMA_WIRE_H
/*
 * Communication between processes: each has a file in the directory FAKERDMA_WIRE with a ring of
 * messages for it, and blocks for the data of its requests. A responder copies from or to these
 * blocks, so no process needs access to the memory of another.
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
	uint32_t from;                   /* slot of the requester */
	uint64_t id;                     /* id of the process in that slot */
	uint32_t block, serial;          /* set by the requester; an answer repeats them */
	int answer;
	struct fake_request req;
};

struct wire_file;

/* Returns 0 or an errno. Without FAKERDMA_WIRE it does not join a wire. */
int wire_join(void);
bool wire_on(void); /* whether this process has joined; needs no lock */
/* This process's slot; 0: not joined. */
uint32_t wire_slot(void);
/* Called in the child after a fork: the child has not joined. */
void wire_forked(void);
/* NULL: the process is dead or never existed. */
struct wire_file *wire_of(uint32_t slot);
/* 0: unused. The next process in a slot has another id. */
uint64_t wire_id(const struct wire_file *file);
unsigned char *wire_block(struct wire_file *file, uint32_t block);
struct wire_file *wire_own(void);
/*
 * Returns false if the ring is full. It never is for answers: requests leave space for all
 * pending ones.
 */
bool wire_push(struct wire_file *to, const struct wire_msg *msg);
bool wire_pop(struct wire_msg *msg);
/* Wait for a message, or until a short timeout. */
void wire_wait(void);

#endif
