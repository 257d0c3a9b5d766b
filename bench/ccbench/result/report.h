/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H
/* The results of a run, computed from its observations, and their three output formats. */
#include "shares.h"
#include "bench/ccbench/traffic/run.h"
#include "slowdown.h"

#define BINS 200 /* of each time series */

struct flow_report {
	unsigned host, peer, qp; /* sender and receiver, from 1; index of the QP between them */
	uint32_t qpn;
	double goodput, share;  /* bit/s; of the total */
	uint64_t messages, errors;
	uint64_t timed;         /* number of messages in latency */
	const char *status;     /* status of the first error */
	struct { double p50, p90, p99, p999, max; } latency; /* of its messages, us */
	double rate[BINS];      /* bit/s in each bin */
};

struct tenant_report {
	double goodput, share;             /* bit/s; of the total */
	double per_weight;                 /* share, of the share by weight */
	double jain;                       /* of the rates of its flows */
	uint64_t timed;                    /* messages with a time */
	double p99;                        /* of the times of its messages, us */
};

/* Values are NAN if they are unknown. */
struct report {
	const struct run *run;
	double goodput;                    /* bit/s, of the bulk class */
	double utilisation;                /* share of the links' capacity, all classes, with headers */
	double jain, jain_min;             /* Jain's index of the whole run; minimum over windows */
	double jain_window;                /* s */
	double drops, marks;               /* packets, in the whole run */
	double drops_after;                /* packets, after the warm-up */
	double wire_bps, retransmitted;    /* through the bottleneck; see carried.h */
	double fallback;                   /* share of the bytes under the algorithm's fallback */
	double waited;                     /* share of messages that found no free QP in the pool */
	struct spread queue;               /* bytes, after the warm-up */
	struct spread victim;              /* latency of messages of the latency class, us */
	struct spread slow;                /* latency of timed messages of the bulk class, us */
	struct spread operation;           /* time of operations, us */
	double slower;                     /* their mean, relative to the run without control */
	struct slowdown slowdown;
	bool slowed;                       /* the slowdown was measured */
	struct convergence convergence;
	double converged_us;               /* longest convergence; NAN: not requested */
	double converged;                  /* share of events that converged; NAN: not requested */
	uint64_t victim_failed, errors;
	struct prediction predicted;       /* only for runs without control */
	bool unshaped;
	double bin;                        /* s */
	struct flow_report *flow;          /* flows of the bulk class */
	unsigned nflows;
	struct tenant_report tenant[MAX_TENANTS];
	double off_weight, jain_within;    /* worst deviation of per_weight from 1; least jain of a tenant */
	double queue_bin[BINS];            /* mean backlog */
};

/* Times through the empty network to each host, from a run of scenario_unloaded()'s flows. */
void report_unloaded(struct unloaded *to, const struct run *r);

/* unloaded: by host, or NULL. 0, or -1 without memory. */
int report_make(struct report *p, const struct run *r, const struct unloaded *unloaded);

/* Compute the tenants' results, from the flows'. */
void report_tenants(struct report *p);
void table_tenants(const struct report *p);

void report_free(struct report *p);

/* Compare the operations of all n settings with those of none, in each repeat. */
void report_compare(struct report *p, unsigned n, unsigned repeats);

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
