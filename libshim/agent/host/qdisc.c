/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/host/qdisc.h"

#include <errno.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

static void parse_stats(struct ccs_qdisc *q, const struct ccs_netlink_attr *nest)
{
	struct ccs_netlink_attrs attrs = ccs_netlink_nested(nest);
	bool has_basic = false, has_queue = false;
	struct gnet_stats_basic basic;
	struct gnet_stats_queue queue;
	struct ccs_netlink_attr a;

	while (ccs_netlink_next(&attrs, &a)) {
		if (a.type == TCA_STATS_APP) {
			q->own_stats = a;
		} else if (a.type == TCA_STATS_BASIC && a.len >= sizeof(basic.bytes)) {
			ccs_netlink_copy(&a, &basic, sizeof(basic));
			q->bytes = basic.bytes;
			q->packets = basic.packets;
			has_basic = true;
		} else if (a.type == TCA_STATS_QUEUE) {
			ccs_netlink_copy(&a, &queue, sizeof(queue));
			q->backlog = queue.backlog;
			q->drops = queue.drops;
			has_queue = true;
		}
	}
	q->counts = has_basic && has_queue;
}

/* A tbf states its rate in bytes/s, in 32 bits, or in 64 bits if it does not fit. */
static double rate_of_tbf(const struct ccs_netlink_attr *nest)
{
	struct ccs_netlink_attrs attrs = ccs_netlink_nested(nest);
	struct tc_tbf_qopt options = { 0 };
	struct ccs_netlink_attr a;
	uint64_t rate64 = 0;

	while (ccs_netlink_next(&attrs, &a)) {
		if (a.type == TCA_TBF_PARMS)
			ccs_netlink_copy(&a, &options, sizeof(options));
		else if (a.type == TCA_TBF_RATE64)
			ccs_netlink_copy(&a, &rate64, sizeof(rate64));
	}
	return 8.0 * (double)(rate64 ? rate64 : options.rate.rate);
}

/* The kind precedes the options. */
bool ccs_qdisc_parse(const struct nlmsghdr *h, struct ccs_qdisc *q)
{
	struct ccs_netlink_attrs attrs = ccs_netlink_attrs(h, sizeof(struct tcmsg));
	const struct tcmsg *tc = NLMSG_DATA(h);
	struct ccs_netlink_attr a;

	if (h->nlmsg_type != RTM_NEWQDISC || h->nlmsg_len < NLMSG_LENGTH(sizeof(*tc)))
		return false;
	*q = (struct ccs_qdisc){
		.ifindex = tc->tcm_ifindex, .parent = tc->tcm_parent, .handle = tc->tcm_handle,
	};
	while (ccs_netlink_next(&attrs, &a)) {
		if (a.type == TCA_KIND)
			ccs_netlink_copy(&a, q->kind, sizeof(q->kind) - 1);
		else if (a.type == TCA_OPTIONS && strcmp(q->kind, "tbf") == 0)
			q->tbf_rate = rate_of_tbf(&a);
		else if (a.type == TCA_STATS2)
			parse_stats(q, &a);
	}
	return *q->kind;
}

/* The root qdisc of that interface. */
struct search {
	int ifindex;
	bool found;
	struct ccs_qdisc *qdisc;
};

static void handle_reply(void *arg, const struct nlmsghdr *h)
{
	struct search *s = arg;
	struct ccs_qdisc q;

	if (!ccs_qdisc_parse(h, &q) || q.ifindex != s->ifindex || q.parent != TC_H_ROOT ||
	    !q.counts || strcmp(q.kind, "noqueue") == 0)
		return;
	*s->qdisc = q;
	s->found = true;
}

int ccs_qdisc_read_root(struct ccs_netlink *n, uint32_t ifindex, struct ccs_qdisc *q)
{
	const struct tcmsg root = {
		.tcm_family = AF_UNSPEC, .tcm_ifindex = (int)ifindex, .tcm_parent = TC_H_ROOT,
	};
	struct search s = { .ifindex = (int)ifindex, .qdisc = q };
	struct ccs_netlink_request r;
	int err;

	/* The kernel multicasts the reply; it reaches the requester only with NLM_F_ECHO. */
	ccs_netlink_begin(n, &r, RTM_GETQDISC, NLM_F_ECHO);
	ccs_netlink_put_header(&r, &root, sizeof(root));
	err = ccs_netlink_ask(n, &r, handle_reply, &s);
	if (err == EINVAL || err == EIO)
		return ENOENT; /* a built-in qdisc on an old kernel; newer kernels do not reply */
	return err ? err : s.found ? 0 : ENOENT;
}
