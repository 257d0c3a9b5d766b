/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_QDISC_H
#define CCS_AGENT_QDISC_H
/* The kernel's description of one qdisc, in an RTM_NEWQDISC message. */
#include "agent/host/netlink.h"

struct ccs_qdisc {
	int ifindex;
	uint32_t parent, handle;
	char kind[32];                   /* such as "red" */
	bool counts;                     /* it has these counters; those of "noqueue" stay 0 */
	uint64_t bytes, packets, drops;  /* bytes, packets: sent */
	uint64_t backlog;                /* bytes */
	struct ccs_netlink_attr options, own_stats; /* of its kind; len 0: missing */
};

/* False: it is another message. The attributes are valid as long as the message. */
bool ccs_qdisc_parse(const struct nlmsghdr *h, struct ccs_qdisc *q);

/* The rate of a tbf, bit/s; 0: it is no tbf. */
double ccs_qdisc_tbf_rate(const struct ccs_qdisc *q);

#endif
