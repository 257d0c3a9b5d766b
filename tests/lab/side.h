/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TESTS_SIDE_H
#define CCS_TESTS_SIDE_H
/* One end of a connection in the lab. Whatever fails ends the program with a message. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct side {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *scq, *rcq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	union ibv_gid gid;
	uint8_t *memory, *want;          /* want: the program's own */
};

/* The device of that name, and memory that the peer may use. */
void side_open(struct side *s, const char *name, size_t memory);
void side_close(struct side *s);

/* A channel, two CQs on it and a QP of that size, which is connected later. */
void side_make(struct side *s, const struct ibv_qp_cap *cap);
void side_unmake(struct side *s);
void side_connect(struct side *s, const struct side *peer);

/* Sleeps for an event of a CQ that was armed. */
void side_sleep(struct side *s);

#define check(ok, ...)                                                                             \
	do {                                                                                       \
		if (!(ok)) {                                                                       \
			fprintf(stderr, "%s: ", program_invocation_short_name);                    \
			fprintf(stderr, __VA_ARGS__);                                              \
			fprintf(stderr, " [%s]\n", #ok);                                           \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

#endif
