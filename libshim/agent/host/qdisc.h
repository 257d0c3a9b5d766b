/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_QDISC_H
#define CCS_AGENT_QDISC_H
/*
 * The counters of a Linux interface's qdiscs, by rtnetlink's RTM_GETQDISC, which needs no
 * privilege. The root qdisc counts for the whole tree: bytes with Ethernet headers as they leave,
 * and the backlog of all children.
 */
#include "agent/host/netlink.h"

struct ccs_qdisc {
	int ifindex;
	uint32_t parent, handle;
	char kind[32];                   /* such as "red" */
	bool counts;                     /* it has these counters; "noqueue" leaves them 0 */
	uint64_t bytes, packets, drops;  /* bytes, packets: sent */
	uint64_t backlog;                /* bytes */
	double tbf_rate;                 /* bit/s, of a tbf; 0: another kind */
	struct ccs_netlink_attr own_stats; /* of its kind, within the message; len 0: missing */
};

/* Parse an RTM_NEWQDISC message. False: it is another message. */
bool ccs_qdisc_parse(const struct nlmsghdr *h, struct ccs_qdisc *q);

/* Read the root qdisc of an interface. 0 or an errno; ENOENT: it does not count, like "noqueue".
 * n: a NETLINK_ROUTE socket. Does not block. */
int ccs_qdisc_read_root(struct ccs_netlink *n, uint32_t ifindex, struct ccs_qdisc *q);

#endif
