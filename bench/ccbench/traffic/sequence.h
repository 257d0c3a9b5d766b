/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_SEQUENCE_H
#define BENCH_SEQUENCE_H
/*
 * The order of messages of flows with ARRIVE_STEPS at one host: which may be posted, and when a group
 * of flows begins its next operation there. An operation begins at a host a pause after the end of
 * the one before, which ends when the host has all its messages and all that it sent are complete.
 * Pure but for its memory.
 */
#include "bench/ccbench/traffic/proto.h"

/* A group's operation at this host. */
struct operation {
	uint32_t group;
	uint64_t number;
	int64_t start;           /* when it began; FLOW_FOREVER: in the pause before it */
	int64_t due;             /* end of that pause */
	int64_t pause;
	uint32_t timed;          /* the end with the samples, or UINT32_MAX: no samples */
};

struct sequence {
	const struct proto_end *end;
	uint32_t n;
	uint64_t *done;          /* messages received, or sent and complete, by end */
	uint32_t (*after)[2];    /* index of the end + 1, or 0 */
	uint32_t *operation_of;  /* by end: index of its group's operation */
	struct operation *operation;
	uint32_t operations;
};

/* 0, or -1 without memory. first: when a flow starts, on the clock of the later times. */
int sequence_init(struct sequence *s, const struct proto_end *end, uint32_t n, int64_t start);
void sequence_free(struct sequence *s);

/* Whether message m of an end that posts may be posted now. */
bool sequence_may_post(const struct sequence *s, uint32_t end, uint64_t m);

/* A message of this end was received, or is complete. The operation that ended by that, or NULL;
 * its next one is due later, but `start` is still when it began. */
const struct operation *sequence_done(struct sequence *s, uint32_t end);
void sequence_pause(struct sequence *s, const struct operation *ended, int64_t now);

/* Begin the operations that are due, and return when the next is. */
int64_t sequence_begin(struct sequence *s, int64_t now);

#endif
