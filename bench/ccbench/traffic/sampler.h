/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_SAMPLER_H
#define BENCH_SAMPLER_H
/* A thread that reads the bottleneck's queue at a steady pace. */
#include <pthread.h>
#include <stdatomic.h>

#include "qdisc.h"

struct sample {
	int64_t t; /* CLOCK_MONOTONIC, ns */
	struct qdisc_stats s;
};

struct sampler {
	/* Set by the caller, and left alone while it runs. */
	const char *ns, *port;    /* ns NULL or "": this thread's own */
	int64_t period;           /* ns */

	struct sample *v;         /* after sampler_stop() */
	size_t n;
	struct sample final;      /* when it was stopped */
	char kind[64];
	char err[160];
	bool busy;                /* other traffic passed when it was opened */

	int64_t start, end;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool running, opened, begun;
	atomic_bool stop;
};

/* Open the queue and wait, for 3 s at most, until no data pass; -1 with a sentence in err if that
 * cannot be. */
int sampler_open(struct sampler *s);

/* Sample once now, then from start to end, both included. */
void sampler_begin(struct sampler *s, int64_t start, int64_t end);

/* End it, at the end of its time or now; 0, or -1 with err. */
int sampler_stop(struct sampler *s);

void sampler_free(struct sampler *s);

#endif
