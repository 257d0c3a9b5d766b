/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_WORKER_H
#define BENCH_WORKER_H
/* The processes of a run: `ccbench worker FD`, started by the orchestrator only. */
#include "clock.h"
#include "endpoint.h"
#include "xchg.h"

struct worker {
	struct xchg x;
	struct proto_config cfg;
	struct endpoint e;
	struct proto_start start;
	struct rng rng;
};

int worker_main(int argc, char **argv);

/* Each: 0, or -1 with e.error set. */
int traffic_run(struct worker *w);  /* post messages until the end, drain, report FLOWs */
int passive_run(struct worker *w);  /* hold memory, repost receives, until STOP */
int victim_run(struct worker *w);   /* ping until the end or STOP, report SAMPLES */

/* The orchestrator has gone or there is no memory: -1. */
int worker_send(struct worker *w, uint32_t type, const void *data, size_t len);

#endif
