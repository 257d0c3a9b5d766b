/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts the packets that the qdiscs of an interface dropped and marked. */
#include "doctor.h"

#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "agent/host/netlink.h"

struct answer {
	struct qdisc_stats *sum;
	int ifindex;
	bool found;
};

static void handle_qdisc(void *arg, const struct nlmsghdr *h)
{
	struct answer *to = arg;
	struct ccs_qdisc q;

	if (!ccs_qdisc_parse(h, &q) || q.ifindex != to->ifindex || strcmp(q.kind, "noqueue") == 0)
		return;
	qdisc_count(&q, to->sum);
	to->found = true;
}

static void add_recorded(void *arg, const char *name, uint64_t value)
{
	struct qdisc_stats *q = arg;

	if (strcmp(name, "drops") == 0)
		q->drops += value;
	else if (strcmp(name, "marks") == 0)
		q->marks += value;
}

bool doctor_read_qdisc(const char *root, const char *interface, struct qdisc_stats *q)
{
	const struct tcmsg all = { .tcm_family = AF_UNSPEC };
	struct answer answer = { .sum = q, .ifindex = (int)if_nametoindex(interface) };
	struct ccs_netlink_request request;
	struct ccs_netlink netlink;

	*q = (struct qdisc_stats){ 0 };
	if (*root)
		return nic_read_recorded(root, interface, "qdisc", add_recorded, q);
	if (!answer.ifindex || ccs_netlink_open(&netlink, NETLINK_ROUTE))
		return false;
	ccs_netlink_begin(&netlink, &request, RTM_GETQDISC, NLM_F_DUMP);
	ccs_netlink_put_header(&request, &all, sizeof(all));
	ccs_netlink_ask(&netlink, &request, handle_qdisc, &answer);
	ccs_netlink_close(&netlink);
	return answer.found;
}
