/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CC_HOPS_H
#define CCS_CC_HOPS_H
/* Telemetry of a path's links: the last records, and the utilisation since then. */
#include <stdbool.h>

#include <ccshim/cc.h>

#define CCS_LOAD_FULL 0.96       /* utilisation at which a link has a queue, so that RTTs vary */
/* Queue of n independent flows by chance, segments / sqrt(n); the average is about 0.6. */
#define CCS_CHANCE_STANDING 0.5  /* in two consecutive records */
#define CCS_CHANCE_P99 1.5       /* 99th percentile */

/* An op start_rate: an equal share of the slowest link. */
double ccs_hops_start_rate(const struct ccs_cc_path *path, unsigned flows);

struct ccs_hops {
	struct ccs_cc_hop hop[CCS_CC_MAX_HOPS];
	unsigned nhops;                  /* 0: none stored yet */
	uint32_t path;
};

/* Replace the stored records by those in ack, which are at most CCS_CC_MAX_HOPS. */
void ccs_hops_store(struct ccs_hops *last, const struct ccs_cc_ack *ack);

/*
 * Whether the records in ack are comparable with the stored records: they are for the same links,
 * and no counter was reset.
 */
bool ccs_hops_continue(const struct ccs_hops *last, const struct ccs_cc_ack *ack);

/*
 * The utilisation u of the busiest link (HPCC's MeasureInflight) and the interval tau of its
 * measurement, s. u is the sum of two ratios: the bytes that the link sent to its capacity, and its
 * standing queue without `chance` bytes to its capacity times T (s; INFINITY leaves queues out).
 * The records in ack must continue the stored records. A link without a newer record is skipped.
 * False: no link has a newer record; u and tau are unchanged.
 *
 * If `spans` is set and the interval exceeds T, u is the utilisation by arrivals, and the standing
 * queue must drain within another such interval. In so long a time a queue grows with the excess of
 * the rates, and is not a function of the windows.
 */
bool ccs_hops_measure(const struct ccs_hops *last, const struct ccs_cc_ack *ack, double T,
		      bool spans, double chance, double *u, double *tau);

#endif
