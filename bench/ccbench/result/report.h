/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H
/* The results of a run, computed from its observations, and their three output formats. */
#include "converge.h"
#include "bench/ccbench/traffic/run.h"
#include "slowdown.h"

#define BINS 200 /* of the series over a run */

struct flow_report {
	unsigned host, peer, qp; /* numbers of sender and receiver, from 1; QP among theirs */
	uint32_t qpn;
	double goodput, share;  /* bit/s; of the total */
	uint64_t messages, errors;
	uint64_t timed;         /* messages that latency is of */
	const char *status;     /* of the first error */
	struct { double p50, p90, p99, p999, max; } latency; /* of its messages, us */
	double rate[BINS];      /* bit/s in each bin */
};

/* NAN where it is not known. */
struct report {
	const struct run *run;
	double goodput;                    /* bit/s, of the bulk class */
	double utilisation;                /* of all classes, with headers, of what the links carry */
	double jain, jain_min, jain_window; /* -, -, s */
	double drops, drops_after, marks;  /* of the whole run; after the warm-up; whole */
	double wire_bps, retransmitted;    /* through the bottleneck; see carried.h */
	double fallback;                   /* share of the bytes under the algorithm's fallback */
	double waited;                     /* share of messages that no QP of a pool was free for */
	struct spread queue, victim;       /* bytes, us; after the warm-up; of the latency class */
	struct spread slow;                /* us: messages of the bulk class that are timed */
	struct slowdown slowdown;
	bool slowed;                       /* whether there is one */
	struct convergence convergence;
	double converged_us, converged;    /* the worst; the share of events; NAN: not asked */
	uint64_t victim_failed, errors;
	struct prediction predicted;       /* only where nothing holds back */
	bool unshaped;
	double bin;                        /* s */
	struct flow_report *flow;          /* of the bulk class */
	unsigned nflows;
	double queue_bin[BINS];            /* mean backlog */
};

/* What an empty network takes to each host, from a run of scenario_unloaded()'s flows. */
void report_unloaded(struct unloaded *to, const struct run *r);

/* unloaded: of each host, or NULL. 0, or -1 where there is no memory. */
int report_make(struct report *p, const struct run *r, const struct unloaded *unloaded);
void report_free(struct report *p);

/* Print one run, a line per flow; then all n settings side by side, with the repeats of each:
 * p[setting + n * repeat]. */
void table_run(const struct report *p);
void table_compare(const struct report *p, unsigned n, unsigned repeats);

/* Print the slowdown by message size: p50, p95 and p99 of each setting. */
void table_slowdown(const struct report *p, unsigned n);

/* As table_compare(). 0, or -1 after a message on stderr. */
int json_write(const char *file, const struct report *p, unsigned n, unsigned repeats,
	       const struct unloaded *unloaded);

/* 0, or -1 after a warning on stderr. gnuplot draws it. */
int plot_write(const char *file, const struct report *p, unsigned n);

#endif
