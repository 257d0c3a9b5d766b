/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_FLOW_H
#define BENCH_FLOW_H
/*
 * The traffic of one QP. A scenario is a list of these; the code that runs it needs to
 * know no more.
 */
#include <stdint.h>

#include "bench/ccbench/scenario/figures.h"
#include "bench/common/sizes.h"

enum flow_class { CLASS_BULK, CLASS_LATENCY, CLASS_CLAIM };

enum arrival {
	ARRIVE_BACKLOGGED,  /* `depth` messages outstanding all the time */
	ARRIVE_PINGPONG,    /* one at a time, then a pause of interval, half of it more or less */
	ARRIVE_POISSON,     /* interval on the average, whatever became of those before */
	ARRIVE_STEPS,       /* when messages of other flows have arrived; see traffic/sequence.h */
};

#define FLOW_FOREVER INT64_MAX

/* Times in ns after the start of the run. No padding: it goes from process to process. */
struct flow_spec {
	uint32_t src, dst;     /* hosts: data goes from src to dst, so a READ is posted by dst */
	uint32_t qp;           /* index among flows of the same two hosts and class */
	uint32_t op;           /* enum bench_op */
	uint32_t class, arrival, sizes; /* the enums of these names */
	uint32_t depth;        /* WRs outstanding at most */
	uint32_t pool;         /* QPs that share its messages, qp numbers them; 0: no pool */
	uint32_t stream;       /* of random numbers: the same with a pool and without */
	uint32_t group;        /* ARRIVE_STEPS: flows with common operations */
	uint32_t per_operation; /* messages */
	uint32_t after[2];     /* index in the list + 1, or 0: message m follows their m - lag */
	uint32_t lag;          /* this number of an operation's messages do not wait */
	uint32_t timed;        /* its host measures the time of operations */
	uint64_t size;         /* message size, if fixed */
	uint64_t wr_size;      /* larger messages take several WRs */
	uint64_t messages;     /* number of messages; 0: it ends by time */
	int64_t interval;      /* ARRIVE_STEPS: the pause between operations */
	int64_t start, stop;   /* of messages' arrival; FLOW_FOREVER: as long as the run */
};

_Static_assert(sizeof(struct flow_spec) == 16 * 4 + 6 * 8, "padding");

/* The fate of one message. */
struct flow_sample {
	int64_t arrived;       /* before it was posted, if others were in front of it */
	int64_t latency;       /* from then to the completion; -1: failed */
	uint64_t size;
};

/* The host that posts. */
static inline uint32_t flow_poster(const struct flow_spec *f)
{
	return f->op == OP_READ ? f->dst : f->src;
}

/*
 * Do messages arrive at it? Of a pool only at the first QP, which has the whole pool's; the
 * others of the pool follow it in the list.
 */
static inline int flow_has_arrivals(const struct flow_spec *f)
{
	return !f->pool || f->qp == 0;
}

/* Whether a notification follows each message, a WRITE of no bytes with immediate data. */
static inline int flow_notifies(const struct flow_spec *f)
{
	return f->arrival == ARRIVE_STEPS && f->op == OP_WRITE;
}

/* Whether each message's time is kept; of ARRIVE_STEPS, each operation's. It means little for a backlogged flow. */
static inline int flow_sampled(const struct flow_spec *f)
{
	return f->arrival != ARRIVE_BACKLOGGED;
}

#endif
