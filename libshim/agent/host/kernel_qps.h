/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_KERNEL_QPS_H
#define CCS_AGENT_KERNEL_QPS_H
/*
 * The kernel's list of queue pairs, by RDMA netlink (include/uapi/rdma/rdma_netlink.h), which needs
 * no privilege: the process of a queue pair, whether it can receive, and how many this host has. No call
 * blocks. One thread at a time.
 *
 * The kernel reports the thread that created a QP until that thread ends, and /proc maps the thread
 * to its process. A QP whose creating thread ends before the QP is registered is treated as another
 * process's, as are QPs of processes outside this PID namespace.
 */
#include <sys/types.h>

#include "agent/host/netlink.h"
#include "feedback/ipc.h"

enum { CCS_KERNEL_DEVICES = 256 };

/* The attributes of a reply, about a device or a QP; 0 or "": absent. */
struct ccs_kernel_reply {
	uint32_t index, ports;           /* of the device; ports 1 to that number */
	char device[64];
	uint32_t qpn, peer_qpn, pid, state;
};

/* The argument of all functions. The first call opens the socket: RDMA devices may appear later
 * than the agent. */
struct ccs_kernel_qps {
	struct ccs_netlink netlink;      /* closed (fd -1) at first */
	unsigned n;                      /* devices, as of the last query of them */
	struct ccs_kernel_reply device[CCS_KERNEL_DEVICES];
};

/*
 * Whether the process may register that QP, as ccs_agent_config.check_owner; uid may be
 * CCS_ANY_USER. 0; EPERM: another process owns it, the process is another user's (the process that
 * connected may have ended), or the QP is connected to another peer; ENOENT: no such QP; ENODEV: no
 * such device; EPROTONOSUPPORT: the kernel has no RDMA, or its modules are not loaded; or the
 * kernel's errno (EINVAL before Linux 5.2, and for a port that the device does not have).
 */
int ccs_kernel_qps_check_owner(void *arg, const struct ccs_ipc_add *qp, pid_t pid, uid_t uid);

/* Whether a QP with that number can receive, as ccs_agent_config.check_qp. Sends a request for each
 * port; if the QP is not found, reads the list of devices and tries again. */
int ccs_kernel_qps_check(void *arg, uint32_t qpn, char device[64]);

/* As ccs_agent_config.count_qps. One request. */
int ccs_kernel_qps_count(void *arg, uint32_t *n);

#endif
