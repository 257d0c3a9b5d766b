/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_OWNER_H
#define CCS_AGENT_OWNER_H
/*
 * Whose a queue pair is, according to the kernel: RDMA netlink (RDMA_NLDEV_CMD_GET and
 * RDMA_NLDEV_CMD_RES_QP_GET, include/uapi/rdma/rdma_netlink.h), which needs no privilege.
 *
 * The kernel names the thread that made the QP, and forgets it when that thread ends: a
 * QP whose maker has ended before it is registered counts as another's, as do QPs
 * of processes that this PID namespace does not show. /proc tells the thread's process.
 */
#include <sys/types.h>

#include "agent/netlink.h"
#include "signal/local.h"

struct ccs_owner {
	struct ccs_netlink netlink;
};

/* It is opened by the first question: a host may get its RDMA devices later. */
#define CCS_OWNER_CLOSED { .netlink = { .fd = -1 } }

void ccs_owner_close(struct ccs_owner *o);

/*
 * Whether the process may register that QP, as ccs_agent_config.owner; arg is the struct
 * ccs_owner. 0; EPERM: it is another's, or connected to another peer; ENOENT: there is
 * no such QP; ENODEV: no such device; EPROTONOSUPPORT: the kernel has no RDMA, or its modules
 * are not loaded; else what the kernel said (EINVAL before Linux 5.2, and for a port that the
 * device does not have). Does not block. One thread at a time.
 */
int ccs_owner_check(void *arg, const struct ccs_local_add *qp, pid_t pid);

#endif
