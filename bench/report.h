/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H
/* What a run means: figures from its observations, and the three ways to show them. */
#include "run.h"

#define BINS 200 /* of the series over a run */

struct flow_report {
	unsigned host, qp;      /* sender's host number, QP of that sender */
	uint32_t qpn;
	double goodput, share;  /* bit/s; of the total */
	uint64_t messages, errors;
	const char *status;     /* of the first error */
	struct { double p50, p90, p99, p999, max; } latency; /* of its messages, us */
	double rate[BINS];      /* bit/s in each bin */
};

/* NAN where it is not known. */
struct report {
	const struct run *run;
	double goodput, utilisation, jain, jain_min, jain_window; /* bit/s, -, -, -, s */
	double drops, drops_after, marks;  /* of the whole run; after the warm-up; whole */
	double wire_bps, retransmitted;    /* through the bottleneck; share not new payload */
	struct spread queue, victim;       /* bytes, us; after the warm-up */
	uint64_t victim_failed, errors;
	struct prediction predicted;       /* only where nothing holds back */
	bool unshaped;
	double bin;                        /* s */
	struct flow_report *flow;
	double queue_bin[BINS];            /* mean backlog */
};

/* 0, or -1 where there is no memory. */
int report_make(struct report *p, const struct run *r);
void report_free(struct report *p);

/* One run, a line per flow; then all side by side. */
void table_run(const struct report *p);
void table_compare(const struct report *p, unsigned n);

/* 0, or -1 after a message on stderr. */
int json_write(const char *file, const struct report *p, unsigned n);

/* 0, or -1 after a warning on stderr. gnuplot draws it. */
int plot_write(const char *file, const struct report *p, unsigned n);

#endif
