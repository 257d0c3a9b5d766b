/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_EGRESS_H
#define CCS_AGENT_EGRESS_H
/*
 * A port's queue on a Linux switch, router or host: what its qdiscs have sent and what
 * waits in them. The root of a tree counts for all of it: bytes as they leave it, with
 * their Ethernet headers, and in its backlog what waits in any of its children.
 * Rtnetlink's RTM_GETQDISC, which needs no privilege.
 */
#include <stdint.h>

#include "agent/netlink.h"

struct ccs_egress {
	uint64_t sent_bytes, backlog_bytes;
	double rate;                     /* bit/s that a tbf at the root gives; 0: none */
};

/* 0 or an errno; ENOENT: the port has no qdisc that counts, as "noqueue". n is of
 * NETLINK_ROUTE. Does not block. */
int ccs_egress_read(struct ccs_netlink *n, uint32_t ifindex, struct ccs_egress *e);

#endif
