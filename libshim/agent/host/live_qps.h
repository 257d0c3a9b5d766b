/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_LIVE_QPS_H
#define CCS_AGENT_LIVE_QPS_H
/*
 * Whether a queue pair number belongs to a queue pair of this host that can receive, according to
 * the kernel.
 */
#include "agent/host/rdma_query.h"

enum { CCS_LIVE_QPS_DEVICES = 64 };

struct ccs_live_qps {
	struct ccs_netlink netlink;      /* closed (fd -1) at first */
	unsigned n;                      /* devices, as of the last query of them */
	struct ccs_rdma_reply device[CCS_LIVE_QPS_DEVICES];
};

/*
 * As ccs_agent_config.check_qp; arg is the struct ccs_live_qps. Sends a request for each port; if
 * the QP is not found, reads the list of devices and tries again. Does not block. One thread at a
 * time.
 */
int ccs_live_qps_check(void *arg, uint32_t qpn, char device[64]);

/* As ccs_agent_config.count_qps; arg is the struct ccs_live_qps. One request. */
int ccs_live_qps_count(void *arg, uint32_t *n);

#endif
