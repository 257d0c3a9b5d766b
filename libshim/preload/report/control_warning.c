/* SPDX-License-Identifier: BSD-2-Clause */
/* The warning that a flow's algorithm has no effect on the queue of its path, with the remedy. */
#include "preload/report/control_warning.h"

#include <arpa/inet.h>

#include "observe/log.h"

void ccs_control_warn(const struct qp *qp)
{
	const struct ccs_flow *f = &qp->flow;
	const char *name = f->cc.ops->name;
	char peer[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, qp->peer.gid, peer, sizeof(peer));
	if (f->rtt.control.now == CCS_CONTROL_AT_FLOOR)
		ccs_log_once(CCS_LOG_WARN, "QP %u to %s: %s has no effect: at its lowest rate the RTT "
			     "is %.0f us, %.0f us without a queue; other traffic on the path is not "
			     "controlled, or min_rate is too high for its flows: run all senders under "
			     "ccshim, or separate their traffic by priority", qp->qp_num, peer, name,
			     (double)f->rtt.control.average_us, f->cc.path.base_rtt_us);
	else if (f->rtt.control.now == CCS_CONTROL_AT_LIMIT)
		ccs_log_once(CCS_LOG_WARN, "QP %u to %s: %s has no effect: its rate stays at its limit, "
			     "and the RTT is %.0f us, %.0f us without a queue; check base_rtt and the "
			     "parameters given to it ('ccshim info'), or use cc=auto", qp->qp_num, peer,
			     name, (double)f->rtt.control.average_us, f->cc.path.base_rtt_us);
}
