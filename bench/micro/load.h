/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H
/* The load that bench/micro/overhead measures, in a separate process. */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

struct load {
	unsigned threads;                /* each with separate QPs and a separate CQ */
	unsigned qps;                    /* in all; at least one per thread is used */
	unsigned list;                   /* WRs per post; 0: polls of an empty queue instead */
	unsigned bytes;                  /* length of a WR */
	unsigned sges;                   /* scatter/gather entries of a WR; 0: one */
	unsigned signal_every;           /* one WR in this many is signalled; 0: all are */
	bool inlined;                    /* IBV_SEND_INLINE */
	enum ibv_wr_opcode opcode;
	int64_t ns;                      /* duration; 0: one batch per thread, to be counted */
};

enum {
	LOAD_BATCH = 8192,               /* WRs or empty polls between readings of the clock */
	LOAD_SERIOUS_NS = 10000000,      /* shorter loads have a short warm-up */
};

struct cost {
	double ns, instructions;         /* per WR or empty poll; NAN: not counted */
};

/* Run on the first device. A failure ends the process. */
struct cost load_run(const struct load *l);

#endif
