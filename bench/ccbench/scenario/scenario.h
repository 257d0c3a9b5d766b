/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_SCENARIO_H
#define BENCH_SCENARIO_H
/* The scenarios: from options to a list of flows. Pure but for the list's memory. */
#include "bench/ccbench/scenario/flow.h"

struct opts;

struct flow_list {
	struct flow_spec *v;   /* free() it */
	unsigned n;
	unsigned streams;      /* of random numbers: of flows that messages arrive at */
};

struct scenario {
	const char *name, *what;
	unsigned (*hosts)(const struct opts *o);
	int (*make)(const struct opts *o, struct flow_list *l);
	/* Set defaults; may be NULL. False: refused, with the reason, or as without a duration. */
	bool (*apply_defaults)(struct opts *o);
	const char *refusal;
	bool has_victim;       /* an extra host for a small flow, if requested */
	bool elephants;        /* backlogged flows of --size, whatever the --sizes of others */
	bool to_one;           /* many senders, one receiver: uses --senders, not --hosts */
	bool slowdown;         /* compare each message's time with an empty network's */
	bool operations;       /* of all flows, with pauses: the network is used between pauses only */
	bool tenants;          /* groups of flows with weights */
	bool trunk;            /* all flows pass one link, which is the bottleneck */
	uint64_t size;         /* default of --size; 0: 64k */
};

/* NULL if the name is unknown. */
const struct scenario *scenario_find(const char *name);

/* All scenarios; an entry without a name ends the list. */
extern const struct scenario scenarios[];

/* The tenant of a host, from 1; 0: it has none. */
unsigned scenario_tenant(const struct opts *o, unsigned host);

/* The flows of the options' scenario: 0, or -1 without memory. */
int scenario_flows(const struct opts *o, struct flow_list *l);

/*
 * Make flows that measure the empty network: to each receiver of the flows `of` in turn, one message
 * at a time, of every size of the ladder. *length: their duration, ns.
 */
int scenario_unloaded(const struct flow_list *of, struct flow_list *l, int64_t *length);

#endif
