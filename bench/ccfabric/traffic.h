/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCFABRIC_TRAFFIC_H
#define CCFABRIC_TRAFFIC_H
/* Flows that are generated instead of read. */
#include "bench/sim/fabric/flows.h"
#include "bench/sim/fabric/topology.h"

struct fab_traffic {
	double jitter_us;        /* starts are uniform in this */
	double until_us;         /* when the last flow of a load starts */
	unsigned priority;
	uint64_t message;        /* bytes; 0: each flow is one message */
	enum fab_verb verb;
	unsigned tenants;        /* the first terms that are tenants */
	uint64_t seed;
};

/*
 * One of
 *	incast:N,SIZE[,HOST]     from the N hosts after HOST (default 0) to it
 *	permutation:SIZE         from each host to the host half of all hosts further
 *	ring:SIZE                from each host to the next
 *	all-to-all:SIZE          from each host to each other
 *	cross:FROM,TO,SIZE       from each host FROM to each host TO, which are numbers (3) or ranges (3-7)
 *	pairs:FROM,TO,SIZE       from the first to the first, the second to the second...
 *	incasts:N,SIZE,LOAD      incasts of N hosts to hosts drawn at random, as a Poisson process
 *	websearch:LOAD, hadoop:LOAD, SIZE:LOAD
 *	                         between hosts drawn at random, as a Poisson process, so that the
 *	                         hosts' links carry LOAD (0.5, 50%) of their rate
 *	allreduce-ring:SIZE, allreduce-tree:SIZE, allreduce-halving:SIZE
 *	                         of all hosts; see bench/common/collectives.h
 *	kv:FROM,TO,REQUEST,RESPONSE
 *	                         a request of each host FROM to each host TO, and its response
 *	claims:N,FROM,TO         N flows of host FROM to TO that send a byte every 50 ms each
 * An all-reduce's SIZE and kv's RESPONSE may be followed by ,OPERATIONS,PAUSE: that number of operations
 * on the same flows, with a pause after each.
 *
 * Or several of these, joined by +, each with PRIORITY= and COPIES* before it, and with @START[~INTERVAL] after
 * it for the start of the first copy, and the time between two copies. Or the name of a file. False with a sentence in err.
 */
bool fab_traffic(struct fab_flows *f, const char *text, const struct topology *t,
		 const struct fab_traffic *how, char *err, size_t len);

#endif
