/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_RUN_H
#define BENCH_RUN_H
/* One run of a scenario under one setting: what was observed, not yet what it means. */
#include "opts.h"
#include "proto.h"
#include "sampler.h"
#include "spawn.h"

struct run {
	const struct opts *o;
	const struct setting *setting;
	const char *preload, *dir;    /* the shim; where its reports go */

	/* Times of the run: of its start, of the end of warm-up, of its end. ns. */
	int64_t start, measure, end;
	uint32_t mtu, vendor_id;
	bool ipv6;
	unsigned nflows;
	struct proto_flow **flow;     /* by sender, then QP */
	struct proto_sample *victim;
	size_t nvictim;
	struct sampler sampler;
	bool sampled;
	char **shim;                  /* the shim's report of each worker, or NULL; opts_hosts() */

	/* While it runs. */
	struct child child[MAX_HOSTS];
	struct proto_qp *qp[MAX_HOSTS];
	bool done[MAX_HOSTS];
	int64_t give_up;
	char err[512];
	int exit_code;
};

/* 0, or -1 with err and exit_code. All processes have ended either way. */
int run_execute(struct run *r);

void run_free(struct run *r);

#endif
