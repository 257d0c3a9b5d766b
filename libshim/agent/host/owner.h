/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_OWNER_H
#define CCS_AGENT_OWNER_H
/*
 * The owner of a queue pair. The kernel reports the thread that created it until that thread ends,
 * and /proc maps the thread to its process. A QP whose creating thread ends before the QP is
 * registered is treated as another process's, as are QPs of processes outside this PID namespace.
 */
#include <sys/types.h>

#include "agent/host/netlink.h"
#include "feedback/ipc.h"

/*
 * Whether the process may register that QP, as ccs_agent_config.check_owner; arg is a struct
 * ccs_netlink, closed (fd -1) at first; uid may be CCS_ANY_USER. 0; EPERM: another process owns it, the process is another
 * user's (the process that connected may have ended), or the QP is connected to another peer;
 * ENOENT: no such QP; ENODEV: no such device; EPROTONOSUPPORT: the kernel has no RDMA, or its
 * modules are not loaded; or the kernel's errno (EINVAL before Linux 5.2, and for a port that the
 * device does not have). Does not block. One thread at a time.
 */
int ccs_owner_check(void *arg, const struct ccs_ipc_add *qp, pid_t pid, uid_t uid);

#endif
