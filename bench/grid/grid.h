/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_GRID_H
#define BENCH_GRID_H
/*
 * The grid: control with default parameters over all kinds of links, loads and messages,
 * each beside no control at all. Rates in bit/s, times in us, sizes in bytes.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cc/cc.h"
#include "bench/sim/star/sim.h"

#define GRID_MTU 4096u       /* RoCE path MTU */

/* A network and a load, as an operator describes them. 0: absent, or the named default. */
struct scenario {
	char name[96];           /* all values that are not defaults; unique */
	enum sim_pattern pattern;
	enum fab_verb op;
	uint32_t message;        /* default 64 KB */
	double rate;             /* bit/s of the measured ports */
	double nic;              /* bit/s of the hosts' NICs; default: as the ports */
	unsigned hosts, qps;     /* senders, and queue pairs of each, default 1 */
	double rtt, far;         /* base RTT, derived from the rate by default; of every second flow */
	unsigned entries;        /* depth of the application's send queue; default: enough */
	double queue;            /* bytes of a port's queue; 0: lossless */
	double jitter;           /* delay of completions, uniform up to this */
	double loss;             /* of data packets on the links */
	double slow;             /* the port's rate in the middle third of the run */
	unsigned joins;          /* flows more in the middle third of the run */
	unsigned rivals;         /* flows more without any control */
	const char *preset;      /* of ccfabric, which runs the row; NULL: bench/sim/star does */
	const char *topology, *flows; /* options of ccfabric; a preset's hosts are flows per port */
	double data;             /* bytes of a collective operation */
};

/* The rows, built once; *n of them. */
const struct scenario *grid_scenarios(unsigned *n);

/* The fixed sample: whether the row belongs to it, and how many do. */
bool grid_in_sample(const struct scenario *s);
unsigned grid_sample_size(void);

/* Flows that share a port. */
unsigned grid_per_port(const struct scenario *s);

/* Messages that each application has outstanding. */
unsigned grid_depth(const struct scenario *s);

/* The unit of queue lengths: the bytes that a flow sends without a break. */
double grid_segment(const struct scenario *s);

/* The rule by which no algorithm can hold the row's aims, or NULL. */
const char *grid_forbidden(const struct scenario *s);

/* An algorithm that runs in a scenario. */
struct contender {
	const char *cc;          /* "NAME[:param=value,...]", or "none": without the shim */
	struct ccs_cc_spec spec;
	unsigned aims;           /* set of enum miss */
};

/* Whether the algorithm needs feedback from agents. */
bool grid_needs_records(const struct ccs_cc_spec *spec);

/* length: how many times as long as the row usually lasts. */
struct sim_conf grid_conf(const struct scenario *s, const struct contender *c, double length);

/* A run's figures; small, for thousands of them. */
struct outcome {
	bool begun, done;
	double util, own_util, jain, queue_p99, victim_p50, victim_p99, rtt_p99;
	double join_us, leave_us;
	double operation_us;     /* mean time of a collective operation, or a request; NAN: no such */
	uint64_t drops, late_drops, lost, victims;
};

/* Run a row with a preset. */
void grid_fabric(const struct scenario *s, const struct contender *c, uint64_t seed,
		 struct outcome *o);

/* Aims that a row may miss. */
enum miss {
	UTIL_95, UTIL_96, JAIN_90, JAIN_95, JAIN_98, QUEUE_4, QUEUE_2, DROPS, VICTIM, SETTLE, OPERATION,
	MISSES
};

struct criterion {
	const char *name;        /* in bounds and JSON */
	const char *aim;         /* a sentence's object */
};
extern const struct criterion grid_criteria[MISSES];

/* The set of missed aims, and the ratio of the worst to its bound. */
unsigned grid_judge(const struct scenario *s, const struct outcome *o, const struct outcome *none,
		    double *badness);

/* The aims of an algorithm: with agents, by RTTs alone, or by name beside others. */
unsigned grid_aims(const struct ccs_cc_spec *spec, const char *wanted);

/* All scenarios with all contenders; "none" is the first. */
struct grid {
	const struct scenario *const *scenario;
	const struct contender *contender; /* [0] runs without the shim */
	unsigned scenarios, contenders;
	const struct outcome *outcome;   /* [scenario * contenders + contender] */
	unsigned length;
	uint64_t seed;
};

/* Run all scenarios with all contenders in that number of processes. *out is in shared memory. False
 * after a message for each run that failed. */
bool grid_run(const struct grid *g, struct outcome *out, unsigned processes);

void grid_print(const struct grid *g, unsigned worst);
bool grid_json(const void *grid, FILE *f);

/* Rows by which each contender misses each; [MISSES]: any of its aims. */
void grid_count(const struct grid *g, unsigned contender, unsigned count[MISSES + 1]);

/* Lines "CC CRITERION MOST" of a file: how many do not hold, or -1 after a sentence. */
int grid_bounds(const struct grid *g, const char *path);

#endif
