/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_ENDPOINT_H
#define BENCH_ENDPOINT_H
/*
 * A worker's end of its connections: one device, one CQ for sends, one CQ for receives, and RC QPs
 * with a buffer each. It is an ordinary verbs program: it uses the functions that applications use,
 * and is not aware of the shim.
 */
#include "bench/ccbench/traffic/proto.h"
#include "bench/common/rng.h"

struct endpoint {
	const struct proto_config *cfg;
	const struct proto_end *end; /* cfg->nqps entries, one per QP */
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_comp_channel *channel, *recv_channel;
	struct ibv_cq *cq, *recv_cq;
	struct ibv_qp **qp;
	uint64_t *offset;        /* of each QP's buffer for one WR; QPs of a pool share a buffer */
	char *buffer;
	size_t length;
	uint32_t unacked[2];     /* events not yet acknowledged: cq, recv_cq */
	struct proto_local local;
	struct proto_qp *mine;   /* cfg->nqps of them */
	const struct proto_qp *peer;
	struct proto_error error;
};

/* WRs outstanding at most, notifications included. */
static inline uint32_t endpoint_send_depth(const struct flow_spec *f)
{
	return f->depth * (flow_notifies(f) ? 2 : 1);
}

/* Open the device, make CQs and QPs, fill in local and mine. 0, or -1 with error set. */
int endpoint_open(struct endpoint *e, const struct proto_config *cfg,
		  const struct proto_end *end, struct rng *rng);

/* Bring all QPs to RTS towards peer[] (kept, not copied) and post the receives. */
int endpoint_connect(struct endpoint *e, const struct proto_qp *peer, uint32_t mtu);

void endpoint_close(struct endpoint *e);

/* Take the event that a CQ's channel has, and arm it for the next. Poll until empty after it.
 * 0, or -1 with error set. */
int endpoint_event(struct endpoint *e, bool receive);

/* Post one receive on QP i. */
int endpoint_receive(struct endpoint *e, uint32_t i);

/* Set error, with errno's text where err is not 0; -1. */
int endpoint_fail(struct endpoint *e, int exit_code, int err, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
