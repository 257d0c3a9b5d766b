/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_QDISC_STATS_H
#define CCS_TOOLS_QDISC_STATS_H
/*
 * The counters of a qdisc tree, from RTM_NEWQDISC messages of the kernel. Bytes, backlog and drops
 * are the root's, which includes its children. Each qdisc counts only the packets that it marks
 * itself, so marks are summed over the tree.
 */
#include <linux/netlink.h>
#include <stdbool.h>
#include <stdint.h>

struct qdisc_stats {
	uint64_t backlog, bytes, packets; /* bytes, packets: sent */
	uint64_t drops, marks;
};

enum { QDISC_KIND = 32 };

/* The kind of qdisc that a message describes, such as "red"; false: it is another message. */
bool qdisc_kind(const struct nlmsghdr *h, char kind[QDISC_KIND]);

/* Add the counters of one message. */
void qdisc_count(const struct nlmsghdr *h, struct qdisc_stats *s);

#endif
