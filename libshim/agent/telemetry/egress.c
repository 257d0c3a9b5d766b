/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/telemetry/egress.h"

#include <errno.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "agent/host/qdisc.h"

struct answer {
	struct ccs_egress *egress;
	int ifindex;
	bool found;
};

static void handle_reply(void *arg, const struct nlmsghdr *h)
{
	struct answer *to = arg;
	struct ccs_qdisc q;

	if (!ccs_qdisc_parse(h, &q) || q.ifindex != to->ifindex || q.parent != TC_H_ROOT ||
	    !q.counts || strcmp(q.kind, "noqueue") == 0)
		return;
	*to->egress = (struct ccs_egress){ q.bytes, q.backlog, ccs_qdisc_tbf_rate(&q) };
	to->found = true;
}

int ccs_egress_read(struct ccs_netlink *n, uint32_t ifindex, struct ccs_egress *e)
{
	const struct tcmsg root = {
		.tcm_family = AF_UNSPEC, .tcm_ifindex = (int)ifindex, .tcm_parent = TC_H_ROOT,
	};
	struct answer answer = { .egress = e, .ifindex = (int)ifindex };
	struct ccs_netlink_request r;
	int err;

	*e = (struct ccs_egress){ 0 };
	/* The kernel multicasts the reply; it reaches the requester only with NLM_F_ECHO. */
	ccs_netlink_begin(n, &r, RTM_GETQDISC, NLM_F_ECHO);
	ccs_netlink_put_header(&r, &root, sizeof(root));
	err = ccs_netlink_ask(n, &r, handle_reply, &answer);
	if (err == EINVAL || err == EIO)
		return ENOENT; /* a built-in qdisc on an old kernel; newer kernels do not reply */
	return err ? err : answer.found ? 0 : ENOENT;
}
