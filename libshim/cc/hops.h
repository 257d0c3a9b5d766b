/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CC_HOPS_H
#define CCS_CC_HOPS_H
/* The links of a path as of their last telemetry, and what they did since. */
#include <stdbool.h>

#include <ccshim/cc.h>

/* An op start_rate: an equal share of the slowest link. */
double ccs_hops_start_rate(const struct ccs_cc_path *path, unsigned flows);

struct ccs_hops {
	struct ccs_cc_hop hop[CCS_CC_MAX_HOPS];
	unsigned nhops;                  /* 0: none stored yet */
	uint32_t path;
};

/* The records in ack, at most CCS_CC_MAX_HOPS, replace those stored. */
void ccs_hops_store(struct ccs_hops *last, const struct ccs_cc_ack *ack);

/*
 * Whether the records in ack continue those stored: the same links, and no counter
 * started over. If they do not, there is nothing to compare them with.
 */
bool ccs_hops_continue(const struct ccs_hops *last, const struct ccs_cc_ack *ack);

/*
 * The utilisation u of the busiest link (HPCC's MeasureInflight) and the interval tau, s,
 * that it was measured over: what the link sent, relative to its capacity, and what waited
 * all the while, but for chance bytes, relative to its capacity times T (s; INFINITY leaves queues
 * out). The records in ack continue those stored. A link without a newer one is left out; false,
 * and nothing written, if that leaves none.
 *
 * Where records may span more than T, u of such a one is of what came to the link, and what
 * waited all the while must be sent before the next one: rates were in force for so long that
 * their queue is no function of the windows any more, but grows with time.
 */
bool ccs_hops_measure(const struct ccs_hops *last, const struct ccs_cc_ack *ack, double T,
		      bool spans, double chance, double *u, double *tau);

#endif
