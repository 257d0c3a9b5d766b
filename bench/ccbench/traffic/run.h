/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_RUN_H
#define BENCH_RUN_H
/* One run of a list of flows under one setting: what was observed, not yet what it means. */
#include "bench/ccbench/scenario/inforce.h"
#include "bench/ccbench/scenario/opts.h"
#include "bench/ccbench/place/place.h"
#include "bench/ccbench/traffic/proto.h"
#include "sampler.h"
#include "bench/ccbench/scenario/scenario.h"

struct run_samples {
	struct proto_samples *head;
	struct flow_sample *v;       /* within the same memory */
	size_t n;
};

struct run {
	const struct opts *o;
	const struct setting *setting;
	const struct flow_list *flows;
	struct place *place;
	uint64_t seed;
	unsigned repeat;              /* which of several like it */
	int64_t duration;             /* ns; 0: the flows' ends are the run's */
	int64_t warmup;
	/* Called about ten times a second if there, with the time since the start, ns. */
	void (*tick)(const struct run *r, int64_t elapsed);

	/* Times of the run: of its start, of the end of warm-up, of its end. ns. */
	int64_t start, measure, end;
	uint32_t mtu, vendor_id;
	char provider[32];       /* the hosts' provider, such as "libmlx5", or "mixed" */
	bool ipv6;
	unsigned hosts;
	struct proto_flow **flow;     /* of flows->n */
	struct run_samples *samples;  /* likewise; empty for backlogged flows */
	struct sampler sampler;
	bool sampled;
	char **shim;                  /* the shim's report of each host, or NULL */
	struct inforce inforce;       /* the summary of these reports */

	/* While it runs. */
	struct proto_qp *qp[MAX_HOSTS];
	bool started[MAX_HOSTS];
	uint32_t (*end_at)[2];        /* by flow: its index among src's QPs and among dst's QPs */
	uint32_t nqps[MAX_HOSTS];
	int64_t give_up;
	char err[1536];
	int exit_code;
};

/* 0, or -1 with err and exit_code. All processes have ended either way. */
int run_execute(struct run *r);

void run_free(struct run *r);

#endif
