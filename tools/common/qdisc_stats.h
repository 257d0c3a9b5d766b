/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_QDISC_STATS_H
#define CCS_TOOLS_QDISC_STATS_H
/*
 * The counters of a qdisc tree. Bytes, backlog and drops are the root's, which includes its
 * children. Each qdisc counts only the packets that it marks itself, so marks are summed over the
 * tree.
 */
#include "agent/host/qdisc.h"

struct qdisc_stats {
	uint64_t backlog, bytes, packets; /* bytes, packets: sent */
	uint64_t drops, marks;
};

/* Add the counters of one qdisc. */
void qdisc_count(const struct ccs_qdisc *q, struct qdisc_stats *s);

#endif
