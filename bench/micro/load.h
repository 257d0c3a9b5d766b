/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H
/* The load that bench/micro/overhead measures, in a separate process. */
#include <stdint.h>

struct load {
	unsigned threads;                /* each has its QPs and a CQ */
	unsigned qps;                    /* in all, but one a thread at least */
	unsigned list;                   /* WRs a post; 0: polls of an empty queue instead */
	unsigned bytes;                  /* WR size */
	int64_t ns;                      /* how long; 0: one batch a thread, to be counted */
};

enum {
	LOAD_BATCH = 8192,               /* WRs or empty polls between readings of the clock */
	LOAD_SERIOUS_NS = 10000000,      /* shorter loads are not warmed up for */
};

struct cost {
	double ns, instructions;         /* per WR or empty poll; NAN: not counted */
};

/* On the first device. Ends the process where something fails. */
struct cost load_run(const struct load *l);

#endif
