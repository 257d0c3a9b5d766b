/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_PROTO_H
#define BENCH_PROTO_H
/*
 * What the orchestrator and a worker say to each other, in this order:
 *
 *	orchestrator            worker
 *	CONFIG          ->              who you are
 *	                <-  LOCAL       my QPs
 *	PEERS           ->              their other ends, the path MTU
 *	                <-  READY       connected, receives posted
 *	START           ->              the clock times of the run
 *	                <-  FLOW...     one for each QP that posted (senders; receiver of reads)
 *	                <-  SAMPLES     the victim's latencies
 *	                <-  DONE
 *	STOP            ->              nobody needs your memory any more; to the victim: enough
 *
 * or an ERROR with a sentence at any time. Both sides are the same program.
 */
#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "base/hist.h"
#include "curve.h"
#include "figures.h"
#include "opts.h"

enum proto_type {
	PROTO_ERROR = 1, PROTO_CONFIG, PROTO_LOCAL, PROTO_PEERS, PROTO_READY, PROTO_START,
	PROTO_FLOW, PROTO_SAMPLES, PROTO_DONE, PROTO_STOP,
};

enum role { ROLE_TRAFFIC, ROLE_VICTIM };

/*
 * A worker owns nqps QPs. The first `active` post messages (all of them for a
 * sender, of a write; of a read the receiver posts and the senders hold the data);
 * the others only hold memory or receives. The victim's QP is the receiver's last.
 */
struct proto_config {
	enum role role;
	enum bench_op op;
	char device[DEVICE_LEN];
	uint32_t gid_index, tclass;
	uint32_t rank, zero;
	uint32_t nqps, active;
	uint32_t receives;      /* the first so many QPs post receives: of a passive end of sends */
	uint32_t depth;
	uint32_t poll;          /* spin */
	uint32_t small_last;    /* the last QP is the victim's */
	uint64_t size, victim_size;
	uint64_t iterations;
	uint64_t seed;
	int64_t interval;       /* victim: pause, ns */
};

/* One end of a connection. */
struct proto_qp {
	uint32_t qpn, psn, rkey, lid;
	uint64_t addr;
	union ibv_gid gid;
};

/* LOCAL: this, then nqps times struct proto_qp. PEERS: the same, mtu the path's. */
struct proto_local {
	uint32_t mtu;           /* the port's active MTU, bytes */
	uint32_t vendor_id;
	uint32_t ipv6, zero;
};

/* Messages have no padding, which would carry whatever was in memory, and arrays stand aligned. */
_Static_assert(sizeof(struct proto_config) == 8 + DEVICE_LEN + 10 * 4 + 5 * 8, "padding");
_Static_assert(sizeof(struct proto_qp) == 40, "padding");
_Static_assert(sizeof(struct proto_local) % _Alignof(struct proto_qp) == 0, "alignment");

struct proto_start {
	int64_t start, end;     /* CLOCK_MONOTONIC, ns; end: of posting, INT64_MAX by iterations */
	int64_t measure;        /* latencies of messages posted before this do not count */
	int64_t stagger;        /* start within so long after start */
	int64_t resolution;     /* of the curves */
};

struct proto_error {
	int32_t exit_code;      /* 2: the user asked for what is not there */
	char text[252];
};

/* FLOW: as much of it as the curve holds. */
struct proto_flow {
	uint32_t index, qpn;    /* of the worker's QPs */
	uint64_t messages, errors;
	char status[64];        /* of the first error */
	struct ccs_hist latency; /* ns, of what was posted within the measured time */
	struct curve curve;
};

/* SAMPLES: an array of these. */
struct proto_sample {
	int64_t posted;
	int64_t latency;        /* ns; -1: failed */
};

#endif
