/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_WORKER_H
#define BENCH_WORKER_H
/* The processes of a run: `ccbench worker FD`, started by the orchestrator only. */
#include "bench/common/clock.h"
#include "bench/ccbench/traffic/endpoint.h"
#include "bench/ccbench/traffic/xchg.h"

struct worker {
	struct xchg x;
	struct proto_config cfg;
	struct proto_end *end;   /* cfg.nqps of them */
	struct endpoint e;
	struct proto_start start;
};

int worker_main(int argc, char **argv);

/* Carry the flows: from the start to BYE. 0, or -1 with e.error set. */
int traffic_run(struct worker *w);

/* 0; -1 with e.error set if the orchestrator has ended or memory is short. */
int worker_send(struct worker *w, uint32_t type, const void *data, size_t len);

/* The next message, which must be of that type and at least of that length; data to be freed. */
int worker_expect(struct worker *w, uint32_t type, size_t len, struct xchg_msg *m);

/* The orchestrator's clock. */
static inline int64_t worker_now(const struct worker *w)
{
	return now_ns() + w->cfg.offset;
}

#endif
