/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_EGRESS_H
#define CCS_AGENT_EGRESS_H
/*
 * A port's queue on a Linux switch, router or host: bytes that its qdiscs have sent, and their
 * backlog. The root qdisc counts for the whole tree: bytes with Ethernet headers as they leave,
 * and the backlog of all children. Read by rtnetlink's RTM_GETQDISC, which needs no privilege.
 */
#include <stdint.h>

#include "agent/host/netlink.h"

struct ccs_egress {
	uint64_t sent_bytes, backlog_bytes;
	double rate;                     /* bit/s, of a tbf at the root; 0: no tbf */
};

/* 0 or an errno; ENOENT: the port's qdisc does not count, like "noqueue". n: a NETLINK_ROUTE
 * socket. Does not block. */
int ccs_egress_read(struct ccs_netlink *n, uint32_t ifindex, struct ccs_egress *e);

#endif
