/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_RDMA_QUERY_H
#define CCS_AGENT_RDMA_QUERY_H
/*
 * Queries of RDMA netlink (include/uapi/rdma/rdma_netlink.h), which need no privilege. The first
 * one opens the socket: RDMA devices may appear later than the agent. All return 0 or an errno.
 */
#include "agent/host/netlink.h"

/* The attributes of a reply, about a device or a QP; 0 or "": absent. */
struct ccs_rdma_reply {
	uint32_t index, ports;           /* of the device; ports 1 to that number */
	char device[64];
	uint32_t qpn, peer_qpn, pid, state;
};

typedef void ccs_rdma_visit(void *arg, const struct ccs_rdma_reply *r);

int ccs_rdma_devices(struct ccs_netlink *n, ccs_rdma_visit *visit, void *arg);
int ccs_rdma_qp(struct ccs_netlink *n, uint32_t device, uint32_t port, uint32_t qpn,
		ccs_rdma_visit *visit, void *arg);
/* All QPs of this host, as the kernel counts them. */
int ccs_rdma_count_qps(struct ccs_netlink *n, uint64_t *count);

#endif
