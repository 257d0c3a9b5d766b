/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_PROTO_H
#define BENCH_PROTO_H
/*
 * The messages between the orchestrator and a worker, of which each host has one, in order:
 *
 *	orchestrator            worker
 *	CONFIG          ->              the worker's host, and the flows that end there
 *	                <-  LOCAL       its QPs
 *	PEERS           ->              the peers of these QPs, the path MTU
 *	                <-  READY       connected, receives posted
 *	START           ->              the clock times of the run
 *	                <-  DONE        all flows with an end have ended
 *	STOP            ->              the other flows end now
 *	                <-  FLOW, SAMPLES...    for each flow that it posted
 *	                <-  REPORTED
 *	BYE             ->              its memory is no longer accessed
 *
 * or an ERROR with a message at any time. Both sides are the same program on the same architecture.
 * All times are in ns of the orchestrator's CLOCK_MONOTONIC.
 */
#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "base/hist.h"
#include "bench/ccbench/traffic/curve.h"
#include "bench/ccbench/scenario/flow.h"
#include "bench/ccbench/scenario/opts.h"

enum proto_type {
	PROTO_ERROR = 1, PROTO_CONFIG, PROTO_LOCAL, PROTO_PEERS, PROTO_READY, PROTO_START,
	PROTO_DONE, PROTO_STOP, PROTO_FLOW, PROTO_SAMPLES, PROTO_REPORTED, PROTO_BYE,
};

/* A worker's end of a flow: one QP. */
struct proto_end {
	uint32_t flow;          /* its index in the run */
	uint32_t posts;         /* 0: this end provides memory, and receives for SENDs */
	struct flow_spec spec;
};

/* CONFIG: this, then nqps times struct proto_end. */
struct proto_config {
	char device[DEVICE_LEN]; /* "": the first device */
	uint32_t gid_index, tclass;
	uint32_t rank, nqps;
	uint32_t poll, tenant;  /* poll: no events; tenant: from 1, 0: none */
	int64_t poll_interval, late; /* ns; poll_interval 0: spin */
	double late_share;      /* share of polls after a completion that are late by `late` */
	uint64_t seed;
	int64_t offset;         /* orchestrator's clock minus this host's */
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
	char provider[32];      /* "libmlx5" */
};

/* Messages have no padding, which would carry whatever was in memory, and arrays stand aligned. */
_Static_assert(sizeof(struct proto_config) == DEVICE_LEN + 6 * 4 + 5 * 8, "padding");
_Static_assert(sizeof(struct proto_config) % _Alignof(struct proto_end) == 0, "alignment");
_Static_assert(sizeof(struct proto_qp) == 40, "padding");
_Static_assert(sizeof(struct proto_local) % _Alignof(struct proto_qp) == 0, "alignment");

struct proto_start {
	int64_t start, end;     /* end: of messages' arrival; FLOW_FOREVER: they are counted */
	int64_t measure;        /* latencies of messages before this do not count */
	int64_t resolution;     /* of each curve, ns */
};

struct proto_error {
	int32_t exit_code;      /* 2: an option named what does not exist */
	char text[252];
};

/* FLOW: this, without the unused points of the curve. */
struct proto_flow {
	uint32_t flow, qpn;
	uint64_t messages, errors;
	uint64_t waited;        /* messages that found no free QP in the pool */
	char status[64];        /* status of the first error */
	struct ccs_hist latency; /* ns, for messages that arrived after the warm-up */
	struct curve curve;
};

/* SAMPLES: this, then an array of struct flow_sample. */
struct proto_samples {
	uint32_t flow, zero;
};

#endif
